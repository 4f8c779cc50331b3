/** Knows the request_totals table: requests of an hour that are alike, counted. */
import type { Db } from '../connection/db.ts';
import { bulkInsert } from '../rows/bulk-insert.ts';

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

/** What use counts for. */
export type CountedUse = Pick<
  RequestCounts,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cost_units'
>;

/** Adds to what is there, be it less than nothing; totals that are there no more stay gone. */
export async function addUse(
  tx: Db,
  { organisation_id, began_at, id }: Pick<RequestTotalRow, 'organisation_id' | 'began_at' | 'id'>,
  more: CountedUse,
): Promise<void> {
  await tx
    .updateTable('request_totals')
    .set((eb) => ({
      input_tokens: eb('input_tokens', '+', more.input_tokens),
      output_tokens: eb('output_tokens', '+', more.output_tokens),
      cached_input_tokens: eb('cached_input_tokens', '+', more.cached_input_tokens),
      cost_units: eb('cost_units', '+', more.cost_units),
    }))
    .where('organisation_id', '=', organisation_id)
    .where('began_at', '=', began_at)
    .where('id', '=', id)
    .execute();
}

/** Whether anything was ever counted of what the totals still tell. */
export async function isAnyCounted(db: Db, organisationId: string): Promise<boolean> {
  const found = await db
    .selectFrom('request_totals')
    .select('began_at')
    .where('organisation_id', '=', organisationId)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Writes rows that nobody else adds to; twice is the same as once. */
export async function putMany(tx: Db, rows: readonly RequestTotalRow[]): Promise<void> {
  await bulkInsert(tx, target, rows, 'ON DUPLICATE KEY UPDATE status = VALUES(status)');
}
