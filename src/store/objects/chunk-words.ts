/** Knows how the database counts the words of a question in chunks, and ranks those by them. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { RankedChunk } from './vector-chunks.ts';
import type { StorePlace } from './vector-store-files.ts';

/** What is known of the chunks that are searched. */
export interface WordCounts {
  /** Characters of all of them. */
  readonly chars: number;
  /** In how many of them each of the words stands. */
  readonly chunks: readonly number[];
}

/** How much a word counts, and the usual length of a chunk in characters. */
export interface WordWeights {
  readonly weights: readonly number[];
  readonly usualChars: number;
}

/** Words in small letters; `fileIds` of one store. */
export async function countWords(
  db: Db,
  place: StorePlace,
  fileIds: readonly string[],
  words: readonly string[],
): Promise<WordCounts> {
  const counts = words.map(
    (word) => sql`, SUM(LOCATE(${word}, ${text}) > 0) AS ${nameOf(word, words)}`,
  );
  const { rows } = await sql<Record<string, number | string | null>>`
    SELECT SUM(CHAR_LENGTH(content)) AS chars${sql.join(counts, sql``)}
    FROM vector_chunks WHERE ${among(place, fileIds)}`.execute(db);
  const [row] = rows;
  return {
    chars: Number(row?.chars ?? 0),
    chunks: words.map((_, at) => Number(row?.[`word_${at}`] ?? 0)),
  };
}

/** Usual values: how soon more of a word is no more, and how much longer chunks have to have more of it. */
const [saturation, lengthPart] = [1.2, 0.75];

/** Best first; none that has none of the words. */
export async function listByWords(
  db: Db,
  place: StorePlace,
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
    FROM vector_chunks WHERE ${among(place, fileIds)}
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
  { organisationId, vectorStoreId }: StorePlace,
  fileIds: readonly string[],
): RawBuilder<unknown> {
  return sql`organisation_id = ${organisationId} AND vector_store_id = ${vectorStoreId}
    AND file_id IN (${sql.join(fileIds)})`;
}
