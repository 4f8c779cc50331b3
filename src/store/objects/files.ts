/** Table functions for files: the files of callers, without their contents. */
import type { Db } from '../connection/db.ts';
import { type CreatedPage, createdPage } from '../rows/created-page.ts';
import { listIdsBefore } from '../rows/old-rows.ts';
import { type ObjectOwner, ownedBy } from '../rows/owned-rows.ts';
import { moreThan, nullOr } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import { deleteEverywhere } from './vector-store-files.ts';

interface FileRow {
  organisation_id: string;
  id: string;
  /** '' for a key of the organisation. */
  workspace_id: string;
  api_key_id: string;
  name: string;
  purpose: string;
  bytes: number;
  /** Milliseconds since the epoch, like `expires_at`. */
  created_at: number;
  /** Null for a file that does not expire. */
  expires_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    files: FileRow;
  }
}

export type StoredFile = FileRow;

const table = rows('files');

export const { insert } = table;

/** Conditions on the owner's files that have not expired. */
function unexpired(owner: ObjectOwner, now: number) {
  return { ...ownedBy(owner), expires_at: nullOr(moreThan(now)) };
}

/** Returns undefined for an expired file too. */
export function find(
  db: Db,
  owner: ObjectOwner,
  id: string,
  now: number,
): Promise<StoredFile | undefined> {
  return table.find(db, { ...unexpired(owner, now), id });
}

/** Names of the files that exist, by id. */
export async function listNames(
  db: Db,
  owner: ObjectOwner,
  ids: readonly string[],
  now: number,
): Promise<Map<string, string>> {
  const where = { ...unexpired(owner, now), id: ids };
  const found = await table.list(db, where, { columns: ['id', 'name'] });
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** One page, and one more row when more exist. */
export function list(
  db: Db,
  owner: ObjectOwner,
  page: CreatedPage & { readonly purpose: string | null },
  now: number,
): Promise<StoredFile[]> {
  const filter = { ...unexpired(owner, now), purpose: page.purpose ?? undefined };
  return createdPage(table.matching(db, filter).selectAll(), page).execute();
}

/** Also removes the file from vector stores. Returns whether it existed. */
export async function deleteById(tx: Db, owner: ObjectOwner, id: string): Promise<boolean> {
  if ((await table.delete(tx, { ...ownedBy(owner), id })) === 0) return false;
  await deleteEverywhere(tx, owner.organisationId, [id]);
  return true;
}

export const aged = { table: 'files', column: 'expires_at' } as const;

/**
 * Deletes up to `limit` files of an organisation that expired before a time, also from vector stores.
 * Returns their ids.
 */
export async function deleteExpired(
  tx: Db,
  organisationId: string,
  before: number,
  limit: number,
): Promise<string[]> {
  const ids = await listIdsBefore(tx, aged, organisationId, before, limit);
  if (ids.length === 0) return [];
  await table.delete(tx, { organisation_id: organisationId, id: ids });
  await deleteEverywhere(tx, organisationId, ids);
  return ids;
}
