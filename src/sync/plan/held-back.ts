/** Knows which removals have to wait: for the source to settle, or for a word by somebody. */
import type { KindName } from '../../model/kinds/kinds.ts';
import { identityKey, type LiveResource } from '../resources/resource-set.ts';

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

/** Of a removal that is guarded, by identity key: whether it has been released by name. */
export type IsReleased = (id: string) => boolean;

/** Why a resource whose removal ends more than itself stays until it is named; null when it may go. */
export function guarded(
  { identity, id: resourceId }: LiveResource,
  isReleased: IsReleased,
  keysInUse: ReadonlyMap<string, string | null>,
): Held | null {
  const id = identityKey(identity);
  if (isReleased(id)) return null;
  const lastUsedAt = identity.kind === 'ApiKey' ? keysInUse.get(resourceId) : undefined;
  if (lastUsedAt !== undefined) {
    const { workspace } = identity;
    const goesAlong =
      workspace !== null &&
      isReleased(identityKey({ kind: 'Workspace', workspace: null, name: workspace }));
    if (goesAlong) return null;
    const use = lastUsedAt === null ? 'and may be in use' : `and was used at ${lastUsedAt}`;
    const message = `it left the source ${use}; it is deleted when it is named: --delete ${id}`;
    return { reason: 'used-key', message };
  }
  if (identity.kind !== 'Workspace') return null;
  const message = `it left the source; with a workspace goes all that is counted and kept in it, so that \
it is deleted when it is named: --delete ${id}`;
  return { reason: 'guarded', message };
}

/** What this credential has not recorded itself it does not remove: anybody could have put the mark there. */
export function recordedElsewhere({ isRecordedHere }: LiveResource): Held | null {
  if (isRecordedHere) return null;
  const message = `it would be deleted, and another credential than this one has recorded it for this \
owner; delete it by hand, or take it over with --take-ownership`;
  return { reason: 'other-credential', message };
}
