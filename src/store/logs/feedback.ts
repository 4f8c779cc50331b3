/** Table functions for feedback: ratings of responses, by trace. */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';

interface FeedbackRow {
  organisation_id: string;
  id: string;
  trace_id: string;
  /** The workspace of the workspace-bound caller who gave it, else null. */
  workspace_id: string | null;
  /** -10 to 10. */
  value: number;
  /** Millionths, up to 1,000,000. */
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

const table = rows('feedback', { isVersioned: true });

export const { insertMany } = table;
export const find = table.findBy('organisation_id', 'id');
export const findForUpdate = table.findByForUpdate('organisation_id', 'id');
export const { update } = table.keyedBy('organisation_id', 'id');

/** Up to `limit` rows of these traces, oldest first. */
export function listByTraces(
  db: Db,
  organisationId: string,
  traceIds: readonly string[],
  limit: number,
): Promise<StoredFeedback[]> {
  const where = { organisation_id: organisationId, trace_id: traceIds };
  return table.list(db, where, { orderBy: ['created_at', 'id'], limit });
}

/**
 * The weighted average of the feedback on a row of request_logs. Null, which is within no bounds, when
 * there is no feedback with a weight.
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
