/** Parses and formats timestamps: RFC 3339 in UTC, always with milliseconds. */
import { z } from 'zod';

/** The last millisecond of the year 9999, the last year with four digits. */
const latestMs = 253_402_300_799_999;
const dateForm = /^\d{4}-\d\d-\d\d$/;

/**
 * A timestamp in a request: RFC 3339 with `Z` or an offset, an existing date, 1970 to 9999. The
 * parsed value is text normalised to UTC with milliseconds (`2027-03-31T00:00:00.000Z`), so two
 * spellings of one instant compare equal.
 */
export const Timestamp = z.iso
  .datetime({
    offset: true,
    abort: true,
    error: 'must be an existing RFC 3339 date-time with Z or an offset',
  })
  .refine((text) => inRange(Date.parse(text)), {
    abort: true,
    error: 'must be between the years 1970 and 9999',
  })
  .overwrite((text) => {
    const ms = Date.parse(text);
    return inRange(ms) ? formatTimestamp(ms) : text;
  });

/** Bounds of a time range: a {@link Timestamp}, or a date, which covers its whole day in UTC. */
export const RangeStart = momentOrDay('T00:00:00.000Z');
export const RangeEnd = momentOrDay('T23:59:59.999Z');

function momentOrDay(timeOfDay: string) {
  return z
    .string()
    .overwrite((text) => (dateForm.test(text) ? text + timeOfDay : text))
    .pipe(Timestamp)
    .meta({ anyOf: [{ format: 'date-time' }, { format: 'date' }] });
}

/** A timestamp in a response. It only documents the format, since responses are not validated. */
export const ResponseTimestamp = z.string().meta({ format: 'date-time' });

function inRange(ms: number): boolean {
  return ms >= 0 && ms <= latestMs;
}

/** Milliseconds since the epoch of a text that {@link Timestamp} has normalised. */
export function parseTimestamp(text: string): number {
  return Date.parse(text);
}

export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

export function formatTimestampOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}
