/** Knows figures of sums over requests in the units of clients: cents, percent, milliseconds. */
import { durationAt, latencyBoundsMs } from '../../model/request-log.ts';
import type { SharedSums } from '../../store/tables/request-sums.ts';
import { centUnits } from './request-filter.ts';

export const centsOf = ({ cost_units }: SharedSums): number => cost_units / centUnits;
export const tokensOf = ({ input_tokens, output_tokens }: SharedSums): number =>
  input_tokens + output_tokens;
export const averageOf = (value: number, { requests }: SharedSums): number | null =>
  requests === 0 ? null : value / requests;
/** In percent; 0 of nothing. */
export const shareOf = (part: number, { requests }: SharedSums): number =>
  requests === 0 ? 0 : (100 * part) / requests;
export const percentileOf = (share: number, sums: SharedSums): number | null =>
  durationAt(
    share,
    latencyBoundsMs.map((bound) => sums[`within_${bound}_ms`]),
    sums.requests,
  );
