/** Knows the feedback table: what is said of answers, by trace. */
import type { Insertable, Selectable } from 'kysely';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';

interface FeedbackRow {
  organisation_id: string;
  id: string;
  trace_id: string;
  /** That the one who gave it is bound to; null for none. */
  workspace_id: string | null;
  /** -10 to 10. */
  value: number;
  /** Millionths, up to one whole. */
  weight_units: number;
  /** JSON. */
  metadata: string;
  created_by: string;
  version: number;
  created_at: number;
  last_updated_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    feedback: FeedbackRow;
  }
}

export type StoredFeedback = Selectable<FeedbackRow>;

export async function insertMany(tx: Db, rows: readonly Insertable<FeedbackRow>[]): Promise<void> {
  await tx.insertInto('feedback').values(rows).execute();
}

export function find(
  db: Db,
  organisationId: string,
  id: string,
): Promise<StoredFeedback | undefined> {
  return one(db, organisationId, id).executeTakeFirst();
}

export function findForUpdate(
  tx: Db,
  organisationId: string,
  id: string,
): Promise<StoredFeedback | undefined> {
  return one(tx, organisationId, id).forUpdate().executeTakeFirst();
}

function one(db: Db, organisationId: string, id: string) {
  return db
    .selectFrom('feedback')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('id', '=', id);
}

/** Counts the write. */
export async function update(
  tx: Db,
  { organisation_id, id }: Pick<StoredFeedback, 'organisation_id' | 'id'>,
  columns: Pick<StoredFeedback, 'value' | 'weight_units' | 'metadata' | 'last_updated_at'>,
): Promise<void> {
  await tx
    .updateTable('feedback')
    .set({ ...columns, version: sql`version + 1` })
    .where('organisation_id', '=', organisation_id)
    .where('id', '=', id)
    .execute();
}

/** Of these traces, oldest first, up to `limit`. */
export function listByTraces(
  db: Db,
  organisationId: string,
  traceIds: readonly string[],
  limit: number,
): Promise<StoredFeedback[]> {
  return db
    .selectFrom('feedback')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('trace_id', 'in', traceIds)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/**
 * What was said of the answer of a row of request_logs, by weight; null, which is within no bounds, where
 * nothing was said that has weight.
 */
export function averageFeedback(organisationId: string): RawBuilder<unknown> {
  return sql`(
    SELECT SUM(feedback.value * feedback.weight_units) / NULLIF(SUM(feedback.weight_units), 0)
    FROM feedback
    WHERE feedback.organisation_id = ${organisationId}
      AND feedback.trace_id = request_logs.trace_id
      AND (feedback.workspace_id IS NULL OR feedback.workspace_id = request_logs.workspace_id)
  )`;
}
