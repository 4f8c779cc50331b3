/** Table functions for region_loans: what a region has borrowed of each counter from its home. */
import { sql } from 'kysely';
import type { UsageType } from '../../model/limits/limits.ts';
import type { Db } from '../connection/db.ts';
import { bulkInsert } from '../rows/bulk-insert.ts';
import { rows } from '../rows/rows.ts';
import {
  type CounterKey,
  type CounterRef,
  counterKeyList,
  counterKeyText,
  counterTable,
} from '../usage/counter-place.ts';
import type { CountedKind } from '../usage/usage-counters.ts';

/** Times by the clock of the region's database, in milliseconds. */
export interface RegionLoanRow {
  organisation_id: string;
  is_rate: number;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  counter_id: Buffer;
  value_key: string;
  ends_at: number | null;
  type: UsageType;
  label: string;
  limit_units: number;
  alert_threshold_units: number | null;
  /** Held at home, without what a request that is under way reports or returns. */
  units: number;
  /** The part of the region's `used_units` that home has counted; more where home has charged units as used. */
  reported_units: number;
  /** 1: home may have no such counter. */
  is_new: number;
  /** When the next request to home includes it; null for not at all. */
  due_at: number | null;
  /** When the last request was sent that home has carried out for it. */
  moved_at: number;
  /** Totals of the counter at home after the last move. */
  home_used_units: number;
  home_reserved_units: number;
  home_refused_units: number | null;
  home_refused_limit_units: number | null;
  /** When home was last asked in vain, and when all its other holders had returned idle units; null for not at all. */
  short_at: number | null;
  answered_at: number | null;
  /** When home asked for idle units; null when it has an answer. */
  recalled_at: number | null;
  /** When others last lacked units. */
  scarce_at: number | null;
  /** The region's `used_units` at `noted_at`, and the recent usage of the region and of all others. */
  noted_units: number;
  recent_units: number;
  others_units: number;
  noted_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    region_loans: RegionLoanRow;
  }
}

const table = rows('region_loans');

const keyColumns = [
  'organisation_id',
  'is_rate',
  'subject_kind',
  'subject_id',
  'window_start',
  'counter_id',
] as const;

const valueColumns = [
  'value_key',
  'ends_at',
  'type',
  'label',
  'limit_units',
  'alert_threshold_units',
  'units',
  'reported_units',
  'is_new',
  'due_at',
  'moved_at',
  'home_used_units',
  'home_reserved_units',
  'home_refused_units',
  'home_refused_limit_units',
  'short_at',
  'answered_at',
  'recalled_at',
  'scarce_at',
  'noted_units',
  'recent_units',
  'others_units',
  'noted_at',
] as const;

const target = { table: 'region_loans', columns: [...keyColumns, ...valueColumns] };
const replacing = valueColumns.map((name) => `${name} = VALUES(${name})`).join(', ');

/** The counter of a loan. */
export function counterOfLoan(row: RegionLoanRow): CounterRef {
  return {
    isRate: row.is_rate === 1,
    subjectKind: row.subject_kind,
    subjectId: row.subject_id,
    windowStart: row.window_start,
    id: row.counter_id,
    valueKey: row.value_key,
    endsAt: row.ends_at,
  };
}

export type LoanTerms = Pick<
  RegionLoanRow,
  'type' | 'label' | 'limit_units' | 'alert_threshold_units'
>;

/** The loan of a counter of which nothing was borrowed yet. */
export function newLoan(
  organisationId: string,
  { isRate, subjectKind, subjectId, windowStart, id, valueKey, endsAt }: CounterRef,
  terms: LoanTerms,
  nowMs: number,
): RegionLoanRow {
  return {
    organisation_id: organisationId,
    is_rate: Number(isRate),
    subject_kind: subjectKind,
    subject_id: subjectId,
    window_start: windowStart,
    counter_id: id,
    value_key: valueKey,
    ends_at: endsAt,
    ...terms,
    units: 0,
    reported_units: 0,
    is_new: 1,
    due_at: null,
    moved_at: nowMs,
    home_used_units: 0,
    home_reserved_units: 0,
    home_refused_units: null,
    home_refused_limit_units: null,
    short_at: null,
    answered_at: null,
    recalled_at: null,
    scarce_at: null,
    noted_units: 0,
    recent_units: 0,
    others_units: 0,
    noted_at: nowMs,
  };
}

/** Locks loans of counters that are locked, by `counterKeyText`. */
export async function lockMany(
  tx: Db,
  organisationId: string,
  isRate: boolean,
  counters: readonly CounterKey[],
): Promise<Map<string, RegionLoanRow>> {
  if (counters.length === 0) return new Map();
  const { rows: found } = await sql<RegionLoanRow>`
    SELECT * FROM region_loans WHERE organisation_id = ${organisationId} AND is_rate = ${Number(isRate)}
      AND (subject_kind, subject_id, window_start, counter_id) IN (${counterKeyList(counters)})
    ORDER BY subject_kind, subject_id, window_start, counter_id FOR UPDATE`.execute(tx);
  return new Map(found.map((row) => [counterKeyText(counterOfLoan(row)), row]));
}

/** Units that can be lent at once, by `counterKeyText`; absent for counters without a loan. */
export async function listFree(
  db: Db,
  organisationId: string,
  isRate: boolean,
  counters: readonly CounterKey[],
): Promise<Map<string, number>> {
  if (counters.length === 0) return new Map();
  const { rows: found } = await sql<CounterKey & { readonly free: number | string }>`
    SELECT l.subject_kind AS subjectKind, l.subject_id AS subjectId, l.window_start AS windowStart,
      l.counter_id AS id, IF(l.recalled_at IS NULL, l.units + l.reported_units
        - COALESCE(c.used_units, 0) - COALESCE(c.reserved_units, 0), 0) AS free
    FROM region_loans l LEFT JOIN ${counterTable(isRate)} c ON c.organisation_id = l.organisation_id
      AND c.subject_kind = l.subject_kind AND c.subject_id = l.subject_id
      AND c.window_start = l.window_start AND c.id = l.counter_id
    WHERE l.organisation_id = ${organisationId} AND l.is_rate = ${Number(isRate)}
      AND (l.subject_kind, l.subject_id, l.window_start, l.counter_id) IN (${counterKeyList(counters)})`.execute(
    db,
  );
  return new Map(found.map((row) => [counterKeyText(row), Number(row.free)]));
}

/** Writes loans of locked counters. */
export async function saveMany(tx: Db, loans: readonly RegionLoanRow[]): Promise<void> {
  await bulkInsert(tx, target, loans, `ON DUPLICATE KEY UPDATE ${replacing}`);
}

/** Loans that the next request to home includes, the longest due first. */
export function listDue(
  db: Db,
  organisationId: string,
  nowMs: number,
  limit: number,
): Promise<RegionLoanRow[]> {
  return db
    .selectFrom('region_loans')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('due_at', '<=', nowMs)
    .orderBy('due_at')
    .limit(limit)
    .execute();
}

/** Whether the region holds units of an organisation at home. */
export async function holdsUnits(db: Db, organisationId: string): Promise<boolean> {
  const found = await db
    .selectFrom('region_loans')
    .select('is_rate')
    .where('organisation_id', '=', organisationId)
    .where('units', '>', 0)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Turns what the region holds at home into what home has counted, because home has charged it. */
export async function chargeAll(tx: Db, organisationId: string, nowMs: number): Promise<void> {
  const where = { organisation_id: organisationId };
  await table.update(tx, where, {
    reported_units: sql`reported_units + units`,
    units: 0,
    is_new: 1,
    due_at: nowMs,
  });
}

/** Makes loans due whose counters do not agree with what home has counted. */
export async function makeUnreportedDue(
  db: Db,
  organisationId: string,
  nowMs: number,
): Promise<void> {
  for (const isRate of [false, true])
    await sql`
      UPDATE region_loans AS l, ${counterTable(isRate)} AS c SET l.due_at = ${nowMs}
      WHERE l.organisation_id = ${organisationId} AND c.organisation_id = ${organisationId}
        AND l.is_rate = ${Number(isRate)} AND l.due_at IS NULL
        AND c.subject_kind = l.subject_kind AND c.subject_id = l.subject_id
        AND c.window_start = l.window_start AND c.id = l.counter_id
        AND c.used_units <> l.reported_units`.execute(db);
}

/** Makes loans due of which home wants idle units, and the gateways of the region return theirs. */
export async function recall(
  tx: Db,
  organisationId: string,
  counters: readonly CounterKey[],
  nowMs: number,
): Promise<void> {
  for (const { subjectKind, subjectId, windowStart, id } of counters) {
    const place = sql`organisation_id = ${organisationId} AND subject_kind = ${subjectKind}
      AND subject_id = ${subjectId} AND window_start = ${windowStart}`;
    for (const isRate of [false, true])
      await sql`UPDATE ${counterTable(isRate)} SET wanted_at = ${nowMs}
        WHERE ${place} AND id = ${id}`.execute(tx);
    await sql`
      UPDATE region_loans SET recalled_at = COALESCE(recalled_at, ${nowMs}), scarce_at = ${nowMs},
        due_at = ${nowMs} WHERE ${place} AND is_rate IN (0, 1) AND counter_id = ${id}`.execute(tx);
  }
}

/** Ages from which on counters are deleted, in milliseconds since the epoch. */
interface SettledAges {
  /** Budgets that were not used since. */
  readonly unusedBefore: number;
  /** Rate limits whose window ended before. */
  readonly endedBefore: number;
}

/** Deletes up to `limit` loans of each kind, with their counters, of which nothing is held, reserved or unreported. */
export async function deleteSettled(
  tx: Db,
  organisationId: string,
  { unusedBefore, endedBefore }: SettledAges,
  limit: number,
): Promise<number> {
  let total = 0;
  for (const isRate of [false, true]) {
    const isOld = isRate ? sql`l.ends_at < ${endedBefore}` : sql`l.noted_at < ${unusedBefore}`;
    const { rows: found } = await sql<CounterKey>`
      SELECT l.subject_kind AS subjectKind, l.subject_id AS subjectId, l.window_start AS windowStart,
        l.counter_id AS id FROM region_loans l JOIN ${counterTable(isRate)} c
        ON c.organisation_id = l.organisation_id AND c.subject_kind = l.subject_kind
        AND c.subject_id = l.subject_id AND c.window_start = l.window_start AND c.id = l.counter_id
      WHERE l.organisation_id = ${organisationId} AND l.is_rate = ${Number(isRate)}
        AND ${isOld} AND l.units = 0 AND l.due_at IS NULL
        AND c.reserved_units = 0 AND c.used_units = l.reported_units
      LIMIT ${limit} FOR UPDATE`.execute(tx);
    if (found.length === 0) continue;
    const places = counterKeyList(found);
    await sql`DELETE FROM ${counterTable(isRate)} WHERE organisation_id = ${organisationId}
      AND (subject_kind, subject_id, window_start, id) IN (${places})`.execute(tx);
    await sql`DELETE FROM region_loans WHERE organisation_id = ${organisationId}
      AND is_rate = ${Number(isRate)}
      AND (subject_kind, subject_id, window_start, counter_id) IN (${places})`.execute(tx);
    total += found.length;
  }
  return total;
}

/** Deletes the counter of a loan and the loan, because home has deleted the counter. */
export async function deleteOne(tx: Db, loan: RegionLoanRow): Promise<void> {
  const { isRate, subjectKind, subjectId, windowStart, id } = counterOfLoan(loan);
  const { organisation_id } = loan;
  await sql`
    DELETE FROM ${counterTable(isRate)} WHERE organisation_id = ${organisation_id}
      AND subject_kind = ${subjectKind} AND subject_id = ${subjectId}
      AND window_start = ${windowStart} AND id = ${id}`.execute(tx);
  await table.delete(tx, {
    organisation_id,
    is_rate: Number(isRate),
    subject_kind: subjectKind,
    subject_id: subjectId,
    window_start: windowStart,
    counter_id: id,
  });
}
