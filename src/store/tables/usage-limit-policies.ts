/** Knows the usage_limit_policies table. A deleted policy stays in it as archived. */
import type { Insertable, Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';
import type { Versioned } from './versioned.ts';

export interface UsageLimitPolicyRow extends Versioned {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  name: string | null;
  description: string | null;
  conditions: string;
  group_by: string;
  type: 'cost' | 'tokens' | 'requests';
  credit_limit_micros: number;
  alert_threshold_micros: number | null;
  periodic_reset: 'weekly' | 'monthly' | null;
  periodic_reset_days: number | null;
  /** First reset as its author gave it; `next_reset_at` moves on from there. */
  first_reset_at: number | null;
  next_reset_at: number | null;
  last_reset_at: number | null;
  status: 'active' | 'archived';
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_limit_policies: UsageLimitPolicyRow;
  }
}

/** A policy as stored. */
export type StoredUsageLimitPolicy = Selectable<UsageLimitPolicyRow>;

export async function insert(tx: Db, row: Insertable<UsageLimitPolicyRow>): Promise<void> {
  await tx.insertInto('usage_limit_policies').values(row).execute();
}

export function findById(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredUsageLimitPolicy | undefined> {
  return byId(db, organisationId, id).executeTakeFirst();
}

export function findForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredUsageLimitPolicy | undefined> {
  return byId(tx, organisationId, id).forUpdate().executeTakeFirst();
}

export interface UsageLimitPolicyFilter {
  readonly workspaceId?: string | undefined;
  readonly status: UsageLimitPolicyRow['status'];
  readonly type?: UsageLimitPolicyRow['type'] | undefined;
}

export function list(
  db: Db,
  organisationId: string,
  filter: UsageLimitPolicyFilter,
  page: Page,
): Promise<{ rows: StoredUsageLimitPolicy[]; total: number }> {
  let query = db
    .selectFrom('usage_limit_policies')
    .where('organisation_id', '=', organisationId)
    .where('status', '=', filter.status);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.type !== undefined) query = query.where('type', '=', filter.type);
  return listPage(query, page);
}

/** Active ones only. */
export function listAllForOrganisation(
  db: Db,
  organisationId: string,
): Promise<StoredUsageLimitPolicy[]> {
  return db
    .selectFrom('usage_limit_policies')
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
  fields: Omit<Updateable<UsageLimitPolicyRow>, 'id' | 'organisation_id' | 'version'>,
): Promise<void> {
  await tx
    .updateTable('usage_limit_policies')
    .set({ ...fields, version: sql`version + 1` })
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id)
    .execute();
}

function byId(db: Db, organisationId: string, id: string) {
  return db
    .selectFrom('usage_limit_policies')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id);
}
