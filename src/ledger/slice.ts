/** Knows the part of one counter that this process holds: what of it is free, reserved by running requests, or used. */
import type { CounterRef } from '../store/usage/counter-place.ts';
import type { MoveOutcome, UnitsNeed, SliceMove } from '../store/usage/usage-slices.ts';
import type { SliceShortage } from '../store/usage/wanted-slices.ts';
import { type Limit, placeOf } from './limit.ts';
import { UsageRate } from './usage-rate.ts';

/** Part of a limit that a process takes at a time, so that others find enough. */
const shareMax = 0.01;
/** How long what is free may lie idle, before it is given back. */
const idleMs = 2_000;
/** Others may have reserved it for long. */
const vainMs = 500;
/** What is free lasts for so long at the pace of late. */
const aheadMs = 1_000;

/** What one request has reserved of a slice, which says of which holding that is. */
export interface Reservation {
  /** Which holding of the slice it is of: one that was lost is charged already. */
  readonly holding: number;
  readonly units: number;
}

/** The least that nobody had to give although it was waited for, which nobody waits for again at once. */
class FailedWait {
  #units = Number.POSITIVE_INFINITY;
  #atMs = 0;

  note(units: number, nowMs: number): void {
    this.#units = units;
    this.#atMs = nowMs;
  }

  wasRecent(units: number, nowMs: number): boolean {
    return units >= this.#units && nowMs - this.#atMs < vainMs;
  }

  forget(): void {
    this.#units = Number.POSITIVE_INFINITY;
  }
}

/** What is known of the use of a counter. */
interface KnownUsage {
  /** By everybody. */
  readonly usedUnits: number;
  /** By requests of this process that are under way. */
  readonly reservedUnits: number;
  /** When that was true, by the monotonic clock. */
  readonly atMs: number;
}

/** Until when what is held may be used, by the monotonic clock. */
export interface Lease {
  endsMs: number;
}

export class Slice {
  readonly place: CounterRef;
  limit: Limit;
  readonly #lease: Lease;
  /** Requests that wait for more, first come first served. */
  readonly needs = new Set<UnitsNeed>();
  #holding = 0;
  /** What the database says is held here, less what is being given into a move. */
  #units = 0;
  #reserved = 0;
  /** Used since the last move. */
  #spent = 0;
  /** Under way to the database. */
  #move: SliceMove | null = null;
  #isNew = true;
  #isRecalled = false;
  readonly #pace = new UsageRate(idleMs);
  readonly failedWait = new FailedWait();
  /** Of everybody, as the last move found it. */
  #known: { readonly usedUnits: number; readonly atMs: number } | null = null;
  /** As the last move found it; null where that got all that was waited for. */
  shortage: SliceShortage | null = null;

  constructor(limit: Limit, lease: Lease) {
    this.limit = limit;
    this.#lease = lease;
    this.place = placeOf(limit);
  }

  /** The latest terms; what was held by higher ones is not used any more. */
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

  /** Null while nobody has looked. */
  get known(): KnownUsage | null {
    const known = this.#known;
    if (known === null) return null;
    const usedUnits = known.usedUnits + this.#spent + (this.#move?.spent ?? 0);
    return { usedUnits, reservedUnits: this.#reserved, atMs: known.atMs };
  }

  reserve(units: number, nowMs: number): number {
    this.#reserved += units;
    this.#pace.note(units, nowMs);
    return this.#holding;
  }

  /** Ends a reservation. What it used beyond what was reserved is charged in any case. */
  settle({ holding, units }: Reservation, used: number): void {
    if (holding !== this.#holding) {
      this.#spent += Math.max(0, used - units);
      return;
    }
    this.#reserved -= units;
    this.#spent += used;
  }

  /** What was counted at once, and turns out not to be. */
  refund(units: number, holding: number): void {
    if (holding === this.#holding) this.#spent -= units;
  }

  /** Charges at once, without having reserved. */
  charge(units: number, nowMs: number): number {
    this.#spent += units;
    this.#pace.note(units, nowMs);
    return this.#holding;
  }

  /** Somebody else lacks what may lie idle here. */
  recall(): void {
    this.#isRecalled = true;
  }

  /** Whether nothing is left to know or to do here. */
  isUnused(nowMs: number): boolean {
    const isQuiet = this.#units === 0 && this.#reserved === 0 && this.#spent === 0;
    return isQuiet && this.#move === null && this.needs.size === 0 && this.#pace.isIdle(nowMs);
  }

  /** What this slice has to tell the database now, or null: `isDue` when whatever is used shall be told. */
  beginMove(nowMs: number, isDue: boolean): SliceMove | null {
    if (this.#move !== null) return null;
    const spent = this.#spent;
    const free = this.#units - this.#reserved - spent;
    const isAnswer = this.#isRecalled && this.#units > 0;
    const want = this.#isRecalled ? 0 : targetUnits(this.limit, this.#pace, nowMs);
    const isIdle = this.#pace.isIdle(nowMs) || this.#isRecalled;
    const wish = moveContents({ free, spent }, this.needs, { isDue, isAnswer, want, isIdle });
    if (wish === null) return null;
    const held = { counter: this.place, isNew: this.#isNew, units: this.#units, spent, isAnswer };
    const move = { ...held, ...wish, ...termsOf(this.limit) };
    this.#units -= move.spent + move.offered;
    this.#spent -= move.spent;
    this.#move = move;
    this.#isRecalled = false;
    return move;
  }

  /** The move was carried out, with this outcome. */
  endMove(outcome: MoveOutcome, nowMs: number): void {
    this.#move = null;
    if (outcome === null) {
      // The counter is gone, and with it all that was ever used of it.
      this.#spent = 0;
      this.#begin();
      return;
    }
    this.#isNew = false;
    this.#units += outcome.granted;
    if (outcome.granted > 0) this.failedWait.forget();
    this.#known = { usedUnits: outcome.usedUnits, atMs: nowMs };
    this.shortage = outcome.shortage;
  }

  /** The move was not carried out. */
  undoMove(move: SliceMove): void {
    this.#move = null;
    this.#units += move.spent + move.offered;
    this.#spent += move.spent;
  }

  /** All that was held is charged already; what was used beyond it is not. */
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

/** Enough for a while at the pace of late, but no more than a small part of the limit. */
function targetUnits({ isHard, limitUnits }: Limit, pace: UsageRate, nowMs: number): number {
  return isHard ? Math.min(pace.unitsIn(aheadMs, nowMs), Math.floor(limitUnits * shareMax)) : 0;
}

/** What is given into a move, and asked for; null where nothing is to be told. */
function moveContents(
  { free, spent }: Readonly<Record<'free' | 'spent', number>>,
  needs: ReadonlySet<UnitsNeed>,
  {
    want,
    isIdle,
    isDue,
    isAnswer,
  }: Readonly<Record<'isIdle' | 'isDue' | 'isAnswer', boolean>> & { readonly want: number },
): Pick<SliceMove, 'offered' | 'needs' | 'want'> | null {
  if (needs.size > 0) return { offered: free, needs: [...needs], want };
  // What lies idle, what is too much, and what is owed.
  const surplus = free > 2 * want ? free - want : 0;
  const offered = isIdle || free < 0 ? free : surplus;
  const isAsking = want > 0 && free < want / 2;
  const isTelling = isDue ? spent !== 0 || offered !== 0 : offered > 0;
  if (!isAsking && !isTelling && !isAnswer) return null;
  return { offered, needs: [], want: Math.max(0, want - (free - offered)) };
}
