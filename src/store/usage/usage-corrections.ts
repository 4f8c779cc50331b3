/** Knows how counters are put right where a charge turns out to have been more, or less, than was used. */
import { sql } from 'kysely';
import type { UsageType } from '../../model/limits/limits.ts';
import type { Db } from '../connection/db.ts';
import type { CounterPlace } from './counter-place.ts';
import * as usageSlices from './usage-slices.ts';

export interface UsageCorrection {
  readonly counter: CounterPlace;
  /** Whole units more than were charged; negative for fewer. */
  readonly units: number;
  readonly limitUnits: number;
  /** Null where nobody is told. */
  readonly alertThresholdUnits: number | null;
  readonly type: UsageType;
  /** What people call the limit. */
  readonly label: string;
}

interface CorrectOptions {
  /** When it was charged; a counter that was set to nought since then has forgotten it. */
  readonly chargedAt: number;
  /** Whether a counter may hold less than is to be taken back of it: what is missing will not come. */
  readonly takesWhatIsThere: boolean;
  readonly now: number;
}

/**
 * All of them, which are of one organisation, or none: false where a counter has not been told yet of
 * what is to be taken back. Counters that are gone, or were reset, stay as they are. What is reserved
 * of them stays, too.
 */
export async function correct(
  tx: Db,
  organisationId: string,
  corrections: readonly UsageCorrection[],
  { chargedAt, takesWhatIsThere, now }: CorrectOptions,
): Promise<boolean> {
  const due: UsageCorrection[] = [];
  for (const one of corrections) {
    const found = await lock(tx, organisationId, one.counter);
    if (found === null || (found.resetAt !== null && found.resetAt >= chargedAt)) continue;
    if (!takesWhatIsThere && found.usedUnits + one.units < 0) return false;
    due.push(one);
  }
  // A move that takes as much of nothing as it tells, so that alerts come of it as of any other.
  const moves = due.map(({ units, ...terms }) => ({
    ...terms,
    ...{ isNew: false, units: 0, spent: units, offered: -units },
    ...{ needs: [], want: 0, isAnswer: false },
  }));
  if (moves.length > 0) {
    await usageSlices.exchange(tx, { organisationId, holder: nobody }, moves, now);
  }
  return true;
}

/** Holds no slice, and gets none. */
const nobody = Buffer.alloc(16);

interface Found {
  readonly usedUnits: number;
  readonly resetAt: number | null;
}

async function lock(
  tx: Db,
  organisationId: string,
  { isRate, subjectKind, subjectId, windowStart, id }: CounterPlace,
): Promise<Found | null> {
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
