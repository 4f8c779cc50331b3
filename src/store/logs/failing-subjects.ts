/** Lists keys and providers most of whose recent requests have failed, from the hourly totals. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import {
  isListed,
  type NamedSubject,
  type SubjectPlace,
  subjectColumns,
  subjectTables,
} from '../rows/subject-place.ts';

/** Fewer requests say nothing. */
const requestsMin = 10;
const failingShare = 0.5;

export interface FailingSubject extends NamedSubject {
  readonly requests: number;
  /** Without those that guardrails denied. */
  readonly errors: number;
}

const groupings = {
  api_key: {
    by: sql`t.api_key_id`,
    isGiven: sql`t.api_key_id IS NOT NULL`,
    isOfRow: sql`r.id = sums.subject`,
  },
  // The log names providers by slug, with or without an @.
  provider: {
    by: sql`t.workspace_id, TRIM(LEADING '@' FROM t.provider)`,
    isGiven: sql`t.provider IS NOT NULL AND t.workspace_id IS NOT NULL`,
    isOfRow: sql`r.workspace_id = sums.place AND r.slug = sums.subject`,
  },
} as const;

/** Sums of floating-point numbers, which are exact to 2^53 and take engines half the time of decimal ones. */
const sumOf = (value: RawBuilder<unknown>): RawBuilder<unknown> => sql`SUM((${value}) + 0e0)`;

/** Up to `limit` subjects in the order of their ids, by the requests of the hours since `from`, in milliseconds. */
export async function listFailing(
  db: Db,
  kind: keyof typeof groupings,
  from: number,
  place: SubjectPlace,
): Promise<FailingSubject[]> {
  const { by, isGiven, isOfRow } = groupings[kind];
  const failed = sql`CASE WHEN t.status >= 400 THEN t.requests ELSE t.mcp_errors END`;
  const keys =
    kind === 'api_key'
      ? sql`t.api_key_id AS subject, NULL AS place`
      : sql`TRIM(LEADING '@' FROM t.provider) AS subject, t.workspace_id AS place`;
  const { rows } = await sql<FailingSubject>`
    SELECT ${subjectColumns(kind)}, sums.requests, sums.errors FROM (
      SELECT ${keys}, ${sumOf(sql`t.requests`)} AS requests,
        ${sumOf(failed)} - ${sumOf(sql`t.guardrail_denied`)} AS errors
      FROM request_totals t
      WHERE t.organisation_id = ${place.organisationId} AND t.began_at >= ${from} AND ${isGiven}
      GROUP BY ${by}
    ) AS sums
    JOIN ${sql.table(subjectTables[kind])} r ON ${isOfRow}
    WHERE sums.requests >= ${requestsMin} AND sums.errors >= sums.requests * ${failingShare}
      AND ${isListed(kind, place)} AND r.id > ${place.after?.id ?? ''}
    ORDER BY r.id LIMIT ${place.limit}`.execute(db);
  return rows;
}
