/** Knows the vector_chunks table: pieces of texts, with what each means as numbers. */
import type { Db } from '../connection/db.ts';
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

const pageRows = 500;

/** All embeddings of a file in the order of its text, as they lie in the table, one after the other. */
export async function readEmbeddings(db: Db, place: FilePlace): Promise<Buffer> {
  const read: Buffer[] = [];
  for (;;) {
    const rows = await ofFile(db, place)
      .select('embedding')
      .where('number', '>=', read.length)
      .orderBy('number')
      .limit(pageRows)
      .execute();
    read.push(...rows.map(({ embedding }) => embedding));
    if (rows.length < pageRows) return Buffer.concat(read);
  }
}

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
