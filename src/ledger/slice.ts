/** Moves units of one counter between this process and the bank: what it reports, returns and requests. */
import type { LostUse } from '../store/usage/slice-charges.ts';
import type { MoveOutcome, SliceMove, UnitsNeed } from '../store/usage/slice-moves.ts';
import type { HoldingTarget } from './forecast.ts';
import type { Limit } from './limit.ts';
import { UsableSlice } from './usable-slice.ts';

export class Slice extends UsableSlice {
  /** The part of the units used since the last move that the forecast knows. */
  #noted = 0;
  #isNew = true;

  /** Called when another process lacks units that may be idle here; for a while none are taken in advance. */
  recall(nowMs: number): void {
    this.isRecalled = true;
    this.forecast.noteRecall(nowMs);
  }

  /** Whether only the passing of time changes what it holds. */
  isQuiet(nowMs: number): boolean {
    const isOpen = this.held.isOpen || this.needs.size > 0 || this.laterNeeds.size > 0;
    return !isOpen && this.move === null && this.forecast.isQuiet(nowMs);
  }

  /** Whether the slice can be dropped when it begins no move. */
  isUnused(nowMs: number): boolean {
    if (this.held.units !== 0 || !this.isQuiet(nowMs)) return false;
    const { isHard, isRate } = this.limit;
    if (this.held.drawnBefore > 0) return false;
    return !isHard || isRate || this.forecast.isIdle(nowMs);
  }

  /** Starts a move with what must be reported now; null for nothing. */
  beginMove({ nowMs, isDue, hasEnded }: MoveTime): SliceMove | null {
    if (this.move !== null) return null;
    const { reserved, units, free, drawnSpent } = this.held;
    const spent = this.held.spent + drawnSpent;
    this.forecast.noteUse(spent - this.#noted, reserved, nowMs);
    this.#noted = spent;
    const isAnswer = this.isRecalled && units > 0;
    const target = this.isRecalled || hasEnded ? noTarget : this.#target(nowMs);
    const request = { free, spent, target: target.units, isRecalled: this.isRecalled };
    const isLeaseDue = units > 0 && (this.lease.isDueAt(nowMs) || this.promise.isVoiding);
    const contents = moveContents(request, this, { isDue, isAnswer, isLeaseDue });
    if (contents === null) return null;
    const { leaseMs } = target;
    const totalUnits = this.held.total;
    const state = { isNew: this.#isNew, units, spent, totalUnits, isAnswer, leaseMs };
    const refusedUnits = this.known.refusals.beginMove(this.limit);
    // The bank has not granted what the process granted itself.
    const reported = { ...contents, offered: contents.offered - drawnSpent, refusedUnits };
    const move = { counter: this.counter, ...state, ...reported, ...termsOf(this.limit) };
    this.lease.begin(leaseMs, nowMs);
    this.held.beginMove(move);
    this.#noted -= move.spent;
    this.move = move;
    this.promise.beginMove();
    this.isRecalled = false;
    return move;
  }

  #target(nowMs: number): HoldingTarget {
    const { usage } = this.known;
    const unused = usage === null ? null : this.limit.limitUnits - usage.usedUnits;
    return this.forecast.target(this.limit, unused, nowMs);
  }

  /** Applies the outcome of a move of an exchange that began at `startedMs`. */
  endMove(outcome: MoveOutcome, startedMs: number, nowMs: number): void {
    const move = this.move;
    this.move = null;
    if (outcome !== null) this.#noteOthers(outcome, move, nowMs);
    this.known.endMove(outcome, nowMs);
    if (outcome === null) {
      // The counter was deleted together with its usage.
      this.held.forget();
      this.#begin();
      return;
    }
    this.lease.end(move?.leaseMs ?? null, startedMs);
    this.promise.endMove();
    this.#isNew = false;
    const { usedUnits, reservedUnits, granted } = outcome;
    this.held.endMove(granted, usedUnits + reservedUnits - this.limit.limitUnits);
  }

  #noteOthers(
    { usedUnits }: NonNullable<MoveOutcome>,
    move: SliceMove | null,
    nowMs: number,
  ): void {
    const { usage } = this.known;
    if (usage === null) return;
    this.forecast.noteUseOfOthers(usedUnits - usage.usedUnits - (move?.spent ?? 0), nowMs);
  }

  /** Reverts a move that was not carried out. */
  undoMove(move: SliceMove): void {
    this.move = null;
    this.lease.undo();
    this.held.undoMove(move);
    this.#noted += move.spent;
    this.known.refusals.undoMove();
  }

  /** As `lose`, when the process goes on as another holder, whose journal has no bounds. */
  loseHolder(): void {
    this.lose();
    this.promise.reset();
  }

  /**
   * Handles a lost lease: held units are already charged, usage beyond them is not. Returns what was used of a budget's
   * units, by which the charge can be corrected; null when none were held.
   */
  lose(): LostUse | null {
    if (this.move !== null) this.undoMove(this.move);
    const { counter, totalMax: totalUnits } = this;
    const { units, reserved: runningUnits } = this.held;
    this.held.lose();
    this.#begin();
    return units > 0 && !counter.isRate ? { counter, totalUnits, runningUnits } : null;
  }

  #begin(): void {
    this.#noted = this.held.spent;
    this.move = null;
    this.#isNew = true;
    this.lease.lose();
  }
}

/** When a move begins. */
export interface MoveTime {
  /** Monotonic clock. */
  readonly nowMs: number;
  /** Whether any usage is reported, not only what others need. */
  readonly isDue: boolean;
  /** Whether the window of the limit has ended. */
  readonly hasEnded: boolean;
}

const noTarget: HoldingTarget = { units: 0, leaseMs: null };

function termsOf({ limitUnits, alertThresholdUnits, type, label }: Limit) {
  return { limitUnits, alertThresholdUnits, type, label };
}

interface Holdings {
  readonly free: number;
  readonly spent: number;
  /** Free units to hold. */
  readonly target: number;
  readonly isRecalled: boolean;
}

/** Determines what a move offers and requests; null when there is nothing to report. */
function moveContents(
  { free, spent, target, isRecalled }: Holdings,
  { needs, laterNeeds, known: { refusals } }: Pick<Slice, 'needs' | 'laterNeeds' | 'known'>,
  { isDue, isAnswer, isLeaseDue }: Readonly<Record<'isDue' | 'isAnswer' | 'isLeaseDue', boolean>>,
): Pick<SliceMove, 'offered' | 'needs' | 'want'> | null {
  if (needs.size > 0) {
    // Keeps what no request waits for, so that it can be used if the outcome of the exchange is lost.
    const needed = unitsOf(needs);
    const offered = isRecalled ? free : Math.min(free, needed);
    return { offered, needs: [...needs], want: Math.max(0, target - (free - offered)) };
  }
  // Offers idle and surplus units, and settles a negative balance.
  const wanted = Math.max(target, unitsOf(laterNeeds));
  const surplus = free > 2 * target ? Math.max(0, free - wanted) : 0;
  const offered = isRecalled || free < 0 ? free : surplus;
  const isRequesting = target > 0 && free < target / 2;
  const isReporting = isDue ? spent !== 0 || offered !== 0 : offered > 0;
  const isNeeded = isRequesting || isReporting || isAnswer || isLeaseDue || refusals.hasNew;
  if (!isNeeded) return null;
  return { offered, needs: [], want: Math.max(0, target - (free - offered)) };
}

function unitsOf(needs: ReadonlySet<UnitsNeed>): number {
  let sum = 0;
  for (const { units } of needs) sum += units;
  return sum;
}
