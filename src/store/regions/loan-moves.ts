/** Decides what a region reports, returns and requests of one loan at home, and what the answer changes. */
import type { LockedCounter, MoveOutcome, SliceMove, UnitsNeed } from '../usage/slice-moves.ts';
import { recentUse, targetUnits } from './loan-target.ts';
import { counterOfLoan, type RegionLoanRow as Loan } from './region-loans.ts';

/** Lease of what a region holds at home. */
const leaseMs = 4 * 3_600_000;
/** Interval of looking at loans of which units are held, and of those that home wants back. */
const lookMs = 600_000;
const recallMs = 100;

interface MoveTimes {
  readonly nowMs: number;
  /** When the last gateway of the region answered the recall of home; null when none holds units. */
  readonly answeredAtMs: number | null;
}

interface LoanState {
  readonly used: number;
  /** Idle units; negative for usage beyond the loan. */
  readonly free: number;
  readonly target: number;
  readonly refusedUnits: number | null;
}

function stateOf(loan: Loan, state: LockedCounter | null, nowMs: number): LoanState {
  const used = state === null ? loan.reported_units : state.used_units;
  const free = loan.units + loan.reported_units - used - (state?.reserved_units ?? 0);
  const hasEnded = loan.ends_at !== null && loan.ends_at <= nowMs;
  const isUseless = state === null || loan.recalled_at !== null || hasEnded;
  const isRefused = state?.refused_limit_units === loan.limit_units;
  return {
    used,
    free,
    target: isUseless ? 0 : targetUnits(loan, nowMs),
    refusedUnits: isRefused ? state.refused_units : null,
  };
}

/** Changes the loan as the move begins; null when there is nothing to move. */
export function moveOfLoan(
  loan: Loan,
  counter: LockedCounter | null,
  needs: readonly UnitsNeed[],
  { nowMs, answeredAtMs }: MoveTimes,
): SliceMove | null {
  if (counter !== null) Object.assign(loan, recentUse(loan, counter.used_units, nowMs));
  const { used, free, target, refusedUnits } = stateOf(loan, counter, nowMs);
  const { units, recalled_at } = loan;
  const spent = used - loan.reported_units;
  const isRecalled = recalled_at !== null;
  const isAnswer = isRecalled && (answeredAtMs === null || answeredAtMs >= recalled_at);
  const offered = isRecalled || free < 0 ? free : offeredOf(free, target, needs);
  const isRequesting = target > 0 && free < target / 2;
  const isLeaseDue = units > 0 && loan.moved_at + leaseMs / 2 <= nowMs;
  if (isAnswer) loan.recalled_at = null;
  const isWaiting = isRecalled && !isAnswer;
  loan.due_at = isWaiting ? nowMs + recallMs : null;
  const isReporting = spent !== 0 || offered !== 0 || refusedUnits !== null || isAnswer;
  if (!isReporting && needs.length === 0 && !isRequesting && !isLeaseDue) {
    if (!isWaiting && units > 0) loan.due_at = nowMs + lookMs;
    return null;
  }
  loan.units = units - spent - offered;
  loan.reported_units = used;
  return {
    counter: counterOfLoan(loan),
    isNew: loan.is_new === 1,
    units,
    spent,
    offered,
    needs,
    want: Math.max(0, target - (free - offered)),
    isAnswer,
    leaseMs,
    refusedUnits,
    limitUnits: loan.limit_units,
    alertThresholdUnits: loan.alert_threshold_units,
    type: loan.type,
    label: loan.label,
  };
}

/** Returns free units for the needs that home is to cover as a whole, or else the surplus. */
function offeredOf(free: number, target: number, needs: readonly UnitsNeed[]): number {
  if (needs.length === 0) return free > 2 * target ? free - target : 0;
  return Math.min(
    free,
    needs.reduce((sum, { units }) => sum + units, 0),
  );
}

/** Home has charged all that was held before the move. */
export function afterLoss(loan: Loan, move: SliceMove, nowMs: number): Loan {
  const reported = loan.reported_units - move.spent + move.units;
  return { ...loan, reported_units: reported, units: 0, is_new: 1, due_at: nowMs };
}

export function afterMove(
  loan: Loan,
  move: SliceMove,
  outcome: NonNullable<MoveOutcome>,
  sentAtMs: number,
): Loan {
  const { granted, usedUnits, reservedUnits, refused, shortage } = outcome;
  const ofOthers = loan.is_new === 1 ? 0 : usedUnits - loan.home_used_units - move.spent;
  const units = loan.units + granted;
  const next: Loan = {
    ...loan,
    units,
    is_new: 0,
    moved_at: sentAtMs,
    home_used_units: usedUnits,
    home_reserved_units: reservedUnits,
    home_refused_units: refused?.units ?? null,
    home_refused_limit_units: refused?.limitUnits ?? null,
    others_units: loan.others_units + Math.max(0, ofOthers),
    short_at: null,
    answered_at: null,
  };
  if (units > 0) next.due_at = Math.min(loan.due_at ?? Number.POSITIVE_INFINITY, sentAtMs + lookMs);
  if (shortage === null) return next;
  // In the region's time, and not later than it was: the request was sent before home noted the shortage.
  const { atMs, answeredAtMs } = shortage;
  next.short_at = sentAtMs;
  next.answered_at = answeredAtMs === null ? null : sentAtMs + (answeredAtMs - atMs);
  next.scarce_at = sentAtMs;
  return next;
}
