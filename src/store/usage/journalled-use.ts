/** Charges usage that a process had on disk when it died, once. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { counterKeyText } from './counter-place.ts';
import * as sliceCharges from './slice-charges.ts';
import * as uncoveredUsage from './uncovered-usage.ts';
import type { UsageCorrection } from './usage-corrections.ts';
import type { Holder } from './usage-holders.ts';
import * as usageHolders from './usage-holders.ts';
import type * as usageSlices from './usage-slices.ts';

/** Usage of one counter that was not covered by units of the process, and a bound of what was. */
export interface JournalledUse extends Omit<UsageCorrection, 'units'> {
  /** The last exchange of the process that was known to be carried out. */
  readonly sequence: number;
  /** Units that the exchange after it reports. */
  readonly before: number;
  /** Units that no exchange reports before a later state is on disk. */
  readonly after: number;
  /** The part of `after` that was reserved by running requests and may not be used. */
  readonly running: number;
  /** Units that the process granted itself in this window. */
  readonly drawn: number;
  /** Most units of the bank that the process has used in all; a lost slice counts as used up when absent. */
  readonly totalMax?: number | null;
}

/**
 * Charges what no exchange has reported, as the sequence number of the holder shows, corrects the charge for its slices,
 * and marks the holder as settled, so that a repetition changes nothing.
 */
export async function settle(
  tx: Db,
  holder: Holder,
  uses: readonly JournalledUse[],
  now: number,
  grant?: usageSlices.GrantMoves,
): Promise<void> {
  const { sequence, isSettled } = await usageHolders.lockToSettle(tx, holder);
  if (isSettled) return;
  const { organisationId } = holder;
  const due = uses.flatMap((use) => {
    const units = unreportedUnits(use, sequence);
    return units > 0 ? [{ use, units }] : [];
  });
  const usages = due.map(({ use, units }) => {
    const { counter, limitUnits, alertThresholdUnits, type, label } = use;
    return { counter, limitUnits, alertThresholdUnits, type, label, isNew: true, units };
  });
  await uncoveredUsage.charge(tx, organisationId, usages, now, grant);
  for (const { use, units } of due) await markAssumed(tx, organisationId, use, units);
  await sliceCharges.chargeUsed(tx, holder, totalsMaxOf(uses));
  await usageHolders.markSettled(tx, holder);
}

function totalsMaxOf(uses: readonly JournalledUse[]): Map<string, number> {
  return new Map(
    uses.flatMap(({ counter, totalMax = null }) =>
      totalMax === null || counter.isRate ? [] : [[counterKeyText(counter), totalMax]],
    ),
  );
}

/**
 * A missing holder has never exchanged anything, or has ended in order. `after` stays unreported however many exchanges
 * followed, which may have concerned other counters: the process writes a new state before it reports it.
 */
function unreportedUnits({ sequence, before, after }: JournalledUse, reached: number | null) {
  if (reached === null) return sequence === 0 ? before + after : 0;
  return reached <= sequence ? before + after : after;
}

/** Marks the part that may not have been used. */
async function markAssumed(
  tx: Db,
  organisationId: string,
  { counter, running }: JournalledUse,
  units: number,
): Promise<void> {
  const { isRate, subjectKind, subjectId, windowStart, id } = counter;
  if (isRate || running === 0) return;
  await sql`
    UPDATE usage_counters SET assumed_units = assumed_units + ${Math.min(running, units)}
    WHERE organisation_id = ${organisationId} AND subject_kind = ${subjectKind}
      AND subject_id = ${subjectId} AND window_start = ${windowStart} AND id = ${id}`.execute(tx);
}
