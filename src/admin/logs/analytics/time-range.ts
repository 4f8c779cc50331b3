/** Knows which stretch of time a question about requests is about, and how long it may be. */
import { z } from 'zod';
import { RangeEnd, RangeStart } from '../../../model/wire/timestamp.ts';
import { validationError } from '../../../model/wire/validation-error.ts';

/** Query fields of the stretch, both ends included. */
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

export const dayMs = 86_400_000;
/** Another process may be a little ahead of this one, and what it logged has happened all the same. */
const aheadMs = 60_000;

/**
 * Up to now where no end is named, a day where no beginning is.
 *
 * @throws ApiError `invalid` for one that is longer than may be, or ends before it begins
 */
export function rangeOf(query: z.infer<typeof RangeQuery>, now: number, daysMax: number): Range {
  const { time_of_generation_min: min, time_of_generation_max: max } = query;
  return stretchOf({ min, max }, now, { daysMax, daysUsual: 1, path: 'time_of_generation_min' });
}

/** As {@link rangeOf}, of fields by other names: `path` is that of the beginning. */
export function stretchOf(
  { min, max }: { readonly min: string | undefined; readonly max: string | undefined },
  now: number,
  { daysMax, daysUsual, path: name }: { daysMax: number; daysUsual: number; path: string },
): Range {
  const to = max === undefined ? now + aheadMs : Date.parse(max);
  const usualMs = daysUsual * dayMs;
  const from = min === undefined ? Math.max(0, Math.min(now, to) - usualMs) : Date.parse(min);
  const path = [name];
  if (from > to) throw validationError({ path, message: 'must not lie after the end' });
  if (to - from > daysMax * dayMs + aheadMs) {
    throw validationError({ path, message: `must lie at most ${daysMax} days before the end` });
  }
  return { from, to };
}
