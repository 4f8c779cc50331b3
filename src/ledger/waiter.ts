/** Holds one request that waits for units, and decides when it is admitted or refused. */
import { monotonicMs } from '../monotonic.ts';
import { type Charge, type Grant, type Reservations, Shortage } from './account.ts';
import { LimitReached, type UsageBound } from './limit.ts';
import type { Outage } from './outage.ts';
import type { Slice } from './slice.ts';

/**
 * Turns of the timer for which a request waits for an exchange with the database: 1.75 seconds, more for a process that
 * is short of processor time.
 */
const silentTurnsMax = 35;

/** How long a request waits for units that other processes hold. */
export interface WaitLimits {
  /** Wait when all others report in time that they have no idle units. */
  readonly waitMs: number;
  /** Additional wait for processes that have not reported. */
  readonly lateMs: number;
}

const noWait: WaitLimits = { waitMs: 0, lateMs: 0 };

/** The wait of one request for units of one slice. */
interface SliceWait {
  readonly patience: WaitLimits;
  /** Counted from the first exchange that included the need, so that a slow database does not cause a rejection. */
  readonly deadlineMs: number;
  /** Database time since which other processes can see the shortage; null before. */
  publishedAtMs: number | null;
}

/** A request that waits for admission. */
export class Waiter {
  readonly promise: Promise<Grant>;
  readonly #beganMs = monotonicMs();
  readonly #patience: WaitLimits;
  /** Waits for the slices that were found lacking; the request is rejected when one of them has been in vain. */
  readonly #waits = new Map<Slice, SliceWait>();
  readonly #reservations: Reservations;
  readonly #charges: readonly Charge[];
  readonly #bound: UsageBound;
  readonly #settle: PromiseWithResolvers<Grant>;
  #shortage: Shortage;
  #tries = 0;
  /** Turns of the timer since the last exchange that succeeded. */
  #silentTurns = 0;

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
    this.#patience = patience;
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
      const { slice: waitedFor } = this.#shortage.lacking;
      const isLate = wasIncluded && this.#isInVain(waitedFor, nowMs);
      if (wasIncluded) this.#noteExchange(nowMs);
      const takesLess = isLate || this.#tries > 1;
      const result = this.#reservations.reserve(this.#charges, this.#bound, nowMs, takesLess);
      if (!(result instanceof Shortage)) {
        this.#settle.resolve(result);
        return true;
      }
      const { limit, slice, unitsMin } = result.lacking;
      if (isLate && slice === waitedFor) {
        const { patience } = this.#waits.get(slice)!;
        // A request that did not wait has learned nothing new.
        if (patience !== noWait) slice.known.failedWait.note(unitsMin, nowMs);
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

  /** Notes an exchange that included the request. */
  #noteExchange(nowMs: number): void {
    this.#tries += 1;
    const { slice } = this.#shortage.lacking;
    const publishedAtMs = slice.known.shortage?.atMs ?? null;
    const wait = this.#waits.get(slice);
    if (wait !== undefined) {
      wait.publishedAtMs ??= publishedAtMs;
      return;
    }
    const patience = this.isHopeless ? noWait : this.#patience;
    this.#waits.set(slice, { patience, deadlineMs: nowMs + patience.waitMs, publishedAtMs });
  }

  /** Whether another request has just waited for as many units without success, so that waiting is pointless. */
  get isHopeless(): boolean {
    const { slice, unitsMin } = this.#shortage.lacking;
    return slice.known.failedWait.wasRecent(unitsMin, this.#beganMs);
  }

  /** Whether the time is over, and all holders of the slice have returned idle units or have had enough time for it. */
  #isInVain(slice: Slice, nowMs: number): boolean {
    const wait = this.#waits.get(slice);
    if (wait === undefined || nowMs < wait.deadlineMs || this.isCutOff) return false;
    const { shortage } = slice.known;
    const { publishedAtMs, deadlineMs, patience } = wait;
    if (publishedAtMs === null || shortage === null || shortage.answeredAtMs === null) return true;
    if (shortage.answeredAtMs >= publishedAtMs) return true;
    return nowMs >= deadlineMs + patience.lateMs;
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

  /**
   * The first exchange requests units of all slices, which spares exchanges. Later ones request and keep those up to the
   * lacking slice: all processes have the same order of counters, so no two wait for units that each keeps from the other.
   */
  #addNeeds(): void {
    const { needs, lacking } = this.#shortage;
    let isLater = false;
    for (const [slice, need] of needs) {
      (isLater ? slice.laterNeeds : slice.needs).add(need);
      if (this.#tries > 0 && slice === lacking.slice) isLater = true;
    }
  }

  #removeNeeds(): void {
    for (const [slice, need] of this.#shortage.needs) {
      slice.needs.delete(need);
      slice.laterNeeds.delete(need);
    }
  }
}
