/** Table functions for blobs: where each blob is stored, from before it is written until after it is erased. */
import type { Db } from '../connection/db.ts';
import { atMost } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';

export type BlobLocation = 'database' | 'directory' | 's3';

interface BlobRow {
  organisation_id: string;
  id: string;
  place: BlobLocation;
  status: 'writing' | 'kept' | 'deleted';
  /** 0 while it is being written. */
  bytes: number;
  sha256: Buffer | null;
  /** When the cleanup job looks at it next, in milliseconds since the epoch; null for a complete blob. */
  due_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    blobs: BlobRow;
  }
}

export type StoredBlob = BlobRow;

export interface BlobName {
  readonly organisationId: string;
  readonly id: string;
}

const table = rows('blobs');

export const { insert } = table;

export function find(db: Db, name: BlobName): Promise<StoredBlob | undefined> {
  return table.find(db, keyOf(name));
}

function keyOf({ organisationId, id }: BlobName) {
  return { organisation_id: organisationId, id };
}

/** Postpones the cleanup of a blob; returns whether it is still being written. */
export async function putOff(db: Db, name: BlobName, dueAt: number): Promise<boolean> {
  return (await table.update(db, { ...keyOf(name), status: 'writing' }, { due_at: dueAt })) > 0;
}

/** Marks a blob complete; returns false when the cleanup has already discarded it. */
export async function keep(
  tx: Db,
  name: BlobName,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: Buffer },
): Promise<boolean> {
  const set = { status: 'kept', bytes, sha256, due_at: null } as const;
  return (await table.update(tx, { ...keyOf(name), status: 'writing' }, set)) > 0;
}

/** Marks blobs of the organisation for erasure. */
export async function markDeleted(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  const where = { organisation_id: organisationId, id: ids };
  await table.update(tx, where, { status: 'deleted', due_at: now });
}

/** Blobs of any organisation that are due at `now`, the longest due first. */
export function listDue(db: Db, now: number, limit: number): Promise<StoredBlob[]> {
  return table.listAnywhere(db, { due_at: atMost(now) }, { orderBy: ['due_at'], limit });
}

/** Claims a due blob for erasure until it is due again; returns false when another process claimed it. */
export async function takeDue(
  db: Db,
  { organisation_id, id, due_at }: StoredBlob,
  dueAgainAt: number,
): Promise<boolean> {
  const set = { status: 'deleted', due_at: dueAgainAt } as const;
  return (await table.update(db, { organisation_id, id, due_at }, set)) > 0;
}

/** Deletes the row of a blob after its bytes are erased. */
export async function deleteErased(db: Db, name: BlobName): Promise<void> {
  await table.delete(db, { ...keyOf(name), status: 'deleted' });
}
