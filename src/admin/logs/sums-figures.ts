/** Knows figures of sums over requests in the units of clients: cents, percent, milliseconds. */
import { durationAt, latencyBoundsMs } from '../../model/request-log.ts';
import type { SharedSums } from '../../store/tables/request-sums.ts';
import { centUnits } from './request-filter.ts';

export const centsOf = ({ cost_units }: SharedSums): number => cost_units / centUnits;
export const tokensOf = ({ input_tokens, output_tokens }: SharedSums): number =>
  input_tokens + output_tokens;
export const averageOf = (value: number, { requests }: SharedSums): number | null =>
  requests === 0 ? null : value / requests;
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
  durationAt(
    share,
    latencyBoundsMs.map((bound) => sums[`within_${bound}_ms`]),
    sums.requests,
  );
