/** Defines the records of the request log in responses, and the hourly totals. */
import { z } from 'zod';
import { priceSources } from '../pricing/price-origin.ts';
import { ResponseTimestamp } from '../wire/timestamp.ts';

/** Status in `earlier_attempts` of a call that was cancelled because a concurrent one answered. */
export const cancelledStatus = 499;

/** Totals are stored per hour. */
export const totalsStepMs = 3_600_000;

/** Upper bounds in milliseconds of the latency histogram, which is cumulative. */
export const latencyBoundsMs = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000] as const;

/** Start of the hour that contains `ms`. */
export function startOfTotalsStep(ms: number): number {
  return ms - (ms % totalsStepMs);
}

/** The names under which the log can contain a provider: targets write the slug with or without `@`. */
export function providerNames(slug: string): string[] {
  return [slug, `@${slug}`];
}

/**
 * Verdicts of guardrails on a request and its response, the worst last. `failed` requests continued nevertheless;
 * `monitored` ones failed a guardrail that only observes.
 */
export const guardrailVerdicts = ['passed', 'monitored', 'failed', 'denied'] as const;
export type GuardrailVerdict = (typeof guardrailVerdicts)[number];

/** The worse of two verdicts; null when there is none. */
export function worseVerdict(
  one: GuardrailVerdict | null,
  other: GuardrailVerdict | null,
): GuardrailVerdict | null {
  return guardrailVerdicts.findLast((each) => each === one || each === other) ?? null;
}

/** Verdicts of one check, the worst last: it had no text, passed, could not judge, or failed. */
export const checkVerdicts = ['skipped', 'passed', 'unjudged', 'failed'] as const;
export type CheckVerdict = (typeof checkVerdicts)[number];

/** One check of a guardrail that judged a request or its response. */
export const LoggedCheck = z.object({
  /** Id of the saved guardrail, or the id of an inline one. */
  guardrail: z.string(),
  check: z.string(),
  side: z.enum(['input', 'output']),
  verdict: z.enum(checkVerdicts),
  /** Whether the guardrail only observes. */
  is_monitored: z.boolean(),
  duration_ms: z.int().min(0),
});
export type LoggedCheck = z.infer<typeof LoggedCheck>;

/** Cache statuses of responses that came from a cache. */
export const cacheHits = ['HIT', 'SEMANTIC HIT'] as const;

/** Requests to models, and calls of MCP servers. */
export const loggedTypes = ['llm', 'mcp'] as const;
export type LoggedType = (typeof loggedTypes)[number];

/** Whether a request succeeded. Calls of MCP servers report most of their errors with status 200. */
export function hasSucceeded(row: {
  readonly status: number;
  readonly mcp_server: string | null;
  readonly error_code: string | null;
}): boolean {
  return row.status < 400 && (row.mcp_server === null || row.error_code === null);
}

const count = z.int().min(0);

/** Usage of an attempt whose response was not returned to the caller. */
export const EarlierAttemptRecord = z.object({
  provider: z.string(),
  model: z.string().nullable(),
  target_path: z.string(),
  status: z.int(),
  input_tokens: count,
  output_tokens: count,
  cached_input_tokens: count,
  cache_write_tokens: count,
  cost: z.number(),
  is_estimated: z.boolean(),
  price_source: z.enum(priceSources).nullable(),
  price_version: z.string().nullable(),
});
export type EarlierAttemptRecord = z.infer<typeof EarlierAttemptRecord>;

/** Feedback on the trace of a request. */
const TraceFeedback = z.object({
  id: z.uuid(),
  value: z.int(),
  weight: z.number(),
  metadata: z.record(z.string(), z.unknown()),
});
export type TraceFeedback = z.infer<typeof TraceFeedback>;

/** A request in the log. */
export const RequestLogRecord = z.object({
  id: z.uuid(),
  object: z.literal('log'),
  trace_id: z.string(),
  created_at: ResponseTimestamp,
  ended_at: ResponseTimestamp,
  workspace_id: z.string().nullable(),
  /** Null for an archived or unknown workspace. */
  workspace_slug: z.string().nullable(),
  api_key_id: z.string().nullable(),
  /** Null for a deleted key, and for a token. */
  api_key_name: z.string().nullable(),
  config_id: z.string().nullable(),
  prompt_slug: z.string().nullable(),
  endpoint: z.string(),
  status: z.int(),
  error_code: z.string().nullable(),
  provider: z.string().nullable(),
  requested_model: z.string().nullable(),
  model: z.string().nullable(),
  answered_model: z.string().nullable(),
  target_path: z.string().nullable(),
  target_selection: z.string().nullable(),
  retries: z.int(),
  cache_status: z.string().nullable(),
  guardrail_verdict: z.enum(guardrailVerdicts).nullable(),
  /** Verdicts of the saved guardrails that judged the request, by their ids. */
  guardrails: z.record(z.string(), z.enum(guardrailVerdicts)),
  guardrail_checks: z.array(LoggedCheck),
  is_stream: z.boolean(),
  duration_ms: count,
  first_byte_ms: count.nullable(),
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cached_input_tokens: count.nullable(),
  cache_write_tokens: count.nullable(),
  cost: z.number().nullable(),
  is_estimated: z.boolean(),
  /** Null when the price is unknown or nothing was charged. */
  price_source: z.enum(priceSources).nullable(),
  price_version: z.string().nullable(),
  earlier_attempts: z.array(EarlierAttemptRecord),
  metadata: z.record(z.string(), z.unknown()),
  /** True for a request reported by its caller, which the gateway did not handle. */
  is_reported: z.boolean(),
  /** Slug of the MCP server; null for a model request. */
  mcp_server: z.string().nullable(),
  /** The tool, prompt or resource. */
  mcp_name: z.string().nullable(),
  /** Paths of members of the request that the provider did not receive, because its format lacks them. */
  dropped_members: z.array(z.string()),
  feedback: z.array(TraceFeedback),
});
export type RequestLogRecord = z.infer<typeof RequestLogRecord>;

/** A page of the log, newest first. */
export const RequestLogPage = z.object({
  object: z.literal('list'),
  data: z.array(RequestLogRecord),
  /** Cursor of the next page; null on the last. */
  next_cursor: z.string().nullable(),
  /** Names of the regions that have logged requests in their own databases since the hour in which the time range begins. */
  regions: z.array(z.string()),
});
export type RequestLogPage = z.infer<typeof RequestLogPage>;

/** Totals over requests. */
export const RequestFigures = z.object({
  requests: count,
  errors: count,
  /** Requests to models, MCP servers and agents; all, and those that failed. */
  llm_count: count,
  mcp_count: count,
  a2a_count: count,
  llm_error_count: count,
  mcp_error_count: count,
  a2a_error_count: count,
  cache_hits: count,
  guardrail_passed: count,
  guardrail_failed: count,
  guardrail_monitored: count,
  guardrail_denied: count,
  input_tokens: count,
  output_tokens: count,
  cached_input_tokens: count,
  cost: z.number(),
  duration_ms_average: z.number().nullable(),
  duration_ms_p50: z.number().nullable(),
  duration_ms_p90: z.number().nullable(),
  duration_ms_p99: z.number().nullable(),
  unlogged_requests: count,
});
export type RequestFigures = z.infer<typeof RequestFigures>;

/**
 * Estimates a percentile of durations by linear interpolation. `within` contains, for each of
 * {@link latencyBoundsMs}, the number of requests that took no longer. Returns the last bound if the
 * percentile is above it, and null without requests.
 */
export function estimatePercentile(
  share: number,
  within: readonly number[],
  requests: number,
): number | null {
  if (requests === 0) return null;
  const rank = share * requests;
  let countBelow = 0;
  let boundBelow = 0;
  for (const [at, bound] of latencyBoundsMs.entries()) {
    const count = within[at]!;
    if (count >= rank) {
      const part = count === countBelow ? 1 : (rank - countBelow) / (count - countBelow);
      return Math.round(boundBelow + part * (bound - boundBelow));
    }
    countBelow = count;
    boundBelow = bound;
  }
  return boundBelow;
}
