/** Knows the vector_stores table: stores of texts that are found by what they mean. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { insertion } from '../connection/statement.ts';
import { beyond, type RowPage } from '../rows/row-page.ts';

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
  /** Numbers of each embedding; null until there is one. */
  dimensions: number | null;
  /** Grows with each change of what a search looks into. */
  contents: number;
  /** Deleted ones are there until nothing is left in them. */
  status: 'active' | 'expired' | 'emptied' | 'deleted';
  expires_after_days: number | null;
  /** Milliseconds since the epoch, as the others are. */
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

/** Whose they are. */
export interface VectorStoreOwner {
  readonly organisationId: string;
  readonly workspaceId: string;
}

export const insert = insertion((db, row: StoredVectorStore & Record<string, unknown>) =>
  db.insertInto('vector_stores').values(row),
);

const owned = (db: Db, { organisationId, workspaceId }: VectorStoreOwner) =>
  db
    .selectFrom('vector_stores')
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', '=', workspaceId)
    .where('status', '!=', 'deleted');

export function find(
  db: Db,
  owner: VectorStoreOwner,
  id: string,
): Promise<StoredVectorStore | undefined> {
  return owned(db, owner).selectAll().where('id', '=', id).executeTakeFirst();
}

/** Those of the ids that are there. */
export async function listIds(
  db: Db,
  owner: VectorStoreOwner,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await owned(db, owner).select('id').where('id', 'in', ids).execute();
  return rows.map(({ id }) => id);
}

/** One more than the page has, where there are more. */
export function list(db: Db, owner: VectorStoreOwner, page: RowPage): Promise<StoredVectorStore[]> {
  let query = owned(db, owner).selectAll();
  for (const bound of beyond(page)) query = query.where(bound);
  return query
    .orderBy('created_at', page.order)
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute();
}

/** Which one it is. */
export type StoreKey = Pick<StoredVectorStore, 'organisation_id' | 'id'>;

const placed = (db: Db, { organisation_id, id }: StoreKey) =>
  db
    .updateTable('vector_stores')
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id);

export async function update(
  db: Db,
  place: StoreKey,
  set: Partial<Omit<StoredVectorStore, 'organisation_id' | 'id' | 'status' | 'contents'>>,
): Promise<void> {
  await placed(db, place).where('status', '=', 'active').set(set).execute();
}

/** In the transaction that changes which files are looked into, or what is known of them. */
export async function noteChange(tx: Db, place: StoreKey): Promise<void> {
  await placed(tx, place).set({ contents: sql`contents + 1` }).execute();
}

/** Whether its embeddings have so many numbers from now on, or had before. */
export async function holdDimensions(
  db: Db,
  place: StoreKey,
  dimensions: number,
): Promise<boolean> {
  const { numUpdatedRows } = await placed(db, place)
    .where((eb) => eb.or([eb('dimensions', 'is', null), eb('dimensions', '=', dimensions)]))
    .set({ dimensions })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Whether it was there. */
export async function markDeleted(db: Db, place: StoreKey): Promise<boolean> {
  const { numUpdatedRows } = await placed(db, place)
    .where('status', '!=', 'deleted')
    .set({ status: 'deleted', expires_at: null })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Stores whose time has come at `now`, the oldest first. */
export function listExpired(db: Db, now: number, limit: number): Promise<StoreKey[]> {
  return db
    .selectFrom('vector_stores')
    .select(['organisation_id', 'id'])
    .where('status', '=', 'active')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

/** Whether it has expired by this; one that was used meanwhile has not. */
export async function markExpired(tx: Db, place: StoreKey, now: number): Promise<boolean> {
  const { numUpdatedRows } = await placed(tx, place)
    .where('status', '=', 'active')
    .where('expires_at', '<=', now)
    .set({ status: 'expired' })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Stores in which nothing is to be any more. */
export function listToEmpty(db: Db, limit: number): Promise<StoreKey[]> {
  return db
    .selectFrom('vector_stores')
    .select(['organisation_id', 'id'])
    .where('status', 'in', ['expired', 'deleted'])
    .limit(limit)
    .execute();
}

/** Once nothing is in it: what expired stays to be told of, what was deleted goes. */
export async function finishEmptying(tx: Db, place: StoreKey): Promise<void> {
  await placed(tx, place).where('status', '=', 'expired').set({ status: 'emptied' }).execute();
  await tx
    .deleteFrom('vector_stores')
    .where('organisation_id', '=', place.organisation_id)
    .where('id', '=', place.id)
    .where('status', '=', 'deleted')
    .execute();
}
