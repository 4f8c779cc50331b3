/** Sums a page of groups in two steps, because most figures are needed for the groups of the page only. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import {
  figures,
  keyExpression,
  needsLog,
  orderTerms,
  type RequestSums,
  type SortingFigure,
  type SumsQuery,
  sourceOf,
  sum,
} from './request-sums.ts';

/** Sums on which the order by a figure depends. */
const inputs: Readonly<Record<SortingFigure, readonly string[]>> = {
  requests: ['requests'],
  cost: ['cost_units', 'requests'],
  total_tokens: ['input_tokens', 'output_tokens'],
  avg_tokens: ['input_tokens', 'output_tokens', 'requests', 'mcp_requests'],
  avg_input_tokens: ['input_tokens', 'requests', 'mcp_requests'],
  avg_output_tokens: ['output_tokens', 'requests', 'mcp_requests'],
  avg_latency: ['duration_ms', 'requests'],
  success_rate: ['requests', 'errors'],
  error_count: ['errors'],
  cache_hit_rate: ['cache_hits', 'requests', 'mcp_requests'],
  last_seen: [],
  first_seen: [],
};

/** The result of {@link sum}. Orders by one grouping key need no second step. */
export async function sumPage(
  db: Db,
  organisationId: string,
  query: SumsQuery,
): Promise<RequestSums[]> {
  const figure = typeof query.order === 'string' ? query.order : query.order.figure;
  if (query.by.length !== 1 || figure === 'shared') return sum(db, organisationId, query);
  const among = await listKeys(db, organisationId, query, inputs[figure]);
  if (among.length === 0) return [];
  return sum(db, organisationId, { ...query, among, offset: 0 });
}

/** Values of the grouping key on the page. */
async function listKeys(
  db: Db,
  organisationId: string,
  query: SumsQuery,
  wanted: readonly string[],
): Promise<(string | number | null)[]> {
  const isOfLog = needsLog(query);
  const key = keyExpression(query.by[0]!, isOfLog);
  const at = sql.ref(isOfLog ? 'ended_at' : 'began_at');
  const columns = [
    sql`${key} AS shared_0`,
    sql`MIN(${at}) AS firstAt`,
    sql`MAX(${at}) AS lastAt`,
    ...figures(isOfLog, query.filter, (name) => wanted.includes(name)),
  ];
  const { rows } = await sql<{ shared_0: string | number | null }>`
    SELECT shared_0 FROM (
      SELECT ${sql.join(columns)} FROM ${sourceOf(organisationId, query)} GROUP BY shared_0
    ) AS sums
    ORDER BY ${sql.join([...orderTerms(query.order), sql.ref('shared_0')])}
    LIMIT ${query.limit} OFFSET ${query.offset}`.execute(db);
  return rows.map(({ shared_0 }) => shared_0);
}
