/** Knows the usage_alerts table: what is to be told about usage, each once. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { UsageType } from '../../model/limits/limits.ts';
import { idFromBytes, idToBytes } from '../../model/wire/ids.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import type { Db } from '../connection/db.ts';
import type { CountedKind } from './usage-counters.ts';

/** `unaddressed`: there was nobody to tell; `failed`: it was tried for a day. */
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
  /** What people call the subject: `API key ci`. */
  label: string;
  /** The group's value, '' for all but policies. */
  value_key: string;
  created_at: number;
  state: AlertState;
  /** How often somebody began to tell it. */
  attempts: number;
  /** When it is tried next: until then whoever has claimed it is at work, or waits. */
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

/** What becomes of an alert that was claimed. */
export type AlertEnd = Pick<UsageAlertRow, 'due_at' | 'sent_at' | 'last_error'>;

const labelLengthMax = 300;

/** Says each once, however often it is found out. */
export async function insertMany(tx: Db, alerts: readonly NewUsageAlert[]): Promise<void> {
  if (alerts.length === 0) return;
  const rest = { state: 'waiting', attempts: 0, sent_at: null, last_error: null } as const;
  await tx
    .insertInto('usage_alerts')
    .ignore()
    .values(
      alerts.map((alert) => ({
        ...{ ...alert, ...rest, due_at: alert.created_at },
        label: alert.label.slice(0, labelLengthMax),
      })),
    )
    .execute();
}

/** Those that are to be told now, longest due first. */
export async function listDue(db: Db, now: number, limit: number): Promise<StoredUsageAlert[]> {
  const rows = await db
    .selectFrom('usage_alerts')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...row, subject_id: idFromBytes(row.subject_id) }));
}

/** Whether the alert is as it was read, and nobody else's until `until`. */
export async function claim(tx: Db, alert: StoredUsageAlert, until: number): Promise<boolean> {
  const result = await sql`
    UPDATE usage_alerts SET attempts = attempts + 1, due_at = ${until}
    WHERE ${keyOf(alert)} AND state = 'waiting' AND attempts = ${alert.attempts}`.execute(tx);
  return result.numAffectedRows === 1n;
}

/** Writes what became of it, unless somebody has claimed it since. */
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

/** Whom the subject itself names: only keys do. */
export async function listRecipients(db: Db, alert: StoredUsageAlert): Promise<string[]> {
  if (alert.subject_kind !== 'api_key') return [];
  const row = await db
    .selectFrom('api_keys')
    .select('alert_emails')
    .where('organisation_id', '=', alert.organisation_id)
    .where('id', '=', alert.subject_id)
    .executeTakeFirst();
  return readDocument<string[]>(row?.alert_emails ?? null) ?? [];
}

/** A text that tells the alert from all others, and is the same whenever it is made. */
export function markOf(alert: StoredUsageAlert): string {
  const { organisation_id, subject_kind, subject_id, window_start, counter_id, kind, limit_units } =
    alert;
  const key = [organisation_id, subject_kind, subject_id, window_start, counter_id.toString('hex')];
  const text = JSON.stringify([...key, kind, limit_units]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Organisations with alerts made before a moment that nobody waits for any more. */
export async function listOrganisationsOlderThan(
  db: Db,
  moment: number,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('usage_alerts')
    .select('organisation_id')
    .where('state', '<>', 'waiting')
    .where('due_at', '<', moment)
    .limit(limit)
    .execute();
  return [...new Set(rows.map((row) => row.organisation_id))];
}

export async function deleteOlderThan(
  tx: Db,
  organisationId: string,
  moment: number,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('usage_alerts')
    .where('organisation_id', '=', organisationId)
    .where('state', '<>', 'waiting')
    .where('due_at', '<', moment)
    .limit(limit)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function keyOf(alert: StoredUsageAlert) {
  return sql`organisation_id = ${alert.organisation_id} AND subject_kind = ${alert.subject_kind}
    AND subject_id = ${idToBytes(alert.subject_id)} AND window_start = ${alert.window_start}
    AND counter_id = ${alert.counter_id} AND kind = ${alert.kind}
    AND limit_units = ${alert.limit_units}`;
}
