/** Computes figures from sums of requests in the units of clients: cents, percent, milliseconds. */
import { estimatePercentile, latencyBoundsMs } from '../../../model/logs/request-log.ts';
import type { RequestSums } from '../../../store/logs/request-sums.ts';
import { centUnits } from './request-filter.ts';

export const centsOf = ({ cost_units }: RequestSums): number => cost_units / centUnits;
export const tokensOf = ({ input_tokens, output_tokens }: RequestSums): number =>
  input_tokens + output_tokens;
export const averageOf = (value: number, { requests }: RequestSums): number | null =>
  requests === 0 ? null : value / requests;
/**
 * Splits a count of requests or errors into models, MCP servers and agents (A2A). All are for models as
 * long as the gateway calls nothing else.
 */
export const countsByProtocol = (count: number) => ({
  llm_count: count,
  mcp_count: 0,
  a2a_count: 0,
});
export const errorsByProtocol = (count: number) => ({
  llm_error_count: count,
  mcp_error_count: 0,
  a2a_error_count: 0,
});
/** The same split for tokens. */
export const unitsByProtocol = ({ input_tokens, output_tokens }: RequestSums) => ({
  llm_request_units: input_tokens,
  llm_response_units: output_tokens,
  mcp_request_units: 0,
  mcp_response_units: 0,
  a2a_request_units: 0,
  a2a_response_units: 0,
});
/** Guardrail verdicts; rates are percentages of the requests judged. */
export function guardrailFigures(sums: RequestSums) {
  const { guardrail_passed: passed, guardrail_failed: failed, guardrail_denied: denied } = sums;
  const judged = passed + failed + denied;
  const rateOf = (part: number): number => (judged === 0 ? 0 : (100 * part) / judged);
  return {
    total: judged,
    passed,
    failed,
    denied,
    failure_rate: rateOf(failed + denied),
    denial_rate: rateOf(denied),
  };
}
/** Percentage; 0 without requests. */
export const shareOf = (part: number, { requests }: RequestSums): number =>
  requests === 0 ? 0 : (100 * part) / requests;
export const percentileOf = (share: number, sums: RequestSums): number | null =>
  estimatePercentile(
    share,
    latencyBoundsMs.map((bound) => sums[`within_${bound}_ms`]),
    sums.requests,
  );
