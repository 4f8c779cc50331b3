/** Knows the workspaces table. Archived workspaces stay in it but are found by no one save the list. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import { readReference } from './references.ts';
import type { Versioned } from './versioned.ts';

export interface WorkspaceRow extends Versioned {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  description: string | null;
  icon: string | null;
  scope_name: string | null;
  defaults: string | null;
  usage_limits: string | null;
  rate_limits: string | null;
  status: 'active' | 'archived';
  is_default: number;
  api_key_max_ttl_days: number | null;
  created_by: string;
  last_reset_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    workspaces: WorkspaceRow;
  }
}

/** A workspace as stored. */
export type StoredWorkspace = Selectable<WorkspaceRow>;

/** Throws errno 1062 when the slug is taken. */
export async function insert(tx: Db, row: Insertable<WorkspaceRow>): Promise<void> {
  await tx.insertInto('workspaces').values(row).execute();
}

/** The active workspace with this UUID or slug. */
export function findByIdOrSlug(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<StoredWorkspace | undefined> {
  return byReference(db, organisationId, reference).executeTakeFirst();
}

/** Keeps the workspace from being archived until the transaction ends. */
export function findByIdOrSlugForShare(
  tx: Db,
  organisationId: string,
  reference: string,
): Promise<StoredWorkspace | undefined> {
  // MariaDB knows this spelling only; MySQL knows it too.
  return byReference(tx, organisationId, reference)
    .modifyEnd(sql`lock in share mode`)
    .executeTakeFirst();
}

export function findByIdOrSlugForUpdate(
  tx: Db,
  organisationId: string,
  reference: string,
): Promise<StoredWorkspace | undefined> {
  return byReference(tx, organisationId, reference).forUpdate().executeTakeFirst();
}

export interface WorkspaceFilter {
  /** The one workspace that a bound credential may see. */
  readonly id?: string | undefined;
  readonly statuses: readonly WorkspaceRow['status'][];
  /** Part of the name. */
  readonly name?: string | undefined;
  /** The whole name. */
  readonly exactName?: string | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: WorkspaceFilter,
  page: Page,
): Promise<{ rows: StoredWorkspace[]; total: number }> {
  let query = db
    .selectFrom('workspaces')
    .where('organisation_id', '=', organisationId)
    .where('status', 'in', filter.statuses);
  if (filter.id !== undefined) query = query.where('id', '=', filter.id);
  if (filter.exactName !== undefined) query = query.where('name', '=', filter.exactName);
  if (filter.name !== undefined) {
    // The column compares exactly; people who search do not.
    query = query.where(sql<boolean>`locate(lower(cast(${filter.name} as char)), lower(name)) > 0`);
  }
  return listPage(query, page);
}

/** Active ones only. */
export function listAllForOrganisation(db: Db, organisationId: string): Promise<StoredWorkspace[]> {
  return db
    .selectFrom('workspaces')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('status', '=', 'active')
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Writes the given columns and counts the write. */
export async function update(
  tx: Db,
  organisationId: string,
  id: string,
  fields: Omit<Updateable<WorkspaceRow>, 'id' | 'organisation_id' | 'version'>,
): Promise<void> {
  await tx
    .updateTable('workspaces')
    .set({ ...fields, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

function byReference(db: Db, organisationId: string, text: string) {
  const { column, value } = readReference(text);
  return db
    .selectFrom('workspaces')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('status', '=', 'active')
    .where(column, '=', value);
}
