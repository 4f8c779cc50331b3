/** Queues requests that wait for a limit, and schedules the exchanges of slices with the database. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../monotonic.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import { type Grant, type Reservations, Shortage } from './account.ts';
import { type Limit, LimitReached, type UsageBound } from './limit.ts';
import type { LimitBank } from './limit-bank.ts';
import { OrganisationSlices } from './organisation-slices.ts';
import { Outage, type OutageSources, outageAfterMs } from './outage.ts';
import { Recalls } from './recalls.ts';
import type { Slice } from './slice.ts';
import { Waiter, type WaitLimits } from './waiter.ts';

/** Interval at which waiting requests are retried. */
const tickMs = 50;
/** Interval of usage reports. */
const reportEveryMs = 500;
/** Marks a report that is due at once. */
const reportNow = Number.NEGATIVE_INFINITY;
/** How long a rejection waits until it is stored. */
const storeMs = 1_000;
/** Concurrent exchanges, each for one organisation. */
const exchangesMax = 4;

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
