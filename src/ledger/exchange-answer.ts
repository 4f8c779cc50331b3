/** Applies the answer of an exchange to the slices of a holder. */
import { counterKeyText } from '../store/usage/counter-place.ts';
import type { LostUse } from '../store/usage/slice-charges.ts';
import type { MoveOutcome } from '../store/usage/slice-moves.ts';
import type { BankAnswer } from './limit-bank.ts';
import type { Slice } from './slice.ts';
import type { UncoveredSlices } from './uncovered-slices.ts';

interface AnsweredSlices {
  /** All slices of the holder. */
  readonly all: Iterable<Slice>;
  /** Null without a journal. */
  readonly uncovered: UncoveredSlices | null;
  /** When the exchange began; monotonic clock. */
  readonly startedMs: number;
  readonly nowMs: number;
}

/**
 * Ends the moves of `moved`, in the order of the outcomes, and loses slices that were charged when their lease had ended.
 * Returns what was used of these.
 */
export function endExchange(
  { outcomes, held, lost = [] }: BankAnswer,
  moved: readonly Slice[],
  { all, uncovered, startedMs, nowMs }: AnsweredSlices,
): LostUse[] {
  const leftOut = new Set(lost);
  const lostUses: (LostUse | null)[] = [];
  for (const [at, slice] of moved.entries()) {
    const outcome = outcomes[at]!;
    if (leftOut.has(counterKeyText(slice.counter))) lostUses.push(slice.lose());
    else slice.endMove(outcome, startedMs, nowMs);
    uncovered?.noteBeyond(slice, beyondOf(slice, outcome));
    uncovered?.noteMoved(slice);
  }
  if (held !== null) {
    const others = new Set(all).difference(new Set(moved));
    lostUses.push(...loseOthers(others, new Set(held), uncovered));
  }
  return lostUses.filter((use) => use !== null);
}

function loseOthers(
  slices: Iterable<Slice>,
  held: ReadonlySet<string>,
  uncovered: UncoveredSlices | null,
): (LostUse | null)[] {
  const lostUses: (LostUse | null)[] = [];
  for (const slice of slices) {
    if (!slice.isHeld || held.has(counterKeyText(slice.counter))) continue;
    lostUses.push(slice.lose());
    uncovered?.noteMoved(slice);
  }
  return lostUses;
}

/** Units used and reserved beyond the limit; 0 for a counter that was deleted. */
function beyondOf({ limit }: Slice, outcome: MoveOutcome): number {
  if (outcome === null) return 0;
  return outcome.usedUnits + outcome.reservedUnits - limit.limitUnits;
}
