/**
 * Ranks chunks by the words of a query and combines the ranking with that by embeddings. Written by hand:
 * BM25 is computed by the database, where the chunks are, and reciprocal rank fusion is one formula.
 */
import type { HybridWeights } from '../../model/objects/vector-store.ts';
import type { Db } from '../../store/connection/db.ts';
import * as chunkWords from '../../store/objects/chunk-words.ts';
import type { StoreKey } from '../../store/objects/vector-store-files.ts';
import { bestRows, type NearestRow } from './nearest.ts';
import type { ScannableFile } from './store-contents.ts';

/** Maximum words of one query; further words hardly change the ranking. */
const wordsMax = 16;
/** Chunks searched by one statement; each has some kilobytes. */
const statementChunksMax = 10_000;
/** Results of each ranking that are combined. */
export const rankingSize = 100;
/** Constant of reciprocal rank fusion: first in one ranking does not beat second in both. */
const rankOffset = 60;

/** Returns all chunks that contain a word of the query, by BM25, best first. */
export async function rankByWords(
  db: Db,
  place: StoreKey,
  files: readonly ScannableFile[],
  question: string,
): Promise<NearestRow[]> {
  const words = wordsIn(question);
  if (words.length === 0) return [];
  const groups = groupsOf(files);
  const totals = { chars: 0, chunks: words.map(() => 0) };
  for (const { ids } of groups) {
    const { chars, chunks } = await chunkWords.countWords(db, place, ids, words);
    totals.chars += chars;
    totals.chunks = totals.chunks.map((count, at) => count + chunks[at]!);
  }
  const all = files.reduce((sum, { chunks }) => sum + chunks, 0);
  const weights = totals.chunks.map((count) =>
    Math.log(1 + Math.max(0, all - count + 0.5) / (count + 0.5)),
  );
  const terms = { weights, usualChars: Math.max(1, totals.chars / all), limit: rankingSize };
  let results: NearestRow[] = [];
  for (const { ids, from } of groups) {
    const indexes = new Map(ids.map((id, at) => [id, from + at]));
    const rows = await chunkWords.listByWords(db, place, ids, words, terms);
    const ranked = rows.map(({ file_id, number, score }): NearestRow => {
      return { matrix: indexes.get(file_id)!, row: number, score };
    });
    results = bestRows([...results, ...ranked], rankingSize);
  }
  return results;
}

/** Distinct words of a query in lower case; for scripts without spaces, every pair of adjacent characters. */
function wordsIn(question: string): string[] {
  const runs = question.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  const words = runs.flatMap((run) => {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(run)) {
      return [run];
    }
    const letters = [...run];
    return letters.length === 1 ? [run] : letters.slice(1).map((next, at) => letters[at] + next);
  });
  return [...new Set(words)].slice(0, wordsMax);
}

/** Groups files in their order, as many as one statement searches, at least one. */
function groupsOf(files: readonly ScannableFile[]): { ids: string[]; from: number }[] {
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
 * Combines two rankings of one query by reciprocal rank fusion. The score is 1 for a chunk that is first
 * in every ranking that counts, and falls with its ranks.
 */
export function fuseRankings(
  meaning: readonly NearestRow[],
  words: readonly NearestRow[],
  { embedding_weight, text_weight }: HybridWeights,
): NearestRow[] {
  const whole = (embedding_weight + text_weight) / (rankOffset + 1);
  const byChunk = new Map<string, NearestRow>();
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
