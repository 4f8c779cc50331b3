/** Knows the blobs table: which bytes are kept where, from before they are written until after they are deleted. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';

/** Where bytes are kept. */
export type BlobPlace = 'database' | 'directory' | 's3';

interface BlobRow {
  organisation_id: string;
  id: string;
  place: BlobPlace;
  status: 'writing' | 'kept' | 'deleted';
  /** 0 until it is kept. */
  bytes: number;
  sha256: Buffer | null;
  /** When it is looked at whether anything of it is to go, in milliseconds since the epoch; null while it is kept. */
  due_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    blobs: BlobRow;
  }
}

export type StoredBlob = BlobRow;

/** Which one. */
export interface BlobName {
  readonly organisationId: string;
  readonly id: string;
}

export const insert = insertion((db, row: BlobRow & Record<string, unknown>) =>
  db.insertInto('blobs').values(row),
);

type Asked = { organisationId: string; id: string };

const byName = statement((db, { organisationId, id }: Asked) =>
  db
    .selectFrom('blobs')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id),
);

export function find(db: Db, { organisationId, id }: BlobName): Promise<StoredBlob | undefined> {
  return byName.first(db, { organisationId, id });
}

const named = (db: Db, { organisationId, id }: BlobName) =>
  db.updateTable('blobs').where('organisation_id', '=', organisationId).where('id', '=', id);

/** Whether it is still being written, and is not due before that moment. */
export async function putOff(db: Db, name: BlobName, dueAt: number): Promise<boolean> {
  const { numUpdatedRows } = await named(db, name)
    .where('status', '=', 'writing')
    .set({ due_at: dueAt })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Whether it is kept from now on; not where it was given up as unfinished. */
export async function keep(
  tx: Db,
  name: BlobName,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await named(tx, name)
    .where('status', '=', 'writing')
    .set({ status: 'kept', bytes, sha256, due_at: null })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Those of the organisation are to go. */
export async function markDeleted(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('blobs')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .set({ status: 'deleted', due_at: now })
    .execute();
}

/** Some that are due at `now`, the oldest first. */
export function listDue(db: Db, now: number, limit: number): Promise<StoredBlob[]> {
  return db
    .selectFrom('blobs')
    .selectAll()
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute();
}

/** Whether it is the caller's to be erased until it is due again. */
export async function takeDue(
  db: Db,
  { organisation_id: organisationId, id, due_at: found }: StoredBlob,
  dueAgainAt: number,
): Promise<boolean> {
  const { numUpdatedRows } = await named(db, { organisationId, id })
    .where('due_at', '=', found)
    .set({ status: 'deleted', due_at: dueAgainAt })
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Once nothing of it is left. */
export async function deleteErased(db: Db, { organisationId, id }: BlobName): Promise<void> {
  await db
    .deleteFrom('blobs')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('status', '=', 'deleted')
    .execute();
}
