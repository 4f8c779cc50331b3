/** Grants and counts units of one slice; its exchanges with the bank are in `slice.ts`. */
import type { CounterRef } from '../store/usage/counter-place.ts';
import type { MoveOutcome, SliceMove, UnitsNeed } from '../store/usage/slice-moves.ts';
import type { SliceShortage } from '../store/usage/wanted-slices.ts';
import { Forecast } from './forecast.ts';
import { HeldUnits, type Reservation, type UncoveredUse } from './held-units.ts';
import { counterRefOf, type Limit, type LimitUsage } from './limit.ts';
import { Refusals } from './refusals.ts';
import { rateShare, type Sharing } from './share.ts';
import { type HolderLease, SliceLease } from './slice-lease.ts';
import { TotalPromise } from './total-promise.ts';

/** How long a failed wait prevents further ones; other processes may hold their reservations for long. */
const failedWaitMs = 500;

/** Remembers the smallest amount for which a request recently waited in vain. */
class FailedWait {
  #units = Number.POSITIVE_INFINITY;
  #atMs = 0;

  note(units: number, nowMs: number): void {
    this.#units = units;
    this.#atMs = nowMs;
  }

  wasRecent(units: number, nowMs: number): boolean {
    return units >= this.#units && nowMs - this.#atMs < failedWaitMs;
  }

  forget(): void {
    this.#units = Number.POSITIVE_INFINITY;
  }
}

/** Known usage of a counter. */
interface KnownUsage extends LimitUsage {
  /** Time of the values, monotonic clock. */
  readonly atMs: number;
}

/** Holds the state of the counter as of the last move. */
class KnownCounter {
  /** Usage of all processes; null before the first move. */
  usage: { readonly usedUnits: number; readonly atMs: number } | null = null;
  /** Null when the move granted all needs. */
  shortage: SliceShortage | null = null;
  readonly refusals = new Refusals();
  readonly failedWait = new FailedWait();

  /** `outcome` is null when the counter was deleted. */
  endMove(outcome: MoveOutcome, nowMs: number): void {
    this.refusals.endMove(outcome?.refused ?? null);
    if (outcome === null) return;
    const { granted, usedUnits, shortage } = outcome;
    if (granted > 0) this.failedWait.forget();
    this.usage = { usedUnits, atMs: nowMs };
    this.shortage = shortage;
  }
}

interface AllowanceJournal {
  /** Whether it knows what earlier processes have granted themselves. */
  readonly isLoaded: boolean;
  drawnBefore(counter: CounterRef): number;
}

/** Limits of the grants that a process makes to itself while the bank is away. */
export interface OutageTerms {
  /** The processes that share rate limits. */
  readonly sharing: Sharing;
  /** Takes grants of budgets; null without a folder for it. */
  readonly journal: AllowanceJournal | null;
}

export class UsableSlice {
  readonly counter: CounterRef;
  limit: Limit;
  /** Whether the next exchange looks at it. */
  isAwake = true;
  /** Needs of waiting requests, first come first served. */
  readonly needs = new Set<UnitsNeed>();
  /** Needs of requests that wait for another slice first: units are kept for them unless another process lacks them. */
  readonly laterNeeds = new Set<UnitsNeed>();
  protected readonly held = new HeldUnits();
  /** The move that is being carried out. */
  protected move: SliceMove | null = null;
  protected isRecalled = false;
  protected readonly lease: SliceLease;
  protected readonly forecast = new Forecast();
  readonly known = new KnownCounter();
  /** The bound of its usage in the journal. */
  readonly promise = new TotalPromise();

  constructor(limit: Limit, lease: HolderLease) {
    this.limit = limit;
    this.lease = new SliceLease(lease);
    this.counter = counterRefOf(limit);
  }

  /** Sets the current terms; units held under a higher limit are recalled. */
  setLimit(limit: Limit): void {
    if (limit === this.limit) return;
    if (limit.limitUnits < this.limit.limitUnits) this.isRecalled = true;
    this.limit = limit;
  }

  /** Units that may be reserved; `nowMs` by the monotonic clock. */
  freeAt(nowMs: number): number {
    const mayUse = !this.isRecalled && !this.lease.isOverAt(nowMs);
    return mayUse ? this.held.free : 0;
  }

  /** Whether more may be used than the journal says. */
  get isBeyondPromise(): boolean {
    return this.totalMax > this.promise.bound;
  }

  /** Units of the bank that are used when all running requests use what they have reserved. */
  get totalMax(): number {
    return this.held.total + this.held.reserved;
  }

  /** The disk took no bound: the next exchange makes every bound void, by a total above all of them. */
  voidPromise(highest: number): void {
    this.held.reportedTotal = Math.max(this.held.reportedTotal, highest + 1);
    this.promise.isVoiding = true;
  }

  /** The total when all units that are held are used. */
  get heldTotal(): number {
    return this.totalMax + Math.max(0, this.held.free);
  }

  /** A later slice of the same counter continues above what was promised for the earlier one. */
  startTotal(units: number): void {
    this.held.reportedTotal = units;
  }

  /** A bound that leaves room for the next requests. */
  roomyTotal(nowMs: number): number {
    return this.totalMax + this.forecast.unitsSoon(nowMs);
  }

  get isHeld(): boolean {
    return this.held.units > 0;
  }

  /** Null before the first move. */
  get lastKnownUsage(): KnownUsage | null {
    const { usage } = this.known;
    if (usage === null) return null;
    const { spent, drawnSpent, reserved } = this.held;
    const usedUnits = usage.usedUnits + spent + drawnSpent + (this.move?.spent ?? 0);
    return { usedUnits, reservedUnits: reserved, atMs: usage.atMs };
  }

  reserve(units: number, nowMs: number): number {
    const { reserved } = this.held.reserve(units);
    this.forecast.noteRequest(units, reserved, nowMs);
    return this.held.holding;
  }

  /** Units that the process may grant itself in an outage, beyond those that it has granted. */
  drawable({ sharing, journal }: OutageTerms): number {
    const { limitUnits, isRate, outageUnits = 0 } = this.limit;
    const known = this.known.usage?.usedUnits ?? 0;
    if (known >= limitUnits) return 0;
    if (isRate) {
      const share = rateShare(limitUnits - known, sharing, this.counter.id.readUInt32BE(0));
      // The known usage lacks what a move reports that has no answer.
      return share - this.held.units - this.held.spentInMove - this.held.drawn;
    }
    if (outageUnits === 0 || journal === null || !journal.isLoaded) return 0;
    return outageUnits - this.held.drawn - journal.drawnBefore(this.counter);
  }

  /** Grants units of the process itself. */
  draw(units: number): Reservation {
    this.held.draw(units);
    this.noteUse();
    return { units, holding: this.held.holding, isDrawn: true };
  }

  /** The usage that is lost with the process unless a journal has it. */
  get uncovered(): UncoveredUse {
    return this.held.uncovered;
  }

  get drawn(): number {
    return this.held.drawn;
  }

  /** Called when usage that the bank does not cover may have changed; null without a journal. */
  onUncovered: ((slice: UsableSlice) => void) | null = null;

  protected noteUse(): void {
    if (this.onUncovered === null || this.limit.isRate) return;
    if (this.held.drawn > 0 || this.held.free < 0) this.onUncovered(this);
  }

  /** Ends a reservation. Usage beyond the reservation is always charged. */
  settle(reservation: Reservation, used: number): void {
    this.held.settle(reservation, used);
    this.noteUse();
  }

  /** Takes back a charge that does not apply. */
  refund(units: number, holding: number): void {
    this.held.refund(units, holding);
  }

  /** Charges without a reservation. */
  charge(units: number, nowMs: number): number {
    const { reserved } = this.held.charge(units);
    this.noteUse();
    this.forecast.noteRequest(units, reserved, nowMs);
    return this.held.holding;
  }
}
