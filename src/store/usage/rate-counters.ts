/** Knows the rate_counters table: what was admitted under rate limits, window by window. */
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

/** Organisations that have counters of windows that ended before a moment. */
export async function listOrganisationsEndedBefore(
  db: Db,
  before: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('rate_counters')
    .select('organisation_id')
    .where('ends_at', '<', before)
    .orderBy('ends_at')
    .limit(limit)
    .execute();
  return [...new Set(rows.map((row) => row.organisation_id))];
}

/** Deletes up to `limit` of an organisation's, and yields how many those were. */
export async function deleteEndedBefore(
  tx: Db,
  organisationId: string,
  before: number,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('rate_counters')
    .where('organisation_id', '=', organisationId)
    .where('ends_at', '<', before)
    .limit(limit)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
