/** Charges the slices of holders that have ended or lost their lease, and corrects such charges. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { readServerTime } from '../connection/server-time.ts';
import { rows } from '../rows/rows.ts';
import { type CounterKey, counterKeyText, counterTable } from './counter-place.ts';
import type { Holder } from './usage-holders.ts';
import { counterKeyOfSlice, type StoredSlice } from './usage-slices.ts';

const table = rows('usage_slices');

/** Charges all units of a locked holder, because the actual usage is unknown, and deletes its slices. */
export async function chargeAll(tx: Db, { organisationId, holder }: Holder): Promise<number> {
  const slices = await listUncharged(tx, { organisationId, holder });
  for (const slice of slices) await chargeOne(tx, slice);
  await deleteAll(tx, { organisationId, holder });
  return slices.length;
}

/**
 * As {@link chargeAll}, for the slices of an overdue holder whose own lease has ended too. With `keepsRows` their rows stay,
 * marked as charged, so that the process can correct the charge by its journal. Returns their number.
 */
export async function chargeOverdue(tx: Db, holder: Holder, keepsRows: boolean): Promise<number> {
  const now = await readServerTime(tx);
  const slices = await listUncharged(tx, holder);
  const due = slices.filter(({ lease_until: until }) => until === null || Number(until) < now);
  for (const slice of due) {
    await chargeOne(tx, slice);
    const where = placeOf(slice);
    if (keepsRows) await table.update(tx, where, { charged_at: now });
    else await table.delete(tx, where);
  }
  return due.length;
}

/**
 * Charges slices of budgets of a locked holder that has ended with what it may have used of them, in place of all their units, and
 * deletes them. `totalsMax` has by counter the most that it has used in all. Slices of other counters, and those that it
 * has exchanged since, stay as they are.
 */
export async function chargeUsed(
  tx: Db,
  { organisationId, holder }: Holder,
  totalsMax: ReadonlyMap<string, number>,
): Promise<void> {
  if (totalsMax.size === 0) return;
  const where = { organisation_id: organisationId, holder, is_rate: 0 };
  for (const slice of await table.list(tx, where)) {
    const totalMax = totalsMax.get(counterKeyText(counterKeyOfSlice(slice)));
    if (totalMax === undefined || slice.total_units === null) continue;
    const [units, total] = [Number(slice.units), Number(slice.total_units)];
    const used = totalMax - total;
    // A process keeps its bound: a lower one is of an earlier slice of this counter.
    if (used < 0 || used >= units) continue;
    if (slice.charged_at === null) await chargeOne(tx, { ...slice, units: used }, units);
    else await refundOne(tx, slice, units - used);
    await table.delete(tx, placeOf(slice));
  }
}

/** Usage of a budget's slice that its holder has lost. */
export interface LostUse {
  readonly counter: CounterKey;
  /** Units of the bank that the holder has used and reserved in all. */
  readonly totalUnits: number;
  /** The part of them that running requests have reserved, and may not use. */
  readonly runningUnits: number;
}

/**
 * Replaces the charge for slices of budgets that a locked holder has lost, which was for all of their units, by what it
 * used of them. A repetition changes nothing.
 */
export async function correctLost(
  tx: Db,
  { organisationId, holder }: Holder,
  uses: readonly LostUse[],
): Promise<void> {
  const usesByCounter = new Map(uses.map((use) => [counterKeyText(use.counter), use]));
  const where = { organisation_id: organisationId, holder, is_rate: 0 };
  for (const slice of await table.list(tx, where)) {
    const use = usesByCounter.get(counterKeyText(counterKeyOfSlice(slice)));
    if (use === undefined || slice.charged_at === null || slice.total_units === null) continue;
    const units = Number(slice.units);
    const usedUnits = use.totalUnits - Number(slice.total_units);
    const knownUnits = units - Math.min(units, use.runningUnits);
    await refundOne(tx, slice, Math.max(0, units - usedUnits), knownUnits);
    await table.delete(tx, placeOf(slice));
  }
}

function placeOf(slice: StoredSlice) {
  const { organisation_id, holder, is_rate, subject_kind, subject_id, window_start, counter_id } =
    slice;
  return { organisation_id, holder, is_rate, subject_kind, subject_id, window_start, counter_id };
}

export function hasUncharged(tx: Db, { organisationId, holder }: Holder): Promise<boolean> {
  return table.exists(tx, { organisation_id: organisationId, holder, charged_at: null });
}

export async function deleteAll(tx: Db, { organisationId, holder }: Holder): Promise<void> {
  await table.delete(tx, { organisation_id: organisationId, holder });
}

function listUncharged(tx: Db, { organisationId, holder }: Holder): Promise<StoredSlice[]> {
  return table.list(tx, { organisation_id: organisationId, holder, charged_at: null });
}

/** Takes back a part of the charge for a slice, unless the counter was reset since. `knownUnits` are no longer assumed. */
async function refundOne(
  tx: Db,
  slice: StoredSlice,
  units: number,
  knownUnits = units,
): Promise<void> {
  const { subjectKind, subjectId, windowStart, id } = counterKeyOfSlice(slice);
  await sql`
    UPDATE usage_counters
    SET used_units = used_units - ${units},
      assumed_units = GREATEST(0, assumed_units - ${knownUnits})
    WHERE organisation_id = ${slice.organisation_id} AND subject_kind = ${subjectKind}
      AND subject_id = ${subjectId} AND window_start = ${windowStart} AND id = ${id}
      AND used_units >= ${units}
      AND (last_reset_at IS NULL OR last_reset_at < ${slice.charged_at})`.execute(tx);
}

/** `heldUnits` are no longer reserved. */
async function chargeOne(tx: Db, slice: StoredSlice, heldUnits = slice.units): Promise<void> {
  const { organisation_id: organisationId, units } = slice;
  const { subjectKind, subjectId, windowStart, id } = counterKeyOfSlice(slice);
  const assumed = slice.is_rate ? sql`` : sql`, assumed_units = assumed_units + ${units}`;
  await sql`
    UPDATE ${counterTable(slice.is_rate === 1)}
    SET used_units = used_units + ${units}, reserved_units = reserved_units - ${heldUnits}${assumed}
    WHERE organisation_id = ${organisationId} AND subject_kind = ${subjectKind}
      AND subject_id = ${subjectId} AND window_start = ${windowStart} AND id = ${id}`.execute(tx);
}
