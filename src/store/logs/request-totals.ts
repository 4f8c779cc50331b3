/** Table functions for request_totals: hourly counts of requests with the same key, provider, model and status. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { bulkInsert } from '../rows/bulk-insert.ts';
import { rows } from '../rows/rows.ts';

export interface RequestCounts {
  requests: number;
  /** Calls of MCP servers among the requests: all or none of a row; and those that failed, whatever their status. */
  mcp_requests: number;
  mcp_errors: number;
  /** Requests without a log entry. */
  unlogged_requests: number;
  cache_hits: number;
  guardrail_passed: number;
  guardrail_failed: number;
  guardrail_monitored: number;
  guardrail_denied: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cost_units: number;
  /** Sum of all durations. */
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
  /** Hash of the shared columns. */
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
  'requests',
  'mcp_requests',
  'mcp_errors',
  'unlogged_requests',
  'cache_hits',
  'guardrail_passed',
  'guardrail_failed',
  'guardrail_monitored',
  'guardrail_denied',
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cost_units',
  'duration_ms',
  'within_100_ms',
  'within_250_ms',
  'within_500_ms',
  'within_1000_ms',
  'within_2500_ms',
  'within_5000_ms',
  'within_10000_ms',
  'within_30000_ms',
  'within_60000_ms',
];

const columns: readonly (keyof RequestTotalRow)[] = [
  'organisation_id',
  'began_at',
  'id',
  'workspace_id',
  'api_key_id',
  'provider',
  'model',
  'status',
  ...countColumns,
];

const table = rows('request_totals');
const target = { table: 'request_totals', columns };
const adding = countColumns.map((name) => `${name} = ${name} + VALUES(${name})`).join(', ');

/** Adds to existing counts in the order of ids, so that concurrent calls do not deadlock. */
export async function addMany(tx: Db, totals: readonly RequestTotalRow[]): Promise<void> {
  const sorted = totals.toSorted((a, b) => a.began_at - b.began_at || a.id.compare(b.id));
  await bulkInsert(tx, target, sorted, `ON DUPLICATE KEY UPDATE ${adding}`);
}

export type CountedUsage = Pick<
  RequestCounts,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cost_units'
>;

/** Adds to existing counts; amounts can be negative. Does nothing when the totals were deleted. */
export async function addUsage(
  tx: Db,
  { organisation_id, began_at, id }: Pick<RequestTotalRow, 'organisation_id' | 'began_at' | 'id'>,
  more: CountedUsage,
): Promise<void> {
  const where = { organisation_id, began_at, id };
  await table.update(tx, where, {
    input_tokens: sql`input_tokens + ${more.input_tokens}`,
    output_tokens: sql`output_tokens + ${more.output_tokens}`,
    cached_input_tokens: sql`cached_input_tokens + ${more.cached_input_tokens}`,
    cost_units: sql`cost_units + ${more.cost_units}`,
  });
}

/** Whether the organisation has any totals. */
export function hasRequestTotals(db: Db, organisationId: string): Promise<boolean> {
  return table.exists(db, { organisation_id: organisationId });
}

/** Writes rows that only this process writes; idempotent. */
export async function putMany(tx: Db, totals: readonly RequestTotalRow[]): Promise<void> {
  await bulkInsert(tx, target, totals, 'ON DUPLICATE KEY UPDATE status = VALUES(status)');
}

const growing = countColumns
  .map((name) => `${name} = GREATEST(${name}, VALUES(${name}))`)
  .join(', ');

/**
 * Writes the totals that another database has counted, beside those of this one. Counts only grow there, so that
 * repetitions, also late ones, change nothing. `idIn` gives each row an id of that database.
 */
export async function putOfOther(
  tx: Db,
  totals: readonly RequestTotalRow[],
  idIn: (id: Buffer) => Buffer,
): Promise<void> {
  const own = totals.map((row) => ({ ...row, id: idIn(row.id) }));
  const sorted = own.toSorted((a, b) => a.began_at - b.began_at || a.id.compare(b.id));
  await bulkInsert(tx, target, sorted, `ON DUPLICATE KEY UPDATE ${growing}`);
}
