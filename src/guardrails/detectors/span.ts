/** Defines the places that detectors find in a text, and searches long texts piece by piece. */
import type { Slices } from '../../slices.ts';

/** A place in a text, in UTF-16 code units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Name of the category or rule: `EMAIL_ADDRESS`, `aws-access-token`. */
  readonly label: string;
}

/** Finds places in a short text. */
export type SpanFinder = (text: string) => readonly Span[];

/** Finds places in a text of any length. The spans are sorted and do not overlap. */
export type SpanSearch = (text: string) => Slices<readonly Span[]>;

/** Characters that are searched between two interruptions. */
const pieceCharacters = 8 * 1024;

/** {@link searchInPieces} with short pieces, for a finder that cannot be interrupted. */
export function findInPieces(text: string, margin: number, find: SpanFinder): Slices<Span[]> {
  return searchInPieces(text, { length: pieceCharacters, margin }, function* (piece) {
    yield;
    return find(piece);
  });
}

export interface PieceSize {
  /** Characters of a piece without its margins. */
  readonly length: number;
  /** Characters before and after each piece that are searched with it. */
  readonly margin: number;
}

/**
 * Searches a text in pieces. A match that is longer than the margin can be missed at the border of two
 * pieces. The spans are sorted and do not overlap.
 */
export function* searchInPieces(
  text: string,
  { length, margin }: PieceSize,
  search: SpanSearch,
): Slices<Span[]> {
  if (text.length <= length + margin) return withoutOverlaps(yield* search(text));
  const separate: Span[] = [];
  for (let at = 0; at < text.length; at += length) {
    if (at > 0) yield;
    const from = Math.max(0, at - margin);
    const found = yield* search(text.slice(from, at + length + margin));
    const own = found.filter(({ start }) => start + from >= at && start + from < at + length);
    // Starts of further pieces come after those of this one.
    for (const { start, end, label } of inOrder(own)) {
      addSeparate(separate, { start: start + from, end: end + from, label });
    }
  }
  return separate;
}

/** Sorts spans by start. The longer one of two that overlap remains. */
export function withoutOverlaps(spans: readonly Span[]): Span[] {
  const separate: Span[] = [];
  for (const span of inOrder(spans)) addSeparate(separate, span);
  return separate;
}

function inOrder(spans: readonly Span[]): Span[] {
  return spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
}

/** Adds a span that starts no earlier than the last one. */
function addSeparate(separate: Span[], span: Span): void {
  const last = separate.at(-1);
  if (last === undefined || span.start >= last.end) separate.push(span);
  else if (span.end - span.start > last.end - last.start) separate[separate.length - 1] = span;
}

/** Spans that are replaced between two interruptions. */
const interruptedSpans = 2_000;

/** Replaces each span; the spans are sorted and do not overlap. */
export function* replaceSpans(
  text: string,
  spans: readonly Span[],
  replacementOf: (span: Span) => string,
): Slices<string> {
  const chunks: string[] = [];
  let parts: string[] = [];
  let at = 0;
  for (const span of spans) {
    parts.push(text.slice(at, span.start), replacementOf(span));
    at = span.end;
    if (parts.length < 2 * interruptedSpans) continue;
    chunks.push(parts.join(''));
    parts = [];
    yield;
  }
  return chunks.join('') + parts.join('') + text.slice(at);
}
