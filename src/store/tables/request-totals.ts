/** Knows the request_totals table: requests of an hour that are alike, counted. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { bulkInsert } from './bulk-insert.ts';

/** What is counted of requests. */
export interface RequestCounts {
  requests: number;
  /** Those of which no row was kept. */
  unlogged_requests: number;
  cache_hits: number;
  guardrail_passed: number;
  guardrail_failed: number;
  guardrail_denied: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cost_units: number;
  /** Of all of them together. */
  duration_ms: number;
  within_100_ms: number;
  within_250_ms: number;
  within_500_ms: number;
  within_1000_ms: number;
  within_2500_ms: number;
  within_5000_ms: number;
  within_10000_ms: number;
  within_30000_ms: number;
  within_60000_ms: number;
}

export interface RequestTotalRow extends RequestCounts {
  organisation_id: string;
  /** First millisecond of the hour. */
  began_at: number;
  /** Made of what they have in common. */
  id: Buffer;
  workspace_id: string | null;
  api_key_id: string | null;
  provider: string | null;
  model: string | null;
  status: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    request_totals: RequestTotalRow;
  }
}

export const countColumns: readonly (keyof RequestCounts)[] = [
  ...(['requests', 'unlogged_requests', 'cache_hits', 'guardrail_passed'] as const),
  ...(['guardrail_failed', 'guardrail_denied', 'input_tokens', 'output_tokens'] as const),
  ...(['cached_input_tokens', 'cost_units', 'duration_ms', 'within_100_ms'] as const),
  ...(['within_250_ms', 'within_500_ms', 'within_1000_ms', 'within_2500_ms'] as const),
  ...(['within_5000_ms', 'within_10000_ms', 'within_30000_ms', 'within_60000_ms'] as const),
];

const columns: readonly (keyof RequestTotalRow)[] = [
  ...(['organisation_id', 'began_at', 'id', 'workspace_id', 'api_key_id'] as const),
  ...(['provider', 'model', 'status'] as const),
  ...countColumns,
];

const target = { table: 'request_totals', columns };
const adding = countColumns.map((name) => `${name} = ${name} + VALUES(${name})`).join(', ');

/** Adds what was counted to what is there, in the order of ids, so that two who do so do not wait for each other in a circle. */
export async function addMany(tx: Db, rows: readonly RequestTotalRow[]): Promise<void> {
  const sorted = rows.toSorted((a, b) => a.began_at - b.began_at || a.id.compare(b.id));
  await bulkInsert(tx, target, sorted, `ON DUPLICATE KEY UPDATE ${adding}`);
}

/** Writes rows that nobody else adds to; twice is the same as once. */
export async function putMany(tx: Db, rows: readonly RequestTotalRow[]): Promise<void> {
  await bulkInsert(tx, target, rows, 'ON DUPLICATE KEY UPDATE status = VALUES(status)');
}

type TotalsDimension = 'workspace_id' | 'api_key_id' | 'provider' | 'model' | 'status';

export interface TotalsFilter {
  /** Of the first hour and of the last, both included. */
  readonly from: number;
  readonly to: number;
  /** Values of columns; those undefined are not asked for. */
  readonly equal: Readonly<Partial<Record<Exclude<TotalsDimension, 'status'>, string | undefined>>>;
  /** Those of these keys only; null for all. */
  readonly apiKeyIds: readonly string[] | null;
}

/** Sums of rows that have something in common. */
export interface RequestSums extends RequestCounts {
  /** Of those with a status of 400 or above. */
  readonly errors: number;
  readonly shared: string | number | null;
}

/** By what sums are taken: by time, in steps of whole hours, or by a column; null for one sum of all. */
export type SumsBy = { readonly stepMs: number } | TotalsDimension | null;

/** Of time in its order, else those with the most cost and requests first. */
export async function sum(
  db: Db,
  organisationId: string,
  filter: TotalsFilter,
  by: SumsBy,
  limit: number,
): Promise<RequestSums[]> {
  const { apiKeyIds } = filter;
  if (apiKeyIds?.length === 0) return [];
  const shared = sharedOf(by);
  const sums = countColumns.map(
    (name) => sql`CAST(SUM(${sql.ref(name)}) AS DOUBLE) AS ${sql.ref(name)}`,
  );
  const wheres = Object.entries(filter.equal).flatMap(([column, value]) =>
    value === undefined ? [] : [sql`AND ${sql.ref(column)} = ${value}`],
  );
  if (apiKeyIds !== null) wheres.push(sql`AND api_key_id IN (${sql.join(apiKeyIds)})`);
  const isByTime = by !== null && typeof by === 'object';
  const order = isByTime ? sql`shared` : sql`cost_units DESC, requests DESC, shared`;
  // Losses are of the organisation: they have nothing else in common with anything.
  const whole = by === null || isByTime ? sql`` : sql`AND requests > 0`;
  const { rows } = await sql<RequestSums>`
    SELECT ${shared} AS shared, ${sql.join(sums)},
      CAST(SUM(CASE WHEN status >= 400 THEN requests ELSE 0 END) AS DOUBLE) AS errors
    FROM request_totals
    WHERE organisation_id = ${organisationId} AND began_at >= ${filter.from}
      AND began_at <= ${filter.to} ${sql.join([...wheres, whole], sql` `)}
    GROUP BY shared ORDER BY ${order} LIMIT ${limit}`.execute(db);
  return rows;
}

function sharedOf(by: SumsBy) {
  if (by === null) return sql`1`;
  if (typeof by === 'string') return sql.ref(by);
  return sql`began_at - began_at % ${by.stepMs}`;
}
