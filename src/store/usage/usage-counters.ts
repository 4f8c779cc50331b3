/** Knows the usage_counters table: what was used in one window. A counter that does not exist is nought. */
import { createHash } from 'node:crypto';
import { type Generated, type Selectable, sql } from 'kysely';
import type { KindName } from '../../model/kinds/kinds.ts';
import type { CounterState, UsageTerms } from '../../model/limits/counter-state.ts';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import type { Page } from '../../model/wire/paging.ts';
import type { Db } from '../connection/db.ts';
import { listJoined } from '../rows/paging.ts';

export type UsageSubjectKind =
  | 'api_key'
  | 'workspace'
  | 'provider'
  | 'integration_workspace'
  | 'integration'
  | 'policy';

/** Whose counters there are: callers with a token, too, of whom nothing else is stored. */
export type CountedKind = UsageSubjectKind | 'token';

/** What everybody else calls them. */
export const kindOfSubject = {
  api_key: 'ApiKey',
  workspace: 'Workspace',
  provider: 'Provider',
  // Of one workspace in it; resets are told of the integration.
  integration_workspace: 'Integration',
  // Of each workspace of which it says nothing else.
  integration: 'Integration',
  policy: 'UsageLimitPolicy',
} as const satisfies Record<UsageSubjectKind, KindName>;

/** Amounts are whole units; beyond 2^53 the driver yields them as text, so {@link toUsage} takes both. */
interface UsageCounterRow {
  organisation_id: string;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  id: Buffer;
  value_key: string;
  used_units: number | string;
  /** Held by processes that admit requests (docs/explanation/limits.md, Slices). */
  reserved_units: number | string;
  /** The part of used_units that a process held when it died, and that may not have been used. */
  assumed_units: Generated<number>;
  /** When a process last had too little, by the database's clock; others give back what lies idle. */
  wanted_at: Generated<number | null>;
  threshold_alert_units: number | string | null;
  exhausted_alert_units: number | string | null;
  last_reset_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_counters: UsageCounterRow;
  }
}

/** Whose counters: the one of an API key, workspace, provider or workspace in an integration, or those of a policy. */
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
  /** '' for an API key or workspace. */
  readonly valueKey: string;
}

/**
 * The id of the counter of one value: the same in every window, and another for other subjects. A
 * UUID of version 8, made of the SHA-256 of subject and value, byte for byte.
 */
export function counterId(subjectId: string, valueKey: string): string {
  const hash = createHash('sha256').update(idToBytes(subjectId)).update(valueKey, 'utf8').digest();
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return idFromBytes(hash.subarray(0, 16));
}

/** Counters of API keys or workspaces, each in a window of its own; by subject id. */
export async function listByWindows(
  db: Db,
  organisationId: string,
  kind: UsageSubjectKind,
  windows: ReadonlyMap<string, number>,
): Promise<Map<string, UsageCounter>> {
  if (windows.size === 0) return new Map();
  const named = [...windows].map(([id, start]) => sql`(${idToBytes(id)}, ${start})`);
  const rows = await db
    .selectFrom('usage_counters')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('subject_kind', '=', kind)
    .where(sql<boolean>`(subject_id, window_start) IN (${sql.join(named)})`)
    .execute();
  return new Map(rows.map((row) => [idFromBytes(row.subject_id), toUsage(row)]));
}

/** Counters of one window by the values that they count for; those that are at nought may be absent. */
export async function listByValues(
  db: Db,
  subject: WindowSubject,
  valueKeys: readonly string[],
): Promise<Map<string, UsageCounter>> {
  if (valueKeys.length === 0) return new Map();
  const ids = valueKeys.map((valueKey) => idToBytes(counterId(subject.id, valueKey)));
  const rows = await ofWindow(db, subject).selectAll().where('id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.value_key, toUsage(row)]));
}

export interface UsageCounterFilter {
  /** Those that have used up these terms, or those that have not. */
  readonly exhausted?: { readonly is: boolean; readonly terms: UsageTerms } | undefined;
  /** Part of the value key. */
  readonly search?: string | undefined;
}

/** Of so many counters and more it is remembered for a while how many there are, and where pages ended. */
const rememberedMin = 1_000;

/**
 * In the order of their ids, which is the table's own: a policy may have a million. Requests bring counters all the time,
 * and none of them leaves a mark, so that what is known of a long list holds for a few seconds.
 */
export async function list(
  db: Db,
  subject: WindowSubject,
  filter: UsageCounterFilter,
  page: Page,
): Promise<{ rows: UsageCounter[]; total: number }> {
  const { exhausted, search } = filter;
  let query = ofWindow(db, subject);
  if (exhausted !== undefined) {
    const limit = exhausted.terms.creditLimitUnits;
    query = query.where('used_units', exhausted.is ? '>=' : '<', limit);
  }
  if (search !== undefined) query = query.where(sql<boolean>`LOCATE(${search}, value_key) > 0`);
  const stamp = sql<string>`concat('', floor(unix_timestamp() / 10))`;
  const { rows, total } = await listJoined(
    { db, stamp, isAscending: true, rememberedMin },
    query,
    page,
    (found) => found.selectAll().$castTo<Selectable<UsageCounterRow> & { id: never }>(),
  );
  return { rows: rows.map(toUsage), total };
}

/**
 * Sets a counter to nought and re-arms its alerts; what is reserved by running requests stays. False
 * when there is no such counter in this window, which then is at nought already.
 */
export async function reset(
  tx: Db,
  subject: WindowSubject,
  id: string,
  now: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('usage_counters')
    .set({
      used_units: 0,
      threshold_alert_units: null,
      exhausted_alert_units: null,
      last_reset_at: now,
    })
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', idToBytes(subject.id))
    .where('window_start', '=', subject.windowStart)
    .where('id', '=', idToBytes(id))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Counters of every window. For subjects that have one a window: a policy's are too many for one statement. */
export async function deleteBySubject(tx: Db, subject: UsageSubject): Promise<void> {
  await tx
    .deleteFrom('usage_counters')
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', idToBytes(subject.id))
    .execute();
}

function ofWindow(db: Db, subject: WindowSubject) {
  return db
    .selectFrom('usage_counters')
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', idToBytes(subject.id))
    .where('window_start', '=', subject.windowStart);
}

function toUsage(row: Selectable<UsageCounterRow>): UsageCounter {
  return {
    id: idFromBytes(row.id),
    valueKey: row.value_key,
    usedUnits: BigInt(row.used_units),
    thresholdAlertUnits: unitsOrNull(row.threshold_alert_units),
    exhaustedAlertUnits: unitsOrNull(row.exhausted_alert_units),
  };
}

function unitsOrNull(units: number | string | null): bigint | null {
  return units === null ? null : BigInt(units);
}
