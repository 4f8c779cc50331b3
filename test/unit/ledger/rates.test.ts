/** Verifies what a process expects to need soon from what it used recently. */
import { describe, expect, it } from 'vitest';
import { Forecast } from '../../../src/ledger/forecast.ts';
import { RecentUse } from '../../../src/ledger/rates/recent-use.ts';
import { UsageRate } from '../../../src/ledger/rates/usage-rate.ts';

const minuteMs = 60_000;

describe('RecentUse', () => {
  it('counts older usage less, and usage of ten minutes ago with a weight of 1/e', () => {
    const use = new RecentUse();
    use.note(1000, 0);
    expect(use.unitsAt(0)).toBe(1000);
    expect(use.unitsAt(10 * minuteMs)).toBeCloseTo(1000 / Math.E, 6);
    use.note(1000, 10 * minuteMs);
    expect(use.unitsAt(10 * minuteMs)).toBeCloseTo(1000 + 1000 / Math.E, 6);
  });

  it('ignores refunds and requests without usage', () => {
    const use = new RecentUse();
    use.note(0, 0);
    use.note(-5, 0);
    expect(use.unitsAt(0)).toBe(0);
    expect(use.isIdle(0)).toBe(true);
  });

  it('is idle when nothing was noted for more than ten minutes', () => {
    const use = new RecentUse();
    use.note(1, 5);
    expect(use.isIdle(5 + 10 * minuteMs)).toBe(false);
    expect(use.isIdle(6 + 10 * minuteMs)).toBe(true);
  });

  it('spans less than ten minutes for a process that has just started, or was idle', () => {
    const use = new RecentUse();
    use.note(1, 0);
    use.note(1, minuteMs);
    expect(use.spanMs(minuteMs)).toBeCloseTo(10 * minuteMs * (1 - Math.exp(-0.1)), 3);
    use.note(1, 30 * minuteMs);
    expect(use.spanMs(30 * minuteMs)).toBe(0);
  });
});

describe('UsageRate', () => {
  it('expects the same usage to continue, rounded up', () => {
    const rate = new UsageRate(2_000);
    for (let nowMs = 0; nowMs <= 4_000; nowMs += 100) rate.note(10, nowMs);
    expect(rate.unitsIn(1_000, 4_000)).toBe(100);
    expect(rate.unitsIn(1, 4_000)).toBe(1);
  });

  it('expects nothing when it was idle for longer than it remembers', () => {
    const rate = new UsageRate(2_000);
    for (let nowMs = 0; nowMs <= 4_000; nowMs += 100) rate.note(10, nowMs);
    expect(rate.isIdle(6_000)).toBe(false);
    expect(rate.isIdle(6_001)).toBe(true);
    expect(rate.unitsIn(1_000, 6_001)).toBe(0);
    rate.note(10, 9_000);
    expect(rate.unitsIn(1_000, 9_000)).toBe(0);
  });
});

describe('Forecast', () => {
  it('is idle when no request came for two seconds and less than one recent unit is left', () => {
    const few = new Forecast();
    few.noteRequest(1, 1, 0);
    few.noteUse(1, 0, 0);
    expect(few.isIdle(2_000)).toBe(false);
    expect(few.isIdle(2_001)).toBe(true);
    const many = new Forecast();
    many.noteRequest(10, 10, 0);
    many.noteUse(10, 0, 0);
    expect(many.isIdle(2_001)).toBe(false);
    expect(many.isQuiet(2_001)).toBe(true);
    expect(many.isIdle(10 * minuteMs + 1)).toBe(true);
  });

  it('keeps room in the journal for what running requests had reserved recently', () => {
    const forecast = new Forecast();
    forecast.noteRequest(50, 80, 0);
    forecast.noteRequest(50, 30, 0);
    expect(forecast.unitsSoon(5_000)).toBe(80);
    forecast.noteUse(0, 20, 10 * minuteMs);
    expect(forecast.unitsSoon(10 * minuteMs)).toBe(Math.ceil(80 / Math.E));
    forecast.noteUse(0, 20, 60 * minuteMs);
    expect(forecast.unitsSoon(60 * minuteMs)).toBe(20);
  });
});
