/** Writes audit rows about an owner itself rather than about one of its resources. */
import type { Db } from '../../store/connection/db.ts';
import { auditChange } from '../request/change.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';

export interface OwnerDecision {
  readonly owner: string;
  readonly action: 'bind' | 'suspend' | 'resume';
  /** Facts about the decision; never secret values. */
  readonly changes: Record<string, unknown>;
}

/** Uses the transaction of the decision. */
export async function auditOwner(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  author: Pick<AdminRequest, 'caller' | 'requestId' | 'now'>,
  { owner, action, changes }: OwnerDecision,
): Promise<void> {
  const facts = { resourceId: owner, workspaceId: null, changes };
  await auditChange(tx, deps, author, { action, kind: 'SyncOwner', ...facts });
}
