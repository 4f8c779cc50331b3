/** Knows figures of sums over requests in the units of clients: cents, percent, milliseconds. */
import { estimatePercentile, latencyBoundsMs } from '../../../model/logs/request-log.ts';
import type { SharedSums } from '../../../store/logs/request-sums.ts';
import { centUnits } from './request-filter.ts';

export const centsOf = ({ cost_units }: SharedSums): number => cost_units / centUnits;
export const tokensOf = ({ input_tokens, output_tokens }: SharedSums): number =>
  input_tokens + output_tokens;
export const averageOf = (value: number, { requests }: SharedSums): number | null =>
  requests === 0 ? null : value / requests;
/**
 * Of so many requests, or errors, those for models, for MCP servers and for agents (A2A): all are for models
 * as long as the gateway calls no other.
 */
export const countsByProtocol = (count: number) => ({
  ...{ llm_count: count, mcp_count: 0, a2a_count: 0 },
});
export const errorsByProtocol = (count: number) => ({
  ...{ llm_error_count: count, mcp_error_count: 0, a2a_error_count: 0 },
});
/** Likewise of tokens. */
export const unitsByProtocol = ({ input_tokens, output_tokens }: SharedSums) => ({
  ...{ llm_request_units: input_tokens, llm_response_units: output_tokens },
  ...{ mcp_request_units: 0, mcp_response_units: 0 },
  ...{ a2a_request_units: 0, a2a_response_units: 0 },
});
/** What guardrails said; rates are of the requests that they judged, in percent. */
export function guardrailFigures(sums: SharedSums) {
  const { guardrail_passed: passed, guardrail_failed: failed, guardrail_denied: denied } = sums;
  const judged = passed + failed + denied;
  const rateOf = (part: number): number => (judged === 0 ? 0 : (100 * part) / judged);
  return {
    ...{ total: judged, passed, failed, denied },
    ...{ failure_rate: rateOf(failed + denied), denial_rate: rateOf(denied) },
  };
}
/** In percent; 0 of nothing. */
export const shareOf = (part: number, { requests }: SharedSums): number =>
  requests === 0 ? 0 : (100 * part) / requests;
export const percentileOf = (share: number, sums: SharedSums): number | null =>
  estimatePercentile(
    share,
    latencyBoundsMs.map((bound) => sums[`within_${bound}_ms`]),
    sums.requests,
  );
