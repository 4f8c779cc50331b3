/** Finds counters on which a process runs short, and whether the other holders have returned their idle units. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { serverNowMs } from '../connection/server-time.ts';
import { type CounterKey, type CounterRef, counterTable } from './counter-place.ts';
import type { Holder } from './usage-holders.ts';

/** A shortage that other holders may relieve. Times by the database's clock, in milliseconds. */
export interface SliceShortage {
  readonly atMs: number;
  /** When the last of the other holders answered; null without other holders that have a lease. */
  readonly answeredAtMs: number | null;
  /** Whether the region that lends the units cannot ask its home for more. */
  readonly isHomeAway?: boolean;
}

/** Call it in the transaction that found the shortage. */
export async function readShortage(
  tx: Db,
  { organisationId, holder }: Holder,
  { isRate, subjectKind, subjectId, windowStart, id }: CounterRef,
): Promise<SliceShortage> {
  const { rows } = await sql<{ atMs: number | string; answeredAtMs: number | string | null }>`
    SELECT ${serverNowMs} AS atMs, MIN(COALESCE(s.answered_at, 0)) AS answeredAtMs
    FROM usage_holders h JOIN usage_slices s
      ON s.organisation_id = h.organisation_id AND s.holder = h.holder
    WHERE h.organisation_id = ${organisationId} AND h.holder <> ${holder}
      AND h.lease_until >= ${serverNowMs}
      AND s.is_rate = ${Number(isRate)} AND s.subject_kind = ${subjectKind}
      AND s.subject_id = ${subjectId} AND s.window_start = ${windowStart}
      AND s.counter_id = ${id}`.execute(tx);
  const { atMs, answeredAtMs } = rows[0]!;
  return {
    atMs: Number(atMs),
    answeredAtMs: answeredAtMs === null ? null : Number(answeredAtMs),
  };
}

/** A counter of which a holder has a slice, and on which another process runs short. */
export interface WantedSlice extends CounterKey {
  readonly organisationId: string;
}

/** Lists, by one statement, the slices of these holders on which other processes ran short within `withinMs`. */
export async function listWanted(
  db: Db,
  holders: readonly Holder[],
  withinMs: number,
): Promise<WantedSlice[]> {
  if (holders.length === 0) return [];
  const pairs = sql.join(
    holders.map(({ organisationId, holder }) => sql`(${organisationId}, ${holder})`),
  );
  const wanted = (isRate: boolean) => sql`
    SELECT s.organisation_id AS organisationId, s.subject_kind AS subjectKind,
      s.subject_id AS subjectId, s.window_start AS windowStart, s.counter_id AS id
    FROM usage_slices s JOIN ${counterTable(isRate)} c ON c.organisation_id = s.organisation_id
      AND c.subject_kind = s.subject_kind AND c.subject_id = s.subject_id
      AND c.window_start = s.window_start AND c.id = s.counter_id
    WHERE (s.organisation_id, s.holder) IN (${pairs})
      AND s.is_rate = ${Number(isRate)} AND c.wanted_at > ${serverNowMs} - ${withinMs}`;
  const { rows } = await sql<WantedSlice>`${wanted(false)} UNION ALL ${wanted(true)}`.execute(db);
  return rows;
}
