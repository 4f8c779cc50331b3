/** Knows who waits for a limit, and when the books are settled with the database. */
import { monotonicMs } from '../monotonic.ts';
import type { Database } from '../store/connection/db.ts';
import { type Charge, type Grant, type Reservations, Shortage } from './account.ts';
import { type Limit, LimitReached, LimitsUnknown, type UsageBound } from './limit.ts';
import { OrganisationSlices } from './organisation-slices.ts';

/** How often waiting requests look again. */
const tickMs = 50;
/** How often what was used is told. */
const reportEveryMs = 500;
/** Of what is to be told at once. */
const reportNow = Number.NEGATIVE_INFINITY;
/** How often a process looks what others lack. */
const recallMs = 200;
/** So long after that a request waits for an answer of the database. */
const hangMs = 10_000;
/** Exchanges of different organisations at a time. */
const exchangesMax = 4;

/** How long a request waits for what others hold. */
interface WaitLimits {
  /** While all of them say in time that nothing lies idle with them. */
  readonly waitMs: number;
  /** Beyond that for those who have not said it. */
  readonly lateMs: number;
}

const noWait: WaitLimits = { waitMs: 0, lateMs: 0 };

/** A request that is not admitted yet. */
class Waiter {
  readonly promise: Promise<Grant>;
  readonly #beganMs = monotonicMs();
  readonly #patience: WaitLimits;
  /** Counted from the first answer to what it asks; a slow database is no reason to refuse. */
  #deadlineMs = Number.POSITIVE_INFINITY;
  readonly #reservations: Reservations;
  readonly #charges: readonly Charge[];
  readonly #bound: UsageBound;
  readonly #settle: PromiseWithResolvers<Grant>;
  #shortage: Shortage;
  #tries = 0;
  /** Since when others can know that it lacks something, by the database's clock; null while they cannot. */
  #askedAtMs: number | null = null;

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
    this.#patience = this.isInVain ? noWait : patience;
    this.#settle = Promise.withResolvers();
    this.promise = this.#settle.promise;
    this.#ask();
  }

  /**
   * Tries again after an exchange; true when it need not wait any more. Only where the exchange has
   * asked for it does it say anything that it did not suffice.
   */
  retry(nowMs: number, wasAsked: boolean): boolean {
    this.#withdraw();
    try {
      const isLate = wasAsked && nowMs >= this.#deadlineMs && this.#hasHeardAll(nowMs);
      if (wasAsked) {
        this.#tries += 1;
        this.#deadlineMs = Math.min(this.#deadlineMs, nowMs + this.#patience.waitMs);
        this.#askedAtMs ??= this.#shortage.lacking.slice.shortage?.atMs ?? null;
      }
      const takesLess = isLate || this.#tries > 1;
      const got = this.#reservations.reserve(this.#charges, this.#bound, nowMs, takesLess);
      if (!(got instanceof Shortage)) {
        this.#settle.resolve(got);
        return true;
      }
      const { limit, slice, unitsMin } = got.lacking;
      if (isLate) {
        slice.failedWait.note(unitsMin, nowMs);
        throw new LimitReached(limit);
      }
      this.#shortage = got;
      this.#ask();
      return false;
    } catch (error) {
      this.#settle.reject(error);
      return true;
    }
  }

  /** Somebody else waited for no more a moment ago, and got nothing: it need not be waited for as long again. */
  get isInVain(): boolean {
    const { slice, unitsMin } = this.#shortage.lacking;
    return slice.failedWait.wasRecent(unitsMin, this.#beganMs);
  }

  /** Whether all who hold something of what it lacks have given back what lies idle, or have had long enough for it. */
  #hasHeardAll(nowMs: number): boolean {
    const { shortage } = this.#shortage.lacking.slice;
    if (this.#askedAtMs === null || shortage === null || shortage.answeredAtMs === null)
      return true;
    if (shortage.answeredAtMs >= this.#askedAtMs) return true;
    return nowMs >= this.#deadlineMs + this.#patience.lateMs;
  }

  isOverdue(nowMs: number): boolean {
    const { waitMs, lateMs } = this.#patience;
    return nowMs > this.#beganMs + waitMs + lateMs + hangMs;
  }

  giveUp(cause: unknown): void {
    this.#withdraw();
    this.#settle.reject(new LimitsUnknown(cause));
  }

  #ask(): void {
    for (const [slice, need] of this.#shortage.needs) slice.needs.add(need);
  }

  #withdraw(): void {
    for (const [slice, need] of this.#shortage.needs) slice.needs.delete(need);
  }
}

/** The book of one organisation, with who waits for it. */
interface OrganisationQueue {
  readonly slices: OrganisationSlices;
  readonly waiters: Set<Waiter>;
  running: Promise<void> | null;
  reportedMs: number;
  recalledMs: number;
  /** Why the last exchange failed; null when it did not. */
  fault: unknown;
}

export interface AdmissionQueueOptions extends WaitLimits {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class AdmissionQueue {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #options: AdmissionQueueOptions;
  readonly #queues = new Map<string, OrganisationQueue>();
  #timer: NodeJS.Timeout | null = null;
  #running = 0;

  constructor(database: Pick<Database, 'db' | 'transaction'>, options: AdmissionQueueOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** At once where slices suffice. All limits are of one organisation. */
  admit(
    reservations: Reservations,
    limits: readonly Limit[],
    bound: UsageBound,
  ): Grant | Promise<Grant> {
    const queue = this.#queueOf(limits[0]!.organisationId);
    const charges = limits.map((limit) => ({ limit, slice: queue.slices.slice(limit) }));
    const got = reservations.reserve(charges, bound, monotonicMs(), false);
    if (!(got instanceof Shortage)) return got;
    const waiter = new Waiter(reservations, charges, bound, got, this.#options);
    queue.waiters.add(waiter);
    if (queue.running === null && !waiter.isInVain) setImmediate(() => this.#settle(queue));
    return waiter.promise;
  }

  /** Resolves when what was used by now has been told, or could not be. */
  async report(organisationId: string): Promise<void> {
    const queue = this.#queues.get(organisationId);
    if (queue === undefined) return;
    queue.reportedMs = reportNow;
    // One that has begun may have begun without it.
    while (queue.running !== null) await queue.running;
    if (queue.reportedMs !== reportNow) return;
    this.#begin(queue);
    await queue.running;
  }

  /** Tells all that was used and gives all back. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const queue of this.#queues.values()) {
      await queue.running;
      for (const waiter of queue.waiters) waiter.giveUp(new Error('the process is stopping'));
      // What cannot be told now is charged when the lease is over.
      await queue.slices.close().catch(() => undefined);
    }
    this.#queues.clear();
  }

  #queueOf(organisationId: string): OrganisationQueue {
    let queue = this.#queues.get(organisationId);
    if (queue === undefined) {
      const slices = new OrganisationSlices(this.#database, organisationId, this.#options.now);
      queue = {
        slices,
        waiters: new Set(),
        running: null,
        reportedMs: 0,
        recalledMs: 0,
        fault: null,
      };
      this.#queues.set(organisationId, queue);
      this.#timer ??= setInterval(() => this.#tick(), tickMs);
    }
    return queue;
  }

  #tick(): void {
    const nowMs = monotonicMs();
    for (const [organisationId, queue] of this.#queues) {
      const isDue = nowMs - queue.reportedMs > reportEveryMs || nowMs - queue.recalledMs > recallMs;
      if (queue.running === null && (isDue || queue.waiters.size > 0)) this.#settle(queue);
      for (const waiter of queue.waiters) {
        if (!waiter.isOverdue(nowMs)) break;
        waiter.giveUp(queue.fault ?? new Error('the database does not answer'));
        queue.waiters.delete(waiter);
      }
      if (queue.slices.isIdle && queue.running === null && queue.waiters.size === 0)
        this.#queues.delete(organisationId);
    }
    if (this.#queues.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** One exchange, then everybody who waits tries again. */
  #settle(queue: OrganisationQueue): void {
    if (queue.running === null && this.#running < exchangesMax) this.#begin(queue);
  }

  #begin(queue: OrganisationQueue): void {
    this.#running += 1;
    queue.running = this.#exchange(queue).finally(() => {
      queue.running = null;
      this.#running -= 1;
    });
  }

  async #exchange(queue: OrganisationQueue): Promise<void> {
    const nowMs = monotonicMs();
    const isDue = nowMs - queue.reportedMs > reportEveryMs;
    let asked: ReadonlySet<Waiter>;
    try {
      if (nowMs - queue.recalledMs > recallMs) {
        queue.recalledMs = nowMs;
        await queue.slices.recallWanted();
      }
      if (isDue) queue.reportedMs = nowMs;
      asked = new Set(queue.waiters);
      await queue.slices.exchange(nowMs, isDue);
      queue.fault = null;
    } catch (error) {
      queue.fault = error;
      return;
    }
    const triedMs = monotonicMs();
    for (const waiter of queue.waiters) {
      if (waiter.retry(triedMs, asked.has(waiter))) queue.waiters.delete(waiter);
    }
  }
}
