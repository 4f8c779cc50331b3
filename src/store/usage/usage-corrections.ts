/** Corrects counters when the settled usage differs from the charge. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { CounterRef } from './counter-place.ts';
import type { UncoveredUsage } from './uncovered-usage.ts';
import * as uncoveredUsage from './uncovered-usage.ts';

/** Units beyond the charge of a counter that exists; negative for less. */
export type UsageCorrection = Omit<UncoveredUsage, 'isNew'>;

interface CorrectOptions {
  /** When it was charged; a counter that was reset since no longer contains the charge. */
  readonly chargedAt: number;
  /** Whether a counter may contain less than the refund, because the missing charge will never arrive. */
  readonly takesWhatIsThere: boolean;
  readonly now: number;
}

/**
 * Applies all corrections, which belong to one organisation, or none. Returns false when a counter does
 * not contain the refunded charge yet. Deleted and reset counters stay as they are, and so do reservations.
 */
export async function correct(
  tx: Db,
  organisationId: string,
  corrections: readonly UsageCorrection[],
  { chargedAt, takesWhatIsThere, now }: CorrectOptions,
): Promise<boolean> {
  const due: UsageCorrection[] = [];
  for (const one of corrections) {
    const counter = await lock(tx, organisationId, one.counter);
    if (counter === null) continue;
    if (counter.resetAt !== null && counter.resetAt >= chargedAt) continue;
    if (!takesWhatIsThere && counter.usedUnits + one.units < 0) return false;
    due.push(one);
  }
  const usages = due.map((one) => ({ ...one, isNew: false }));
  await uncoveredUsage.charge(tx, organisationId, usages, now);
  return true;
}

interface LockedCounter {
  readonly usedUnits: number;
  readonly resetAt: number | null;
}

async function lock(
  tx: Db,
  organisationId: string,
  { isRate, subjectKind, subjectId, windowStart, id }: CounterRef,
): Promise<LockedCounter | null> {
  const [table, resetAt] = isRate
    ? ['rate_counters', sql`NULL`]
    : ['usage_counters', sql`last_reset_at`];
  const { rows } = await sql<{ used_units: number | string; reset_at: number | string | null }>`
    SELECT used_units, ${resetAt} AS reset_at FROM ${sql.table(table as string)}
    WHERE organisation_id = ${organisationId} AND subject_kind = ${subjectKind}
      AND subject_id = ${subjectId} AND window_start = ${windowStart} AND id = ${id}
    FOR UPDATE`.execute(tx);
  const [row] = rows;
  if (row === undefined) return null;
  const { used_units: used, reset_at: reset } = row;
  return { usedUnits: Number(used), resetAt: reset === null ? null : Number(reset) };
}
