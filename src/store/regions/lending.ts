/** Grants units to the gateways of a region, within what the region has borrowed from its home. */
import type { Db } from '../connection/db.ts';
import { readServerTime } from '../connection/server-time.ts';
import { counterKeyText } from '../usage/counter-place.ts';
import { applyMove, type SliceMove } from '../usage/slice-moves.ts';
import type { Holder } from '../usage/usage-holders.ts';
import type { GrantedMove, GrantMoves, LockedMove } from '../usage/usage-slices.ts';
import { readShortage, type SliceShortage } from '../usage/wanted-slices.ts';
import type { WantedCounter } from './home-moves.ts';
import * as regionLoans from './region-loans.ts';

type Loan = regionLoans.RegionLoanRow;

/** How long usage waits until home counts it. */
const reportAfterMs = 1_000;

/**
 * Used and reserved units of the region stay within what home has counted and what the region holds there. Alerts are
 * raised at home.
 */
export function lendWithinLoans(isHomeAway: (organisationId: string) => boolean): GrantMoves {
  return async (tx, holder, moves) => {
    const { organisationId } = holder;
    const nowMs = await readServerTime(tx);
    const isRate = moves[0]?.move.counter.isRate ?? false;
    const counters = moves.map(({ move }) => move.counter);
    const loans = await regionLoans.lockMany(tx, organisationId, isRate, counters);
    const granted: GrantedMove[] = [];
    const changed: Loan[] = [];
    for (const { move, state } of moves) {
      const known = loans.get(counterKeyText(move.counter));
      const lent = lendOf({ move, state }, known, { organisationId, nowMs });
      if (lent.isChanged) changed.push(lent.loan);
      const isAway = isHomeAway(organisationId);
      const { isShort } = lent.granted;
      const shortage = isShort ? await shortageOf(tx, holder, move, lent.loan, isAway) : null;
      granted.push({ ...lent.granted, answer: { ...lent.answer, shortage } });
    }
    await regionLoans.saveMany(tx, changed);
    return granted;
  };
}

export interface LentUnits {
  readonly granted: Omit<GrantedMove, 'answer'>;
  readonly answer: Omit<GrantedMove['answer'], 'shortage'>;
  /** The loan after the move. */
  readonly loan: Loan;
  /** Whether the loan must be stored. */
  readonly isChanged: boolean;
}

/** Carries out the move of a gateway within the loan of its counter; undefined where nothing was borrowed yet. */
export function lendOf(
  { move, state }: LockedMove,
  known: Loan | undefined,
  { organisationId, nowMs }: { readonly organisationId: string; readonly nowMs: number },
): LentUnits {
  const before =
    known ?? regionLoans.newLoan(organisationId, move.counter, loanTermsOf(move), nowMs);
  const loan = { ...before, ...loanTermsOf(move), due_at: dueAt(move, before, nowMs) };
  if (move.limitUnits < before.limit_units) loan.recalled_at ??= nowMs;
  const granted = lend({ move, state }, loan);
  return {
    granted,
    answer: answerOf(granted, loan),
    loan,
    isChanged: known === undefined || isChanged(loan, before),
  };
}

export function loanTermsOf({ type, label, limitUnits, alertThresholdUnits }: SliceMove) {
  return {
    type,
    label,
    limit_units: limitUnits,
    alert_threshold_units: alertThresholdUnits,
  };
}

function isChanged(next: Loan, { due_at, limit_units, alert_threshold_units, label }: Loan) {
  return (
    next.due_at !== due_at ||
    next.limit_units !== limit_units ||
    next.alert_threshold_units !== alert_threshold_units ||
    next.label !== label
  );
}

function dueAt(move: SliceMove, { due_at, limit_units, recalled_at }: Loan, nowMs: number) {
  if (move.limitUnits < limit_units || (recalled_at !== null && move.isAnswer)) return nowMs;
  const isReporting = move.spent !== 0 || move.offered !== 0 || move.refusedUnits !== null;
  if (!isReporting) return due_at;
  return Math.min(due_at ?? Number.POSITIVE_INFINITY, nowMs + reportAfterMs);
}

function lend({ move, state }: LockedMove, loan: Loan): Omit<GrantedMove, 'answer'> {
  // Units that home wants back are lent to nobody.
  const mostUnits = loan.recalled_at === null ? loan.units + loan.reported_units : 0;
  return { ...applyMove(move, state, mostUnits), alerts: { threshold: null, exhausted: null } };
}

/** The totals of all regions, as far as this one knows. */
function answerOf({ outcome }: Omit<GrantedMove, 'answer'>, loan: Loan) {
  const unreported = outcome.usedUnits - loan.reported_units;
  const { home_refused_units: units, home_refused_limit_units: limitUnits } = loan;
  const refusedAtHome = units === null || limitUnits === null ? null : { units, limitUnits };
  return {
    granted: outcome.granted,
    usedUnits: Math.max(0, loan.home_used_units + unreported),
    reservedUnits: Math.max(0, loan.home_reserved_units - unreported),
    refused: outcome.refused ?? refusedAtHome,
  };
}

async function shortageOf(
  tx: Db,
  holder: Holder,
  move: SliceMove,
  loan: Loan,
  isHomeAway: boolean,
): Promise<SliceShortage> {
  const { atMs, answeredAtMs } = await readShortage(tx, holder, move.counter);
  const others = [
    ...(answeredAtMs === null ? [] : [answeredAtMs]),
    ...(loan.short_at !== null && loan.answered_at === null ? [] : [loan.answered_at ?? 0]),
  ];
  return {
    atMs,
    answeredAtMs: others.length === 0 ? null : Math.min(...others),
    ...(isHomeAway ? { isHomeAway } : {}),
  };
}

/** Counters, by `counterKeyText`, of which the region cannot lend what requests of gateways wait for. */
export async function listUncovered(
  db: Db,
  organisationId: string,
  moves: readonly SliceMove[],
): Promise<Map<string, WantedCounter>> {
  const uncovered = new Map<string, WantedCounter>();
  for (const isRate of [false, true]) {
    const some = moves.filter(({ counter }) => counter.isRate === isRate);
    const free = await regionLoans.listFree(
      db,
      organisationId,
      isRate,
      some.map(({ counter }) => counter),
    );
    for (const move of some) {
      const key = counterKeyText(move.counter);
      const needed = move.needs.reduce((sum, { units }) => sum + units, 0);
      if (needed <= (free.get(key) ?? 0) + move.offered) continue;
      uncovered.set(key, { counter: move.counter, terms: loanTermsOf(move), needs: move.needs });
    }
  }
  return uncovered;
}
