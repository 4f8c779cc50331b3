/** Prepares what a region reports, returns and requests at home, and applies what home has answered. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { type CounterRef, counterKeyText } from '../usage/counter-place.ts';
import type { LockedCounter, MoveOutcome, SliceMove, UnitsNeed } from '../usage/slice-moves.ts';
import * as usageSlices from '../usage/usage-slices.ts';
import { recentUse, targetUnits } from './loan-target.ts';
import * as regionLoans from './region-loans.ts';

type Loan = regionLoans.RegionLoanRow;

/** A counter of which gateways of the region wait for units. */
export interface WantedCounter {
  readonly counter: CounterRef;
  readonly terms: regionLoans.LoanTerms;
  readonly needs: readonly UnitsNeed[];
}

/** Lease of what a region holds at home. */
const leaseMs = 4 * 3_600_000;
/** Interval of looking at loans of which units are held, and of those that home wants back. */
const lookMs = 600_000;
const recallMs = 100;

/**
 * Takes the moves of loans that are due or wanted out of the loans, in the transaction that stores the request. A region
 * has one request under way for each organisation, so that no loan is in two.
 */
export async function takeMoves(
  tx: Db,
  organisationId: string,
  wanted: ReadonlyMap<string, WantedCounter>,
  { nowMs, movesMax }: { readonly nowMs: number; readonly movesMax: number },
): Promise<SliceMove[]> {
  const due = await regionLoans.listDue(tx, organisationId, nowMs, movesMax);
  const counters = new Map<string, CounterRef>();
  for (const [key, { counter }] of wanted) counters.set(key, counter);
  for (const loan of due) {
    const counter = regionLoans.counterOfLoan(loan);
    if (counters.size < movesMax) counters.set(counterKeyText(counter), counter);
  }
  const moves: SliceMove[] = [];
  for (const isRate of [false, true]) {
    const some = [...counters.values()].filter((counter) => counter.isRate === isRate);
    if (some.length === 0) continue;
    const places = some.map((counter) => ({ counter }));
    const states = await usageSlices.lockCounters(tx, organisationId, isRate, places);
    const loans = await regionLoans.lockMany(tx, organisationId, isRate, some);
    const changed: Loan[] = [];
    for (const counter of some) {
      const key = counterKeyText(counter);
      const want = wanted.get(key);
      const loan =
        loans.get(key) ?? (want && regionLoans.newLoan(organisationId, counter, want.terms, nowMs));
      if (loan === undefined) continue;
      const state = states.get(key) ?? null;
      const answeredAtMs = await answeredSince(tx, loan);
      const move = moveOf(loan, state, want?.needs ?? [], { nowMs, answeredAtMs });
      if (move !== null) moves.push(move);
      changed.push(loan);
      if (move !== null && move.refusedUnits !== null) await forgetRefusal(tx, loan);
    }
    await regionLoans.saveMany(tx, changed);
  }
  return moves;
}

/** When the last gateway of the region answered a recall; null when none holds units. */
async function answeredSince(tx: Db, loan: Loan): Promise<number | null> {
  if (loan.recalled_at === null) return null;
  const { subject_kind, subject_id, window_start, counter_id } = loan;
  const { rows } = await sql<{ answeredAtMs: number | string | null }>`
    SELECT MIN(COALESCE(s.answered_at, 0)) AS answeredAtMs
    FROM usage_holders h JOIN usage_slices s
      ON s.organisation_id = h.organisation_id AND s.holder = h.holder
    WHERE h.organisation_id = ${loan.organisation_id} AND h.lease_until >= ${serverNowMs}
      AND s.is_rate = ${loan.is_rate} AND s.subject_kind = ${subject_kind}
      AND s.subject_id = ${subject_id} AND s.window_start = ${window_start}
      AND s.counter_id = ${counter_id}`.execute(tx);
  const at = rows[0]?.answeredAtMs ?? null;
  return at === null ? null : Number(at);
}

/** A refusal is stored at home once the request has arrived. */
async function forgetRefusal(tx: Db, loan: Loan): Promise<void> {
  const { subject_kind, subject_id, window_start, counter_id } = loan;
  await sql`
    UPDATE usage_counters SET refused_units = NULL, refused_limit_units = NULL
    WHERE organisation_id = ${loan.organisation_id} AND subject_kind = ${subject_kind}
      AND subject_id = ${subject_id} AND window_start = ${window_start} AND id = ${counter_id}`.execute(
    tx,
  );
}

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
function moveOf(
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
    counter: regionLoans.counterOfLoan(loan),
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

interface AnsweredMoves {
  readonly moves: readonly SliceMove[];
  /** In the order of the moves. */
  readonly outcomes: readonly MoveOutcome[];
  /** Counters by `counterKeyText` of which home has charged what the region held, without the move. */
  readonly lost: ReadonlySet<string>;
  /** When the request was sent. */
  readonly sentAtMs: number;
}

/** Applies the answer to a request whose moves were taken out of the loans. */
export async function applyAnswer(
  tx: Db,
  organisationId: string,
  { moves, outcomes, lost, sentAtMs }: AnsweredMoves,
): Promise<void> {
  const byMove = new Map(moves.map((move, at) => [move, outcomes[at] ?? null]));
  for (const isRate of [false, true]) {
    const some = moves.filter(({ counter }) => counter.isRate === isRate);
    if (some.length === 0) continue;
    const counters = some.map(({ counter }) => counter);
    await usageSlices.lockCounters(tx, organisationId, isRate, some);
    const loans = await regionLoans.lockMany(tx, organisationId, isRate, counters);
    const changed: Loan[] = [];
    for (const move of some) {
      const key = counterKeyText(move.counter);
      const loan = loans.get(key);
      if (loan === undefined) continue;
      const outcome = byMove.get(move) ?? null;
      if (lost.has(key)) changed.push(afterLoss(loan, move, sentAtMs));
      else if (outcome === null) await regionLoans.deleteOne(tx, loan);
      else changed.push(afterMove(loan, move, outcome, sentAtMs));
    }
    await regionLoans.saveMany(tx, changed);
  }
}

/** Home has charged all that was held before the move. */
function afterLoss(loan: Loan, move: SliceMove, nowMs: number): Loan {
  const reported = loan.reported_units - move.spent + move.units;
  return { ...loan, reported_units: reported, units: 0, is_new: 1, due_at: nowMs };
}

function afterMove(
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
