/** Table functions for usage_counters: the usage of a subject in one window. A missing counter counts as zero. */
import { createHash } from 'node:crypto';
import { type Generated, type Selectable, sql } from 'kysely';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { CounterState, RefusedUnits, UsageTerms } from '../../model/limits/counter-state.ts';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';
import { rows } from '../rows/rows.ts';

export type UsageSubjectKind =
  | 'api_key'
  | 'workspace'
  | 'provider'
  | 'integration_workspace'
  | 'integration'
  | 'policy';

/** Subjects with counters. Callers with a token have counters and no other row. */
export type CountedKind = UsageSubjectKind | 'token';

/** The resource kind of each subject. */
export const kindOfSubject = {
  api_key: 'ApiKey',
  workspace: 'Workspace',
  provider: 'Provider',
  // The share of one workspace; resets are reported for the integration.
  integration_workspace: 'Integration',
  // The default share of each workspace.
  integration: 'Integration',
  policy: 'UsageLimitPolicy',
} as const satisfies Record<UsageSubjectKind, KindName>;

/** Amounts are whole units. The driver returns amounts beyond 2^53 as text, which {@link toUsage} accepts. */
interface UsageCounterRow {
  organisation_id: string;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  id: Buffer;
  value_key: string;
  used_units: number | string;
  /** Reserved by gateway processes (docs/explanation/limits.md, Slices). */
  reserved_units: number | string;
  /** The part of `used_units` that crashed processes held, and may not have been used. */
  assumed_units: Generated<number>;
  /** When a process last ran short, by the database's clock; others then return their idle units. */
  wanted_at: Generated<number | null>;
  threshold_alert_units: number | string | null;
  exhausted_alert_units: number | string | null;
  last_reset_at: number | null;
  /** The smallest request that the budget has refused in this window, and the limit at that time. */
  refused_units: number | string | null;
  refused_limit_units: number | string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_counters: UsageCounterRow;
  }
}

const table = rows('usage_counters');

/** A subject with one counter a window, or a policy with many. */
export interface UsageSubject {
  readonly organisationId: string;
  readonly kind: UsageSubjectKind;
  readonly id: string;
}

/** The counters of a subject in one window. */
export interface WindowSubject extends UsageSubject {
  readonly windowStart: number;
}

export interface UsageCounter extends CounterState {
  readonly id: string;
  /** '' except for policies. */
  readonly valueKey: string;
}

/**
 * The id of a value's counter, equal in every window and unique to the subject: a UUID of version 8
 * from the SHA-256 of subject and value.
 */
export function counterId(subjectId: string, valueKey: string): string {
  const hash = createHash('sha256').update(idToBytes(subjectId)).update(valueKey, 'utf8').digest();
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return idFromBytes(hash.subarray(0, 16));
}

/** Counters by subject id, each in the window that starts at the given time. */
export async function listByWindows(
  db: Db,
  organisationId: string,
  kind: UsageSubjectKind,
  windows: ReadonlyMap<string, number>,
): Promise<Map<string, UsageCounter>> {
  if (windows.size === 0) return new Map();
  const named = [...windows].map(([id, start]) => sql`(${idToBytes(id)}, ${start})`);
  const found = await table
    .matching(db, { organisation_id: organisationId, subject_kind: kind })
    .selectAll()
    .where(sql<boolean>`(subject_id, window_start) IN (${sql.join(named)})`)
    .execute();
  return new Map(found.map((row) => [idFromBytes(row.subject_id), toUsage(row)]));
}

/** Counters of one window by value key; counters at zero may be absent. */
export async function listByValues(
  db: Db,
  subject: WindowSubject,
  valueKeys: readonly string[],
): Promise<Map<string, UsageCounter>> {
  if (valueKeys.length === 0) return new Map();
  const ids = valueKeys.map((valueKey) => idToBytes(counterId(subject.id, valueKey)));
  const found = await table.list(db, { ...ofWindow(subject), id: ids });
  return new Map(found.map((row) => [row.value_key, toUsage(row)]));
}

export interface UsageCounterFilter {
  /** Only counters that are (or are not) exhausted, as `isExhausted` of model/limits/counter-state.ts. */
  readonly exhausted?: { readonly is: boolean; readonly terms: UsageTerms } | undefined;
  /** Part of the value key. */
  readonly search?: string | undefined;
}

/** Shorter lists are counted each time. */
const rememberedMin = 1_000;

/**
 * Ordered by id, as in the table, because a policy may have a million counters. Requests create counters
 * without replacing a mark, so that a remembered length is valid for ten seconds.
 */
export async function list(
  db: Db,
  subject: WindowSubject,
  filter: UsageCounterFilter,
  page: Page,
): Promise<{ rows: UsageCounter[]; total: number }> {
  const { exhausted, search } = filter;
  let query = table.matching(db, ofWindow(subject));
  if (exhausted !== undefined) {
    const limit = exhausted.terms.creditLimitUnits;
    const isReached = sql`(used_units >= ${limit} OR (COALESCE(refused_limit_units, -1) >= ${limit}
      AND used_units + COALESCE(refused_units, 0) > ${limit}))`;
    query = query.where(exhausted.is ? sql<boolean>`${isReached}` : sql<boolean>`NOT ${isReached}`);
  }
  if (search !== undefined) query = query.where(sql<boolean>`LOCATE(${search}, value_key) > 0`);
  const stamp = sql<string>`concat('', floor(unix_timestamp() / 10))`;
  const found = await listJoined(
    { db, stamp, isAscending: true, rememberedMin },
    query,
    page,
    (all) => all.selectAll().$castTo<Selectable<UsageCounterRow> & { id: never }>(),
  );
  return { rows: found.rows.map(toUsage), total: found.total };
}

/**
 * Sets a counter to zero and re-arms its alerts; reservations of running requests stay. Returns false
 * when the counter does not exist in this window, and so is zero already.
 */
export async function reset(
  tx: Db,
  subject: WindowSubject,
  id: string,
  now: number,
): Promise<boolean> {
  const where = { ...ofWindow(subject), id: idToBytes(id) };
  const updated = await table.update(tx, where, {
    used_units: 0,
    threshold_alert_units: null,
    exhausted_alert_units: null,
    refused_units: null,
    refused_limit_units: null,
    last_reset_at: now,
  });
  return updated > 0;
}

/** Deletes the counters of every window. Not for policies, whose counters are too many for one statement. */
export async function deleteBySubject(tx: Db, subject: UsageSubject): Promise<void> {
  await table.delete(tx, ofSubject(subject));
}

const ofSubject = ({ organisationId, kind, id }: UsageSubject) => ({
  organisation_id: organisationId,
  subject_kind: kind,
  subject_id: idToBytes(id),
});

const ofWindow = (subject: WindowSubject) => ({
  ...ofSubject(subject),
  window_start: subject.windowStart,
});

function toUsage(row: Selectable<UsageCounterRow>): UsageCounter {
  return {
    id: idFromBytes(row.id),
    valueKey: row.value_key,
    usedUnits: BigInt(row.used_units),
    thresholdAlertUnits: unitsOrNull(row.threshold_alert_units),
    exhaustedAlertUnits: unitsOrNull(row.exhausted_alert_units),
    refused: refusedUnitsOf(row),
  };
}

/** Null when nothing was refused. */
function refusedUnitsOf({
  refused_units: units,
  refused_limit_units: limitUnits,
}: Pick<UsageCounterRow, 'refused_units' | 'refused_limit_units'>): RefusedUnits | null {
  if (units === null || limitUnits === null) return null;
  return { units: BigInt(units), limitUnits: BigInt(limitUnits) };
}

function unitsOrNull(units: number | string | null): bigint | null {
  return units === null ? null : BigInt(units);
}
