/** Knows how chunks are ranked by the words of a question, and how that goes together with what they mean. */
import type { HybridWeights } from '../../model/objects/vector-store.ts';
import type { Db } from '../../store/connection/db.ts';
import * as chunkWords from '../../store/objects/chunk-words.ts';
import type { StorePlace } from '../../store/objects/vector-store-files.ts';
import { best, type Nearest } from './nearest.ts';
import type { SearchedFile } from './store-contents.ts';

/** Of one question; more say no more. */
const wordsMax = 16;
/** That one statement looks through, of some kilobytes each. */
const statementChunksMax = 10_000;
/** Of each ranking as many go together. */
export const rankedMax = 100;
/** So that who comes first in one ranking does not outdo who comes second in both. */
const rankOffset = 60;

/** For one question, best first: all chunks of the files that have any of its words, by BM25. */
export async function rankByWords(
  db: Db,
  place: StorePlace,
  files: readonly SearchedFile[],
  question: string,
): Promise<Nearest[]> {
  const words = wordsIn(question);
  if (words.length === 0) return [];
  const groups = groupsOf(files);
  const counted = { chars: 0, chunks: words.map(() => 0) };
  for (const { ids } of groups) {
    const { chars, chunks } = await chunkWords.countWords(db, place, ids, words);
    counted.chars += chars;
    counted.chunks = counted.chunks.map((count, at) => count + chunks[at]!);
  }
  const all = files.reduce((sum, { chunks }) => sum + chunks, 0);
  const weights = counted.chunks.map((count) =>
    Math.log(1 + Math.max(0, all - count + 0.5) / (count + 0.5)),
  );
  const terms = { weights, usualChars: Math.max(1, counted.chars / all), limit: rankedMax };
  let found: Nearest[] = [];
  for (const { ids, from } of groups) {
    const places = new Map(ids.map((id, at) => [id, from + at]));
    const rows = await chunkWords.listByWords(db, place, ids, words, terms);
    const ranked = rows.map(({ file_id, number, score }): Nearest => {
      return { matrix: places.get(file_id)!, row: number, score };
    });
    found = best([...found, ...ranked], rankedMax);
  }
  return found;
}

/** Those that make up a question, in small letters, each once; of scripts without spaces every two letters. */
function wordsIn(question: string): string[] {
  const runs = question.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  const words = runs.flatMap((run) => {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(run)) {
      return [run];
    }
    const letters = [...run];
    return letters.length === 1 ? [run] : letters.slice(1).map((one, at) => letters[at] + one);
  });
  return [...new Set(words)].slice(0, wordsMax);
}

/** Files in their order, as many together as one statement takes, and one at least. */
function groupsOf(files: readonly SearchedFile[]): { ids: string[]; from: number }[] {
  const groups: { ids: string[]; from: number }[] = [];
  let chunks = Number.POSITIVE_INFINITY;
  for (const [at, file] of files.entries()) {
    if (chunks + file.chunks > statementChunksMax) {
      groups.push({ ids: [], from: at });
      chunks = 0;
    }
    groups.at(-1)!.ids.push(file.id);
    chunks += file.chunks;
  }
  return groups;
}

/**
 * Both rankings of one question as one, by reciprocal rank: 1 for who comes first in all that count, and
 * the less the further behind.
 */
export function fused(
  meaning: readonly Nearest[],
  words: readonly Nearest[],
  { embedding_weight, text_weight }: HybridWeights,
): Nearest[] {
  const whole = (embedding_weight + text_weight) / (rankOffset + 1);
  const byChunk = new Map<string, Nearest>();
  for (const [ranking, weight] of [
    [meaning, embedding_weight],
    [words, text_weight],
  ] as const) {
    for (const [rank, { matrix, row }] of ranking.entries()) {
      const key = `${matrix}/${row}`;
      const before = byChunk.get(key)?.score ?? 0;
      const score = before + weight / (rankOffset + 1 + rank) / whole;
      if (score > 0) byChunk.set(key, { matrix, row, score });
    }
  }
  return [...byChunk.values()];
}
