/** Computes figures from sums of requests in the units of clients: cents, percent, milliseconds. */
import { estimatePercentile, latencyBoundsMs } from '../../../model/logs/request-log.ts';
import type { RequestSums } from '../../../store/logs/request-sums.ts';
import { centUnits } from './request-filter.ts';

export const centsOf = ({ cost_units }: RequestSums): number => cost_units / centUnits;
export const tokensOf = ({ input_tokens, output_tokens }: RequestSums): number =>
  input_tokens + output_tokens;
export const averageOf = (value: number, { requests }: RequestSums): number | null =>
  requests === 0 ? null : value / requests;
/** Requests of models; calls of MCP servers use no tokens and no cache. */
export const modelRequestsOf = ({ requests, mcp_requests }: RequestSums): number =>
  requests - mcp_requests;
export const averageOfModels = (value: number, sums: RequestSums): number | null => {
  const requests = modelRequestsOf(sums);
  return requests === 0 ? null : value / requests;
};
/** Splits the requests into models, MCP servers and agents (A2A), of which the gateway calls none. */
export const countsByProtocol = (sums: RequestSums) => ({
  llm_count: modelRequestsOf(sums),
  mcp_count: sums.mcp_requests,
  a2a_count: 0,
});
/** The same split for errors. */
export const errorsByProtocol = ({ errors, mcp_errors }: RequestSums) => ({
  llm_error_count: errors - mcp_errors,
  mcp_error_count: mcp_errors,
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
  const { guardrail_monitored: monitored } = sums;
  const judged = passed + monitored + failed + denied;
  const rateOf = (part: number): number => (judged === 0 ? 0 : (100 * part) / judged);
  return {
    total: judged,
    passed,
    monitored,
    failed,
    denied,
    failure_rate: rateOf(failed + denied),
    denial_rate: rateOf(denied),
  };
}
/** Percentage of the requests of models that came from the cache; 0 without any. */
export const hitRateOf = (sums: RequestSums): number => {
  const requests = modelRequestsOf(sums);
  return requests === 0 ? 0 : (100 * sums.cache_hits) / requests;
};
/** Percentage; 0 without requests. */
export const shareOf = (part: number, { requests }: RequestSums): number =>
  requests === 0 ? 0 : (100 * part) / requests;
export const percentileOf = (share: number, sums: RequestSums): number | null =>
  estimatePercentile(
    share,
    latencyBoundsMs.map((bound) => sums[`within_${bound}_ms`]),
    sums.requests,
  );
