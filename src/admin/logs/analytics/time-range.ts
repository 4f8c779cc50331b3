/** Parses and limits the time range of analytics queries. */
import { z } from 'zod';
import { RangeEnd, RangeStart } from '../../../model/wire/timestamp.ts';
import { validationError } from '../../../model/wire/validation-error.ts';

/** Query fields of the time range, both ends included. */
export const rangeQuery = {
  time_of_generation_min: RangeStart.optional(),
  time_of_generation_max: RangeEnd.optional(),
};
const RangeQuery = z.object(rangeQuery);

/** Milliseconds since the epoch. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const rangeDayMs = 86_400_000;
/** The clock of another process may be slightly ahead, and its rows are to be included. */
const aheadMs = 60_000;

/**
 * Ends now by default, and starts one day before its end by default.
 *
 * @throws ApiError `invalid` for a range that is too long or ends before it starts
 */
export function parseTimeRange(
  query: z.infer<typeof RangeQuery>,
  now: number,
  daysMax: number,
): Range {
  const { time_of_generation_min: min, time_of_generation_max: max } = query;
  return parseTimeRangeFields({ min, max }, now, {
    daysMax,
    daysUsual: 1,
    path: 'time_of_generation_min',
  });
}

/** Like {@link parseTimeRange}, for fields with other names; `path` is that of the start. */
export function parseTimeRangeFields(
  { min, max }: { readonly min: string | undefined; readonly max: string | undefined },
  now: number,
  { daysMax, daysUsual, path: name }: { daysMax: number; daysUsual: number; path: string },
): Range {
  const to = max === undefined ? now + aheadMs : Date.parse(max);
  const usualMs = daysUsual * rangeDayMs;
  const from = min === undefined ? Math.max(0, Math.min(now, to) - usualMs) : Date.parse(min);
  const path = [name];
  if (from > to) throw validationError({ path, message: 'must not be after the end' });
  if (to - from > daysMax * rangeDayMs + aheadMs) {
    throw validationError({ path, message: `must be at most ${daysMax} days before the end` });
  }
  return { from, to };
}
