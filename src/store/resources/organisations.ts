/** Knows the organisations table: one organisation a tenant service group (TSG), in a tree of TSGs. */
import { type Generated, type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { statement } from '../connection/statement.ts';

interface OrganisationRow {
  id: string;
  tsg_id: string;
  parent_tsg_id: string | null;
  name: string;
  api_key_max_ttl_days: number | null;
  version: Generated<number>;
  created_at: number;
  /** Null for one that was never changed. */
  last_updated_at: Generated<number | null>;
}

export type StoredRow = Selectable<OrganisationRow>;

declare module '../connection/db.ts' {
  interface Tables {
    organisations: OrganisationRow;
  }
}

/** A tree deeper than this is a circle somebody made by hand. */
const treeDepthMax = 32;

/** Throws errno 1062 when the TSG has an organisation already. */
export async function insert(tx: Db, row: Insertable<OrganisationRow>): Promise<void> {
  await tx.insertInto('organisations').values(row).execute();
}

export function findById(db: Db, organisationId: string): Promise<StoredRow | undefined> {
  return byId.first(db, { id: organisationId });
}

const byId = statement((db, { id }: { id: string }) =>
  db.selectFrom('organisations').selectAll().where('id', '=', id),
);

export function findByTsgId(db: Db, tsgId: string): Promise<StoredRow | undefined> {
  return db.selectFrom('organisations').selectAll().where('tsg_id', '=', tsgId).executeTakeFirst();
}

export function findByIdForUpdate(tx: Db, id: string): Promise<StoredRow | undefined> {
  return tx
    .selectFrom('organisations')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Counts the write. */
export async function update(
  tx: Db,
  id: string,
  columns: Pick<StoredRow, 'name' | 'last_updated_at'>,
): Promise<void> {
  await tx
    .updateTable('organisations')
    .set({ ...columns, version: sql`version + 1` })
    .where('id', '=', id)
    .execute();
}

export async function listIds(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('organisations').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

/** TSG ids above `tsgId`, the root first, `tsgId` itself not among them; empty for a root or unknown TSG. */
export async function listAncestors(db: Db, tsgId: string): Promise<string[]> {
  const ancestors: string[] = [];
  // Step by step: no engine that spreads tenants over shards can plan a recursive query.
  for (let at = await findParent(db, tsgId); at !== null; at = await findParent(db, at)) {
    if (ancestors.length === treeDepthMax) break;
    ancestors.unshift(at);
  }
  return ancestors;
}

async function findParent(db: Db, tsgId: string): Promise<string | null> {
  return (await findByTsgId(db, tsgId))?.parent_tsg_id ?? null;
}
