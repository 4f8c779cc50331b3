/** Holds back deletions until the source has settled or a person releases them. */
import type { KindName } from '../../model/kinds/kinds.ts';
import { identityKey, type LiveResource } from '../resources/resource-set.ts';
import type { PlanDraft } from './plan-model.ts';

/** How an unattended loop may prune resources. */
export interface UnattendedTerms {
  /** Digest that has stayed the same for the settling time; null when none has. */
  readonly settledDigest: string | null;
  /** How long a source must stay the same before anything is pruned, ms. */
  readonly settleMs: number;
  /** Whether API keys and workspaces are pruned too; what depends on them cannot be restored. */
  readonly pruneKeys: boolean;
}

export interface RemovalHold {
  readonly reason:
    | 'settling'
    | 'unattended'
    | 'guarded'
    | 'used-key'
    | 'unread'
    | 'other-credential';
  readonly message: string;
}

const protectedKinds: readonly KindName[] = [
  'ApiKey',
  'ServiceAccount',
  'TenantServiceGroup',
  'Workspace',
];

/**
 * Returns why a resource that left the source with this digest stays for now; null if it may be
 * deleted.
 */
export function holdUnattended(
  live: LiveResource,
  digest: string,
  { settledDigest, settleMs, pruneKeys }: UnattendedTerms,
): RemovalHold | null {
  if (protectedKinds.includes(live.identity.kind) && !pruneKeys) {
    const message =
      'it left the source, and an unattended sync does not delete it; to delete it, declare it with state: absent';
    return { reason: 'unattended', message };
  }
  if (settledDigest === digest) return null;
  const message = `it left the source; it is deleted if the source is still the same when it is read again, \
${settleMs / 1000} s from now`;
  return { reason: 'settling', message };
}

/** Tells whether a guarded removal has been released by name; takes the identity key. */
export type IsReleased = (id: string) => boolean;

/** Returns why the removal of a workspace waits until it is named; null for other kinds. */
export function holdGuarded(
  { identity }: LiveResource,
  isReleased: IsReleased,
): RemovalHold | null {
  const id = identityKey(identity);
  if (isReleased(id) || identity.kind !== 'Workspace') return null;
  const message = `it left the source; deleting a workspace deletes its content and usage counters, so \
it is deleted when it is named: --delete ${id}`;
  return { reason: 'guarded', message };
}

/**
 * Blocks the pruning of keys in use until they, or their workspace, are named.
 *
 * @param isReleased absent guards nothing
 */
export function blockKeysInUse(
  draft: PlanDraft,
  isReleased: IsReleased | undefined,
  keysInUse: ReadonlyMap<string, string | null>,
): void {
  if (isReleased === undefined || keysInUse.size === 0) return;
  for (const { id, identity, live, prune } of [...draft.changes.values()]) {
    const lastUsedAt = prune && live !== null ? keysInUse.get(live.id) : undefined;
    if (lastUsedAt === undefined || identity.kind !== 'ApiKey' || isReleased(id)) continue;
    const { workspace } = identity;
    const isWorkspaceReleased =
      workspace !== null &&
      isReleased(identityKey({ kind: 'Workspace', workspace: null, name: workspace }));
    if (isWorkspaceReleased) continue;
    const use = lastUsedAt === null ? 'and may be in use' : `and was used at ${lastUsedAt}`;
    const message = `it left the source ${use}; it is deleted when it is named: --delete ${id}`;
    draft.block({ id, identity, position: null, reason: 'used-key', message });
  }
}

/**
 * Holds back deletions of resources that another credential recorded: anybody could have set that
 * mark.
 */
export function holdRecordedElsewhere({ isRecordedHere }: LiveResource): RemovalHold | null {
  if (isRecordedHere) return null;
  const message = `it would be deleted, but another credential than this one recorded it for this \
owner; delete it by hand, or take it over with --take-ownership`;
  return { reason: 'other-credential', message };
}
