/** Table functions for rate_counters: the usage under rate limits in each window. */
import type { Db } from '../connection/db.ts';
import { lessThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
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

const table = rows('rate_counters');

/** Organisations with counters of windows that ended before a time. */
export async function listOrganisationsEndedBefore(
  db: Db,
  before: number,
  limit: number,
): Promise<string[]> {
  const ended = await table.listAnywhere(
    db,
    { ends_at: lessThan(before) },
    { columns: ['organisation_id'], orderBy: ['ends_at'], limit },
  );
  return [...new Set(ended.map((row) => row.organisation_id))];
}

/** Deletes up to `limit` counters of an organisation and returns their number. */
export function deleteEndedBefore(
  tx: Db,
  organisationId: string,
  before: number,
  limit: number,
): Promise<number> {
  const where = { organisation_id: organisationId, ends_at: lessThan(before) };
  return table.delete(tx, where, { limit });
}
