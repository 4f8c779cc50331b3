/** Computes what moves of slices do to their locked counters. */
import {
  isExhausted,
  isExhaustedAlertSent,
  isThresholdAlertSent,
  type RefusedUnits,
} from '../../model/limits/counter-state.ts';
import type { UsageType } from '../../model/limits/limits.ts';
import type { CounterRef } from './counter-place.ts';
import type { CountedKind } from './usage-counters.ts';
import type { SliceShortage } from './wanted-slices.ts';

/** Units that a waiting request needs, and the minimum that suffices. */
export interface UnitsNeed {
  readonly units: number;
  readonly unitsMin: number;
}

/** A holder's usage of a counter, with the units that it returns and requests. */
export interface SliceMove {
  readonly counter: CounterRef;
  /** Whether the holder has no slice of this counter, which then may not exist. */
  readonly isNew: boolean;
  /** In the holder's slice now. */
  readonly units: number;
  /** Used since the last move; negative when refunds exceed the usage. */
  readonly spent: number;
  /** Units of the bank that the holder has used of it in all, with `spent`; unknown when absent. */
  readonly totalUnits?: number | null;
  /** Returned for redistribution; negative for usage beyond the slice. */
  readonly offered: number;
  /** Needs of waiting requests in order of arrival. */
  readonly needs: readonly UnitsNeed[];
  /** Additional units, so that the next exchange is later. */
  readonly want: number;
  /** Whether it returns all idle units because another process runs short. */
  readonly isAnswer: boolean;
  /** Lease of the slice by itself; null when it ends with the lease of its holder. */
  readonly leaseMs: number | null;
  /** Least units of a refused request that the limit would cover if it were unused; null for none. */
  readonly refusedUnits: number | null;
  readonly limitUnits: number;
  /** Null without an alert threshold. */
  readonly alertThresholdUnits: number | null;
  readonly type: UsageType;
  /** Display name of the limit. */
  readonly label: string;
}

/** The smallest refused request and the limit that refused it, in units. */
export interface StoredRefusal {
  readonly units: number;
  readonly limitUnits: number;
}

/** Outcome of a move; null when the counter was deleted, and its slices with it. */
export type MoveOutcome = {
  /** Units that the holder can use after the move. */
  readonly granted: number;
  /** Totals of the counter after the move. */
  readonly usedUnits: number;
  readonly reservedUnits: number;
  /** The smallest refused request, as stored; null for none, and for rate limits. */
  readonly refused: StoredRefusal | null;
  /** Set when the grant does not cover all waiting requests. */
  readonly shortage: SliceShortage | null;
} | null;

export interface LockedCounter {
  readonly subject_kind: CountedKind;
  readonly subject_id: Buffer;
  readonly window_start: number;
  readonly id: Buffer;
  readonly used_units: number;
  readonly reserved_units: number;
  readonly threshold_alert_units: number | null;
  readonly exhausted_alert_units: number | null;
  readonly refused_units: number | null;
  readonly refused_limit_units: number | null;
}

export interface CountedMove {
  readonly move: SliceMove;
  readonly outcome: Omit<NonNullable<MoveOutcome>, 'shortage'>;
  readonly alerts: { readonly threshold: number | null; readonly exhausted: number | null };
  /** The counter before the move. */
  readonly state: LockedCounter;
  /** Whether other holders must return their idle units. */
  readonly isShort: boolean;
}

/** Computes one move on the locked counter. Used and reserved units stay within `mostUnits`. */
export function applyMove(
  move: SliceMove,
  state: LockedCounter,
  mostUnits = move.limitUnits,
): CountedMove {
  const { spent, offered, needs, want } = move;
  const usedUnits = Math.max(0, state.used_units + spent);
  const left = Math.max(0, state.reserved_units - spent - offered);
  const { granted, isShort } = grantOf(mostUnits - usedUnits - left, needs, want);
  const refused = refusedAfter(move, state);
  const outcome = { granted, usedUnits, reservedUnits: left + granted, refused };
  return { move, state, outcome, alerts: alertsOf(move, state, outcome), isShort };
}

/** Remembers the smallest refused request. A refusal under another limit replaces it. */
function refusedAfter(
  { refusedUnits, limitUnits }: SliceMove,
  state: LockedCounter,
): StoredRefusal | null {
  const { refused_units: units, refused_limit_units: storedLimit } = state;
  const stored = units === null || storedLimit === null ? null : { units, limitUnits: storedLimit };
  if (refusedUnits === null) return stored;
  const refused = { units: refusedUnits, limitUnits };
  const isSame = stored?.limitUnits === refused.limitUnits;
  return isSame && stored.units < refused.units ? stored : refused;
}

/**
 * Distributes the free units to waiting requests in order: all that each needs, else the remainder if it
 * covers the minimum, else nothing. Additional units are at most a quarter of the remainder, so that the
 * last units do not lie idle with one holder, and none while a request waits: other holders may have
 * smaller requests for the remainder.
 */
function grantOf(
  free: number,
  needs: readonly UnitsNeed[],
  want: number,
): { readonly granted: number; readonly isShort: boolean } {
  let left = Math.max(0, free);
  let isShort = false;
  for (const { units, unitsMin } of needs) {
    if (left >= units) left -= units;
    else {
      isShort = true;
      if (left >= unitsMin) left = 0;
    }
  }
  if (!isShort) left -= Math.min(want, Math.floor(left / 4));
  return { granted: Math.max(0, free) - left, isShort };
}

function alertsOf(
  { limitUnits, alertThresholdUnits, counter }: SliceMove,
  state: LockedCounter,
  { usedUnits, refused }: Pick<CountedMove['outcome'], 'usedUnits' | 'refused'>,
): CountedMove['alerts'] {
  if (counter.isRate) return { threshold: null, exhausted: null };
  const before = {
    usedUnits: BigInt(usedUnits),
    thresholdAlertUnits: bigintOrNull(state.threshold_alert_units),
    exhaustedAlertUnits: bigintOrNull(state.exhausted_alert_units),
    refused: bigRefusal(refused),
  };
  const terms = { creditLimitUnits: limitUnits, alertThresholdUnits };
  const isOver = alertThresholdUnits !== null && usedUnits >= alertThresholdUnits;
  const hasEnded = limitUnits > 0 && isExhausted(before, terms);
  return {
    threshold: isOver && !isThresholdAlertSent(before, terms) ? alertThresholdUnits : null,
    exhausted:
      hasEnded && !isExhaustedAlertSent(before, terms) ? Math.max(usedUnits, limitUnits) : null,
  };
}

function bigRefusal(refused: StoredRefusal | null): RefusedUnits | null {
  if (refused === null) return null;
  return { units: BigInt(refused.units), limitUnits: BigInt(refused.limitUnits) };
}

function bigintOrNull(units: number | null): bigint | null {
  return units === null ? null : BigInt(units);
}
