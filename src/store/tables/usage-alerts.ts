/** Knows the usage_alerts table: what is to be told about usage, each once. */
import type { Db } from '../connection/db.ts';
import type { CountedKind } from './usage-counters.ts';

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
  created_at: number;
  sent_at: number | null;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_alerts: UsageAlertRow;
  }
}

export type NewUsageAlert = Omit<UsageAlertRow, 'sent_at'>;

/** Says each once, however often it is found out. */
export async function insertMany(tx: Db, alerts: readonly NewUsageAlert[]): Promise<void> {
  if (alerts.length === 0) return;
  await tx
    .insertInto('usage_alerts')
    .ignore()
    .values(alerts.map((alert) => ({ ...alert, sent_at: null })))
    .execute();
}
