/** Knows the vector_chunks table: pieces of texts, with what each means as numbers. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { isDenied } from '../connection/denied.ts';
import type { FilePlace, StorePlace } from './vector-store-files.ts';

interface VectorChunkRow {
  organisation_id: string;
  vector_store_id: string;
  file_id: string;
  /** From 0, in the order of the text. */
  number: number;
  content: string;
  /** 32-bit numbers, lowest byte first, of length 1 together. */
  embedding: Buffer;
}

declare module '../connection/db.ts' {
  interface Tables {
    vector_chunks: VectorChunkRow;
  }
}

export async function insert(tx: Db, rows: readonly VectorChunkRow[]): Promise<void> {
  await tx.insertInto('vector_chunks').values(rows).execute();
}

/** Embeddings that are read by one statement. */
export const pageRows = 500;

/** Of a column of bytes or of the type of MySQL for vectors, which its clients would make lists of. */
const bytes = sql<Buffer>`CAST(embedding AS BINARY)`.as('embedding');

/** All embeddings of a file in the order of its text, as they lie in the table: {@link pageRows} at a time, one after the other. */
export async function* readEmbeddings(db: Db, place: FilePlace): AsyncGenerator<Buffer> {
  for (let from = 0; ; from += pageRows) {
    const rows = await ofFile(db, place)
      .select(bytes)
      .where('number', '>=', from)
      .orderBy('number')
      .limit(pageRows)
      .execute();
    yield Buffer.concat(rows.map(({ embedding }) => embedding));
    if (rows.length < pageRows) return;
  }
}

/** Those of several files that have {@link pageRows} together at most; none of a file that is gone. */
export async function listEmbeddings(
  db: Db,
  place: StorePlace,
  fileIds: readonly string[],
): Promise<Map<string, Buffer>> {
  const rows = await ofFiles(db, place, fileIds)
    .select(['file_id', bytes])
    .orderBy('file_id')
    .orderBy('number')
    .execute();
  const read = Map.groupBy(rows, ({ file_id }) => file_id);
  const whole = [...read].map(([id, own]): [string, Buffer] => [
    id,
    Buffer.concat(own.map(({ embedding }) => embedding)),
  ]);
  return new Map(whole);
}

/** One piece of text by what it means, as near to a question as `score` says. */
export interface RankedChunk {
  readonly file_id: string;
  readonly number: number;
  /** Cosine. */
  readonly score: number;
}

/** Whether the engine says how near embeddings are to one another, as MariaDB does from 11.7 on. */
export async function canRank(db: Db): Promise<boolean> {
  try {
    await sql`SELECT VEC_DISTANCE_COSINE(VEC_FromText('[1]'), VEC_FromText('[1]'))`.execute(db);
    return true;
  } catch (error) {
    if (isUnknownFunction(error)) return false;
    throw error;
  }
}

/** A user who may call no functions of others is told that, instead. */
function isUnknownFunction(error: unknown): boolean {
  const isUnknown = error instanceof Error && 'errno' in error && error.errno === 1305;
  return isUnknown || isDenied(error);
}

/** The nearest of those files, the best first; only where the engine {@link canRank}. */
export async function listNearest(
  db: Db,
  place: StorePlace,
  fileIds: readonly string[],
  { query, limit, scoreMin }: { query: Buffer; limit: number; scoreMin: number },
): Promise<RankedChunk[]> {
  // Null for an embedding of zeros, which has no direction.
  const score = sql<number>`COALESCE(1 - VEC_DISTANCE_COSINE(embedding, ${query}), 0)`;
  return ofFiles(db, place, fileIds)
    .select(['file_id', 'number', score.as('score')])
    .having(sql.ref('score'), '>=', scoreMin)
    .orderBy('score', 'desc')
    .limit(limit)
    .execute();
}

const ofFiles = (db: Db, { organisationId, vectorStoreId }: StorePlace, ids: readonly string[]) =>
  db
    .selectFrom('vector_chunks')
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', '=', vectorStoreId)
    .where('file_id', 'in', ids);

const ofFile = (db: Db, { organisationId, vectorStoreId, id }: FilePlace) =>
  db
    .selectFrom('vector_chunks')
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', '=', vectorStoreId)
    .where('file_id', '=', id);

/** Texts of a file in their order. */
export async function listContents(db: Db, place: FilePlace): Promise<string[]> {
  const rows = await ofFile(db, place).select('content').orderBy('number').execute();
  return rows.map(({ content }) => content);
}

/** One piece of text; which is gone where its file was deleted. */
export type ChunkText = Pick<VectorChunkRow, 'file_id' | 'number' | 'content'>;

export async function listTexts(
  db: Db,
  { organisationId, vectorStoreId }: StorePlace,
  chunks: readonly { readonly fileId: string; readonly number: number }[],
): Promise<ChunkText[]> {
  if (chunks.length === 0) return [];
  return db
    .selectFrom('vector_chunks')
    .select(['file_id', 'number', 'content'])
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', '=', vectorStoreId)
    .where((eb) =>
      eb.or(
        chunks.map(({ fileId, number }) => eb('file_id', '=', fileId).and('number', '=', number)),
      ),
    )
    .execute();
}
