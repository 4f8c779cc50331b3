/** Knows who waits for a limit, and when the books are settled with the database. */
import { monotonicMs } from '../monotonic.ts';
import type { Database } from '../store/connection/db.ts';
import { type Charge, type Grant, type Reservations, Shortage } from './account.ts';
import { Book } from './book.ts';
import { type Limit, LimitReached, LimitsUnknown, type UsageBound } from './limit.ts';

/** How often waiting requests look again. */
const tickMs = 50;
/** How often what was used is told. */
const tellMs = 500;
/** Of what is to be told at once. */
const untoldMs = Number.NEGATIVE_INFINITY;
/** How often a process looks what others lack. */
const recallMs = 200;
/** So long after that a request waits for an answer of the database. */
const hangMs = 10_000;
/** Exchanges of different organisations at a time. */
const exchangesMax = 4;

/** How long a request waits for what others hold. */
interface Patience {
  /** While all of them say in time that nothing lies idle with them. */
  readonly waitMs: number;
  /** Beyond that for those who have not said it. */
  readonly lateMs: number;
}

const impatient: Patience = { waitMs: 0, lateMs: 0 };

/** A request that is not admitted yet. */
class Waiter {
  readonly promise: Promise<Grant>;
  readonly #beganMs = monotonicMs();
  readonly #patience: Patience;
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
    patience: Patience,
  ) {
    this.#reservations = reservations;
    this.#charges = charges;
    this.#bound = bound;
    this.#shortage = shortage;
    this.#patience = this.isInVain ? impatient : patience;
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
        slice.vain.note(unitsMin, nowMs);
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
    return slice.vain.wasLately(unitsMin, this.#beganMs);
  }

  /** Whether all who hold something of what it lacks have given back what lies idle, or have had long enough for it. */
  #hasHeardAll(nowMs: number): boolean {
    const { shortage } = this.#shortage.lacking.slice;
    if (this.#askedAtMs === null || shortage === null || shortage.answeredAtMs === null)
      return true;
    if (shortage.answeredAtMs >= this.#askedAtMs) return true;
    return nowMs >= this.#deadlineMs + this.#patience.lateMs;
  }

  isForsaken(nowMs: number): boolean {
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
interface Ledge {
  readonly book: Book;
  readonly waiters: Set<Waiter>;
  running: Promise<void> | null;
  toldMs: number;
  recalledMs: number;
  /** Why the last exchange failed; null when it did not. */
  fault: unknown;
}

export interface DeskOptions extends Patience {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class Desk {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #options: DeskOptions;
  readonly #ledges = new Map<string, Ledge>();
  #timer: NodeJS.Timeout | null = null;
  #running = 0;

  constructor(database: Pick<Database, 'db' | 'transaction'>, options: DeskOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** At once where slices suffice. All limits are of one organisation. */
  admit(
    reservations: Reservations,
    limits: readonly Limit[],
    bound: UsageBound,
  ): Grant | Promise<Grant> {
    const ledge = this.#ledgeOf(limits[0]!.organisationId);
    const charges = limits.map((limit) => ({ limit, slice: ledge.book.slice(limit) }));
    const got = reservations.reserve(charges, bound, monotonicMs(), false);
    if (!(got instanceof Shortage)) return got;
    const waiter = new Waiter(reservations, charges, bound, got, this.#options);
    ledge.waiters.add(waiter);
    if (ledge.running === null && !waiter.isInVain) setImmediate(() => this.#settle(ledge));
    return waiter.promise;
  }

  /** Resolves when what was used by now has been told, or could not be. */
  async tell(organisationId: string): Promise<void> {
    const ledge = this.#ledges.get(organisationId);
    if (ledge === undefined) return;
    ledge.toldMs = untoldMs;
    // One that has begun may have begun without it.
    while (ledge.running !== null) await ledge.running;
    if (ledge.toldMs !== untoldMs) return;
    this.#begin(ledge);
    await ledge.running;
  }

  /** Tells all that was used and gives all back. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const ledge of this.#ledges.values()) {
      await ledge.running;
      for (const waiter of ledge.waiters) waiter.giveUp(new Error('the process is stopping'));
      // What cannot be told now is charged when the lease is over.
      await ledge.book.close().catch(() => undefined);
    }
    this.#ledges.clear();
  }

  #ledgeOf(organisationId: string): Ledge {
    let ledge = this.#ledges.get(organisationId);
    if (ledge === undefined) {
      const book = new Book(this.#database, organisationId, this.#options.now);
      const rest = { running: null, toldMs: 0, recalledMs: 0, fault: null };
      ledge = { book, waiters: new Set(), ...rest };
      this.#ledges.set(organisationId, ledge);
      this.#timer ??= setInterval(() => this.#tick(), tickMs);
    }
    return ledge;
  }

  #tick(): void {
    const nowMs = monotonicMs();
    for (const [organisationId, ledge] of this.#ledges) {
      const isDue = nowMs - ledge.toldMs > tellMs || nowMs - ledge.recalledMs > recallMs;
      if (ledge.running === null && (isDue || ledge.waiters.size > 0)) this.#settle(ledge);
      for (const waiter of ledge.waiters) {
        if (!waiter.isForsaken(nowMs)) break;
        waiter.giveUp(ledge.fault ?? new Error('the database does not answer'));
        ledge.waiters.delete(waiter);
      }
      if (ledge.book.isIdle && ledge.running === null && ledge.waiters.size === 0)
        this.#ledges.delete(organisationId);
    }
    if (this.#ledges.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** One exchange, then everybody who waits tries again. */
  #settle(ledge: Ledge): void {
    if (ledge.running === null && this.#running < exchangesMax) this.#begin(ledge);
  }

  #begin(ledge: Ledge): void {
    this.#running += 1;
    ledge.running = this.#exchange(ledge).finally(() => {
      ledge.running = null;
      this.#running -= 1;
    });
  }

  async #exchange(ledge: Ledge): Promise<void> {
    const nowMs = monotonicMs();
    const isDue = nowMs - ledge.toldMs > tellMs;
    let asked: ReadonlySet<Waiter>;
    try {
      if (nowMs - ledge.recalledMs > recallMs) {
        ledge.recalledMs = nowMs;
        await ledge.book.recallWanted();
      }
      if (isDue) ledge.toldMs = nowMs;
      asked = new Set(ledge.waiters);
      await ledge.book.exchange(nowMs, isDue);
      ledge.fault = null;
    } catch (error) {
      ledge.fault = error;
      return;
    }
    const triedMs = monotonicMs();
    for (const waiter of ledge.waiters) {
      if (waiter.retry(triedMs, asked.has(waiter))) ledge.waiters.delete(waiter);
    }
  }
}
