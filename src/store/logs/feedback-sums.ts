/** Sums feedback, grouped by columns of its requests. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { keyExpression, type SumsQuery, sourceOf } from './request-sums.ts';

export interface FeedbackSums {
  readonly given: number;
  /** Sum of value times weight, in millionths. */
  readonly weighted_units: number;
  readonly weight_units: number;
  /** Values of the grouping keys in the order of the query, followed by the feedback's value when grouped by it. */
  readonly shared: readonly (string | number | null)[];
}

/** Feedback counts once for all logged requests of its trace that fall in the same group. */
export async function sumFeedback(
  db: Db,
  organisationId: string,
  query: Pick<SumsQuery, 'filter' | 'by' | 'limit'> & { readonly byValue: boolean },
): Promise<FeedbackSums[]> {
  const { by, byValue, limit } = query;
  const source = { ...query, usesLog: true, order: 'shared' as const, offset: 0 };
  const names = by.map((_, at) => sql.ref(`shared_${at}`));
  const keys = by.map((key, at) => sql`${keyExpression(key, true)} AS ${names[at]}`);
  const groups = [...names, ...(byValue ? [sql.ref('value')] : [])];
  const { rows } = await sql<Record<string, string | number | null>>`
    SELECT ${sql.join([
      ...groups,
      sql`CAST(COUNT(*) AS DOUBLE) AS given`,
      sql`CAST(COALESCE(SUM(value * weight_units), 0) AS DOUBLE) AS weighted_units`,
      sql`CAST(COALESCE(SUM(weight_units), 0) AS DOUBLE) AS weight_units`,
    ])}
    FROM (
      SELECT DISTINCT ${sql.join([
        ...['id', 'value', 'weight_units'].map((column) => sql.ref(`feedback.${column}`)),
        ...names,
      ])}
      FROM (
        SELECT ${sql.join([sql.ref('trace_id'), sql.ref('workspace_id'), ...keys])}
        FROM ${sourceOf(organisationId, source)}
      ) AS requests
      JOIN feedback ON feedback.organisation_id = ${organisationId}
        AND feedback.trace_id = requests.trace_id
        AND (feedback.workspace_id IS NULL OR feedback.workspace_id = requests.workspace_id)
    ) AS distinct_feedback
    ${groups.length === 0 ? sql`` : sql`GROUP BY ${sql.join(groups)} ORDER BY ${sql.join(groups)}`}
    LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({
    given: Number(row.given),
    weighted_units: Number(row.weighted_units),
    weight_units: Number(row.weight_units),
    shared: [...by.map((_, at) => row[`shared_${at}`] ?? null), ...(byValue ? [row.value!] : [])],
  }));
}
