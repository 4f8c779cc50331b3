/** Splits a text into chunks with a maximum number of tokens and an overlap. */
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';

export interface ChunkSizes {
  /** From 100 to 4,096. */
  readonly tokensMax: number;
  /** Tokens repeated from the previous chunk; at most half of `tokensMax`. */
  readonly overlapTokens: number;
}

/**
 * Matches words with the space before them. Long words are cut, so that hardly any piece has more tokens
 * than the smallest chunk, and because the tokenizer's time grows with the square of a word's length.
 */
const pieces = /\s{0,24}\S{1,24}|\s{1,24}/gu;
/** Treats special tokens of models as plain text. */
const asText = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
const cachedCountsMax = 50_000;

/** Returns the chunks, which together contain the whole text in order; none for a text of spaces. */
export function splitText(text: string, { tokensMax, overlapTokens }: ChunkSizes): string[] {
  const { ends, tokens } = measurePieces(text);
  const chunks: string[] = [];
  let first = 0;
  while (first < ends.length) {
    let next = first;
    let total = 0;
    // At least one piece; a piece of rare characters can exceed the limit.
    do total += tokens[next++]!;
    while (next < ends.length && total + tokens[next]! <= tokensMax);
    const chunk = text.slice(first === 0 ? 0 : ends[first - 1], ends[next - 1]).trim();
    if (chunk !== '') chunks.push(chunk);
    if (next === ends.length) break;
    first = overlapStart(overlapTokens, tokens, first, next);
  }
  return chunks;
}

/** The first piece of the next chunk, which is after the first piece of this chunk. */
function overlapStart(
  overlap: number,
  tokens: readonly number[],
  first: number,
  next: number,
): number {
  let at = next;
  let total = 0;
  while (at - 1 > first && total + tokens[at - 1]! <= overlap) total += tokens[--at]!;
  return at;
}

/** Computes the end and the number of tokens of each piece. */
function measurePieces(text: string): { readonly ends: number[]; readonly tokens: number[] } {
  const counts = new Map<string, number>();
  const ends: number[] = [];
  const tokens: number[] = [];
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    let count = counts.get(piece);
    if (count === undefined) {
      count = countTokens(piece, asText);
      if (counts.size < cachedCountsMax) counts.set(piece, count);
    }
    ends.push(index + piece.length);
    tokens.push(count);
  }
  return { ends, tokens };
}
