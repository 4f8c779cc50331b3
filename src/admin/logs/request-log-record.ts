/** Converts rows of the request log and sums of requests to API records. */

import { fromUnits } from '../../model/limits/limits.ts';
import {
  type EarlierAttemptRecord,
  estimatePercentile,
  type LoggedCheck,
  latencyBoundsMs,
  type RequestFigures,
  type RequestLogRecord,
  type TraceFeedback,
} from '../../model/logs/request-log.ts';
import { idFromBytes } from '../../model/wire/ids.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type {
  LoggedAttempt,
  LoggedCheckColumns,
  RequestLogRow,
} from '../../store/logs/request-logs.ts';
import type { RequestSums } from '../../store/logs/request-sums.ts';
import { countsByProtocol, errorsByProtocol } from './analytics/sums-figures.ts';

export function requestLogToRecord(
  row: RequestLogRow,
  feedback: readonly TraceFeedback[],
  names: Pick<RequestLogRecord, 'api_key_name' | 'workspace_slug'>,
): RequestLogRecord {
  const { organisation_id: _, id, ended_at, cost_units, metadata, guardrails, ...others } = row;
  const { guardrail_checks: checks, guardrail_check_ms: durations, ...rest } = others;
  const { earlier_attempts: attempts, dropped_members: dropped } = row;
  return {
    ...rest,
    ...names,
    id: idFromBytes(id),
    object: 'log',
    created_at: formatTimestamp(ended_at - row.duration_ms),
    ended_at: formatTimestamp(ended_at),
    is_stream: row.is_stream === 1,
    is_estimated: row.is_estimated === 1,
    cost: cost_units === null ? null : fromUnits(cost_units, 'cost'),
    earlier_attempts: attempts === null ? [] : JSON.parse(attempts).map(toEarlierAttempt),
    metadata: JSON.parse(metadata),
    guardrails: guardrails === null ? {} : JSON.parse(guardrails),
    guardrail_checks: toLoggedChecks(checks, durations),
    dropped_members: dropped === null ? [] : JSON.parse(dropped),
    is_reported: row.is_reported === 1,
    feedback: [...feedback],
  };
}

function toLoggedChecks(checks: string | null, durations: string | null): LoggedCheck[] {
  if (checks === null) return [];
  const ms = JSON.parse(durations ?? '[]') as readonly number[];
  return (JSON.parse(checks) as readonly LoggedCheckColumns[]).map(
    ([guardrail, check, side, verdict, monitored], at) => ({
      guardrail,
      check,
      side,
      verdict,
      is_monitored: monitored === 1,
      duration_ms: ms[at] ?? 0,
    }),
  );
}

function toEarlierAttempt({ cost_units, ...rest }: LoggedAttempt): EarlierAttemptRecord {
  return { price_source: null, price_version: null, ...rest, cost: fromUnits(cost_units, 'cost') };
}

/** All zero without sums. */
export function requestLogToFigures(sums: RequestSums | undefined): RequestFigures {
  if (sums === undefined) return nothing;
  const { requests, duration_ms } = sums;
  const within = latencyBoundsMs.map((bound) => sums[`within_${bound}_ms`]);
  return {
    requests,
    errors: sums.errors,
    ...countsByProtocol(sums),
    ...errorsByProtocol(sums),
    cache_hits: sums.cache_hits,
    guardrail_passed: sums.guardrail_passed,
    guardrail_failed: sums.guardrail_failed,
    guardrail_monitored: sums.guardrail_monitored,
    guardrail_denied: sums.guardrail_denied,
    input_tokens: sums.input_tokens,
    output_tokens: sums.output_tokens,
    cached_input_tokens: sums.cached_input_tokens,
    cost: fromUnits(sums.cost_units, 'cost'),
    duration_ms_average: requests === 0 ? null : Math.round(duration_ms / requests),
    duration_ms_p50: estimatePercentile(0.5, within, requests),
    duration_ms_p90: estimatePercentile(0.9, within, requests),
    duration_ms_p99: estimatePercentile(0.99, within, requests),
    unlogged_requests: sums.unlogged_requests,
  };
}

const nothing: RequestFigures = {
  requests: 0,
  errors: 0,
  cache_hits: 0,
  input_tokens: 0,
  output_tokens: 0,
  llm_count: 0,
  mcp_count: 0,
  a2a_count: 0,
  llm_error_count: 0,
  mcp_error_count: 0,
  a2a_error_count: 0,
  guardrail_passed: 0,
  guardrail_failed: 0,
  guardrail_monitored: 0,
  guardrail_denied: 0,
  cached_input_tokens: 0,
  cost: 0,
  duration_ms_average: null,
  duration_ms_p50: null,
  duration_ms_p90: null,
  duration_ms_p99: null,
  unlogged_requests: 0,
};
