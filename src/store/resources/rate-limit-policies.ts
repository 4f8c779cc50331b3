/** Table functions for rate_limit_policies. */
import type { Selectable } from 'kysely';
import type { RateLimit } from '../../model/limits/limits.ts';
import type { RateTarget } from '../../model/limits/rate-limit-policy.ts';
import type { PolicyColumns } from '../rows/policy-table.ts';
import { resourceTable } from '../rows/resource-table.ts';
import { archivedContentsOf } from '../rows/workspace-contents.ts';

interface RateLimitPolicyRow extends PolicyColumns {
  workspace_id: string;
  type: RateLimit['type'];
  unit: RateLimit['unit'];
  value: number;
  /** Kind of requests it limits; fixed at creation. */
  target: RateTarget;
}

declare module '../connection/db.ts' {
  interface Tables {
    rate_limit_policies: RateLimitPolicyRow;
  }
}

/** A policy as stored. */
export type StoredRateLimitPolicy = Selectable<RateLimitPolicyRow>;

export const { insert, findById, findByIdForUpdate, update } = resourceTable(
  'rate_limit_policies',
  { hasSlug: false },
);

/** Without archived policies. */
export const { listAllForOrganisation } = resourceTable('rate_limit_policies', {
  archived: 'hidden',
  hasSlug: false,
});

export const contents = archivedContentsOf('RateLimitPolicy', 'rate_limit_policies');
