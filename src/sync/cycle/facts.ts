/** Gathers from the server all facts that one plan needs, before it is made. */
import { systemClock } from '../../clock.ts';
import type { SyncRevision } from '../../model/kinds/sync-record.ts';
import { leavingKeyIds } from '../apply/keys-of-plan.ts';
import { compareSets, type SetComparison } from '../plan/comparison.ts';
import type { Refusal } from '../plan/guards.ts';
import { blockedDraft, type PlanFacts } from '../plan/plan.ts';
import type { Suspension } from '../plan/suspended.ts';
import type { DesiredSet } from '../resources/resource-set.ts';
import { type KeysInUse, readKeysInUse } from '../server/key-uses.ts';
import { ownSnapshot, readSnapshot, type SnapshotRead, toLiveSet } from '../server/live.ts';
import { readRevisions, readStanding } from '../server/sync-records.ts';
import { countWriting, onlyRestores } from './cycle-ending.ts';
import type { CycleOptions } from './cycle-options.ts';
import { findHistoryRefusal } from './history-guard.ts';

export interface CycleFacts extends PlanFacts {
  readonly read: SnapshotRead;
  /** Both sides compared. */
  readonly comparison: SetComparison;
  readonly keysInUse: KeysInUse;
  readonly suspensions: readonly Suspension[];
  /** The newest revision; null before the first one, and when the standing was not read. */
  readonly lastRevision: SyncRevision | null;
  /** Set when the source does not continue the history that was applied last. */
  readonly historyRefusal: Refusal | null;
}

/**
 * Reads the live state and compares it with the desired one, then reads only the facts that the
 * differences call for. While nothing differs this is one request.
 *
 * @param previous snapshot that is not transferred again while its etag holds
 * @param readsStanding false skips suspensions and history, which are then read under the lease
 * @throws Failure when the server or the repository cannot be read
 */
export async function gatherFacts(
  options: CycleOptions,
  desired: DesiredSet,
  previous: SnapshotRead | null,
  readsStanding: boolean,
): Promise<CycleFacts> {
  const { client, signal } = options;
  const now = (options.clock ?? systemClock).now();
  const { read, comparison } = await readAndCompare(options, desired, previous, now);
  let keysInUse: KeysInUse = new Map();
  let suspensions: readonly Suspension[] = [];
  let draft = blockedDraft(comparison, {});
  if (options.isReleased !== undefined) {
    keysInUse = await readKeysInUse(client, leavingKeyIds(draft.changes.values()), now, signal);
    if (keysInUse.size > 0) draft = blockedDraft(comparison, { keysInUse });
  }
  const facts = { read, comparison, keysInUse };
  if (!readsStanding || countWriting(draft.changes.values()) === 0) {
    return { ...facts, suspensions, lastRevision: null, historyRefusal: null };
  }
  const standing = await readStanding(client, signal);
  if (options.evenIfSuspended !== true) suspensions = standing.suspensions;
  if (suspensions.length > 0) draft = blockedDraft(comparison, { keysInUse, suspensions });
  const applied = {
    newest: standing.revision,
    all: async () => (await readRevisions(client, signal)) ?? [],
  };
  const historyRefusal = onlyRestores(draft.changes.values())
    ? null
    : await findHistoryRefusal(desired.source, applied, options);
  return { ...facts, suspensions, lastRevision: standing.revision, historyRefusal };
}

/** Reads what belongs to the owner where that suffices, and the whole snapshot where anything differs. */
async function readAndCompare(
  options: CycleOptions,
  desired: DesiredSet,
  previous: SnapshotRead | null,
  now: number,
): Promise<Pick<CycleFacts, 'read' | 'comparison'>> {
  const { client, signal } = options;
  const compare = (read: SnapshotRead): SetComparison =>
    compareSets(desired, toLiveSet(read, client.owner, desired.externals), {
      owner: client.owner,
      takeOwnership: options.takeOwnership,
      prune: options.prune,
      rotationsOnly: options.rotationsOnly,
      restoresOnly: options.restoresOnly,
      unattended: options.unattended,
      isReleased: options.isReleased,
      scope: options.scope,
      now,
    });
  const query = options.looksAtOwnFirst ? ownSnapshot(client.owner, desired.externals) : null;
  if (query !== null) {
    const read = await readSnapshot(client, previous, signal, query);
    const comparison = compare(read);
    const { changes, blocked } = blockedDraft(comparison, {});
    if (countWriting(changes.values()) + blocked.size === 0) return { read, comparison };
  }
  // Resources of other owners may be referred to, use what is deleted, or occupy a name.
  const read = await readSnapshot(client, previous, signal);
  return { read, comparison: compare(read) };
}
