/** Accounts for the part of one counter that this process holds: free, reserved and used units. */
import type { CounterRef } from '../store/usage/counter-place.ts';
import type { MoveOutcome, SliceMove, UnitsNeed } from '../store/usage/slice-moves.ts';
import type { SliceShortage } from '../store/usage/wanted-slices.ts';
import { counterRefOf, type Limit, type LimitUsage } from './limit.ts';
import { Refusals } from './refusals.ts';
import { UsageRate } from './usage-rate.ts';

/** Largest share of a limit that a process takes in advance, so that others find enough. */
const shareMax = 0.01;
/** Idle time after which free units are returned. */
const idleMs = 2_000;
/** How long a failed wait prevents further ones; other processes may hold their reservations for long. */
const failedWaitMs = 500;
/** Time for which the free units should last at the current rate. */
const aheadMs = 1_000;

/** Units of a slice that one request has reserved. */
export interface Reservation {
  /** Holding of the slice; reservations of a lost holding are already charged. */
  readonly holding: number;
  readonly units: number;
}

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

/** Time until which held units may be used, monotonic clock. */
export interface SliceLease {
  endsMs: number;
}

export class Slice {
  readonly counter: CounterRef;
  limit: Limit;
  readonly #lease: SliceLease;
  /** Needs of waiting requests, first come first served. */
  readonly needs = new Set<UnitsNeed>();
  #holding = 0;
  /** Units held according to the database, minus those in a running move. */
  #units = 0;
  #reserved = 0;
  /** Units used since the last move. */
  #spent = 0;
  /** The move that is being carried out. */
  #move: SliceMove | null = null;
  #isNew = true;
  #isRecalled = false;
  #recalledMs = Number.NEGATIVE_INFINITY;
  readonly #rate = new UsageRate(idleMs);
  readonly known = new KnownCounter();

  constructor(limit: Limit, lease: SliceLease) {
    this.limit = limit;
    this.#lease = lease;
    this.counter = counterRefOf(limit);
  }

  /** Sets the current terms; units held under a higher limit are recalled. */
  setLimit(limit: Limit): void {
    if (limit === this.limit) return;
    if (limit.limitUnits < this.limit.limitUnits) this.#isRecalled = true;
    this.limit = limit;
  }

  /** Units that may be reserved; `nowMs` by the monotonic clock. */
  freeAt(nowMs: number): number {
    const mayUse = !this.#isRecalled && nowMs < this.#lease.endsMs;
    return mayUse ? this.#units - this.#reserved - this.#spent : 0;
  }

  get isHeld(): boolean {
    return this.#units > 0;
  }

  /** Null before the first move. */
  get lastKnownUsage(): KnownUsage | null {
    const { usage } = this.known;
    if (usage === null) return null;
    const usedUnits = usage.usedUnits + this.#spent + (this.#move?.spent ?? 0);
    return { usedUnits, reservedUnits: this.#reserved, atMs: usage.atMs };
  }

  reserve(units: number, nowMs: number): number {
    this.#reserved += units;
    this.#rate.note(units, nowMs);
    return this.#holding;
  }

  /** Ends a reservation. Usage beyond the reservation is always charged. */
  settle({ holding, units }: Reservation, used: number): void {
    if (holding !== this.#holding) {
      this.#spent += Math.max(0, used - units);
      return;
    }
    this.#reserved -= units;
    this.#spent += used;
  }

  /** Takes back a charge that does not apply. */
  refund(units: number, holding: number): void {
    if (holding === this.#holding) this.#spent -= units;
  }

  /** Charges without a reservation. */
  charge(units: number, nowMs: number): number {
    this.#spent += units;
    this.#rate.note(units, nowMs);
    return this.#holding;
  }

  /** Called when another process lacks units that may be idle here; for a while none are taken in advance. */
  recall(nowMs: number): void {
    this.#isRecalled = true;
    this.#recalledMs = nowMs;
  }

  /** Whether the slice can be dropped when it begins no move. */
  isUnused(nowMs: number): boolean {
    const isQuiet = this.#units === 0 && this.#reserved === 0 && this.#spent === 0;
    return isQuiet && this.#move === null && this.needs.size === 0 && this.#rate.isIdle(nowMs);
  }

  /** Starts a move with what must be reported now; null for nothing. With `isDue` any usage is reported. */
  beginMove(nowMs: number, isDue: boolean): SliceMove | null {
    if (this.#move !== null) return null;
    const spent = this.#spent;
    const free = this.#units - this.#reserved - spent;
    const isAnswer = this.#isRecalled && this.#units > 0;
    const isScarce = this.#isRecalled || nowMs - this.#recalledMs < aheadMs;
    const want = isScarce ? 0 : targetUnits(this.limit, this.#rate, nowMs);
    const isIdle = this.#rate.isIdle(nowMs) || this.#isRecalled;
    const contents = moveContents({ free, spent }, this, { isDue, isAnswer, want, isIdle });
    if (contents === null) return null;
    const state = { isNew: this.#isNew, units: this.#units, spent, isAnswer };
    const refusedUnits = this.known.refusals.beginMove(this.limit);
    const reported = { ...contents, refusedUnits };
    const move = { counter: this.counter, ...state, ...reported, ...termsOf(this.limit) };
    this.#units -= move.spent + move.offered;
    this.#spent -= move.spent;
    this.#move = move;
    this.#isRecalled = false;
    return move;
  }

  /** Applies the outcome of a move that was carried out. */
  endMove(outcome: MoveOutcome, nowMs: number): void {
    this.#move = null;
    this.known.endMove(outcome, nowMs);
    if (outcome === null) {
      // The counter was deleted together with its usage.
      this.#spent = 0;
      this.#begin();
      return;
    }
    this.#isNew = false;
    this.#units += outcome.granted;
  }

  /** Reverts a move that was not carried out. */
  undoMove(move: SliceMove): void {
    this.#move = null;
    this.#units += move.spent + move.offered;
    this.#spent += move.spent;
    this.known.refusals.undoMove();
  }

  /** Handles a lost lease: held units are already charged, usage beyond them is not. */
  lose(): void {
    if (this.#move !== null) this.undoMove(this.#move);
    this.#spent = Math.max(0, this.#spent + this.#reserved - this.#units);
    this.#begin();
  }

  #begin(): void {
    this.#holding += 1;
    this.#units = 0;
    this.#reserved = 0;
    this.#move = null;
    this.#isNew = true;
  }
}

function termsOf({ limitUnits, alertThresholdUnits, type, label }: Limit) {
  return { limitUnits, alertThresholdUnits, type, label };
}

/** Units to hold: enough for a while at the current rate, but only a small share of the limit. */
function targetUnits({ isHard, limitUnits }: Limit, rate: UsageRate, nowMs: number): number {
  return isHard ? Math.min(rate.unitsIn(aheadMs, nowMs), Math.floor(limitUnits * shareMax)) : 0;
}

/** Determines what a move offers and requests; null when there is nothing to report. */
function moveContents(
  { free, spent }: Readonly<Record<'free' | 'spent', number>>,
  { needs, known: { refusals } }: Pick<Slice, 'needs' | 'known'>,
  {
    want,
    isIdle,
    isDue,
    isAnswer,
  }: Readonly<Record<'isIdle' | 'isDue' | 'isAnswer', boolean>> & { readonly want: number },
): Pick<SliceMove, 'offered' | 'needs' | 'want'> | null {
  if (needs.size > 0) return { offered: free, needs: [...needs], want };
  // Offers idle and surplus units, and settles a negative balance.
  const surplus = free > 2 * want ? free - want : 0;
  const offered = isIdle || free < 0 ? free : surplus;
  const isRequesting = want > 0 && free < want / 2;
  const isReporting = isDue ? spent !== 0 || offered !== 0 : offered > 0;
  if (!isRequesting && !isReporting && !isAnswer && !refusals.hasNew) return null;
  return { offered, needs: [], want: Math.max(0, want - (free - offered)) };
}
