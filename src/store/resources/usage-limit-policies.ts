/** Table functions for usage_limit_policies. */
import type { Generated, Selectable } from 'kysely';
import type { PolicyColumns } from '../rows/policy-table.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { archivedContentsOf } from '../rows/workspace-contents.ts';
import type { WindowColumns } from '../usage/usage-budgets.ts';
import { ends } from '../usage/usage-windows.ts';

interface UsageLimitPolicyRow extends PolicyColumns, WindowColumns {
  type: 'cost' | 'tokens' | 'requests';
  /** Whole units, like the threshold: micro-dollars for a cost, else tokens or requests. */
  credit_limit_units: number;
  alert_threshold_units: number | null;
  /** As in usage_budgets. */
  outage_units: Generated<number | null>;
  /** First reset as its author set it; `next_reset_at` advances from there. */
  first_reset_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_limit_policies: UsageLimitPolicyRow;
  }
}

/** A policy as stored. */
export type StoredUsageLimitPolicy = Selectable<UsageLimitPolicyRow>;

export const { insert, findById, findByIdForUpdate, update } = resourceTable(
  'usage_limit_policies',
  { hasSlug: false },
);

/** Without archived policies. */
export const { listAllForOrganisation } = resourceTable('usage_limit_policies', {
  archived: 'hidden',
  hasSlug: false,
});

export const contents = archivedContentsOf(
  'UsageLimitPolicy',
  'usage_limit_policies',
  (rows, now) => [ends('usage_limit_policies', rows, now)],
);
