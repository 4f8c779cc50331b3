/** Knows what is told of requests for models: each by itself, and counted by the hour. */
import { z } from 'zod';
import { AnsweredTimestamp } from '../wire/timestamp.ts';

/** Totals are kept by the hour. */
export const totalsStepMs = 3_600_000;

/** Milliseconds; how many requests took no longer is counted for each. */
export const latencyBoundsMs = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000] as const;

/** The hour that a moment lies in. */
export function totalsStepOf(ms: number): number {
  return ms - (ms % totalsStepMs);
}

/** What the log calls the provider of this slug: a target names it with or without an `@`. */
export function namesOfProvider(slug: string): string[] {
  return [slug, `@${slug}`];
}

/** What guardrails have made of a request and its answer: failed are those that were let through all the same. */
export const guardrailVerdicts = ['passed', 'failed', 'denied'] as const;
export type GuardrailVerdict = (typeof guardrailVerdicts)[number];

const count = z.int().min(0);

/** What a call has used whose answer is not the one that the caller got. */
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
});
export type EarlierAttemptRecord = z.infer<typeof EarlierAttemptRecord>;

/** What was said of the answers to a request's trace. */
const GivenFeedback = z.object({
  ...{ id: z.uuid(), value: z.int(), weight: z.number() },
  metadata: z.record(z.string(), z.unknown()),
});
export type GivenFeedback = z.infer<typeof GivenFeedback>;

/** A request as the log shows it. */
export const RequestLogRecord = z.object({
  id: z.uuid(),
  object: z.literal('log'),
  trace_id: z.string(),
  created_at: AnsweredTimestamp,
  ended_at: AnsweredTimestamp,
  workspace_id: z.string().nullable(),
  api_key_id: z.string().nullable(),
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
  retries: z.int(),
  cache_status: z.string().nullable(),
  guardrail_verdict: z.enum(guardrailVerdicts).nullable(),
  is_stream: z.boolean(),
  duration_ms: count,
  first_byte_ms: count.nullable(),
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cached_input_tokens: count.nullable(),
  cache_write_tokens: count.nullable(),
  cost: z.number().nullable(),
  is_estimated: z.boolean(),
  earlier_attempts: z.array(EarlierAttemptRecord),
  metadata: z.record(z.string(), z.unknown()),
  /** Told by who asked; the gateway has seen nothing of it. */
  is_reported: z.boolean(),
  feedback: z.array(GivenFeedback),
});
export type RequestLogRecord = z.infer<typeof RequestLogRecord>;

/** A page of the log, newest first. */
export const RequestLogPage = z.object({
  object: z.literal('list'),
  data: z.array(RequestLogRecord),
  /** For the page behind it; null on the last. */
  next_cursor: z.string().nullable(),
});
export type RequestLogPage = z.infer<typeof RequestLogPage>;

/** What many requests come to. */
export const RequestFigures = z.object({
  requests: count,
  errors: count,
  /** For models, for MCP servers and for agents, of all and of those that failed. */
  ...{ llm_count: count, mcp_count: count, a2a_count: count },
  ...{ llm_error_count: count, mcp_error_count: count, a2a_error_count: count },
  cache_hits: count,
  guardrail_passed: count,
  guardrail_failed: count,
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
 * The duration that a share of requests did not go beyond, as if those of each bound lay evenly below it;
 * `within` tells of each of {@link latencyBoundsMs} how many took no longer. The last bound where it lies
 * beyond, null where there are no requests.
 */
export function durationAt(
  share: number,
  within: readonly number[],
  requests: number,
): number | null {
  if (requests === 0) return null;
  const wanted = share * requests;
  let below = 0;
  let boundBelow = 0;
  for (const [at, bound] of latencyBoundsMs.entries()) {
    const held = within[at]!;
    if (held >= wanted) {
      const part = held === below ? 1 : (wanted - below) / (held - below);
      return Math.round(boundBelow + part * (bound - boundBelow));
    }
    below = held;
    boundBelow = bound;
  }
  return boundBelow;
}
