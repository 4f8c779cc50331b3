/** Table functions for vector_store_files: files in vector stores, including those that are being ingested. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import * as vectorStores from './vector-stores.ts';

export type VectorStoreFileStatus = 'in_progress' | 'completed' | 'cancelled' | 'failed';

interface VectorStoreFileRow {
  organisation_id: string;
  vector_store_id: string;
  /** Id of the file. */
  id: string;
  batch_id: string | null;
  status: VectorStoreFileStatus;
  error_code: string | null;
  error_message: string | null;
  /** JSON object. */
  attributes: string;
  chunk_tokens: number;
  overlap_tokens: number;
  /** Bytes of its chunks so far. */
  usage_bytes: number;
  chunks: number;
  /** Random id of the process that ingests the file; null before the first. */
  lease: Buffer | null;
  /** Milliseconds since the epoch, like `created_at`. */
  leased_until: number;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    vector_store_files: VectorStoreFileRow;
  }
}

export type StoredVectorStoreFile = VectorStoreFileRow;

/** A vector store. */
export interface StoreKey {
  readonly organisationId: string;
  readonly vectorStoreId: string;
}

/** A file in a vector store. */
export interface StoreFileKey extends StoreKey {
  readonly id: string;
}

const table = rows('vector_store_files');
const chunks = rows('vector_chunks');

const inStore = ({ organisationId, vectorStoreId }: StoreKey) => ({
  organisation_id: organisationId,
  vector_store_id: vectorStoreId,
});
const whereOf = (key: StoreFileKey) => ({ ...inStore(key), id: key.id });

/** Replaces a row of the same file, whichever process was ingesting it. */
export async function put(tx: Db, row: StoredVectorStoreFile): Promise<void> {
  await deleteById(tx, {
    organisationId: row.organisation_id,
    vectorStoreId: row.vector_store_id,
    id: row.id,
  });
  await table.insert(tx, row);
}

export function find(db: Db, key: StoreFileKey): Promise<StoredVectorStoreFile | undefined> {
  return table.find(db, whereOf(key));
}

/** One page, and one more row when more exist. */
export function list(
  db: Db,
  store: StoreKey,
  page: CreatedPage & {
    readonly status: VectorStoreFileStatus | null;
    readonly batchId: string | null;
  },
): Promise<StoredVectorStoreFile[]> {
  const { status, batchId } = page;
  const filter = {
    ...inStore(store),
    status: status ?? undefined,
    batch_id: batchId ?? undefined,
  };
  return createdPage(table.matching(db, filter).selectAll(), page).execute();
}

/** The columns that a search needs. */
export type SearchedFile = Pick<
  StoredVectorStoreFile,
  'id' | 'attributes' | 'chunks' | 'created_at'
>;

export function listCompleted(db: Db, store: StoreKey): Promise<SearchedFile[]> {
  return table.list(
    db,
    { ...inStore(store), status: 'completed' },
    { columns: ['id', 'attributes', 'chunks', 'created_at'] },
  );
}

export interface StatusCount {
  readonly vector_store_id: string;
  readonly status: VectorStoreFileStatus;
  readonly files: number;
  readonly bytes: number;
}

/** Counts files of each store by status, restricted to one batch unless `batchId` is null. */
export async function countByStatus(
  db: Db,
  organisationId: string,
  storeIds: readonly string[],
  batchId: string | null = null,
): Promise<StatusCount[]> {
  const counts = await table
    .matching(db, {
      organisation_id: organisationId,
      vector_store_id: storeIds,
      batch_id: batchId ?? undefined,
    })
    .select(['vector_store_id', 'status'])
    .select(({ fn }) => [
      fn.countAll<number>().as('files'),
      fn.sum<string>('usage_bytes').as('bytes'),
    ])
    .groupBy(['vector_store_id', 'status'])
    .execute();
  return counts.map((row) => ({ ...row, files: Number(row.files), bytes: Number(row.bytes) }));
}

/** When the first file of a batch was added; null when the batch does not exist. */
export async function batchBegan(db: Db, store: StoreKey, batchId: string) {
  const row = await table
    .matching(db, { ...inStore(store), batch_id: batchId })
    .select(({ fn }) => fn.min('created_at').as('began'))
    .executeTakeFirstOrThrow();
  return row.began as number | null;
}

/** Files in progress whose lease has expired. */
export function listLapsed(db: Db, store: StoreKey, now: number, limit: number) {
  return table.list(
    db,
    { ...inStore(store), status: 'in_progress', leased_until: atMost(now) },
    { orderBy: ['created_at'], limit },
  );
}

/** Claims a file for ingestion; returns whether no other process holds it. */
export async function takeLease(
  db: Db,
  key: StoreFileKey,
  lease: Buffer,
  { now, until }: { readonly now: number; readonly until: number },
): Promise<boolean> {
  const where = { ...whereOf(key), status: 'in_progress', leased_until: atMost(now) } as const;
  return (await table.update(db, where, { lease, leased_until: until })) > 0;
}

/** Marks a file searchable after all its chunks are written; returns whether the process held the lease. */
export async function complete(tx: Db, key: StoreFileKey, lease: Buffer): Promise<boolean> {
  if (!(await updateLeased(tx, key, lease, { status: 'completed' }))) return false;
  await vectorStores.noteChange(tx, storeOf(key));
  return true;
}

function storeOf({ organisationId, vectorStoreId }: StoreKey): vectorStores.VectorStoreKey {
  return { organisation_id: organisationId, id: vectorStoreId };
}

/** Updates a file; returns whether the process held the lease. */
export async function updateLeased(
  tx: Db,
  key: StoreFileKey,
  lease: Buffer,
  set: Partial<
    Pick<StoredVectorStoreFile, 'status' | 'error_code' | 'error_message' | 'leased_until'>
  >,
): Promise<boolean> {
  return (await table.update(tx, { ...whereOf(key), status: 'in_progress', lease }, set)) > 0;
}

/** Counts written chunks; returns false when the process lost the lease or earlier chunks are missing. */
export async function addChunks(
  tx: Db,
  key: StoreFileKey,
  lease: Buffer,
  added: { readonly before: number; readonly chunks: number; readonly bytes: number },
): Promise<boolean> {
  const where = { ...whereOf(key), status: 'in_progress', lease, chunks: added.before } as const;
  const updated = await table.update(tx, where, {
    chunks: added.before + added.chunks,
    usage_bytes: sql<number>`usage_bytes + ${added.bytes}`,
  });
  return updated > 0;
}

export async function setAttributes(tx: Db, key: StoreFileKey, attributes: string): Promise<void> {
  await table.update(tx, whereOf(key), { attributes });
  await vectorStores.noteChange(tx, storeOf(key));
}

export async function cancelBatch(db: Db, store: StoreKey, batchId: string): Promise<void> {
  const where = { ...inStore(store), batch_id: batchId, status: 'in_progress' } as const;
  await table.update(db, where, { status: 'cancelled' });
}

/** Deletes a file with its chunks; returns whether it existed. */
export async function deleteById(tx: Db, key: StoreFileKey): Promise<boolean> {
  // The row first: a process that is writing chunks holds a lock on it, and later finds it deleted.
  if ((await table.delete(tx, whereOf(key))) === 0) return false;
  await chunks.delete(tx, { ...inStore(key), file_id: key.id });
  await vectorStores.noteChange(tx, storeOf(key));
  return true;
}

/** Ids of up to `limit` files of the store. */
export async function listSome(db: Db, store: StoreKey, limit: number): Promise<string[]> {
  const found = await table.list(db, inStore(store), { columns: ['id'], limit });
  return found.map(({ id }) => id);
}

/** Removes files from all stores of the organisation. */
export async function deleteEverywhere(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  const found = await table.list(
    tx,
    { organisation_id: organisationId, id: ids },
    { columns: ['vector_store_id', 'id'] },
  );
  for (const { vector_store_id: vectorStoreId, id } of found) {
    await deleteById(tx, { organisationId, vectorStoreId, id });
  }
}
