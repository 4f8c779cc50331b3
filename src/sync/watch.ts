/** Knows the loop around the cycle: what makes one due, what is tried again, and when. */
/*
 * The loop has four states, told apart by three facts: the version of the last cycle, the moment of
 * the next try, and whether the source itself is out of reach.
 *
 *   settled      nothing to try          a new version or ten minutes lead to a cycle
 *   trying       a moment is set         that moment, or a new version, leads to a cycle
 *   wrong        the source has faults   a new version leads to a cycle; the drift pass goes on with
 *                                        the last version that was right
 *   source down  a moment is set         not even looked at before that moment
 *
 *   a cycle ends    what may pass (network, overload, partial failure, staleness)    -> trying
 *                   well, or as only a person can change (guard, blocked items)      -> settled
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
 * What is told: each cycle, and each failure once for as long as the same one holds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { endingOf } from './apply/apply.ts';
import type { Unattended } from './plan/held-back.ts';
import { type CycleOptions, type CycleResult, reconcile } from './reconcile.ts';
import type { SnapshotRead } from './server/live.ts';
import type { SourceVersion } from './source/source-files.ts';
import type { DesiredSet } from './spec/resource-set.ts';

export interface WatchOptions
  extends Omit<CycleOptions, 'act' | 'previous' | 'confirm' | 'unattended'>,
    Omit<Unattended, 'settledDigest'> {
  /** What stands in the source now, without reading it all; as `Source.newest`. */
  readonly newest: () => Promise<SourceVersion>;
  /** Time between two looks at the source, ms; spread by ±10 % from a minute on. */
  readonly probeMs: number;
  readonly signal: AbortSignal;
  readonly onEvent: (event: WatchEvent) => void;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Ends early, by throwing, when the signal is aborted. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export type WatchEvent =
  | {
      readonly kind: 'cycle';
      readonly result: CycleResult;
      /** When it is tried again, ms since the epoch; null when it is settled. */
      readonly retryAt: number | null;
    }
  | {
      /** Told once for as long as the same reason holds. */
      readonly kind: 'failure';
      readonly failure: Failure;
      /** Null: only a change of the source mends it; what was applied last stays. */
      readonly retryAt: number | null;
    };

/** Probing a folder is cheap, a Git host is not. */
export const folderProbeMs = 1_000;
export const localGitProbeMs = 5_000;
export const gitProbeMs = 60_000;
/** Time between two full comparisons of an unchanged source with the server. */
export const driftPassMs = 600_000;
const backoffMsMin = 5_000;
const backoffMsMax = 300_000;

/**
 * Keeps the server as the source says, until the signal is aborted. Level-based: every cycle takes
 * the newest version, so nothing is ever queued. What may pass (network, an overloaded server, a
 * partial failure) is tried again ever more rarely; what only an edit can mend is told once, and
 * drift from the last good version is still undone.
 */
export async function watch(options: WatchOptions): Promise<void> {
  const loop = new Loop(options);
  const pause = options.pause ?? pauseFor;
  while (!options.signal.aborted) {
    await loop.turn();
    try {
      await pause(loop.waitMs(), options.signal);
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
  options: Omit<WatchOptions, 'newest' | 'probeMs' | 'onEvent'>,
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
  /** Version of the last cycle, whatever came of it. */
  #version: string | null = null;
  #cycleAt = Number.NEGATIVE_INFINITY;
  #retryAt: number | null = null;
  #failures = 0;
  #lastGood: DesiredSet | null = null;
  #read: SnapshotRead | null = null;
  #told: string | null = null;
  /** What the source was read as, since when; its removals wait until that has lasted. */
  #seen: { readonly digest: string; readonly at: number } | null = null;
  #settlesAt: number | null = null;
  /** The source itself is out of reach, so that even looking at it backs off. */
  #isSourceDown = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  /** Looks at the source, and runs a cycle if one is due. */
  async turn(): Promise<void> {
    if (this.#isSourceDown && this.#clock.now() < (this.#retryAt ?? 0)) return;
    try {
      this.#isSourceDown = true;
      const { digest, revision } = await this.#options.newest();
      this.#isSourceDown = false;
      const version = `${revision}:${digest}`;
      const now = this.#clock.now();
      const isNew = version !== this.#version;
      if (isNew) this.#failures = 0;
      const isRetry = this.#retryAt !== null && now >= this.#retryAt;
      const isSettled = this.#settlesAt !== null && now >= this.#settlesAt;
      if (!isNew && !isRetry && !isSettled && now - this.#cycleAt < driftPassMs) return;
      this.#version = version;
      this.#cycleAt = now;
      await this.#cycle(isNew || isRetry || isSettled);
    } catch (error) {
      if (this.#options.signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      this.#fail(error);
    }
  }

  /** Time until the next look, ms. */
  waitMs(): number {
    const { probeMs } = this.#options;
    const spread = probeMs >= 60_000 ? 0.2 * this.#random() - 0.1 : 0;
    const probe = Math.round(probeMs * (1 + spread));
    const moments = [this.#retryAt, this.#settlesAt].filter((moment) => moment !== null);
    return Math.max(0, Math.min(probe, ...moments.map((moment) => moment - this.#clock.now())));
  }

  async #cycle(isFresh: boolean): Promise<void> {
    this.#retryAt = null;
    this.#settlesAt = null;
    const { readDesired, settleMs, pruneKeys } = this.#options;
    const startedAt = this.#clock.now();
    const isLasting = this.#seen !== null && startedAt - this.#seen.at >= settleMs;
    const settledDigest = isLasting ? this.#seen!.digest : null;
    let good: DesiredSet | null = null;
    const read = async (): Promise<DesiredSet> => {
      good = await this.#newestGood(readDesired, isFresh);
      return good;
    };
    const result = await reconcile({
      ...this.#options,
      act: true,
      previous: this.#read,
      readDesired: read,
      unattended: { settledDigest, settleMs, pruneKeys },
    });
    const { digest } = result.plan.source;
    if (this.#seen?.digest !== digest) this.#seen = { digest, at: startedAt };
    const isSettling = result.plan.blocked.some(({ reason }) => reason === 'settling');
    if (isSettling) this.#settlesAt = this.#seen.at + settleMs;
    this.#read = result.read;
    this.#lastGood = good;
    const mayPass =
      result.ending === 'retryable' ||
      result.ending === 'unreachable' ||
      // A key file that is missing or wrong is for a person to bring.
      (result.ending === 'partialFailure' &&
        result.report !== null &&
        endingOf(result.report) !== 'success');
    if (mayPass) this.#retryAt = this.#nextTry();
    else this.#failures = 0;
    this.#told = null;
    this.#options.onEvent({ kind: 'cycle', result, retryAt: this.#retryAt });
  }

  /** In a drift pass over a source that is wrong now, the last version that was right still counts. */
  async #newestGood(readDesired: () => Promise<DesiredSet>, isFresh: boolean): Promise<DesiredSet> {
    try {
      return await readDesired();
    } catch (error) {
      const isWrong = error instanceof Failure && error.kind === 'invalidInput';
      if (isFresh || !isWrong || this.#lastGood === null) throw error;
      return this.#lastGood;
    }
  }

  #fail(failure: Failure): void {
    const isHard = failure.kind === 'invalidInput';
    this.#retryAt = isHard ? null : this.#nextTry();
    if (failure.message === this.#told) return;
    this.#told = failure.message;
    this.#options.onEvent({ kind: 'failure', failure, retryAt: this.#retryAt });
  }

  /** 5 s, doubled each time up to 5 min, spread by ±20 %. */
  #nextTry(): number {
    const waitMs = Math.min(backoffMsMax, backoffMsMin * 2 ** this.#failures);
    this.#failures += 1;
    return this.#clock.now() + waitMs * (0.8 + 0.4 * this.#random());
  }
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
