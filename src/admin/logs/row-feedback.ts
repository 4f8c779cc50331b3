/** Finds the feedback on rows of the log. */
import { weightUnit } from '../../model/logs/feedback.ts';
import type { TraceFeedback } from '../../model/logs/request-log.ts';
import type { Db } from '../../store/connection/db.ts';
import * as feedback from '../../store/logs/feedback.ts';
import type { RequestLogRow } from '../../store/logs/request-logs.ts';

/** Feedback read for one page of the log, oldest first. */
const feedbackMax = 1_000;

type Row = Pick<RequestLogRow, 'organisation_id' | 'workspace_id' | 'trace_id'>;

/** Feedback on the traces of rows of one organisation, by row. */
export async function feedbackOf(
  db: Db,
  rows: readonly Row[],
): Promise<(row: Row) => TraceFeedback[]> {
  const [first] = rows;
  if (first === undefined) return () => [];
  const traceIds = [...new Set(rows.map(({ trace_id }) => trace_id))];
  const entries = await feedback.listByTraces(db, first.organisation_id, traceIds, feedbackMax);
  const byTrace = Map.groupBy(entries, ({ trace_id }) => trace_id);
  return ({ trace_id, workspace_id }) =>
    (byTrace.get(trace_id) ?? [])
      // Feedback given in one workspace does not apply to the rows of another.
      .filter((one) => one.workspace_id === null || one.workspace_id === workspace_id)
      .map(({ id, value, weight_units, metadata }) => ({
        id,
        value,
        weight: weight_units / weightUnit,
        metadata: JSON.parse(metadata),
      }));
}
