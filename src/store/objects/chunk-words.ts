/** Counts the words of a query in stored chunks and ranks the chunks by them (BM25), inside the database. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { RankedChunk } from './vector-chunks.ts';
import type { StoreKey } from './vector-store-files.ts';

/** Statistics of the searched chunks. */
export interface WordCounts {
  /** Characters of all chunks. */
  readonly chars: number;
  /** Number of chunks that contain each word. */
  readonly chunks: readonly number[];
}

/** The weight of each word, and the average length of a chunk in characters. */
export interface WordWeights {
  readonly weights: readonly number[];
  readonly usualChars: number;
}

/** `words` are in lower case; `fileIds` belong to one store. */
export async function countWords(
  db: Db,
  store: StoreKey,
  fileIds: readonly string[],
  words: readonly string[],
): Promise<WordCounts> {
  const counts = words.map(
    (word) => sql`, SUM(LOCATE(${word}, ${text}) > 0) AS ${nameOf(word, words)}`,
  );
  const { rows } = await sql<Record<string, number | string | null>>`
    SELECT SUM(CHAR_LENGTH(content)) AS chars${sql.join(counts, sql``)}
    FROM vector_chunks WHERE ${among(store, fileIds)}`.execute(db);
  const [row] = rows;
  return {
    chars: Number(row?.chars ?? 0),
    chunks: words.map((_, at) => Number(row?.[`word_${at}`] ?? 0)),
  };
}

/** The usual BM25 parameters k1 (saturation of repeated words) and b (weight of the chunk's length). */
const [saturation, lengthPart] = [1.2, 0.75];

/** Chunks with at least one of the words, best first. */
export async function listByWords(
  db: Db,
  store: StoreKey,
  fileIds: readonly string[],
  words: readonly string[],
  { weights, usualChars, limit }: WordWeights & { readonly limit: number },
): Promise<RankedChunk[]> {
  const length = sql`(${1 - lengthPart} + ${lengthPart} * CHAR_LENGTH(content) / ${usualChars})`;
  const scores = words.map((word, at) => {
    const count = sql`((CHAR_LENGTH(${text}) - CHAR_LENGTH(REPLACE(${text}, ${word}, ''))) / CHAR_LENGTH(${word}))`;
    return sql`${weights[at]} * ${count} / (${count} + ${saturation} * ${length})`;
  });
  const { rows } = await sql<RankedChunk>`
    SELECT file_id, number, ${sql.join(scores, sql` + `)} AS score
    FROM vector_chunks WHERE ${among(store, fileIds)}
      AND (${sql.join(
        words.map((word) => sql`LOCATE(${word}, ${text}) > 0`),
        sql` OR `,
      )})
    ORDER BY score DESC, file_id, number LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({ ...row, score: Number(row.score) }));
}

const text = sql`LOWER(content)`;

function nameOf(word: string, words: readonly string[]): RawBuilder<unknown> {
  return sql.ref(`word_${words.indexOf(word)}`);
}

function among(
  { organisationId, vectorStoreId }: StoreKey,
  fileIds: readonly string[],
): RawBuilder<unknown> {
  return sql`organisation_id = ${organisationId} AND vector_store_id = ${vectorStoreId}
    AND file_id IN (${sql.join(fileIds)})`;
}
