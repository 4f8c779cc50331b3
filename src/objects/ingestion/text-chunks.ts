/** Knows how a text is cut into chunks that a model embeds: of so many tokens, each with the end of the one before. */
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';

export interface ChunkSizes {
  /** From 100 to 4,096. */
  readonly tokensMax: number;
  /** Of the chunk before, at most half of `tokensMax`. */
  readonly overlapTokens: number;
}

/**
 * Words with the space before them. What has no spaces is cut, so that hardly a piece has more tokens than the
 * smallest chunk may have, and so that the tokenizer, whose time grows with the square of a word, stays fast.
 */
const pieces = /\s{0,24}\S{1,24}|\s{1,24}/gu;
/** Markers that models know are text like any other here. */
const asText = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };
const knownMax = 50_000;

/** Texts of the chunks, which tell all of the text in its order; none for a text of spaces. */
export function textChunks(text: string, { tokensMax, overlapTokens }: ChunkSizes): string[] {
  const { ends, tokens } = measured(text);
  const chunks: string[] = [];
  let first = 0;
  while (first < ends.length) {
    let next = first;
    let total = 0;
    // One at least: a piece of rare letters and rare spaces may have more.
    do total += tokens[next++]!;
    while (next < ends.length && total + tokens[next]! <= tokensMax);
    const chunk = text.slice(first === 0 ? 0 : ends[first - 1], ends[next - 1]).trim();
    if (chunk !== '') chunks.push(chunk);
    if (next === ends.length) break;
    first = backBy(overlapTokens, tokens, first, next);
  }
  return chunks;
}

/** The piece that the next chunk begins with: at least one further than this one did. */
function backBy(overlap: number, tokens: readonly number[], first: number, next: number): number {
  let at = next;
  let total = 0;
  while (at - 1 > first && total + tokens[at - 1]! <= overlap) total += tokens[--at]!;
  return at;
}

/** Where each piece of the text ends, and how many tokens it has. */
function measured(text: string): { readonly ends: number[]; readonly tokens: number[] } {
  const known = new Map<string, number>();
  const ends: number[] = [];
  const tokens: number[] = [];
  for (const { 0: piece, index } of text.matchAll(pieces)) {
    let count = known.get(piece);
    if (count === undefined) {
      count = countTokens(piece, asText);
      if (known.size < knownMax) known.set(piece, count);
    }
    ends.push(index + piece.length);
    tokens.push(count);
  }
  return { ends, tokens };
}
