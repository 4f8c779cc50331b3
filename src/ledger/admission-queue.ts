/** Queues requests that wait for a limit, and schedules the exchanges of slices with the database. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../monotonic.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import { type Charge, type Grant, type Reservations, Shortage } from './account.ts';
import { type Limit, LimitReached, type UsageBound } from './limit.ts';
import type { LimitBank } from './limit-bank.ts';
import { OrganisationSlices } from './organisation-slices.ts';
import { Outage, type OutageSources, outageAfterMs } from './outage.ts';
import { Recalls } from './recalls.ts';
import type { Slice } from './slice.ts';

/** Interval at which waiting requests are retried. */
const tickMs = 50;
/** Interval of usage reports. */
const reportEveryMs = 500;
/** Marks a report that is due at once. */
const reportNow = Number.NEGATIVE_INFINITY;
/**
 * Turns of the timer for which a request waits for an exchange with the database: 1.75 seconds, more for a process that
 * is short of processor time.
 */
const silentTurnsMax = 35;
/** How long a rejection waits until it is stored. */
const storeMs = 1_000;
/** Concurrent exchanges, each for one organisation. */
const exchangesMax = 4;

/** How long a request waits for units that other processes hold. */
interface WaitLimits {
  /** Wait when all others report in time that they have no idle units. */
  readonly waitMs: number;
  /** Additional wait for processes that have not reported. */
  readonly lateMs: number;
}

const noWait: WaitLimits = { waitMs: 0, lateMs: 0 };

/** A request that waits for admission. */
class Waiter {
  readonly promise: Promise<Grant>;
  readonly #beganMs = monotonicMs();
  readonly #patience: WaitLimits;
  /** Starts with the first exchange that included the request, so that a slow database does not cause a rejection. */
  #deadlineMs = Number.POSITIVE_INFINITY;
  readonly #reservations: Reservations;
  readonly #charges: readonly Charge[];
  readonly #bound: UsageBound;
  readonly #settle: PromiseWithResolvers<Grant>;
  #shortage: Shortage;
  #tries = 0;
  /** Turns of the timer since the last exchange that succeeded. */
  #silentTurns = 0;
  /** Database time since which other processes can see the shortage; null before. */
  #publishedAtMs: number | null = null;

  constructor(
    reservations: Reservations,
    charges: readonly Charge[],
    bound: UsageBound,
    shortage: Shortage,
    patience: WaitLimits,
  ) {
    this.#reservations = reservations;
    this.#charges = charges;
    this.#bound = bound;
    this.#shortage = shortage;
    this.#patience = this.isHopeless ? noWait : patience;
    this.#settle = Promise.withResolvers();
    this.promise = this.#settle.promise;
    this.#addNeeds();
  }

  /**
   * Retries after an exchange; true when the request no longer waits. A shortage counts only if the exchange included
   * this request (`wasIncluded`).
   */
  retry(nowMs: number, wasIncluded: boolean): boolean {
    this.#silentTurns = 0;
    this.#removeNeeds();
    try {
      const isLate = wasIncluded && nowMs >= this.#deadlineMs && this.#haveAllResponded(nowMs);
      if (wasIncluded) {
        this.#tries += 1;
        this.#deadlineMs = Math.min(this.#deadlineMs, nowMs + this.#patience.waitMs);
        this.#publishedAtMs ??= this.#shortage.lacking.slice.known.shortage?.atMs ?? null;
      }
      const takesLess = isLate || this.#tries > 1;
      const result = this.#reservations.reserve(this.#charges, this.#bound, nowMs, takesLess);
      if (!(result instanceof Shortage)) {
        this.#settle.resolve(result);
        return true;
      }
      const { limit, slice, unitsMin } = result.lacking;
      if (isLate) {
        slice.known.failedWait.note(unitsMin, nowMs);
        slice.known.refusals.note(limit, unitsMin);
        throw new LimitReached(limit, slice.lastKnownUsage, unitsMin);
      }
      this.#shortage = result;
      this.#addNeeds();
      return false;
    } catch (error) {
      this.#settle.reject(error);
      return true;
    }
  }

  /** Whether another request has just waited for as many units without success, so that waiting is pointless. */
  get isHopeless(): boolean {
    const { slice, unitsMin } = this.#shortage.lacking;
    return slice.known.failedWait.wasRecent(unitsMin, this.#beganMs);
  }

  /** Whether all holders of the slice have returned idle units, or have had enough time for it. */
  #haveAllResponded(nowMs: number): boolean {
    const { shortage } = this.#shortage.lacking.slice.known;
    if (this.isCutOff) return false;
    if (this.#publishedAtMs === null || shortage === null || shortage.answeredAtMs === null)
      return true;
    if (shortage.answeredAtMs >= this.#publishedAtMs) return true;
    return nowMs >= this.#deadlineMs + this.#patience.lateMs;
  }

  /** Whether the region lacks what the request waits for, and cannot ask its home. */
  get isCutOff(): boolean {
    return this.#shortage.lacking.slice.known.shortage?.isHomeAway === true;
  }

  /** Called at each turn of the timer. True when the database has not responded for too many of them. */
  isAbandoned(): boolean {
    this.#silentTurns += 1;
    return this.#silentTurns > silentTurnsMax;
  }

  giveUp(cause: unknown, outage: Outage): void {
    this.#removeNeeds();
    this.#settle.reject(outage.refusal(cause, this.#charges));
  }

  /** Admits the request by what the process grants itself; false when that does not suffice. */
  draw(outage: Outage): boolean {
    return this.#take(outage.admit(this.#reservations, this.#charges, this.#bound));
  }

  /** As {@link draw}, while the region cannot ask its home. */
  drawCutOff(outage: Outage): boolean {
    return this.#take(outage.admitCutOff(this.#reservations, this.#charges, this.#bound));
  }

  #take(grant: Grant | Promise<Grant> | null): boolean {
    if (grant === null) return false;
    this.#removeNeeds();
    this.#settle.resolve(grant);
    return true;
  }

  #addNeeds(): void {
    for (const [slice, need] of this.#shortage.needs) slice.needs.add(need);
  }

  #removeNeeds(): void {
    for (const [slice, need] of this.#shortage.needs) slice.needs.delete(need);
  }
}

/** The slices and waiting requests of one organisation. */
interface OrganisationQueue {
  readonly slices: OrganisationSlices;
  readonly waiters: Set<Waiter>;
  running: Promise<void> | null;
  reportedMs: number;
  /** Error of the last exchange; null when it succeeded. */
  fault: unknown;
  readonly outage: Outage;
}

/** Whether the limit has refused nothing like it before. */
function isNewRefusal(thrown: unknown, { slices }: OrganisationQueue): thrown is LimitReached {
  return thrown instanceof LimitReached && slices.slice(thrown.limit).known.refusals.isPending;
}

export interface AdmissionQueueOptions extends WaitLimits, OutageSources {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class AdmissionQueue {
  readonly #bank: LimitBank;
  readonly #options: AdmissionQueueOptions;
  readonly #queues = new Map<string, OrganisationQueue>();
  #timer: NodeJS.Timeout | null = null;
  #running = 0;
  #isClosing = false;
  readonly #recalls: Recalls<OrganisationQueue>;

  constructor(bank: LimitBank, options: AdmissionQueueOptions) {
    this.#bank = bank;
    this.#options = options;
    this.#recalls = new Recalls(bank, (queue) => this.#settle(queue));
  }

  /**
   * Synchronous when the slices suffice. All limits belong to one organisation. The first rejection of a limit is stored
   * before the caller learns of it, so that the state of the limit agrees with it.
   */
  admit(
    reservations: Reservations,
    limits: readonly Limit[],
    bound: UsageBound,
  ): Grant | Promise<Grant> {
    const queue = this.#queueOf(limits[0]!.organisationId);
    const charges = limits.map((limit) => ({ limit, slice: queue.slices.slice(limit) }));
    let result: Grant | Shortage;
    try {
      result = reservations.reserve(charges, bound, monotonicMs(), false);
    } catch (thrown) {
      if (!isNewRefusal(thrown, queue)) throw thrown;
      return storeRefusal(thrown, this);
    }
    if (!(result instanceof Shortage)) return result;
    const drawn = queue.outage.admit(reservations, charges, bound);
    if (drawn !== null) return drawn;
    if (this.#isClosing || queue.outage.isLong) throw queue.outage.refusal(queue.fault, charges);
    const waiter = new Waiter(reservations, charges, bound, result, this.#options);
    queue.waiters.add(waiter);
    if (queue.running === null && !waiter.isHopeless) setImmediate(() => this.#settle(queue));
    return waiter.promise.catch((thrown) => {
      if (!isNewRefusal(thrown, queue)) throw thrown;
      return storeRefusal(thrown, this);
    });
  }

  /** Resolves when the journal allows for what is reserved of these slices. */
  async raise(organisationId: string, slices: readonly Slice[]): Promise<void> {
    await this.#queues.get(organisationId)?.slices.raise(slices);
  }

  holders(organisationId: string): number | null {
    return this.#queues.get(organisationId)?.slices.sharing.holders ?? null;
  }

  /** Resolves when the usage up to now has been reported, or reporting failed. */
  async report(organisationId: string): Promise<void> {
    const queue = this.#queues.get(organisationId);
    if (queue === undefined) return;
    queue.reportedMs = reportNow;
    // A running exchange may not include the latest usage.
    while (queue.running !== null) await queue.running;
    if (queue.reportedMs !== reportNow) return;
    this.#begin(queue);
    await queue.running;
  }

  /** Reports all usage and returns all units. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#isClosing = true;
    await this.#recalls.running;
    for (const queue of this.#queues.values()) {
      await queue.running;
      for (const waiter of queue.waiters)
        waiter.giveUp(new Error('the process is stopping'), queue.outage);
      // Unreported usage is charged when the lease expires.
      await queue.slices.close().catch(() => undefined);
    }
    this.#queues.clear();
  }

  #queueOf(organisationId: string): OrganisationQueue {
    let queue = this.#queues.get(organisationId);
    if (queue === undefined) {
      queue = newQueue(organisationId, this.#bank, this.#options);
      this.#queues.set(organisationId, queue);
      this.#timer ??= setInterval(() => this.#tick(), tickMs);
    }
    return queue;
  }

  #tick(): void {
    const nowMs = monotonicMs();
    this.#recalls.lookUnlessRecent(this.#queues.values(), nowMs);
    for (const [organisationId, queue] of this.#queues) {
      const isDue = nowMs - queue.reportedMs > reportEveryMs;
      if (queue.running === null && (isDue || queue.waiters.size > 0)) this.#settle(queue);
      for (const waiter of queue.waiters) {
        if (!waiter.isAbandoned()) continue;
        queue.outage.begin(nowMs - outageAfterMs);
        const fault = queue.fault ?? new Error('the database does not respond');
        if (!waiter.draw(queue.outage)) waiter.giveUp(fault, queue.outage);
        queue.waiters.delete(waiter);
      }
      if (queue.slices.isIdle && queue.running === null && queue.waiters.size === 0)
        this.#queues.delete(organisationId);
    }
    if (this.#queues.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Runs one exchange and then retries all waiting requests. */
  #settle(queue: OrganisationQueue): void {
    if (queue.running === null && this.#running < exchangesMax) this.#begin(queue);
  }

  /** Nothing begins while the last exchanges of {@link close} run. */
  #begin(queue: OrganisationQueue): void {
    if (this.#isClosing) return;
    this.#running += 1;
    queue.running = this.#exchange(queue).finally(() => {
      queue.running = null;
      this.#running -= 1;
    });
  }

  async #exchange(queue: OrganisationQueue): Promise<void> {
    const nowMs = monotonicMs();
    const isDue = nowMs - queue.reportedMs > reportEveryMs;
    let included: ReadonlySet<Waiter>;
    try {
      if (isDue) queue.reportedMs = nowMs;
      included = new Set(queue.waiters);
      await queue.slices.exchange(nowMs, isDue);
      queue.fault = null;
      queue.outage.end();
    } catch (error) {
      queue.fault = error;
      if (isUnavailable(error)) queue.outage.begin(monotonicMs());
      for (const waiter of queue.waiters) {
        if (waiter.draw(queue.outage)) queue.waiters.delete(waiter);
      }
      return;
    }
    retryAll(queue, included);
  }
}

/** Retries all waiting requests after an exchange, which included some of them. */
function retryAll({ waiters, outage }: OrganisationQueue, included: ReadonlySet<Waiter>): void {
  const triedMs = monotonicMs();
  for (const waiter of waiters) {
    const wasIncluded = included.has(waiter);
    const isDone =
      waiter.retry(triedMs, wasIncluded) || (wasIncluded && endsCutOff(waiter, outage, triedMs));
    if (isDone) waiters.delete(waiter);
  }
}

/** Decides about a request that lacks units while the region cannot ask its home; false when it waits on. */
function endsCutOff(waiter: Waiter, outage: Outage, nowMs: number): boolean {
  outage.noteHome(waiter.isCutOff, nowMs);
  if (!waiter.isCutOff) return false;
  if (waiter.drawCutOff(outage)) return true;
  if (!outage.isCutOffLong) return false;
  waiter.giveUp(new Error('the region cannot ask its home for units'), outage);
  return true;
}

/** Rejects with the refusal after it was stored, or could not be stored in time. */
async function storeRefusal(
  refusal: LimitReached,
  queue: Pick<AdmissionQueue, 'report'>,
): Promise<never> {
  const waiting = new AbortController();
  const late = sleep(storeMs, undefined, { signal: waiting.signal }).catch(() => undefined);
  await Promise.race([queue.report(refusal.limit.organisationId), late]);
  waiting.abort();
  throw refusal;
}

function newQueue(
  organisationId: string,
  bank: LimitBank,
  { now, journal, gatewaysSeen }: AdmissionQueueOptions,
): OrganisationQueue {
  const clock = { now, monotonicMs };
  const slices = new OrganisationSlices({ bank, journal, clock }, organisationId);
  return {
    slices,
    waiters: new Set(),
    running: null,
    reportedMs: 0,
    fault: null,
    outage: new Outage(slices, { journal, gatewaysSeen }),
  };
}
