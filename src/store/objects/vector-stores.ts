/** Table functions for vector_stores: stores of texts that are searched by meaning. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { type ObjectOwner, ownedBy } from '../rows/owned-rows.ts';
import { atMost, not } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

interface VectorStoreRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  name: string | null;
  description: string | null;
  /** JSON object. */
  metadata: string;
  embedding_model: string;
  /** Length of each embedding; null until the first one is stored. */
  dimensions: number | null;
  /** Incremented by each change of what a search reads. */
  contents: number;
  /** The row of a deleted store stays until all its contents are deleted. */
  status: 'active' | 'expired' | 'emptied' | 'deleted';
  expires_after_days: number | null;
  /** Milliseconds since the epoch, like the other times. */
  created_at: number;
  last_active_at: number;
  expires_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    vector_stores: VectorStoreRow;
  }
}

export type StoredVectorStore = VectorStoreRow;

export type VectorStoreKey = Pick<StoredVectorStore, 'organisation_id' | 'id'>;

const table = rows('vector_stores');

const visible = (owner: ObjectOwner) => ({ ...ownedBy(owner), status: not('deleted' as const) });
const keyOf = ({ organisation_id, id }: VectorStoreKey) => ({ organisation_id, id });

export const { insert } = table;

export function find(
  db: Db,
  owner: ObjectOwner,
  id: string,
): Promise<StoredVectorStore | undefined> {
  return table.find(db, { ...visible(owner), id });
}

/** Omits ids that do not exist. */
export async function listIds(
  db: Db,
  owner: ObjectOwner,
  ids: readonly string[],
): Promise<string[]> {
  const found = await table.list(db, { ...visible(owner), id: ids }, { columns: ['id'] });
  return found.map(({ id }) => id);
}

/** One page, and one more row when more exist. */
export function list(db: Db, owner: ObjectOwner, page: CreatedPage): Promise<StoredVectorStore[]> {
  return createdPage(table.matching(db, visible(owner)).selectAll(), page).execute();
}

/** Updates an active store. */
export async function update(
  db: Db,
  key: VectorStoreKey,
  set: Partial<Omit<StoredVectorStore, 'organisation_id' | 'id' | 'status' | 'contents'>>,
): Promise<void> {
  await table.update(db, { ...keyOf(key), status: 'active' }, set);
}

/** Records a change of the searchable contents; call it in the transaction of the change. */
export async function noteChange(tx: Db, key: VectorStoreKey): Promise<void> {
  await table.update(tx, keyOf(key), { contents: sql<number>`contents + 1` });
}

/** Fixes the length of embeddings; returns false when the store has another one. */
export async function holdDimensions(
  db: Db,
  { organisation_id, id }: VectorStoreKey,
  dimensions: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('vector_stores')
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .where((eb) => eb.or([eb('dimensions', 'is', null), eb('dimensions', '=', dimensions)]))
    .set({ dimensions })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Returns whether the store existed. */
export async function markDeleted(db: Db, key: VectorStoreKey): Promise<boolean> {
  const where = { ...keyOf(key), status: not('deleted' as const) };
  return (await table.update(db, where, { status: 'deleted', expires_at: null })) > 0;
}

/** Stores of any organisation that expire at `now` or earlier, the oldest first. */
export function listExpired(db: Db, now: number, limit: number): Promise<VectorStoreKey[]> {
  return table.listAnywhere(
    db,
    { status: 'active', expires_at: atMost(now) },
    { columns: ['organisation_id', 'id'], orderBy: ['expires_at'], limit },
  );
}

/** Returns false for a store that was used in the meantime and has not expired. */
export async function markExpired(tx: Db, key: VectorStoreKey, now: number): Promise<boolean> {
  const where = { ...keyOf(key), status: 'active', expires_at: atMost(now) } as const;
  return (await table.update(tx, where, { status: 'expired' })) > 0;
}

/** Stores of any organisation whose contents must be deleted. */
export function listToEmpty(db: Db, limit: number): Promise<VectorStoreKey[]> {
  return table.listAnywhere(
    db,
    { status: ['expired', 'deleted'] },
    { columns: ['organisation_id', 'id'], limit },
  );
}

/** Finishes an emptied store: an expired one stays visible, the row of a deleted one is deleted. */
export async function finishEmptying(tx: Db, key: VectorStoreKey): Promise<void> {
  await table.update(tx, { ...keyOf(key), status: 'expired' }, { status: 'emptied' });
  await table.delete(tx, { ...keyOf(key), status: 'deleted' });
}
