/**
 * Checks that usage windows tile time: for any schedule, downtime and clock, none is lost or
 * doubled.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  currentWindow,
  nextResetAt,
  type ResetSchedule,
  skippedWindows,
} from '../../../../src/model/limits/periods.ts';

const dayMs = 86_400_000;
const at = (text: string): number => Date.parse(text);
const weekly: ResetSchedule = { periodicReset: 'weekly', periodicResetDays: null };
const monthly: ResetSchedule = { periodicReset: 'monthly', periodicResetDays: null };
const everyDays = (days: number): ResetSchedule => ({
  periodicReset: null,
  periodicResetDays: days,
});

const schedules = fc.oneof(
  fc.constant(weekly),
  fc.constant(monthly),
  fc.integer({ min: 1, max: 365 }).map(everyDays),
);
/** 1970 to 2199, to the millisecond. */
const moments = fc.integer({ min: 0, max: at('2199-12-31T23:59:59.999Z') });

/** A slow, obvious model: it walks through the days and consults the calendar. */
function modelNext(schedule: ResetSchedule, anchor: number, now: number): number {
  const start = Math.floor(anchor / dayMs) * dayMs;
  const after = Math.max(anchor, now);
  for (let day = Math.floor(after / dayMs) * dayMs; ; day += dayMs) {
    if (day > after && isBoundary(schedule, start, day)) return day;
  }
}

function isBoundary(schedule: ResetSchedule, start: number, day: number): boolean {
  if (schedule.periodicReset === 'weekly') return new Date(day).getUTCDay() === 1;
  if (schedule.periodicReset === 'monthly') return new Date(day).getUTCDate() === 1;
  return ((day - start) / dayMs) % schedule.periodicResetDays! === 0;
}

describe('nextResetAt', () => {
  it.each([
    ['weekly from a Sunday night', weekly, '2026-11-22T23:59:59.999Z', '2026-11-23T00:00:00Z'],
    ['weekly at the boundary itself', weekly, '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
    ['monthly from the 31st', monthly, '2027-01-31T12:00:00Z', '2027-02-01T00:00:00Z'],
    ['monthly over the year', monthly, '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00Z'],
    ['monthly in a leap year', monthly, '2028-02-29T00:00:00Z', '2028-03-01T00:00:00Z'],
    ['every day', everyDays(1), '2026-11-21T09:00:00Z', '2026-11-22T00:00:00Z'],
    ['every 30 days', everyDays(30), '2026-11-21T09:00:00Z', '2026-12-21T00:00:00Z'],
  ])('is right %s', (_, schedule, now, expected) => {
    expect(nextResetAt(schedule, null, at(now))).toBe(at(expected));
  });

  it('counts periods of days from the anchor, not from now', () => {
    const next = nextResetAt(everyDays(10), at('2026-01-01T15:00:00Z'), at('2026-01-25T00:00:00Z'));
    expect(next).toBe(at('2026-01-31T00:00:00Z'));
  });

  it('is null without a schedule', () => {
    const never = { periodicReset: null, periodicResetDays: null };
    expect(nextResetAt(never, 0, 1)).toBeNull();
    expect(skippedWindows(never, 0, 10 * dayMs)).toBe(0);
  });

  it('agrees with a walk through the calendar', () => {
    fc.assert(
      fc.property(
        schedules,
        moments,
        fc.integer({ min: 0, max: 400 * dayMs }),
        (schedule, anchor, ago) => {
          expect(nextResetAt(schedule, anchor, anchor + ago)).toBe(
            modelNext(schedule, anchor, anchor + ago),
          );
        },
      ),
    );
  });

  it('is after now and after the anchor, at midnight UTC, whichever way the clock steps', () => {
    fc.assert(
      fc.property(schedules, moments, moments, (schedule, anchor, now) => {
        const next = nextResetAt(schedule, anchor, now)!;
        expect(next).toBeGreaterThan(now);
        expect(next).toBeGreaterThan(anchor);
        expect(next % dayMs).toBe(0);
      }),
    );
  });
});

describe('windows', () => {
  it('tiles time over 0 to 12 missed boundaries: every window is either applied or skipped', () => {
    const outages = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(schedules, moments, outages, (schedule, created, missed) => {
        let boundary = nextResetAt(schedule, created, created)!;
        for (const count of missed) {
          const boundaries = listBoundaries(schedule, boundary, count);
          const now = boundaries.at(-1) ?? boundary;
          expect(skippedWindows(schedule, boundary, now)).toBe(count);
          const next = nextResetAt(schedule, boundary, now)!;
          expect(next).toBe(nextResetAt(schedule, now, now));
          boundary = next;
        }
      }),
    );
  });

  it('applies each boundary once when the clock goes back between runs', () => {
    const steps = fc.array(fc.integer({ min: -40 * dayMs, max: 90 * dayMs }), { maxLength: 30 });
    fc.assert(
      fc.property(schedules, moments, steps, (schedule, created, deltas) => {
        const applied: number[] = [];
        let due = nextResetAt(schedule, created, created)!;
        let now = created;
        for (const delta of deltas) {
          now = Math.max(0, now + delta);
          if (now < due) continue;
          applied.push(due);
          due = nextResetAt(schedule, due, now)!;
        }
        expect(applied).toEqual([...new Set(applied)].sort((a, b) => a - b));
      }),
    );
  });
});

/** The `count` boundaries after `boundary`. */
function listBoundaries(schedule: ResetSchedule, boundary: number, count: number): number[] {
  const boundaries: number[] = [];
  for (let last = boundary; boundaries.length < count; boundaries.push(last)) {
    last = nextResetAt(schedule, last, last)!;
  }
  return boundaries;
}

describe('currentWindow', () => {
  it('is the stored window while that lasts', () => {
    const stored = { startMs: 5, nextResetAtMs: at('2026-11-23T00:00:00Z') };
    const now = at('2026-11-22T23:59:59.999Z');
    expect(currentWindow(weekly, stored, now)).toEqual({ ...stored, skippedWindows: 0 });
    const endless = { startMs: 5, nextResetAtMs: null };
    expect(currentWindow(weekly, endless, now)).toEqual({ ...endless, skippedWindows: 0 });
  });

  it('contains the time, and does not depend on whether earlier windows were written one by one', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 400 * dayMs }), { maxLength: 6 });
    fc.assert(
      fc.property(schedules, moments, gaps, (schedule, made, waits) => {
        let now = made;
        const first = { startMs: made, nextResetAtMs: nextResetAt(schedule, null, made) };
        let stored: { startMs: number; nextResetAtMs: number | null } = first;
        for (const wait of waits) {
          now += wait;
          stored = currentWindow(schedule, stored, now);
          expect(stored.startMs).toBeLessThanOrEqual(now);
          expect(stored.nextResetAtMs).toBeGreaterThan(now);
        }
        const { startMs, nextResetAtMs } = currentWindow(schedule, first, now);
        expect({ startMs, nextResetAtMs }).toEqual({
          startMs: stored.startMs,
          nextResetAtMs: stored.nextResetAtMs,
        });
        // It ends where the next one begins.
        expect(currentWindow(schedule, stored, nextResetAtMs!).startMs).toBe(nextResetAtMs);
      }),
    );
  });

  it('never begins before the stored start, whatever boundary a schedule was reset to', () => {
    fc.assert(
      fc.property(schedules, moments, moments, moments, (schedule, startMs, boundary, now) => {
        const window = currentWindow(schedule, { startMs, nextResetAtMs: boundary }, now);
        expect(window.startMs).toBeGreaterThanOrEqual(startMs);
      }),
    );
  });
});
