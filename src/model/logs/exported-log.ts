/** Formats rows of the request log as lines of an export. */

import { fromUnits } from '../limits/limits.ts';
import { idFromBytes } from '../wire/ids.ts';
import { formatTimestamp } from '../wire/timestamp.ts';
import type { ExportField, ExportFilters } from './log-export.ts';
import { hasSucceeded } from './request-log.ts';

/** The columns of a log row that exports use. */
export interface ExportedLogRow {
  readonly id: Buffer;
  /** Milliseconds since the epoch. */
  readonly ended_at: number;
  readonly duration_ms: number;
  readonly status: number;
  readonly trace_id: string;
  readonly workspace_id: string | null;
  readonly api_key_id: string | null;
  readonly config_id: string | null;
  readonly prompt_slug: string | null;
  readonly endpoint: string;
  readonly error_code: string | null;
  readonly mcp_server: string | null;
  readonly provider: string | null;
  readonly requested_model: string | null;
  readonly model: string | null;
  readonly answered_model: string | null;
  readonly target_path: string | null;
  readonly retries: number;
  readonly cache_status: string | null;
  readonly guardrail_verdict: string | null;
  readonly is_stream: number;
  readonly first_byte_ms: number | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly cache_write_tokens: number | null;
  readonly cost_units: number | null;
  readonly is_estimated: number;
  readonly price_source: string | null;
  readonly price_version: string | null;
  /** JSON of an object. */
  readonly metadata: string;
}

/** Readers of the fields; null for what the log does not store. */
const fieldReaders: Readonly<Record<ExportField, (row: ExportedLogRow) => unknown>> = {
  id: ({ id }) => idFromBytes(id),
  trace_id: (row) => row.trace_id,
  created_at: (row) => formatTimestamp(row.ended_at - row.duration_ms),
  request: () => null,
  response: () => null,
  is_success: hasSucceeded,
  ai_org: (row) => row.provider,
  ai_model: (row) => row.model ?? row.requested_model,
  req_units: (row) => row.input_tokens,
  res_units: (row) => row.output_tokens,
  total_units: ({ input_tokens, output_tokens }) =>
    input_tokens === null && output_tokens === null
      ? null
      : (input_tokens ?? 0) + (output_tokens ?? 0),
  request_url: () => null,
  cost: ({ cost_units }) => (cost_units === null ? null : fromUnits(cost_units, 'cost')),
  cost_currency: () => 'USD',
  response_time: (row) => row.duration_ms,
  response_status_code: (row) => row.status,
  mode: () => null,
  config: (row) => row.config_id,
  prompt_slug: (row) => row.prompt_slug,
  metadata: (row) => JSON.parse(row.metadata),
  ended_at: (row) => formatTimestamp(row.ended_at),
  workspace_id: (row) => row.workspace_id,
  api_key_id: (row) => row.api_key_id,
  endpoint: (row) => row.endpoint,
  error_code: (row) => row.error_code,
  requested_model: (row) => row.requested_model,
  answered_model: (row) => row.answered_model,
  target_path: (row) => row.target_path,
  retries: (row) => row.retries,
  cache_status: (row) => row.cache_status,
  guardrail_verdict: (row) => row.guardrail_verdict,
  is_stream: (row) => row.is_stream === 1,
  first_byte_ms: (row) => row.first_byte_ms,
  cached_input_tokens: (row) => row.cached_input_tokens,
  cache_write_tokens: (row) => row.cache_write_tokens,
  is_estimated: (row) => row.is_estimated === 1,
  price_source: (row) => row.price_source,
  price_version: (row) => row.price_version,
};

/** JSON and a line feed, with fields in the requested order. */
export function formatExportLine(row: ExportedLogRow, fields: readonly ExportField[]): string {
  const entries = fields.map((field) => [field, fieldReaders[field](row)] as const);
  return `${JSON.stringify(Object.fromEntries(entries))}\n`;
}

/** Whether the metadata has one of the requested values for each requested key. */
export function matchesMetadata(
  row: Pick<ExportedLogRow, 'metadata'>,
  filter: ExportFilters['metadata'],
): boolean {
  if (filter === undefined) return true;
  const metadata = JSON.parse(row.metadata) as Readonly<Record<string, unknown>>;
  return Object.entries(filter).every(
    ([key, values]) => Object.hasOwn(metadata, key) && values.includes(String(metadata[key])),
  );
}
