/** Knows one sync cycle from end to end: read both sides, plan, permit, apply; returns values, prints nothing. */
import { type Clock, systemClock } from '../../clock.ts';
import { type Ending, Failure } from '../../failure.ts';
import type { SyncRevision } from '../../model/kinds/sync-record.ts';
import { type ApplyReport, applyPlan, endingOf, type OnItem } from '../apply/apply.ts';
import { findHolders } from '../apply/key-proofs.ts';
import { needsSettling, settleAll } from '../apply/key-settling.ts';
import {
  type ExistingKey,
  type KeyDelivery,
  type SurveyedKey,
  surveyKeys,
} from '../apply/key-survey.ts';
import { acquireLease, type HeldLease, type LeaseOptions } from '../apply/owner-lease.ts';
import { existingKeys, keysLeaving, lostValues, writtenKeys } from '../apply/plan-keys.ts';
import { recordRun, revisionOf } from '../apply/revision.ts';
import { SecretOutput } from '../apply/secret-output.ts';
import { findAtomicRefusal } from '../plan/atomic.ts';
import { findRefusal, type Refusal } from '../plan/guards.ts';
import type { IsReleased, Unattended } from '../plan/held-back.ts';
import { makePlan } from '../plan/plan.ts';
import type { Plan } from '../plan/planned.ts';
import { releases } from '../plan/releases.ts';
import type { Suspension } from '../plan/suspended.ts';
import { type DesiredSet, identityKey, type LiveResource } from '../resources/resource-set.ts';
import type { WorkspaceScope } from '../resources/workspace-scope.ts';
import type { AdminClient } from '../server/client.ts';
import { type KeysInUse, readKeysInUse } from '../server/key-uses.ts';
import { ownSnapshot, readSnapshot, type SnapshotRead, toLiveSet } from '../server/live.ts';
import { readRevisions, readStanding } from '../server/sync-records.ts';
import { FolderSink } from '../sinks/folder-sink.ts';
import { type OpenSinks, ownerTag, Sinks } from '../sinks/sinks.ts';
import { endingOfPlan, onlyRestores, withDeliveries, withFaults, writes } from './cycle-ending.ts';
import { findHistoryRefusal, type HistoryTerms } from './history-guard.ts';

export interface CycleOptions extends HistoryTerms {
  readonly client: AdminClient;
  /**
   * Reads the source as it stands now.
   *
   * @throws Failure (invalid input, unreachable) with everything that is wrong with it
   */
  readonly readDesired: () => Promise<DesiredSet>;
  /** False stops after the plan. */
  readonly act: boolean;
  /** False leaves alone what left the source without a tombstone. */
  readonly prune: boolean;
  /** How many such deletes have been released; null when none were named. */
  readonly allowDeletes: number | null;
  /** Keys that are due get another value, and nothing else is done. */
  readonly rotationsOnly?: boolean | undefined;
  /** See `PlanOptions.restoresOnly`. */
  readonly restoresOnly?: boolean | undefined;
  /** Set where nobody watches: then removals wait. */
  readonly unattended?: Unattended | null | undefined;
  /** Where somebody runs this: which guarded removals were named; absent where nothing is guarded. */
  readonly isReleased?: IsReleased | undefined;
  /** The workspaces that are looked at; null and absent are all. */
  readonly scope?: WorkspaceScope | undefined;
  readonly takeOwnership: boolean;
  /** All changes in one transaction, or none. */
  readonly isAtomic?: boolean | undefined;
  /**
   * Look first at what this owner has to see while nothing changes, and at everything only where that
   * shows that something does.
   */
  readonly looksAtOwnFirst?: boolean | undefined;
  /** Write also where the server says that it is suspended. */
  readonly evenIfSuspended?: boolean | undefined;
  /** By which keys are due to be rotated; that of the process when absent. */
  readonly clock?: Clock | undefined;
  /** Folder of the files that `secretOutput` writes. */
  readonly secretsFolder: string;
  /** Further places that `secretOutput` may name; none when absent. */
  readonly openSinks?: OpenSinks | undefined;
  /** Aborted: what is under way is finished, nothing more is started. */
  readonly signal?: AbortSignal | undefined;
  /** What whoever waits for this run is told: `apply on host-1 (process 12)`. */
  readonly holder: string;
  /** How the right to write is come by; a lease for this run alone when absent. */
  readonly takeLease?: ((terms: LeaseOptions) => Promise<HeldLease>) | undefined;
  /** Longest time to wait for another run of the same owner, ms; a default when absent. */
  readonly leaseWaitMs?: number | undefined;
  /** Told once, when another run of the same owner has to be waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** What the last cycle read of the server; saves reading it again while it has not changed. */
  readonly previous?: SnapshotRead | null | undefined;
  /** Asked before anything is written, when there is something to write. */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** Throws for a plan that is not to be carried out; asked at each look, so that it is before any write. */
  readonly assertExpected?: ((plan: Plan, read: SnapshotRead) => void) | undefined;
  readonly onItem?: OnItem | undefined;
}

export interface CycleResult {
  readonly plan: Plan;
  /** Set when a guard refused the plan; nothing was written. */
  readonly refusal: Refusal | null;
  /** True when `confirm` said no; nothing was written. */
  readonly declined: boolean;
  /** Null when nothing was tried. */
  readonly report: ApplyReport | null;
  readonly warnings: readonly string[];
  /** Of every key that exists and whose value belongs somewhere: whether it is there. */
  readonly deliveries: readonly KeyDelivery[];
  readonly ending: Ending;
  /** State of the server before the cycle. */
  readonly read: SnapshotRead;
}

/**
 * Plans without the owner's lease, which is for those who write; then takes it, looks again at what
 * whoever had it before may have changed, and carries out what is to be done now. What a person has
 * confirmed is carried out as confirmed: what has changed since then is stale, never overwritten.
 * A key counts as delivered once its value has proven itself, so the last look is at the places.
 *
 * @throws Failure when a side cannot be read, the source is wrong, or another run has the lease;
 *   then nothing was written
 */
export async function reconcile(options: CycleOptions): Promise<CycleResult> {
  const { act } = options;
  const desired = await options.readDesired();
  // Under the lease it is asked again, and nobody has to be told before.
  const isShown = !act || (options.confirm ?? options.assertExpected) !== undefined;
  const first = await look(options, desired, options.previous ?? null, isShown);
  if (!act || first.result.refusal !== null || (await isIdle(options, first))) return first.result;
  if (options.confirm !== undefined && !(await options.confirm(first.result.plan))) {
    return { ...first.result, declined: true, ending: 'changesPresent' };
  }
  const confirmed = options.confirm === undefined ? null : first;
  // Not awaited here, so that a plan that is made anew is not kept beside the one before it.
  return underLease(options, desired, first.result.read, confirmed);
}

/** @param confirmed what somebody has agreed to; null for nothing */
async function underLease(
  options: CycleOptions,
  desired: DesiredSet,
  read: SnapshotRead,
  confirmed: Look | null,
): Promise<CycleResult> {
  const { client, signal, onWait } = options;
  const { holder, takeOwnership: takeOver, leaseWaitMs: waitMs } = options;
  const takeOverCommand = options.command({ 'take-ownership': true });
  const terms = { holder, takeOver, takeOverCommand, signal, onWait, waitMs };
  await using lease = await (options.takeLease?.(terms) ?? acquireLease(client, terms));
  // Where everything had to be looked at before, it has to be now.
  const looksAtOwnFirst = options.looksAtOwnFirst === true && read.query.view === 'own';
  const now = await look({ ...options, looksAtOwnFirst }, desired, read, true);
  const isPaused = confirmed !== null && isSuspended(now) && !isSuspended(confirmed);
  if (now.result.refusal !== null || isPaused) return now.result;
  const { advice, result } = confirmed ?? now;
  const chosen = { ...now, advice, result: { ...now.result, plan: result.plan } };
  return await carryOut(options, desired, lease, chosen);
}

/** Nothing is to be written, on the server or in a sink. */
async function isIdle(
  options: CycleOptions,
  { result: { plan, read }, keys }: Look,
): Promise<boolean> {
  if (writes(plan) > 0 || keys.some(needsSettling)) return false;
  return (await sinksOf(options, read).listLeaving()).found.length === 0;
}

interface Look {
  /** As though nothing were to be done. */
  readonly result: CycleResult;
  /** What the plan leaves undone or loses, and how to go on. */
  readonly advice: readonly string[];
  readonly keys: readonly SurveyedKey[];
  /** The newest revision; null before the first, and where nobody has asked. */
  readonly last: SyncRevision | null;
}

async function look(
  options: CycleOptions,
  desired: DesiredSet,
  previous: SnapshotRead | null,
  asksStanding: boolean,
): Promise<Look> {
  const { client, takeOwnership, act, command, ...guards } = options;
  const { source } = desired;
  const now = (options.clock ?? systemClock).now();
  const own = options.looksAtOwnFirst ? ownSnapshot(client.owner, desired.externals) : null;
  let read = await readSnapshot(client, previous, options.signal, own ?? undefined);
  let live = toLiveSet(read, client.owner, desired.externals);
  let suspensions: readonly Suspension[] = [];
  let keysInUse: KeysInUse = new Map();
  const planWith = (takeOver: boolean): Plan =>
    makePlan(desired, live, {
      ...{ ...guards, owner: client.owner, takeOwnership: takeOver },
      ...{ suspensions, keysInUse, now },
    });
  let plan = planWith(takeOwnership);
  // What others have may be named, used or in the way, and is part of what has to be known then.
  if (own !== null && writes(plan) + plan.blocked.length > 0) {
    read = await readSnapshot(client, previous, options.signal);
    live = toLiveSet(read, client.owner, desired.externals);
    plan = planWith(takeOwnership);
  }
  if (options.isReleased !== undefined) {
    keysInUse = await readKeysInUse(client, keysLeaving(plan), now, options.signal);
    if (keysInUse.size > 0) plan = planWith(takeOwnership);
  }
  let otherHistory: Refusal | null = null;
  let last: SyncRevision | null = null;
  // Who writes nothing need not ask.
  if (asksStanding && writes(plan) > 0) {
    const standing = await readStanding(client, options.signal);
    if (options.evenIfSuspended !== true) suspensions = standing.suspensions;
    if (suspensions.length > 0) plan = planWith(takeOwnership);
    last = standing.revision;
    const all = async () => (await readRevisions(client, options.signal)) ?? [];
    const applied = { newest: last, all };
    if (!onlyRestores(plan)) otherHistory = await findHistoryRefusal(source, applied, options);
  }
  options.assertExpected?.(plan, read);
  const mayHelp = !takeOwnership && plan.blocked.length > 0;
  const keys = await survey(options, read, plan, existingKeys(plan));
  const deliveries = keys.map(({ delivery }) => delivery);
  const released = releases(plan, mayHelp ? planWith(true) : null, command);
  const told = act || otherHistory === null ? [] : [otherHistory.message];
  const advice = [...plan.warnings, ...lostValues(plan), ...released, ...told];
  const warnings = [...advice, ...messagesOf(deliveries)];
  const refusal = (act ? otherHistory : null) ?? refusalOf(plan, read, options);
  const ending = withDeliveries(endingOfPlan(plan, refusal), deliveries, act);
  const done = { declined: false, report: null };
  return {
    keys,
    advice,
    last,
    result: { plan, refusal, warnings, deliveries, read, ending, ...done },
  };
}

function refusalOf(plan: Plan, { snapshot }: SnapshotRead, options: CycleOptions): Refusal | null {
  const guard = findRefusal(plan, options) ?? null;
  const isOne = options.isAtomic === true && writes(plan) > 0;
  return guard ?? (isOne ? findAtomicRefusal(plan, snapshot.changes_max) : null);
}

async function carryOut(
  options: CycleOptions,
  desired: DesiredSet,
  lease: HeldLease,
  { result, advice, keys, last }: Look,
): Promise<CycleResult> {
  const { client, signal } = options;
  const { plan, read } = result;
  const secretOutput = new SecretOutput({
    sinks: sinksOf(options, read),
    fence: lease.fence,
    keyPrefix: read.snapshot.api_key_prefix,
    findHolders: (claims) => findHolders(client, claims),
    owned: new Map(ownedBy(plan).map(([key, { id }]) => [id, key])),
  });
  secretOutput.warnings.push(...(await secretOutput.deletion.sweep()));
  await settleAll(secretOutput, keys, () =>
    survey({ ...options, signal: undefined }, read, plan, existingKeys(plan)),
  );
  const startedAt = systemClock.now();
  const report = await applyPlan(plan, {
    ...{ client, lease, secretOutput, signal, onItem: options.onItem },
    isAtomic: options.isAtomic === true,
    changesMax: read.snapshot.changes_max ?? 1,
    lookAgain: async () => {
      const again = toLiveSet(await readSnapshot(client, null), client.owner, desired.externals);
      return new Map(again.resources.map((resource) => [identityKey(resource.identity), resource]));
    },
  });
  const proven = await prove(options, read, plan, [
    ...existingKeys(plan),
    ...writtenKeys(plan, report),
  ]);
  const deliveries = proven ?? result.deliveries;
  const applied = endingOf(report);
  const run = { ending: applied, startedAt, finishedAt: systemClock.now() };
  // What was applied before is no step of a history, which may be another one by now.
  const origin = onlyRestores(plan) ? last : null;
  const unrecorded = await recordRun(client, lease, revisionOf(plan, report, { ...run, origin }));
  const warnings = [
    ...[...advice, ...secretOutput.warnings, ...messagesOf(deliveries)],
    ...(proven === null
      ? ['whether the values of keys are where they belong could not be asked; run it again']
      : []),
    ...unrecorded,
  ];
  const isHeldBack = applied === 'success' && plan.blocked.length > 0;
  const ending = withFaults(
    isHeldBack ? 'refusedByGuard' : withDeliveries(applied, deliveries, true),
    plan,
  );
  const isUnproven = proven === null && ending === 'success';
  const told = report.items.length === 0 ? null : report;
  return {
    ...{ ...result, warnings, deliveries, report: told },
    ending: isUnproven ? 'retryable' : ending,
  };
}

function sinksOf({ secretsFolder, openSinks, client }: CycleOptions, read: SnapshotRead): Sinks {
  const owner = { organisationId: read.snapshot.organisation_id, owner: client.owner };
  return new Sinks({
    file: new FolderSink(secretsFolder, ownerTag(owner)),
    ...openSinks?.(owner),
  });
}

function isSuspended({ result }: Look): boolean {
  return result.plan.blocked.some(({ reason }) => reason === 'suspended');
}

function survey(
  options: CycleOptions,
  read: SnapshotRead,
  plan: Plan,
  keys: readonly ExistingKey[],
): Promise<SurveyedKey[]> {
  const owned = new Set(ownedBy(plan).map(([, { id }]) => id));
  return surveyKeys(keys, {
    sinks: sinksOf(options, read),
    findHolders: (claims) => findHolders(options.client, claims, options.signal),
    isOwned: (id) => owned.has(id),
  });
}

/** What the owner has on the server, by identity key. */
function ownedBy(plan: Plan): [string, LiveResource][] {
  return [...plan.live].filter(([, live]) => live.owner === plan.owner);
}

/** Null when the server has gone out of reach. Done even where the run was interrupted. */
async function prove(
  options: CycleOptions,
  read: SnapshotRead,
  plan: Plan,
  keys: readonly ExistingKey[],
): Promise<KeyDelivery[] | null> {
  try {
    return (await survey({ ...options, signal: undefined }, read, plan, keys)).map(
      ({ delivery }) => delivery,
    );
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** One message may be of many keys: what is out of reach is so for all of them. */
function messagesOf(deliveries: readonly KeyDelivery[]): string[] {
  return [...new Set(deliveries.flatMap(({ message }) => message ?? []))];
}
