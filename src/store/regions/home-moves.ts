/** Prepares what a region reports, returns and requests at home, and applies what home has answered. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { type CounterRef, counterKeyText } from '../usage/counter-place.ts';
import type { MoveOutcome, SliceMove, UnitsNeed } from '../usage/slice-moves.ts';
import * as usageSlices from '../usage/usage-slices.ts';
import { afterLoss, afterMove, moveOfLoan } from './loan-moves.ts';
import * as regionLoans from './region-loans.ts';

type Loan = regionLoans.RegionLoanRow;

/** A counter of which gateways of the region wait for units. */
export interface WantedCounter {
  readonly counter: CounterRef;
  readonly terms: regionLoans.LoanTerms;
  readonly needs: readonly UnitsNeed[];
}

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
      const move = moveOfLoan(loan, state, want?.needs ?? [], { nowMs, answeredAtMs });
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
