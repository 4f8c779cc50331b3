/** Knows which removals have to wait: for the source to settle, or for a word by somebody. */
import type { KindName } from '../../model/kinds/kinds.ts';
import { identityKey, type LiveResource } from '../resources/resource-set.ts';
import type { Draft } from './planned.ts';

/** How a loop that nobody watches may remove what left the source without a tombstone. */
export interface Unattended {
  /** Digest of a source that has been read a settling time ago; null when there is none yet. */
  readonly settledDigest: string | null;
  /** How long a source must stay the same before anything is removed, ms. */
  readonly settleMs: number;
  /** Whether API keys and workspaces go, too: what hangs on them cannot be made again. */
  readonly pruneKeys: boolean;
}

export interface Held {
  readonly reason:
    | 'settling'
    | 'unattended'
    | 'guarded'
    | 'used-key'
    | 'unread'
    | 'other-credential';
  readonly message: string;
}

const keptKinds: readonly KindName[] = ['ApiKey', 'Workspace'];

/** Why a resource that left the source of this digest stays for now; null when it may go. */
export function heldBack(
  live: LiveResource,
  digest: string,
  { settledDigest, settleMs, pruneKeys }: Unattended,
): Held | null {
  if (keptKinds.includes(live.identity.kind) && !pruneKeys) {
    const message =
      'it left the source, and nobody is here to say that it is meant; a manifest with state: absent says it';
    return { reason: 'unattended', message };
  }
  if (settledDigest === digest) return null;
  const message = `it left the source; it is deleted once the source has been read the same again, \
${settleMs / 1000} s from now`;
  return { reason: 'settling', message };
}

/** Tells whether a guarded removal has been released by name; takes the identity key. */
export type IsReleased = (id: string) => boolean;

/** Returns why the removal of a workspace waits until it is named; null for other kinds. */
export function guarded({ identity }: LiveResource, isReleased: IsReleased): Held | null {
  const id = identityKey(identity);
  if (isReleased(id) || identity.kind !== 'Workspace') return null;
  const message = `it left the source; with a workspace goes all that is counted and kept in it, so that \
it is deleted when it is named: --delete ${id}`;
  return { reason: 'guarded', message };
}

/**
 * Blocks the pruning of keys in use until they, or their workspace, are named.
 *
 * @param isReleased absent guards nothing
 */
export function blockKeysInUse(
  draft: Draft,
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

/** What this credential has not recorded itself it does not remove: anybody could have put the mark there. */
export function recordedElsewhere({ isRecordedHere }: LiveResource): Held | null {
  if (isRecordedHere) return null;
  const message = `it would be deleted, and another credential than this one has recorded it for this \
owner; delete it by hand, or take it over with --take-ownership`;
  return { reason: 'other-credential', message };
}
