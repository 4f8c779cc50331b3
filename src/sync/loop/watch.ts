/** Runs sync cycles in a loop: decides when a cycle is due, what is retried, and when. */
/*
 * The loop has four states, distinguished by three facts: the version of the last cycle, the time of the
 * next retry, and whether the source itself is unreachable.
 *
 *   settled      nothing to retry        a new version starts a cycle, the interval a drift pass
 *   retrying     a retry time is set     that time, or a new version, starts a cycle
 *   invalid      the source has faults   a new version starts a cycle; drift passes continue with the
 *                                        last valid version, or, where only some workspaces are
 *                                        invalid, with the last valid version of these
 *   source down  a retry time is set     the source is not read before that time
 *
 *   a cycle ends    with an error that may pass (network, overload, partial failure,
 *                   stale data)                                                      -> retrying
 *                   with suspended changes; a suspension ends by itself              -> retrying
 *                   refused by a guard, until somebody releases it elsewhere         -> retrying
 *                   with success, or with blocks that only a person can lift         -> settled
 *   a read fails    with faults that need an edit -> invalid; otherwise -> retrying or source down
 *
 * A new version resets the backoff, so that a correction does not wait for an older mistake. There is
 * no queue and no memory of pending work: every cycle compares everything. A missed version, an
 * interrupted cycle and a manual change on the server therefore all lead to the same next cycle. A
 * process that dies loses only its snapshot and the times above; the next one starts with a cycle.
 *
 * Resources that left the source are not deleted at once, because a folder may be missing briefly while
 * it is mounted, copied or checked out. The same source must be read twice, a settling time apart; until
 * then the deletes are reported as blocked. API keys and workspaces stay even then unless the loop was
 * started with --prune-keys, because what depends on them cannot be restored.
 *
 * A key due for rotation starts a cycle, also with the last valid version of an invalid source. Where
 * drift is only reported or not looked for, that cycle rotates and does nothing else.
 *
 * Drift is what a pass over an unchanged source finds. It is undone, reported or not looked for,
 * depending on the drift mode. In the last two modes a new version still applies as a whole, because a
 * plan is one unit. The first look of a process cannot know whether the version is new, so it writes
 * nothing if it finds only that others changed what was applied.
 *
 * While a guard holds back a whole version, drift is still undone or reported for resources that the
 * version leaves as they were applied last. The guard cannot be about those.
 *
 * Two loops of one owner must not alternate: with `lead`, only the leading loop looks at the source.
 * A loop that starts to lead begins like a new process, with a full look.
 *
 * Every cycle is reported. A failure or drift is reported once for as long as it stays the same.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { endingOfReport } from '../apply/apply.ts';
import type { CycleOptions, CycleResult } from '../cycle/cycle-options.ts';
import { reconcile } from '../cycle/reconcile.ts';
import { timeCycle } from '../cycle/time-cycle.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import type { UnattendedTerms } from '../plan/removal-holds.ts';
import { suspendedIn } from '../plan/suspended.ts';
import type { SnapshotRead } from '../server/live.ts';
import { isGitLocation } from '../source/git-location.ts';
import type { SourceVersion } from '../source/source-files.ts';
import type { LookOutcome, LoopEvent } from '../status/loop-event.ts';
import { Backoff } from './backoff.ts';
import {
  type DriftPolicy,
  findDueAction,
  initialLoopState,
  type LoopState,
  newVersionState,
} from './due-action.ts';
import { LastValidSource, type LastValidSourceOptions } from './last-valid-source.ts';
import { Leadership } from './leadership.ts';
import { RepeatFilter } from './repeat-filter.ts';
import { runCycle } from './run-cycle.ts';
import { SettlingTimer } from './settling-timer.ts';

export interface WatchOptions
  extends Omit<CycleOptions, 'act' | 'previous' | 'confirm' | 'unattended'>,
    Omit<UnattendedTerms, 'settledDigest'>,
    LastValidSourceOptions {
  /** Returns the current version of the source without reading all of it; see `Source.newest`. */
  readonly newest: () => Promise<SourceVersion>;
  /** Time between two looks at the source, ms; from one minute on, spread by ±10 %. */
  readonly probeMs: number;
  readonly drift: DriftPolicy;
  /**
   * Called before each look. Returns a number that changes with every new term of leadership, or null
   * while another loop leads. Without it this loop always leads.
   *
   * @throws Failure when leadership cannot be determined
   */
  readonly lead?: (() => Promise<number | null>) | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: LoopEvent) => void;
  /** Called with the outcome of each look, before the cycle that it may start. */
  readonly onLook?: ((look: LookOutcome) => void) | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /**
   * Waits for the next look. Throws early when the signal is aborted. Returns `hinted` when a hint about
   * a new version ended the wait; the next look then also ignores the backoff of an unreachable source.
   */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<'hinted' | undefined>;
}

/** Polling a folder is cheap; polling a Git host is not. */
export const folderProbeMs = 1_000;
const localGitProbeMs = 5_000;
const gitProbeMs = 60_000;
/** Interval of the leadership checks while another loop leads. */
const standbyMs = 5_000;
/** Retry interval during a suspension, which ends by itself without notice. */
const suspendedMs = 60_000;
/** Delay until a rotation that could not be checked, or was just scheduled, is checked again. */
const rotationLookMs = 60_000;

/** Returns the default look interval, ms: the longest that any of the locations needs. */
export function usualProbeMs(locations: readonly string[]): number {
  return Math.max(
    ...locations.map((location) => {
      if (!isGitLocation(location)) return folderProbeMs;
      // A local repository is nearly as cheap to poll as a folder.
      return location.startsWith('file:') ? localGitProbeMs : gitProbeMs;
    }),
  );
}

/**
 * Keeps the server equal to the source until the signal is aborted. Every cycle takes the newest
 * version; nothing is queued. Temporary errors (network, an overloaded server, a partial failure) are
 * retried with backoff. Errors that need an edit are reported once, and drift from the last valid
 * version is still undone.
 */
export async function watch(options: WatchOptions): Promise<void> {
  const loop = new WatchLoop(options);
  const pause = options.pause ?? pauseFor;
  let isHinted = false;
  while (!options.signal.aborted) {
    await loop.turn(isHinted);
    try {
      isHinted = (await pause(loop.waitMs(), options.signal)) === 'hinted';
    } catch (error) {
      if (!options.signal.aborted) throw error;
    }
  }
}

/**
 * Syncs once, unattended: deletes what left the source if it is still gone a settling time later.
 *
 * @throws as `reconcile`
 */
export async function syncSettled(
  options: Omit<WatchOptions, 'newest' | 'probeMs' | 'drift' | 'lead' | 'onEvent'>,
): Promise<CycleResult> {
  const { settleMs, pruneKeys, signal, pause = pauseFor } = options;
  const run = (act: boolean, settledDigest: string | null): Promise<CycleResult> =>
    reconcile({ ...options, act, unattended: { settledDigest, settleMs, pruneKeys } });
  const { plan } = await run(false, null);
  if (!plan.blocked.some(({ reason }) => reason === 'settling')) return await run(true, null);
  await pause(settleMs, signal);
  return await run(true, plan.source.digest);
}

class WatchLoop {
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #leadership: Leadership;
  /** Version of the last cycle, whatever its outcome. */
  #version: string | null = null;
  readonly #state: LoopState = { ...initialLoopState };
  readonly #validSource: LastValidSource;
  #read: SnapshotRead | null = null;
  readonly #repeats = new RepeatFilter();
  readonly #settling: SettlingTimer;
  /** Whether the source itself is unreachable, so that looks back off too. */
  #isSourceDown = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff(this.#clock, this.#random);
    this.#leadership = new Leadership(options.lead);
    this.#validSource = new LastValidSource(options);
    this.#settling = new SettlingTimer(options.settleMs);
  }

  /** Looks at the source and runs a cycle if one is due. */
  async turn(isHinted: boolean): Promise<void> {
    try {
      if (await this.#leadership.refresh()) {
        this.#version = null;
        this.#state.mayBeApplied = true;
      }
      if (!this.#leadership.isLeading) return this.#options.onLook?.({ kind: 'standby' });
      const isWaiting = this.#isSourceDown && this.#clock.now() < (this.#state.retryAt ?? 0);
      if (isWaiting && !isHinted) return;
      this.#isSourceDown = true;
      const version = await this.#options.newest();
      this.#isSourceDown = false;
      this.#validSource.forgetOnNewSignatures(version.signatures);
      const isRetryPending = this.#state.retryAt !== null;
      this.#options.onLook?.({ kind: 'seen', version, isRetryPending });
      await this.#look([version.revision, version.digest, version.signatures].join(':'));
    } catch (error) {
      if (this.#options.signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      this.#fail(error);
    }
  }

  /** Time until the next look, ms. */
  waitMs(): number {
    const { probeMs } = this.#options;
    if (!this.#leadership.isLeading) return spread(Math.min(probeMs, standbyMs), this.#random);
    const others = this.#isSourceDown ? [] : [this.#settling.until, this.#state.rotatesAt];
    return waitUntil(
      [this.#state.retryAt, ...others],
      spread(probeMs, this.#random),
      this.#clock.now(),
    );
  }

  async #look(version: string): Promise<void> {
    const now = this.#clock.now();
    const isNew = version !== this.#version;
    if (isNew) {
      this.#backoff.reset();
      Object.assign(this.#state, newVersionState);
    }
    const facts = { now, isNew, settledAt: this.#settling.until };
    const due = findDueAction(this.#state, facts, this.#options.drift);
    if (due === null) return;
    this.#version = version;
    this.#state.cycleAt = now;
    if (due.isFresh || (this.#state.retryAt !== null && now >= this.#state.retryAt))
      this.#state.retryAt = null;
    if (due.what === 'report' && (await this.#reportDrift(due.isFresh, true))) return;
    await this.#cycle(due.isFresh, due.what === 'rotations');
  }

  /** Reports drift. Returns false when the pass found more than drift: the version may be new. */
  async #reportDrift(isFresh: boolean, mayRotate: boolean): Promise<boolean> {
    const { result, durationMs } = await timeCycle({ ...this.#cycleOptions(isFresh), act: false });
    const changes = result.plan.changes.filter(({ action }) => action !== 'retain');
    if (isFresh && this.#state.isPaused && suspendedIn(result.plan) !== null) {
      this.#state.retryAt = this.#clock.now() + suspendedMs;
      return true;
    }
    if (isFresh && (!isOnlyDrift(changes) || result.plan.blocked.length > 0)) return false;
    if (mayRotate && changes.some(({ action }) => action === 'rotate')) {
      await this.#cycle(isFresh, true);
      return await this.#reportDrift(isFresh, false);
    }
    this.#state.isApplied ||= isFresh;
    this.#state.mayBeApplied = false;
    this.#read = result.read;
    this.#state.rotatesAt = result.plan.nextRotationAt;
    this.#validSource.markApplied();
    if (this.#state.retryAt === null) this.#backoff.reset();
    const isNews = this.#repeats.isNewDrift(changes);
    const about = { isNews, sourceFailure: this.#validSource.failure, isVersionHeld: false };
    this.#options.onEvent({ kind: 'drift', result, durationMs, ...about });
    return true;
  }

  async #cycle(isFresh: boolean, rotationsOnly: boolean): Promise<void> {
    if (!rotationsOnly) [this.#settling.until, this.#state.retryAt] = [null, null];
    const startedAt = this.#clock.now();
    const options = { ...this.#cycleOptions(isFresh), rotationsOnly, act: true };
    const around = { mode: this.#options.drift.mode, repeats: this.#repeats };
    const { result, durationMs, driftEvent: beside } = await runCycle(options, around);
    if (!rotationsOnly) this.#settling.observe(result.plan, startedAt);
    this.#state.mayBeApplied &&= rotationsOnly;
    this.#read = result.read;
    this.#state.rotatesAt = nextRotationAt(result, startedAt);
    if (result.refusal === null) this.#validSource.markApplied();
    if (canRetry(result)) this.#state.retryAt = this.#backoff.next();
    else if (this.#state.retryAt === null) this.#backoff.reset();
    const isPaused = suspendedIn(result.plan) !== null;
    const isNews = this.#repeats.isNewCycle(result, rotationsOnly);
    if (isPaused) this.#state.retryAt ??= this.#clock.now() + suspendedMs;
    if (!rotationsOnly) {
      const isApplied = result.ending === 'success';
      Object.assign(this.#state, { isPaused, isApplied, isRefused: result.refusal !== null });
    }
    const about = { isNews, sourceFailure: this.#validSource.failure, isVersionHeld: false };
    const { retryAt } = this.#state;
    this.#options.onEvent({ kind: 'cycle', result, durationMs, retryAt, ...about });
    if (beside !== null) this.#options.onEvent(beside);
  }

  #cycleOptions(isFresh: boolean): Omit<CycleOptions, 'act'> {
    const { settleMs, pruneKeys, drift } = this.#options;
    const settledDigest = this.#settling.digestAt(this.#clock.now());
    const unattended = { settledDigest, settleMs, pruneKeys };
    // A workspace whose manifests are invalid gets nothing new, so what is left there is drift.
    const fillsIn = drift.mode === 'heal' || !isFresh;
    const readDesired = () => this.#validSource.read({ isFresh, fillsIn });
    return { ...this.#options, previous: this.#read, readDesired, unattended };
  }

  #fail(failure: Failure): void {
    const isHard = this.#validSource.needsEdit(failure);
    this.#state.rotatesAt &&= Math.max(this.#state.rotatesAt, this.#clock.now() + rotationLookMs);
    this.#state.retryAt = isHard ? null : this.#backoff.next();
    this.#options.onLook?.({ kind: 'failed', failure });
    if (!this.#repeats.isNewFailure(failure)) return;
    this.#options.onEvent({ kind: 'failure', failure, retryAt: this.#state.retryAt });
  }
}

/** Returns whether the changes only undo what others did or rotate keys that are due. */
function isOnlyDrift(changes: readonly PlannedChange[]): boolean {
  const isDrift = ({ action, restores, fields }: PlannedChange): boolean =>
    restores || (action === 'rotate' && fields.every((field) => field.reason === 'drift'));
  return changes.length > 0 && changes.every(isDrift);
}

/**
 * Returns whether a retry may help. A missing or wrong key file needs a person. A refused version may
 * be released by a run elsewhere, which sends no notice.
 */
function canRetry({ ending, report, refusal }: CycleResult): boolean {
  if (refusal !== null || ending === 'retryable' || ending === 'unreachable') return true;
  return ending === 'partialFailure' && report !== null && endingOfReport(report) !== 'success';
}

/** Spreads the interval by ±10 %, from one minute on. */
function spread(probeMs: number, random: () => number): number {
  return Math.round(probeMs * (1 + (probeMs >= 60_000 ? 0.2 * random() - 0.1 : 0)));
}

/** Returns the time until the earliest moment, ms, at most `longestMs`. */
function waitUntil(moments: readonly (number | null)[], longestMs: number, now: number): number {
  const times = moments.filter((moment) => moment !== null);
  return Math.max(0, Math.min(longestMs, ...times.map((moment) => moment - now)));
}

/** Keys written by this cycle have rotation times that it has not read, so they are checked soon after. */
function nextRotationAt({ plan, report }: CycleResult, now: number): number | null {
  const isWritten = plan.changes.some(({ desired }) => desired?.rotation?.isPeriodic === true);
  const next = plan.nextRotationAt ?? Number.POSITIVE_INFINITY;
  const soon = isWritten && report !== null ? now + rotationLookMs : next;
  const at = Math.min(next, soon);
  return Number.isFinite(at) ? Math.max(at, now + 1) : null;
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<undefined> {
  await delay(ms, undefined, { signal });
}
