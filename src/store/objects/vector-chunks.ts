/** Table functions for vector_chunks: pieces of texts with their embeddings. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { isDenied } from '../connection/denied.ts';
import { rows } from '../rows/rows.ts';
import type { StoreFileKey, StoreKey } from './vector-store-files.ts';

interface VectorChunkRow {
  organisation_id: string;
  vector_store_id: string;
  file_id: string;
  /** From 0, in the order of the text. */
  number: number;
  content: string;
  /** 32-bit floats, little-endian; a unit vector. */
  embedding: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    vector_chunks: VectorChunkRow;
  }
}

const table = rows('vector_chunks');

export const { insertMany: insert } = table;

/** Embeddings read by one statement. */
export const pageRows = 500;

/** The column is binary, or MySQL's vector type, which the driver would otherwise return as a list. */
const bytes = sql<Buffer>`CAST(embedding AS BINARY)`.as('embedding');

/** All embeddings of a file in the order of its text, in batches of {@link pageRows}, as stored bytes. */
export async function* readEmbeddings(db: Db, key: StoreFileKey): AsyncGenerator<Buffer> {
  for (let from = 0; ; from += pageRows) {
    const found = await ofFile(db, key)
      .select(bytes)
      .where('number', '>=', from)
      .orderBy('number')
      .limit(pageRows)
      .execute();
    yield Buffer.concat(found.map(({ embedding }) => embedding));
    if (found.length < pageRows) return;
  }
}

/** Embeddings by file, for files with at most {@link pageRows} chunks in total. Deleted files are absent. */
export async function listEmbeddings(
  db: Db,
  store: StoreKey,
  fileIds: readonly string[],
): Promise<Map<string, Buffer>> {
  const found = await ofFiles(db, store, fileIds)
    .select(['file_id', bytes])
    .orderBy('file_id')
    .orderBy('number')
    .execute();
  const byFile = Map.groupBy(found, ({ file_id }) => file_id);
  const joined = [...byFile].map(([id, own]): [string, Buffer] => [
    id,
    Buffer.concat(own.map(({ embedding }) => embedding)),
  ]);
  return new Map(joined);
}

/** A chunk and its similarity to a query. */
export interface RankedChunk {
  readonly file_id: string;
  readonly number: number;
  /** Cosine similarity. */
  readonly score: number;
}

/** Whether the database computes vector distances, as MariaDB does since 11.7. */
export async function canRank(db: Db): Promise<boolean> {
  try {
    await sql`SELECT VEC_DISTANCE_COSINE(VEC_FromText('[1]'), VEC_FromText('[1]'))`.execute(db);
    return true;
  } catch (error) {
    if (isUnknownFunction(error)) return false;
    throw error;
  }
}

/** A user without the privilege to call functions gets an access error instead. */
function isUnknownFunction(error: unknown): boolean {
  const isUnknown = error instanceof Error && 'errno' in error && error.errno === 1305;
  return isUnknown || isDenied(error);
}

/** The most similar chunks of these files, best first. Requires {@link canRank}. */
export async function listNearest(
  db: Db,
  store: StoreKey,
  fileIds: readonly string[],
  { query, limit, scoreMin }: { query: Buffer; limit: number; scoreMin: number },
): Promise<RankedChunk[]> {
  // The distance is null for an embedding of zeros.
  const score = sql<number>`COALESCE(1 - VEC_DISTANCE_COSINE(embedding, ${query}), 0)`;
  return ofFiles(db, store, fileIds)
    .select(['file_id', 'number', score.as('score')])
    .having(sql.ref('score'), '>=', scoreMin)
    .orderBy('score', 'desc')
    .limit(limit)
    .execute();
}

const inStore = ({ organisationId, vectorStoreId }: StoreKey) => ({
  organisation_id: organisationId,
  vector_store_id: vectorStoreId,
});

const ofFiles = (db: Db, store: StoreKey, ids: readonly string[]) =>
  table.matching(db, { ...inStore(store), file_id: ids });

const ofFile = (db: Db, key: StoreFileKey) =>
  table.matching(db, { ...inStore(key), file_id: key.id });

/** Texts of a file's chunks in their order. */
export async function listContents(db: Db, key: StoreFileKey): Promise<string[]> {
  const found = await ofFile(db, key).select('content').orderBy('number').execute();
  return found.map(({ content }) => content);
}

/** Text of a chunk. */
export type ChunkText = Pick<VectorChunkRow, 'file_id' | 'number' | 'content'>;

/** Texts of the chunks that still exist. */
export async function listTexts(
  db: Db,
  store: StoreKey,
  chunks: readonly { readonly fileId: string; readonly number: number }[],
): Promise<ChunkText[]> {
  if (chunks.length === 0) return [];
  return table
    .matching(db, inStore(store))
    .select(['file_id', 'number', 'content'])
    .where((eb) =>
      eb.or(
        chunks.map(({ fileId, number }) => eb('file_id', '=', fileId).and('number', '=', number)),
      ),
    )
    .execute();
}
