/** Knows sums over feedback by what the requests that it is about share. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { type SumsQuestion, sharedOf, sourceOf } from './request-sums.ts';

export interface FeedbackSums {
  readonly given: number;
  /** Of values times weights, in millionths. */
  readonly weighted_units: number;
  readonly weight_units: number;
  /** What it shares, in the order of the question; its value behind that, where it is asked for. */
  readonly shared: readonly (string | number | null)[];
}

/** Each counts once for all requests of its trace that share the same; of those that are logged. */
export async function sumFeedback(
  db: Db,
  organisationId: string,
  question: Pick<SumsQuestion, 'filter' | 'by' | 'limit'> & { readonly byValue: boolean },
): Promise<FeedbackSums[]> {
  const { by, byValue, limit } = question;
  const asked = { ...question, asksLog: true, order: 'shared' as const, offset: 0 };
  const names = by.map((_, at) => sql.ref(`shared_${at}`));
  const keys = by.map((key, at) => sql`${sharedOf(key, true)} AS ${names[at]}`);
  const told = [...names, ...(byValue ? [sql.ref('value')] : [])];
  const { rows } = await sql<Record<string, string | number | null>>`
    SELECT ${sql.join([
      ...told,
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
        FROM ${sourceOf(organisationId, asked)}
      ) AS asked
      JOIN feedback ON feedback.organisation_id = ${organisationId}
        AND feedback.trace_id = asked.trace_id
        AND (feedback.workspace_id IS NULL OR feedback.workspace_id = asked.workspace_id)
    ) AS told
    ${told.length === 0 ? sql`` : sql`GROUP BY ${sql.join(told)} ORDER BY ${sql.join(told)}`}
    LIMIT ${limit}`.execute(db);
  return rows.map((row) => ({
    given: Number(row.given),
    weighted_units: Number(row.weighted_units),
    weight_units: Number(row.weight_units),
    shared: [...by.map((_, at) => row[`shared_${at}`] ?? null), ...(byValue ? [row.value!] : [])],
  }));
}
