/** Knows how moments are written on the wire: RFC 3339, UTC, always with milliseconds. */
import { z } from 'zod';

/** The last millisecond of year 9999, the last that four digits can write. */
const latestMs = 253_402_300_799_999;
const dateForm = /^\d{4}-\d\d-\d\d$/;

/**
 * A moment as the API takes it: any RFC 3339 text with `Z` or an offset whose date exists, from
 * 1970 to 9999. The parsed value is still text, normalised to UTC with milliseconds
 * (`2027-03-31T00:00:00.000Z`), so that two spellings of one moment compare equal.
 */
export const Timestamp = z.iso
  .datetime({
    offset: true,
    abort: true,
    error: 'must be an existing RFC 3339 date-time with Z or an offset',
  })
  .refine((text) => inRange(Date.parse(text)), {
    abort: true,
    error: 'must lie between the years 1970 and 9999',
  })
  .overwrite((text) => {
    const ms = Date.parse(text);
    return inRange(ms) ? formatTimestamp(ms) : text;
  });

/** Ends of a stretch of time: a moment as {@link Timestamp}, or a date, which is its whole day in UTC. */
export const StretchStart = momentOrDay('T00:00:00.000Z');
export const StretchEnd = momentOrDay('T23:59:59.999Z');

function momentOrDay(timeOfDay: string) {
  return z
    .string()
    .overwrite((text) => (dateForm.test(text) ? text + timeOfDay : text))
    .pipe(Timestamp)
    .meta({ anyOf: [{ format: 'date-time' }, { format: 'date' }] });
}

/** A moment as the API answers it; for the description, because what is answered is checked by nobody. */
export const AnsweredTimestamp = z.string().meta({ format: 'date-time' });

function inRange(ms: number): boolean {
  return ms >= 0 && ms <= latestMs;
}

/** Milliseconds since the epoch of a text that {@link Timestamp} has parsed. */
export function parseTimestamp(text: string): number {
  return Date.parse(text);
}

export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

export function formatTimestampOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}
