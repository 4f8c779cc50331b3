/** Knows the rate_counters table: what was admitted under rate limits, window by window. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { UsageSubjectKind } from './usage-counters.ts';

interface RateCounterRow {
  organisation_id: string;
  subject_kind: UsageSubjectKind;
  subject_id: Buffer;
  window_start: number;
  id: Buffer;
  value_key: string;
  used_units: number | string;
  reserved_units: number | string;
  wanted_at: number | null;
  /** First millisecond after the window. */
  ends_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    rate_counters: RateCounterRow;
  }
}

/** Deletes up to `limit` counters of windows that ended before a moment, and yields how many those were. */
export async function deleteEnded(tx: Db, before: number, limit: number): Promise<number> {
  const result = await sql`
    DELETE FROM rate_counters WHERE ends_at < ${before} ORDER BY ends_at LIMIT ${limit}`.execute(
    tx,
  );
  return Number(result.numAffectedRows ?? 0n);
}
