/** Knows how a value is shown on one line: whole, or cut so that what differs stays in sight. */
import type { Json } from '../resources/resource-set.ts';
import { isReference, isSecret } from '../resources/spec-paths.ts';

/** Characters of a line's value, spelt out; more would hide the other lines. */
const shownMax = 240;
/** Characters before the first difference; fewer than are shown even where each is spelt out. */
const leadMax = 24;

/** Nothing that could be taken for another character, or for none, or that a terminal obeys. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const beyondAscii = /[^\u0020-\u007e]/gu;

/** A value as JSON, a reference by name, a secret by origin; a long text from its beginning. */
export function valueText(value: Json): string {
  return textFrom(value, 0, unseen);
}

/**
 * Two values that differ, so that what is shown of them differs: both from shortly before the first
 * difference, with the place of the last where that is not shown, and letter by letter where the two
 * look alike.
 */
export function pairText(from: Json, to: Json): [from: string, to: string] {
  if (typeof from !== 'string' || typeof to !== 'string') return [valueText(from), valueText(to)];
  const start = Math.max(0, firstDifference(from, to) - leadMax);
  const [one = '', other = ''] = [from, to].map((text) =>
    foldOf(text.slice(start, start + shownMax)),
  );
  // Where both go on, one may have come less far in as many units.
  const goOn = Math.min(from.length, to.length) > start + shownMax;
  const isAlike = one === other || (goOn && (one.startsWith(other) || other.startsWith(one)));
  const hidden = isAlike ? beyondAscii : unseen;
  const same = commonEnd(from, to);
  return [textFrom(from, start, hidden, same), textFrom(to, start, hidden, same)];
}

/** Text from elsewhere, such as a key, with what cannot be seen spelt out. */
export function seen(text: string): string {
  return spelt(text, unseen);
}

/** @param same units at the end that the other text of a pair has, too; all of them where there is none */
function textFrom(value: Json, start: number, hidden: RegExp, same = Infinity): string {
  if (isReference(value)) return spelt(value.$ref, hidden);
  if (isSecret(value)) return spelt(`(secret ${value.$secret})`, hidden);
  if (typeof value !== 'string') return spelt(JSON.stringify(value), hidden);
  if (value.length <= shownMax) {
    const text = spelt(JSON.stringify(value), hidden);
    if (text.length <= shownMax) return text;
  }
  const part = spelt(JSON.stringify(value.slice(start, start + shownMax)).slice(1, -1), hidden);
  const isCut = start + shownMax < value.length || part.length > shownMax;
  const inside = `${start > 0 ? '…' : ''}${part.slice(0, shownMax)}${isCut ? '…' : ''}`;
  const lastDifference = value.length - same;
  const isFurther =
    lastDifference > start + shownMax || (part.length > shownMax && same < Infinity);
  const further = isFurther ? `, last difference at ${lastDifference}` : '';
  return `"${inside}" (${value.length} characters${further})`;
}

/** Of the first UTF-16 unit in which they differ; halves of characters are spelt out. */
function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

/** UTF-16 units at the end that are the same. */
function commonEnd(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one.at(-1 - count) === other.at(-1 - count)) count += 1;
  return count;
}

/** What is left of a text for the eye: marks, forms and what is unseen count for nothing. */
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
