/** Knows the audit row of what is decided about an owner itself, not about a resource of it. */
import type { Db } from '../../store/connection/db.ts';
import type { AdminDeps, AdminRequest } from '../request/deps.ts';

export interface OwnerDecision {
  readonly owner: string;
  readonly action: 'bind' | 'suspend' | 'resume';
  /** Facts of it; never values of secret type. */
  readonly changes: Record<string, unknown>;
}

/** In the transaction of the decision. */
export async function auditOwner(
  tx: Db,
  deps: Pick<AdminDeps, 'audit'>,
  { caller, requestId, now }: Pick<AdminRequest, 'caller' | 'requestId' | 'now'>,
  { owner, action, changes }: OwnerDecision,
): Promise<void> {
  const entry = {
    organisationId: caller.organisationId,
    workspaceId: null,
    at: now,
    actorKind: caller.kind,
    actorId: caller.id,
    action,
    resourceKind: 'SyncOwner',
    resourceId: owner,
    requestId,
    changes,
  };
  await deps.audit(tx, [entry]);
}
