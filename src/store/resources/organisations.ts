/** Table functions for organisations. Each belongs to one tenant service group (TSG) in a tree of TSGs. */
import type { Generated, Selectable } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface OrganisationRow {
  id: string;
  tsg_id: string;
  parent_tsg_id: string | null;
  name: string;
  api_key_max_ttl_days: number | null;
  /** 1 lets unknown accounts become users when they sign in, 0 refuses them, null follows the deployment. */
  provisions_users: Generated<number | null>;
  version: Generated<number>;
  created_at: number;
  /** Null for an organisation that was never changed. */
  last_updated_at: Generated<number | null>;
  /** Null for an organisation that exists. A deleted one keeps its row, so that its TSG id stays taken. */
  deleted_at: Generated<number | null>;
}

export type StoredOrganisation = Selectable<OrganisationRow>;

declare module '../connection/db.ts' {
  interface Tables {
    organisations: OrganisationRow;
  }
}

/** A deeper tree must be a cycle, made by hand. */
const treeDepthMax = 32;

const table = rows('organisations', { isVersioned: true });

/** Throws errno 1062 when the TSG already has an organisation. */
export const { insert } = table;

/** Undefined for a deleted organisation, like the other look-ups. */
export function findById(db: Db, id: string): Promise<StoredOrganisation | undefined> {
  return table.find(db, { id, deleted_at: null });
}

export function findByIdForUpdate(tx: Db, id: string): Promise<StoredOrganisation | undefined> {
  return table.findForUpdate(tx, { id, deleted_at: null });
}

export function findByTsgId(db: Db, tsgId: string): Promise<StoredOrganisation | undefined> {
  return table.find(db, { tsg_id: tsgId, deleted_at: null });
}

/** Whether a tenant that was deleted has the TSG id, which nobody can use again. */
export async function isDeleted(db: Db, tsgId: string): Promise<boolean> {
  const row = await table.find(db, { tsg_id: tsgId });
  return row !== undefined && row.deleted_at !== null;
}

/** Increments the version. */
export async function update(
  tx: Db,
  id: string,
  columns: Partial<
    Pick<
      StoredOrganisation,
      'name' | 'api_key_max_ttl_days' | 'provisions_users' | 'last_updated_at' | 'deleted_at'
    >
  >,
): Promise<void> {
  await table.update(tx, { id }, columns);
}

/** By id or TSG id, also a deleted one, whose audit log remains. */
export async function findEvenDeleted(
  db: Db,
  reference: string,
): Promise<StoredOrganisation | undefined> {
  const byTsgId = await table.find(db, { tsg_id: reference });
  return byTsgId ?? (await table.find(db, { id: reference.toLowerCase() }));
}

/** Includes deleted organisations, whose logs remain until they are due. */
export async function listIds(db: Db): Promise<string[]> {
  const found = await table.list(db, {}, { columns: ['id'], orderBy: ['id'] });
  return found.map(({ id }) => id);
}

/** Ids of the TSGs above `tsgId`, the root first, without `tsgId`; empty for a root or unknown TSG. */
export async function listAncestors(db: Db, tsgId: string): Promise<string[]> {
  const ancestors: string[] = [];
  // One query a level: a sharded engine cannot plan a recursive query.
  for (let at = await findParent(db, tsgId); at !== null; at = await findParent(db, at)) {
    if (ancestors.length === treeDepthMax) break;
    ancestors.unshift(at);
  }
  return ancestors;
}

async function findParent(db: Db, tsgId: string): Promise<string | null> {
  return (await findByTsgId(db, tsgId))?.parent_tsg_id ?? null;
}
