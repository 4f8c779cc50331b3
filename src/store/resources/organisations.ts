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
export const findById = table.findBy('id');
export const findByIdForUpdate = table.findByForUpdate('id');
export const findByTsgId = table.findBy('tsg_id');

/** Increments the version. */
export async function update(
  tx: Db,
  id: string,
  columns: Partial<Pick<StoredOrganisation, 'name' | 'api_key_max_ttl_days' | 'provisions_users'>> &
    Pick<StoredOrganisation, 'last_updated_at'>,
): Promise<void> {
  await table.update(tx, { id }, columns);
}

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
