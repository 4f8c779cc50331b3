/** Knows the loop around the cycle: what makes one due, what is tried again, and when. */
/*
 * The loop has four states, told apart by three facts: the version of the last cycle, the moment of
 * the next try, and whether the source itself is out of reach.
 *
 *   settled      nothing to try          a new version leads to a cycle, time to a drift pass
 *   trying       a moment is set         that moment, or a new version, leads to a cycle
 *   wrong        the source has faults   a new version leads to a cycle; the drift pass goes on with
 *                                        the last version that was right, of a source that is wrong in
 *                                        some workspaces with what was right there
 *   source down  a moment is set         not even looked at before that moment
 *
 *   a cycle ends    what may pass (network, overload, partial failure, staleness)    -> trying
 *                   something suspended, which ends by itself                        -> trying
 *                   a guard refuses all of it, until somebody releases it elsewhere  -> trying
 *                   well, or as only a person can change (blocked items)             -> settled
 *   reading fails   what only an edit mends -> wrong; what may pass -> trying, or source down
 *
 * A new version starts the pauses anew, so that whoever has just corrected something does not wait
 * for an older mistake. There is no queue and no memory of what is to be done: every cycle compares
 * everything, so that a version that was missed, a cycle cut off in the middle, and a change made by
 * hand on the server all lead to the same next cycle. A process that dies here loses nothing but the
 * snapshot it had read and the moments above; the next one begins with a cycle.
 *
 * What left the source is not removed at once: a folder may be away for a moment while it is mounted,
 * copied or checked out. The same has to be read twice, a settling time apart, and in between what is
 * to go is told as blocked. API keys and workspaces stay even then unless the loop was started with
 * the word for it: what depends on them cannot be made again.
 *
 * A key that is due for another value makes a cycle due, also with the last version that was right
 * where the source is wrong now. Where drift is only told or not looked for, that cycle rotates and
 * does nothing else.
 *
 * Drift is what a pass over an unchanged source finds. It is undone, told, or not looked for, as the
 * loop was started. Where it is not undone a new version still brings the whole of it, because a plan
 * is one; but the first look of a process, which cannot know whether the version is new, writes
 * nothing if all it finds is that others changed what had been applied.
 *
 * While a guard holds a whole version back, what others changed is undone or told all the same where that version
 * says what was applied last: neither can be what the guard is about.
 *
 * Two loops of one owner do not take turns at being right: where `lead` is given, only the loop that
 * leads looks at all, and one that comes to lead begins as a process does, with a look at everything.
 *
 * What is told: each cycle, each failure once for as long as the same one holds, drift likewise.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { endingOf } from '../apply/apply.ts';
import type { CycleOptions, CycleResult } from '../cycle/cycle-options.ts';
import { reconcile } from '../cycle/reconcile.ts';
import { timed } from '../cycle/timed-cycle.ts';
import type { Unattended } from '../plan/held-back.ts';
import type { PlannedChange } from '../plan/planned.ts';
import { suspendedIn } from '../plan/suspended.ts';
import type { SnapshotRead } from '../server/live.ts';
import { isGitLocation } from '../source/git-location.ts';
import type { SourceVersion } from '../source/source-files.ts';
import type { Look, WatchEvent } from '../status/loop-event.ts';
import { Backoff } from './backoff.ts';
import { atStart, type DriftPolicy, dueAt, type LoopState, ofNewVersion } from './due.ts';
import { keepUp } from './keep-up.ts';
import { LastGood, type LastGoodOptions } from './last-good.ts';
import { Leadership } from './leadership.ts';
import { Settling } from './settling.ts';
import { Told } from './told.ts';

export interface WatchOptions
  extends Omit<CycleOptions, 'act' | 'previous' | 'confirm' | 'unattended'>,
    Omit<Unattended, 'settledDigest'>,
    LastGoodOptions {
  /** What stands in the source now, without reading it all; as `Source.newest`. */
  readonly newest: () => Promise<SourceVersion>;
  /** Time between two looks at the source, ms; spread by ±10 % from a minute on. */
  readonly probeMs: number;
  readonly drift: DriftPolicy;
  /**
   * Asked before each look: a number that changes whenever the leading begins anew, or null while
   * another loop leads. Everybody leads where it is absent.
   *
   * @throws Failure when that cannot be found out
   */
  readonly lead?: (() => Promise<number | null>) | undefined;
  readonly signal: AbortSignal;
  readonly onEvent: (event: WatchEvent) => void;
  /** Told what each look came to, before what it may lead to. */
  readonly onLook?: ((look: Look) => void) | undefined;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /**
   * Ends early, by throwing, when the signal is aborted; says `hinted` where somebody has news, which
   * also ends the waiting for a source that was out of reach.
   */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<'hinted' | undefined>;
}

/** Probing a folder is cheap, a Git host is not. */
export const folderProbeMs = 1_000;
const localGitProbeMs = 5_000;
const gitProbeMs = 60_000;
/** Time between two questions whether this loop leads, while another one does. */
const standbyMs = 5_000;
/** A suspension ends by itself, and nothing else says when. */
const suspendedMs = 60_000;
/** Time until a rotation that could not be looked at, or was only just set, is looked at again. */
const rotationLookMs = 60_000;

/** Time between two looks where none was named, ms: the rarest that any of the locations calls for. */
export function usualProbeMs(locations: readonly string[]): number {
  return Math.max(
    ...locations.map((location) => {
      if (!isGitLocation(location)) return folderProbeMs;
      // A repository of this machine is nearly as cheap to look at as a folder.
      return location.startsWith('file:') ? localGitProbeMs : gitProbeMs;
    }),
  );
}

/**
 * Keeps the server as the source says, until the signal is aborted. Level-based: every cycle takes
 * the newest version, so nothing is ever queued. What may pass (network, an overloaded server, a
 * partial failure) is tried again ever more rarely; what only an edit can mend is told once, and
 * drift from the last good version is still undone.
 */
export async function watch(options: WatchOptions): Promise<void> {
  const loop = new Loop(options);
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
 * One sync that nobody watches: what left the source goes if it is still gone a settling time later.
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

class Loop {
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #leadership: Leadership;
  /** Version of the last cycle, whatever came of it. */
  #version: string | null = null;
  readonly #state: LoopState = { ...atStart };
  readonly #good: LastGood;
  #read: SnapshotRead | null = null;
  readonly #told = new Told();
  readonly #settling: Settling;
  /** The source itself is out of reach, so that even looking at it backs off. */
  #isSourceDown = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#backoff = new Backoff(this.#clock, this.#random);
    this.#leadership = new Leadership(options.lead);
    this.#good = new LastGood(options);
    this.#settling = new Settling(options.settleMs);
  }

  /** Looks at the source, and runs a cycle if one is due. */
  async turn(isHinted: boolean): Promise<void> {
    try {
      if (await this.#leadership.hasChanged()) {
        this.#version = null;
        this.#state.isUnsure = true;
      }
      if (!this.#leadership.isHeld) return this.#options.onLook?.({ kind: 'standby' });
      const isWaiting = this.#isSourceDown && this.#clock.now() < (this.#state.retryAt ?? 0);
      if (isWaiting && !isHinted) return;
      this.#isSourceDown = true;
      const version = await this.#options.newest();
      this.#isSourceDown = false;
      this.#good.see(version.signatures);
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
    if (!this.#leadership.isHeld) return spread(Math.min(probeMs, standbyMs), this.#random);
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
      Object.assign(this.#state, ofNewVersion);
    }
    const facts = { now, isNew, settledAt: this.#settling.until };
    const due = dueAt(this.#state, facts, this.#options.drift);
    if (due === null) return;
    this.#version = version;
    this.#state.cycleAt = now;
    if (due.isFresh || (this.#state.retryAt !== null && now >= this.#state.retryAt))
      this.#state.retryAt = null;
    if (due.what === 'telling' && (await this.#tellDrift(due.isFresh, true))) return;
    await this.#cycle(due.isFresh, due.what === 'rotations');
  }

  /** False when there is more to do than to tell: the version may be new. */
  async #tellDrift(isFresh: boolean, mayRotate: boolean): Promise<boolean> {
    const { result, durationMs } = await timed({ ...this.#cycleOptions(isFresh), act: false });
    const changes = result.plan.changes.filter(({ action }) => action !== 'retain');
    if (isFresh && this.#state.isPaused && suspendedIn(result.plan) !== null) {
      this.#state.retryAt = this.#clock.now() + suspendedMs;
      return true;
    }
    if (isFresh && (!isOnlyDrift(changes) || result.plan.blocked.length > 0)) return false;
    if (mayRotate && changes.some(({ action }) => action === 'rotate')) {
      await this.#cycle(isFresh, true);
      return await this.#tellDrift(isFresh, false);
    }
    this.#state.isApplied ||= isFresh;
    this.#state.isUnsure = false;
    this.#read = result.read;
    this.#state.rotatesAt = result.plan.nextRotationAt;
    this.#good.keep();
    if (this.#state.retryAt === null) this.#backoff.reset();
    const isNews = this.#told.isNewDrift(changes);
    const about = { isNews, wrong: this.#good.wrong, isBeside: false };
    this.#options.onEvent({ kind: 'drift', result, durationMs, ...about });
    return true;
  }

  async #cycle(isFresh: boolean, rotationsOnly: boolean): Promise<void> {
    if (!rotationsOnly) [this.#settling.until, this.#state.retryAt] = [null, null];
    const startedAt = this.#clock.now();
    const options = { ...this.#cycleOptions(isFresh), rotationsOnly, act: true };
    const around = { mode: this.#options.drift.mode, told: this.#told };
    const { result, durationMs, beside } = await keepUp(options, around);
    if (!rotationsOnly) this.#settling.see(result.plan, startedAt);
    this.#state.isUnsure &&= rotationsOnly;
    this.#read = result.read;
    this.#state.rotatesAt = nextRotationAt(result, startedAt);
    if (result.refusal === null) this.#good.keep();
    if (mayPass(result)) this.#state.retryAt = this.#backoff.next();
    else if (this.#state.retryAt === null) this.#backoff.reset();
    const isPaused = suspendedIn(result.plan) !== null;
    const isNews = this.#told.isNewCycle(result, rotationsOnly);
    if (isPaused) this.#state.retryAt ??= this.#clock.now() + suspendedMs;
    if (!rotationsOnly) {
      const isApplied = result.ending === 'success';
      Object.assign(this.#state, { isPaused, isApplied, isRefused: result.refusal !== null });
    }
    const about = { isNews, wrong: this.#good.wrong, isBeside: false };
    const { retryAt } = this.#state;
    this.#options.onEvent({ kind: 'cycle', result, durationMs, retryAt, ...about });
    if (beside !== null) this.#options.onEvent(beside);
  }

  #cycleOptions(isFresh: boolean): Omit<CycleOptions, 'act'> {
    const { settleMs, pruneKeys, drift } = this.#options;
    const settledDigest = this.#settling.digestAt(this.#clock.now());
    const unattended = { settledDigest, settleMs, pruneKeys };
    // A version that is wrong in a workspace brings nothing to it: what is left there is drift.
    const fillsIn = drift.mode === 'heal' || !isFresh;
    const readDesired = () => this.#good.read({ isFresh, fillsIn });
    return { ...this.#options, previous: this.#read, readDesired, unattended };
  }

  #fail(failure: Failure): void {
    const isHard = this.#good.lacks(failure);
    this.#state.rotatesAt &&= Math.max(this.#state.rotatesAt, this.#clock.now() + rotationLookMs);
    this.#state.retryAt = isHard ? null : this.#backoff.next();
    this.#options.onLook?.({ kind: 'failed', failure });
    if (!this.#told.isNewFailure(failure)) return;
    this.#options.onEvent({ kind: 'failure', failure, retryAt: this.#state.retryAt });
  }
}

/** Nothing but what others changed, and keys that are due for another value. */
function isOnlyDrift(changes: readonly PlannedChange[]): boolean {
  const isDrift = ({ action, restores, fields }: PlannedChange): boolean =>
    restores || (action === 'rotate' && fields.every((field) => field.reason === 'drift'));
  return changes.length > 0 && changes.every(isDrift);
}

/**
 * Whether trying again may help; a key file that is missing or wrong is for a person to bring. What a guard
 * refuses is released by a run elsewhere, of which nothing else tells.
 */
function mayPass({ ending, report, refusal }: CycleResult): boolean {
  if (refusal !== null || ending === 'retryable' || ending === 'unreachable') return true;
  return ending === 'partialFailure' && report !== null && endingOf(report) !== 'success';
}

/** Ten percent to either side, from a minute on. */
function spread(probeMs: number, random: () => number): number {
  return Math.round(probeMs * (1 + (probeMs >= 60_000 ? 0.2 * random() - 0.1 : 0)));
}

/** Time until the first of the moments, ms; no longer than `longestMs`. */
function waitUntil(moments: readonly (number | null)[], longestMs: number, now: number): number {
  const told = moments.filter((moment) => moment !== null);
  return Math.max(0, Math.min(longestMs, ...told.map((moment) => moment - now)));
}

/** What was written has moments that this cycle has not read: they are looked at soon after it. */
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
