/** Undoes spellings that hide a text from detectors, and maps places back to the original text. */
import type { Slices } from '../../slices.ts';

/** A text in which hidden characters are removed and look-alikes replaced. */
export interface FoldedText {
  readonly text: string;
  /** Maps a start or an end in the folded text to the original one. */
  readonly startOf: (at: number) => number;
  readonly endOf: (at: number) => number;
}

/** Zero-width, soft hyphen, direction marks, variation selectors and tag characters. */
const hiddenCharacters =
  '\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180e\\u200b-\\u200f\\u202a-\\u202e' +
  '\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\u{e0000}-\\u{e0fff}';
/** Digits of all scripts, letters and digits in compatibility forms, wide blanks and dashes. */
const variants =
  '\\p{Nd}\\u00a0\\u00aa\\u00b2\\u00b3\\u00b9\\u00ba\\u2000-\\u200a\\u2010-\\u2015\\u202f\\u205f\\u2070-\\u209c' +
  '\\u2100-\\u214f\\u2212\\u2460-\\u24ff\\u3000\\ufe10-\\ufe6f\\uff01-\\uff5e\\u{1d400}-\\u{1d7ff}\\u{1f100}-\\u{1f189}';
const foldable = new RegExp(`[[${hiddenCharacters}${variants}]--[0-9]]`, 'gv');
const hidden = new RegExp(`[${hiddenCharacters}]`, 'v');
const dash = /[\u2010-\u2015\u2212]/u;

/**
 * Removes hidden characters and replaces compatibility forms (NFKC), digits of other scripts and typographic
 * dashes. Texts without any of these, which are almost all, are returned unchanged.
 */
export function foldText(text: string): FoldedText {
  if (!/[^\0-\x7f]/.test(text) || text.search(foldable) === -1) return unfolded(text);
  return fold(text, foldable, foldCharacter);
}

/** Characters of a long text that are folded between two interruptions. */
const partCharacters = 64 * 1024;

/** {@link foldText} that can be interrupted. */
export function* foldLongText(text: string): Slices<FoldedText> {
  if (text.length <= partCharacters) return foldText(text);
  const parts: FoldedPart[] = [];
  const texts: string[] = [];
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const end = endOfPart(text, at);
    const folded = foldText(text.slice(at, end));
    parts.push({ folded, originalStart: at, foldedStart: length });
    texts.push(folded.text);
    length += folded.text.length;
    at = end;
    yield;
  }
  const partAt = (place: number): FoldedPart =>
    parts.findLast(({ foldedStart }) => foldedStart <= place) ?? parts[0]!;
  return {
    text: texts.join(''),
    startOf: (place) => {
      const { folded, originalStart, foldedStart } = partAt(place);
      return originalStart + folded.startOf(place - foldedStart);
    },
    endOf: (place) => {
      const { folded, originalStart, foldedStart } = partAt(place - 1);
      return originalStart + folded.endOf(place - foldedStart);
    },
  };
}

interface FoldedPart {
  readonly folded: FoldedText;
  readonly originalStart: number;
  readonly foldedStart: number;
}

/** Splits no surrogate pair. */
function endOfPart(text: string, start: number): number {
  const end = start + partCharacters;
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end + 1 : end;
}

interface Edit {
  readonly originalStart: number;
  readonly originalEnd: number;
  readonly foldedStart: number;
  readonly foldedEnd: number;
}

/** Replaces each match of a global pattern, and records the places. */
function fold(text: string, pattern: RegExp, replacementOf: (match: string) => string): FoldedText {
  const edits: Edit[] = [];
  let folded = '';
  let at = 0;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    folded += text.slice(at, index);
    const replacement = replacementOf(match);
    at = index + match.length;
    edits.push({
      originalStart: index,
      originalEnd: at,
      foldedStart: folded.length,
      foldedEnd: folded.length + replacement.length,
    });
    folded += replacement;
  }
  folded += text.slice(at);
  return {
    text: folded,
    startOf: (place) => originalPlace(edits, place, 'start'),
    endOf: (place) => originalPlace(edits, place, 'end'),
  };
}

function unfolded(text: string): FoldedText {
  const same = (at: number): number => at;
  return { text, startOf: same, endOf: same };
}

/** A place within a replacement is the start or the end of the replaced characters. */
function originalPlace(edits: readonly Edit[], place: number, side: 'start' | 'end'): number {
  let [low, high] = [0, edits.length];
  const isBefore = (edit: Edit): boolean =>
    side === 'start' ? edit.foldedEnd <= place : edit.foldedStart < place;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(edits[middle]!)) low = middle + 1;
    else high = middle;
  }
  const previous = edits[low - 1];
  const next = edits[low];
  if (side === 'start' && next !== undefined && next.foldedStart < place) {
    return next.originalStart;
  }
  if (previous === undefined) return place;
  if (side === 'end' && place <= previous.foldedEnd) return previous.originalEnd;
  return previous.originalEnd + (place - previous.foldedEnd);
}

function foldCharacter(character: string): string {
  if (hidden.test(character)) return '';
  if (dash.test(character)) return '-';
  const plain = character.normalize('NFKC');
  return /^\p{Nd}$/u.test(plain) ? String(digitOf(plain)) : plain;
}

/** The digits of each script are ten consecutive code points; two scripts may follow one another. */
function digitOf(digit: string): number {
  const code = digit.codePointAt(0)!;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return (code - first) % 10;
}
