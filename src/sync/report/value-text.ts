/** Formats a value on one line, complete or cut so that the difference stays visible. */
import type { SpecJson } from '../resources/resource-set.ts';
import { isReference, isSecret } from '../resources/spec-paths.ts';

/** Maximum number of escaped characters of a value. */
const visibleMax = 240;
/** Characters shown before the first difference; they fit even if each is escaped. */
const leadMax = 24;

/** Invisible characters, look-alikes of a space, and terminal control characters. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const beyondAscii = /[^\u0020-\u007e]/gu;

/** Formats a value as JSON, a reference by name, a secret by origin; a long text from its start. */
export function valueText(value: SpecJson): string {
  return textFrom(value, 0, unseen);
}

/**
 * Formats two differing values so that the difference is visible: both from shortly before the
 * first difference, with the position of the last one if that is cut off, and escaped if the two
 * look alike.
 */
export function pairText(from: SpecJson, to: SpecJson): [from: string, to: string] {
  if (typeof from !== 'string' || typeof to !== 'string') return [valueText(from), valueText(to)];
  const start = Math.max(0, firstDifference(from, to) - leadMax);
  const [one = '', other = ''] = [from, to].map((text) =>
    foldOf(text.slice(start, start + visibleMax)),
  );
  // When both are cut, one may show fewer characters for the same number of units.
  const goOn = Math.min(from.length, to.length) > start + visibleMax;
  const isAlike = one === other || (goOn && (one.startsWith(other) || other.startsWith(one)));
  const hidden = isAlike ? beyondAscii : unseen;
  const same = commonEnd(from, to);
  return [textFrom(from, start, hidden, same), textFrom(to, start, hidden, same)];
}

/** Escapes invisible characters in an external text such as a key. */
export function escapeInvisible(text: string): string {
  return spelt(text, unseen);
}

/** @param same units at the end that both texts of a pair share; infinite without a pair */
function textFrom(value: SpecJson, start: number, hidden: RegExp, same = Infinity): string {
  if (isReference(value)) return spelt(value.$ref, hidden);
  if (isSecret(value)) return spelt(`(secret ${value.$secret})`, hidden);
  if (typeof value !== 'string') return spelt(JSON.stringify(value), hidden);
  if (value.length <= visibleMax) {
    const text = spelt(JSON.stringify(value), hidden);
    if (text.length <= visibleMax) return text;
  }
  const part = spelt(JSON.stringify(value.slice(start, start + visibleMax)).slice(1, -1), hidden);
  const isCut = start + visibleMax < value.length || part.length > visibleMax;
  const inside = `${start > 0 ? '…' : ''}${part.slice(0, visibleMax)}${isCut ? '…' : ''}`;
  const lastDifference = value.length - same;
  const isFurther =
    lastDifference > start + visibleMax || (part.length > visibleMax && same < Infinity);
  const further = isFurther ? `, last difference at ${lastDifference}` : '';
  return `"${inside}" (${value.length} characters${further})`;
}

/** Returns the index of the first differing UTF-16 unit; half surrogate pairs are escaped. */
function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

/** Returns the number of equal UTF-16 units at the end. */
function commonEnd(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one.at(-1 - count) === other.at(-1 - count)) count += 1;
  return count;
}

/**
 * Reduces a text to what the eye distinguishes: no marks, compatibility forms or invisible
 * characters.
 */
function foldOf(text: string): string {
  return text.normalize('NFKD').replace(/[\p{M}\p{C}\p{Z}]/gu, '');
}

function spelt(text: string, hidden: RegExp): string {
  return text.replace(hidden, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}
