/** Knows the files table: files that the gateway keeps for callers, without what is in them. */
import type { Db } from '../connection/db.ts';
import { insertion, statement } from '../connection/statement.ts';
import { listIdsBefore } from '../rows/old-rows.ts';
import { beyond, type RowPage } from '../rows/row-page.ts';
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
  /** Milliseconds since the epoch, as `expires_at` is. */
  created_at: number;
  /** Null for a file that is kept until it is deleted. */
  expires_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    files: FileRow;
  }
}

export type StoredFile = FileRow;

/** Whose files. */
export interface FileOwner {
  readonly organisationId: string;
  readonly workspaceId: string;
}

export const insert = insertion((db, row: StoredFile & Record<string, unknown>) =>
  db.insertInto('files').values(row),
);

type Asked = { organisationId: string; workspaceId: string; id: string; now: number };

const byId = statement((db, { organisationId, workspaceId, id, now }: Asked) =>
  db
    .selectFrom('files')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)])),
);

/** Undefined for one that has expired, too. */
export function find(
  db: Db,
  { organisationId, workspaceId }: FileOwner,
  id: string,
  now: number,
): Promise<StoredFile | undefined> {
  return byId.first(db, { organisationId, workspaceId, id, now });
}

/** Names of those that are there, by their ids. */
export async function listNames(
  db: Db,
  { organisationId, workspaceId }: FileOwner,
  ids: readonly string[],
  now: number,
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('files')
    .select(['id', 'name'])
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** One more than the page has, where there are more. */
export function list(
  db: Db,
  { organisationId, workspaceId }: FileOwner,
  page: RowPage & { readonly purpose: string | null },
  now: number,
): Promise<StoredFile[]> {
  const { order, limit, purpose } = page;
  let query = db
    .selectFrom('files')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]));
  if (purpose !== null) query = query.where('purpose', '=', purpose);
  for (const bound of beyond(page)) query = query.where(bound);
  return query
    .orderBy('created_at', order)
    .orderBy('id', order)
    .limit(limit + 1)
    .execute();
}

/** Also out of the vector stores that it is in; whether it was there. */
export async function deleteById(
  tx: Db,
  { organisationId, workspaceId }: FileOwner,
  id: string,
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('files')
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return false;
  await deleteEverywhere(tx, organisationId, [id]);
  return true;
}

export const aged = { table: 'files', column: 'expires_at' } as const;

/** Deletes up to `limit` files of an organisation which expired before then, also out of vector stores; yields their ids. */
export async function deleteExpired(
  tx: Db,
  organisationId: string,
  before: number,
  limit: number,
): Promise<string[]> {
  const ids = await listIdsBefore(tx, aged, organisationId, before, limit);
  if (ids.length === 0) return [];
  await tx
    .deleteFrom('files')
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .execute();
  await deleteEverywhere(tx, organisationId, ids);
  return ids;
}
