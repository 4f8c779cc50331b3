/** Knows how a value is shown on one line: whole, or cut so that what differs stays in sight. */
import type { Json } from '../spec/resource-set.ts';
import { isReference, isSecret } from '../spec/spec-paths.ts';

/** Characters of a value that are shown; more would hide the other lines. */
const shownMax = 160;
/** Characters before the first difference. */
const leadMax = 24;

/** Nothing that could be taken for another character, or for none, or that a terminal obeys. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const beyondAscii = /[^\u0020-\u007e]/gu;

/** A value as JSON, a reference by name, a secret by origin. Cut in the middle of nothing: at its end. */
export function valueText(value: Json): string {
  return spelt(shown(value, 0), unseen);
}

/**
 * Two values that differ, so that what is shown of them differs: both from shortly before the first
 * difference, and letter by letter where the two look alike.
 */
export function pairText(from: Json, to: Json): [from: string, to: string] {
  if (typeof from !== 'string' || typeof to !== 'string') return [valueText(from), valueText(to)];
  const start = Math.max(0, firstDifference(from, to) - leadMax);
  const hidden = foldOf(from) === foldOf(to) ? beyondAscii : unseen;
  return [spelt(shown(from, start), hidden), spelt(shown(to, start), hidden)];
}

/** Text from elsewhere, such as a key, with what cannot be seen spelt out. */
export function seen(text: string): string {
  return spelt(text, unseen);
}

function shown(value: Json, start: number): string {
  if (isReference(value)) return value.$ref;
  if (isSecret(value)) return `(secret ${value.$secret})`;
  if (typeof value !== 'string') return JSON.stringify(value);
  if (value.length <= shownMax) return JSON.stringify(value);
  const end = start + shownMax;
  const head = start > 0 ? '…' : '';
  const tail = end < value.length ? '…' : '';
  const part = JSON.stringify(value.slice(start, end)).slice(1, -1);
  return `"${head}${part}${tail}" (${value.length} characters)`;
}

/** Of the first UTF-16 unit in which they differ; halves of characters are spelt out. */
function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
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
