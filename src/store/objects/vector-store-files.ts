/** Knows the vector_store_files table: files in vector stores, or on their way there, and who is at work on them. */
import { type SelectQueryBuilder, sql } from 'kysely';
import type { Db, Tables } from '../connection/db.ts';
import { beyond, type RowPage } from '../rows/row-page.ts';
import * as vectorStores from './vector-stores.ts';

export type VectorStoreFileStatus = 'in_progress' | 'completed' | 'cancelled' | 'failed';

interface VectorStoreFileRow {
  organisation_id: string;
  vector_store_id: string;
  /** Of the file. */
  id: string;
  batch_id: string | null;
  status: VectorStoreFileStatus;
  error_code: string | null;
  error_message: string | null;
  /** JSON object. */
  attributes: string;
  chunk_tokens: number;
  overlap_tokens: number;
  /** Of its chunks so far. */
  usage_bytes: number;
  chunks: number;
  /** Of who is at work on it; null before anybody was. */
  lease: Buffer | null;
  /** Milliseconds since the epoch, as `created_at` is. */
  leased_until: number;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    vector_store_files: VectorStoreFileRow;
  }
}

export type StoredVectorStoreFile = VectorStoreFileRow;

/** Which vector store. */
export interface StorePlace {
  readonly organisationId: string;
  readonly vectorStoreId: string;
}

export interface FilePlace extends StorePlace {
  readonly id: string;
}

/** One that is there already begins anew, whoever was at work on it. */
export async function put(tx: Db, row: StoredVectorStoreFile): Promise<void> {
  const place = {
    organisationId: row.organisation_id,
    vectorStoreId: row.vector_store_id,
    id: row.id,
  };
  await deleteById(tx, place);
  await tx.insertInto('vector_store_files').values(row).execute();
}

const inStore = <Query extends SelectQueryBuilder<Tables, 'vector_store_files', object>>(
  query: Query,
  { organisationId, vectorStoreId }: StorePlace,
) =>
  query.where('organisation_id', '=', organisationId).where('vector_store_id', '=', vectorStoreId);

export function find(db: Db, place: FilePlace): Promise<StoredVectorStoreFile | undefined> {
  return inStore(db.selectFrom('vector_store_files'), place)
    .selectAll()
    .where('id', '=', place.id)
    .executeTakeFirst();
}

/** One more than the page has, where there are more. */
export function list(
  db: Db,
  place: StorePlace,
  page: RowPage & {
    readonly status: VectorStoreFileStatus | null;
    readonly batchId: string | null;
  },
): Promise<StoredVectorStoreFile[]> {
  let query = inStore(db.selectFrom('vector_store_files'), place).selectAll();
  if (page.status !== null) query = query.where('status', '=', page.status);
  if (page.batchId !== null) query = query.where('batch_id', '=', page.batchId);
  for (const bound of beyond(page)) query = query.where(bound);
  return query
    .orderBy('created_at', page.order)
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute();
}

/** What a search has to know of each file that is in the store. */
export type SearchedFile = Pick<
  StoredVectorStoreFile,
  'id' | 'attributes' | 'chunks' | 'created_at'
>;

export function listCompleted(db: Db, place: StorePlace): Promise<SearchedFile[]> {
  return inStore(db.selectFrom('vector_store_files'), place)
    .select(['id', 'attributes', 'chunks', 'created_at'])
    .where('status', '=', 'completed')
    .execute();
}

export interface StatusCount {
  readonly vector_store_id: string;
  readonly status: VectorStoreFileStatus;
  readonly files: number;
  readonly bytes: number;
}

/** Of each of the stores, and of one batch where that is not null. */
export async function countByStatus(
  db: Db,
  organisationId: string,
  storeIds: readonly string[],
  batchId: string | null = null,
): Promise<StatusCount[]> {
  if (storeIds.length === 0) return [];
  let query = db
    .selectFrom('vector_store_files')
    .select(['vector_store_id', 'status'])
    .select(({ fn }) => [
      fn.countAll<number>().as('files'),
      fn.sum<string>('usage_bytes').as('bytes'),
    ])
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', 'in', storeIds);
  if (batchId !== null) query = query.where('batch_id', '=', batchId);
  const rows = await query.groupBy(['vector_store_id', 'status']).execute();
  return rows.map((row) => ({ ...row, files: Number(row.files), bytes: Number(row.bytes) }));
}

/** When the first of a batch was made; null where there is no such batch. */
export async function batchBegan(db: Db, place: StorePlace, batchId: string) {
  const row = await inStore(db.selectFrom('vector_store_files'), place)
    .select(({ fn }) => fn.min('created_at').as('began'))
    .where('batch_id', '=', batchId)
    .executeTakeFirstOrThrow();
  return row.began as number | null;
}

/** Some that nobody is at work on any more. */
export function listLapsed(db: Db, place: StorePlace, now: number, limit: number) {
  return inStore(db.selectFrom('vector_store_files'), place)
    .selectAll()
    .where('status', '=', 'in_progress')
    .where('leased_until', '<=', now)
    .orderBy('created_at')
    .limit(limit)
    .execute();
}

const placed = (db: Db, { organisationId, vectorStoreId, id }: FilePlace) =>
  db
    .updateTable('vector_store_files')
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', '=', vectorStoreId)
    .where('id', '=', id);

/** Whether it is the holder's to work on from now on. */
export async function takeLease(
  db: Db,
  place: FilePlace,
  lease: Buffer,
  { now, until }: { readonly now: number; readonly until: number },
): Promise<boolean> {
  const { numUpdatedRows } = await placed(db, place)
    .where('status', '=', 'in_progress')
    .where('leased_until', '<=', now)
    .set({ lease, leased_until: until })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Whether it was still the holder's to work on; all of it is written, and found from now on. */
export async function complete(tx: Db, place: FilePlace, lease: Buffer): Promise<boolean> {
  if (!(await updateLeased(tx, place, lease, { status: 'completed' }))) return false;
  await vectorStores.noteChange(tx, storeOf(place));
  return true;
}

function storeOf({ organisationId, vectorStoreId }: StorePlace): vectorStores.StoreKey {
  return { organisation_id: organisationId, id: vectorStoreId };
}

/** Changes one that is still the holder's to work on; whether it was. */
export async function updateLeased(
  tx: Db,
  place: FilePlace,
  lease: Buffer,
  set: Partial<
    Pick<StoredVectorStoreFile, 'status' | 'error_code' | 'error_message' | 'leased_until'>
  >,
): Promise<boolean> {
  const { numUpdatedRows } = await placed(tx, place)
    .where('status', '=', 'in_progress')
    .where('lease', '=', lease)
    .set(set)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Counts chunks that are written by the holder; whether it still is that, and those before are there. */
export async function addChunks(
  tx: Db,
  place: FilePlace,
  lease: Buffer,
  added: { readonly before: number; readonly chunks: number; readonly bytes: number },
): Promise<boolean> {
  const { numUpdatedRows } = await placed(tx, place)
    .where('status', '=', 'in_progress')
    .where('lease', '=', lease)
    .where('chunks', '=', added.before)
    .set({
      chunks: added.before + added.chunks,
      usage_bytes: sql`usage_bytes + ${added.bytes}`,
    })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function setAttributes(tx: Db, place: FilePlace, attributes: string): Promise<void> {
  await placed(tx, place).set({ attributes }).execute();
  await vectorStores.noteChange(tx, storeOf(place));
}

export async function cancelBatch(db: Db, place: StorePlace, batchId: string): Promise<void> {
  await db
    .updateTable('vector_store_files')
    .where('organisation_id', '=', place.organisationId)
    .where('vector_store_id', '=', place.vectorStoreId)
    .where('batch_id', '=', batchId)
    .where('status', '=', 'in_progress')
    .set({ status: 'cancelled' })
    .execute();
}

/** With its chunks; whether it was there. */
export async function deleteById(tx: Db, place: FilePlace): Promise<boolean> {
  const { organisationId, vectorStoreId, id } = place;
  // The row first: whoever writes chunks has locked it, and finds it gone afterwards.
  const { numDeletedRows } = await tx
    .deleteFrom('vector_store_files')
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', '=', vectorStoreId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  await tx
    .deleteFrom('vector_chunks')
    .where('organisation_id', '=', organisationId)
    .where('vector_store_id', '=', vectorStoreId)
    .where('file_id', '=', id)
    .execute();
  await vectorStores.noteChange(tx, storeOf(place));
  return true;
}

/** Ids of some files of the store. */
export async function listSome(db: Db, place: StorePlace, limit: number): Promise<string[]> {
  const rows = await inStore(db.selectFrom('vector_store_files'), place)
    .select('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Takes files out of all stores that they are in. */
export async function deleteEverywhere(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  const rows = await tx
    .selectFrom('vector_store_files')
    .select(['vector_store_id', 'id'])
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
  for (const { vector_store_id: vectorStoreId, id } of rows) {
    await deleteById(tx, { organisationId, vectorStoreId, id });
  }
}
