/** Table functions for usage_alerts: alerts about usage, each sent once. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { UsageType } from '../../model/limits/limits.ts';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { atMost, lessThan, not } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import type { SubjectPlace } from '../rows/subject-place.ts';
import type { CountedKind } from './usage-counters.ts';

/** `unaddressed`: no recipient; `failed`: not delivered within a day. */
export type AlertState = 'waiting' | 'sent' | 'unaddressed' | 'failed';

interface UsageAlertRow {
  organisation_id: string;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  counter_id: Buffer;
  kind: 'threshold' | 'exhausted';
  /** The threshold or limit that was reached. */
  limit_units: number;
  used_units: number;
  type: UsageType;
  /** Display name of the subject, such as `API key ci`. */
  label: string;
  /** The group's value; '' except for policies. */
  value_key: string;
  created_at: number;
  state: AlertState;
  /** Number of delivery attempts started. */
  attempts: number;
  /** When it may be claimed next; until then its claimant is delivering it or waiting. */
  due_at: number;
  sent_at: number | null;
  last_error: string | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_alerts: UsageAlertRow;
  }
}

export type NewUsageAlert = Omit<
  UsageAlertRow,
  'state' | 'attempts' | 'due_at' | 'sent_at' | 'last_error'
>;

/** An alert as stored. */
export type StoredUsageAlert = Omit<UsageAlertRow, 'subject_id'> & { readonly subject_id: string };

/** Outcome of a claimed alert. */
export type AlertEnd = Pick<UsageAlertRow, 'due_at' | 'sent_at' | 'last_error'>;

const table = rows('usage_alerts');

const labelLengthMax = 300;

/** Inserts each alert once, however often it is raised. */
export async function insertMany(tx: Db, alerts: readonly NewUsageAlert[]): Promise<void> {
  if (alerts.length === 0) return;
  const initial = { state: 'waiting', attempts: 0, sent_at: null, last_error: null } as const;
  await tx
    .insertInto('usage_alerts')
    .ignore()
    .values(
      alerts.map((alert) => ({
        ...alert,
        ...initial,
        due_at: alert.created_at,
        label: alert.label.slice(0, labelLengthMax),
      })),
    )
    .execute();
}

/** Waiting alerts of any organisation that are due, the longest due first. */
export async function listDue(db: Db, now: number, limit: number): Promise<StoredUsageAlert[]> {
  const where = { state: 'waiting', due_at: atMost(now) } as const;
  const due = await table.listAnywhere(db, where, { orderBy: ['due_at'], limit });
  return due.map((row) => ({ ...row, subject_id: idFromBytes(row.subject_id) }));
}

/** An alert that was not delivered within a day. */
interface FailedAlert {
  /** Hash of its key, in hexadecimal digits. */
  readonly id: string;
  readonly label: string;
  /** When it was given up. */
  readonly failedAtMs: number;
}

/** Alerts of an organisation that were given up since `from`, the oldest first, after the one of `after`. */
export async function listFailed(
  db: Db,
  organisationId: string,
  from: number,
  { after, limit }: Pick<SubjectPlace, 'after' | 'limit'>,
): Promise<FailedAlert[]> {
  const id = sql`MD5(CONCAT_WS(' ', subject_kind, HEX(subject_id), window_start, HEX(counter_id), kind, limit_units))`;
  const rest =
    after === null
      ? sql``
      : sql`AND (due_at > ${after.at} OR (due_at = ${after.at} AND ${id} > ${after.id}))`;
  const { rows } = await sql<{ id: string; label: string; due_at: number | string }>`
    SELECT ${id} AS id, label, due_at FROM usage_alerts
    WHERE organisation_id = ${organisationId} AND state = 'failed' AND due_at >= ${from} ${rest}
    ORDER BY due_at, ${id} LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({ id: row.id, label: row.label, failedAtMs: Number(row.due_at) }));
}

/** Claims an alert until `until`; returns false when it has changed since it was read. */
export async function claim(tx: Db, alert: StoredUsageAlert, until: number): Promise<boolean> {
  const result = await sql`
    UPDATE usage_alerts SET attempts = attempts + 1, due_at = ${until}
    WHERE ${keyOf(alert)} AND state = 'waiting' AND attempts = ${alert.attempts}`.execute(tx);
  return result.numAffectedRows === 1n;
}

/** Records the outcome, unless another process has claimed the alert since. */
export async function updateClaimed(
  tx: Db,
  alert: StoredUsageAlert,
  { state, due_at: dueAt, sent_at: sentAt, last_error: error }: AlertEnd & { state: AlertState },
): Promise<void> {
  await sql`
    UPDATE usage_alerts
    SET state = ${state}, due_at = ${dueAt}, sent_at = ${sentAt}, last_error = ${error}
    WHERE ${keyOf(alert)} AND state = 'waiting' AND attempts = ${alert.attempts}`.execute(tx);
}

/** A deterministic text that identifies the alert. */
export function markOf(alert: StoredUsageAlert): string {
  const { organisation_id, subject_kind, subject_id, window_start, counter_id, kind, limit_units } =
    alert;
  const key = [organisation_id, subject_kind, subject_id, window_start, counter_id.toString('hex')];
  const text = JSON.stringify([...key, kind, limit_units]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Organisations with finished alerts that were due before a time. */
export async function listOrganisationsOlderThan(
  db: Db,
  moment: number,
  limit: number,
): Promise<string[]> {
  const due = await table.listAnywhere(db, finishedBefore(moment), {
    columns: ['organisation_id'],
    limit,
  });
  return [...new Set(due.map((row) => row.organisation_id))];
}

export function deleteOlderThan(
  tx: Db,
  organisationId: string,
  moment: number,
  limit: number,
): Promise<number> {
  const where = { organisation_id: organisationId, ...finishedBefore(moment) };
  return table.delete(tx, where, { limit });
}

function finishedBefore(moment: number) {
  return { state: not<AlertState>('waiting'), due_at: lessThan(moment) };
}

function keyOf(alert: StoredUsageAlert) {
  return sql`organisation_id = ${alert.organisation_id} AND subject_kind = ${alert.subject_kind}
    AND subject_id = ${idToBytes(alert.subject_id)} AND window_start = ${alert.window_start}
    AND counter_id = ${alert.counter_id} AND kind = ${alert.kind}
    AND limit_units = ${alert.limit_units}`;
}
