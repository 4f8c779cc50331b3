/** Knows the usage_limit_policies table. A deleted policy stays in it as archived. */
import type { Selectable } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPageInSlices, type SlicedPage } from './paging.ts';
import { resourceTable } from './resource-table.ts';
import type { WindowColumns } from './usage-budgets.ts';
import { ends } from './usage-windows.ts';
import type { Versioned } from './versioned.ts';
import { archivedContentsOf } from './workspace-contents.ts';

export interface UsageLimitPolicyRow extends Versioned, WindowColumns {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  name: string | null;
  description: string | null;
  conditions: string;
  group_by: string;
  type: 'cost' | 'tokens' | 'requests';
  /** Whole units, like the threshold: micro-dollars of a cost, else tokens or requests. */
  credit_limit_units: number;
  alert_threshold_units: number | null;
  /** First reset as its author gave it; `next_reset_at` moves on from there. */
  first_reset_at: number | null;
  status: 'active' | 'archived';
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_limit_policies: UsageLimitPolicyRow;
  }
}

/** A policy as stored. */
export type StoredUsageLimitPolicy = Selectable<UsageLimitPolicyRow>;

export const { insert, findById, findByIdForUpdate, update } =
  resourceTable('usage_limit_policies');

export const { listAllForOrganisation } = resourceTable('usage_limit_policies', {
  archived: 'hidden',
});

export const contents = archivedContentsOf(
  'UsageLimitPolicy',
  'usage_limit_policies',
  (rows, now) => [ends('usage_limit_policies', rows, now)],
);

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
): Promise<SlicedPage<StoredUsageLimitPolicy>> {
  let query = db
    .selectFrom('usage_limit_policies')
    .where('organisation_id', '=', organisationId)
    .where('status', '=', filter.status);
  if (filter.workspaceId !== undefined) {
    query = query.where('workspace_id', '=', filter.workspaceId);
  }
  if (filter.type !== undefined) query = query.where('type', '=', filter.type);
  return listPageInSlices(query, page, ['conditions', 'group_by', 'description']);
}
