/** Splits texts at the limits of services, and combines the changes of the pieces. */
import type { SelectedText, ServiceSpan, TextChange, TextLimit } from './remote-service.ts';

/** Part of the limit by which pieces of a joined text overlap, so that nothing hides at a border. */
const overlapShare = 0.05;
const overlapMax = 500;
/** Part of a piece at its end in which a blank is preferred as the border. */
const borderShare = 0.1;

/** Splits a text into pieces that overlap; a text within the limit is one piece. */
export function splitSelected(selected: SelectedText, limit: TextLimit): SelectedText[] {
  const { text, passage, from } = selected;
  if (isWithin(text, limit)) return [selected];
  const overlap = Math.min(overlapMax, Math.floor(limit.max * overlapShare));
  const pieces: SelectedText[] = [];
  for (let start = 0; ; ) {
    const end = endOfPiece(text, start, limit);
    pieces.push({ text: text.slice(start, end), passage, from: from + start });
    if (end >= text.length) return pieces;
    start = withoutHalf(text, Math.max(start + 1, end - overlap));
  }
}

export function lengthIn({ unit }: TextLimit, text: string): number {
  return unit === 'bytes' ? Buffer.byteLength(text) : text.length;
}

function isWithin(text: string, limit: TextLimit): boolean {
  // Each code unit has at most three bytes.
  const isCertain = text.length <= (limit.unit === 'bytes' ? limit.max / 3 : limit.max);
  return isCertain || lengthIn(limit, text) <= limit.max;
}

function endOfPiece(text: string, start: number, { unit, max }: TextLimit): number {
  let end = Math.min(text.length, start + max);
  if (unit === 'bytes') {
    // Reduces the piece by the excess, which is too much only for texts with few bytes a character.
    for (;;) {
      const excess = Buffer.byteLength(text.slice(start, end)) - max;
      if (excess <= 0) break;
      end = Math.max(start + 1, end - Math.ceil(excess / 3));
    }
  }
  if (end === text.length) return end;
  const near = Math.floor((end - start) * borderShare);
  const blank = text.slice(end - near, end).search(/\s\S*$/);
  return withoutHalf(text, blank === -1 ? end : end - near + blank + 1);
}

/** The position, or the one before it if it would split a surrogate pair. */
function withoutHalf(text: string, at: number): number {
  const isHalf = at > 0 && at < text.length && /^[\uDC00-\uDFFF]/.test(text[at]!);
  return isHalf && /[\uD800-\uDBFF]/.test(text[at - 1]!) ? at - 1 : at;
}

/** Groups texts for requests: at most `textsMax` in one, and all of them within the limit. */
export function batchTexts(
  texts: readonly SelectedText[],
  limit: TextLimit,
  textsMax: number,
): SelectedText[][] {
  const batches: SelectedText[][] = [];
  let length = 0;
  for (const one of texts) {
    const added = lengthIn(limit, one.text);
    const latest = batches.at(-1);
    const isFull = latest === undefined || latest.length === textsMax;
    if (isFull || length + added > (limit.totalMax ?? limit.max)) {
      batches.push([one]);
      length = added;
    } else {
      latest.push(one);
      length += added;
    }
  }
  return batches;
}

/** A changed piece of a passage. */
export interface ChangedPiece {
  readonly piece: SelectedText;
  readonly change: TextChange;
}

/**
 * Applies the changes of the pieces of one passage. Null when they cannot be applied exactly: a service has
 * replaced the text of a piece that overlaps another one, or its spans are outside of the text.
 */
export function changePassage(text: string, changed: readonly ChangedPiece[]): string | null {
  const spans: ServiceSpan[] = [];
  for (const { piece, change } of changed) {
    if (change === null) continue;
    const { from } = piece;
    const to = from + piece.text.length;
    if ('text' in change) {
      const overlaps = changed.some(
        ({ piece: other }) =>
          other !== piece && other.from < to && other.from + other.text.length > from,
      );
      if (overlaps) return null;
      spans.push({ from, to, by: change.text });
      continue;
    }
    for (const span of change.spans) {
      if (!isInside(span, piece.text)) return null;
      spans.push({ from: from + span.from, to: from + span.to, by: span.by });
    }
  }
  return replaceSpans(text, spans);
}

/** Whether the span is a part of the text that splits no character. */
function isInside({ from, to }: ServiceSpan, text: string): boolean {
  const isRange = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && from < to;
  if (!isRange || to > text.length) return false;
  return withoutHalf(text, from) === from && withoutHalf(text, to) === to;
}

/** Spans that overlap are replaced together, by the text of the first one. */
function replaceSpans(text: string, spans: readonly ServiceSpan[]): string {
  const ordered = spans.toSorted((one, other) => one.from - other.from || other.to - one.to);
  let result = '';
  let end = 0;
  for (const { from, to, by } of ordered) {
    if (from >= end) result += text.slice(end, from) + by;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}
