/** Knows the usage_entities table: counters of budgets, the terms they are held to, and their resets. */
import type { Generated, Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../model/paging.ts';
import type { Db } from '../connection/db.ts';
import { listPage } from './paging.ts';

export interface UsageEntityRow {
  id: string;
  organisation_id: string;
  subject_kind: 'api_key' | 'workspace' | 'policy';
  subject_id: string;
  value_key: string;
  credit_limit_micros: number;
  alert_threshold_micros: number | null;
  used_micros: number;
  reserved_micros: number;
  status: 'active' | 'exhausted';
  threshold_alert_sent: number;
  exhausted_alert_sent: number;
  periodic_reset: 'weekly' | 'monthly' | null;
  periodic_reset_days: number | null;
  next_reset_at: number | null;
  last_reset_at: number | null;
  version: Generated<number>;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_entities: UsageEntityRow;
  }
}

/** A counter as stored; amounts are micro-units. */
export type StoredUsageEntity = Selectable<UsageEntityRow>;

/** Whose counters: an API key's or workspace's one (value_key ''), or those of a policy. */
export interface UsageSubject {
  readonly organisationId: string;
  readonly kind: UsageEntityRow['subject_kind'];
  readonly id: string;
}

/** What a counter is measured against. */
export interface UsageTerms {
  readonly creditLimitMicros: number;
  readonly alertThresholdMicros: number | null;
}

/** When an API key's or workspace's counter starts anew; a policy keeps its schedule itself. */
export type UsageSchedule = Pick<
  UsageEntityRow,
  'periodic_reset' | 'periodic_reset_days' | 'next_reset_at'
>;

export async function insert(tx: Db, row: Insertable<UsageEntityRow>): Promise<void> {
  await tx.insertInto('usage_entities').values(row).execute();
}

/** The single counter of an API key or workspace. */
export function findBySubject(
  db: Db,
  subject: UsageSubject,
): Promise<StoredUsageEntity | undefined> {
  return ofSubject(db, subject).selectAll().where('value_key', '=', '').executeTakeFirst();
}

/** Counters of several API keys or workspaces, in no order. */
export async function listBySubjects(
  db: Db,
  organisationId: string,
  kind: UsageSubject['kind'],
  ids: readonly string[],
): Promise<StoredUsageEntity[]> {
  if (ids.length === 0) return [];
  return db
    .selectFrom('usage_entities')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('subject_kind', '=', kind)
    .where('subject_id', 'in', ids)
    .execute();
}

export interface UsageEntityFilter {
  readonly status?: UsageEntityRow['status'] | undefined;
  /** Part of the value key. */
  readonly search?: string | undefined;
}

export function list(
  db: Db,
  subject: UsageSubject,
  filter: UsageEntityFilter,
  page: Page,
): Promise<{ rows: StoredUsageEntity[]; total: number }> {
  let query = ofSubject(db, subject);
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  if (filter.search !== undefined) {
    query = query.where(sql<boolean>`locate(${filter.search}, value_key) > 0`);
  }
  return listPage(query, page);
}

/**
 * Holds all counters of a subject to new terms. A raised limit that exceeds the usage re-arms both
 * alerts; a raised or removed threshold re-arms its own; the status follows from usage and limit
 * (docs/api.md, Budgets). One statement, so that no usage counted meanwhile is lost.
 */
export async function updateTerms(tx: Db, subject: UsageSubject, terms: UsageTerms): Promise<void> {
  const { creditLimitMicros: limit, alertThresholdMicros: threshold } = terms;
  const revived = sql`(${limit} > credit_limit_micros and ${limit} > used_micros)`;
  const eased = sql`(${threshold} is null or ${threshold} > alert_threshold_micros)`;
  // Assignments run from left to right, so those that read the old terms come before the new ones.
  await sql`
    update usage_entities set
      threshold_alert_sent = case when ${revived} or ${eased} then 0 else threshold_alert_sent end,
      exhausted_alert_sent = case when ${revived} then 0 else exhausted_alert_sent end,
      status = case when used_micros >= ${limit} then 'exhausted' else 'active' end,
      credit_limit_micros = ${limit},
      alert_threshold_micros = ${threshold},
      version = version + 1
    where organisation_id = ${subject.organisationId}
      and subject_kind = ${subject.kind} and subject_id = ${subject.id}`.execute(tx);
}

export async function updateSchedule(
  tx: Db,
  subject: UsageSubject,
  schedule: UsageSchedule,
): Promise<void> {
  await tx
    .updateTable('usage_entities')
    .set({ ...schedule, version: sql`version + 1` })
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', subject.id)
    .execute();
}

/** Which counters of a subject to set to nought. */
export type ResetTarget = { readonly id: string } | { readonly valueKey: string };

/**
 * Sets a counter to nought and re-arms its alerts; what is reserved by running requests stays. A
 * limit of nought stays exhausted. False when there is no such counter.
 */
export async function reset(
  tx: Db,
  subject: UsageSubject,
  target: ResetTarget,
  now: number,
): Promise<boolean> {
  const named = 'id' in target ? sql`id = ${target.id}` : sql`value_key = ${target.valueKey}`;
  const result = await sql`
    update usage_entities set
      used_micros = 0, threshold_alert_sent = 0, exhausted_alert_sent = 0,
      status = case when credit_limit_micros > 0 then 'active' else 'exhausted' end,
      last_reset_at = ${now}, version = version + 1
    where organisation_id = ${subject.organisationId}
      and subject_kind = ${subject.kind} and subject_id = ${subject.id}
      and ${named}`.execute(tx);
  return (result.numAffectedRows ?? 0n) > 0n;
}

export async function deleteBySubject(tx: Db, subject: UsageSubject): Promise<void> {
  await tx
    .deleteFrom('usage_entities')
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', subject.id)
    .execute();
}

function ofSubject(db: Db, subject: UsageSubject) {
  return db
    .selectFrom('usage_entities')
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', subject.id);
}
