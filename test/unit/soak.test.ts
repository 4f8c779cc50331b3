/** Verifies the rule by which a soak tells growth from noise. */
import { describe, expect, it } from 'vitest';
import { afterWarmUp, fitSlope, isGrowing } from '../soak/slopes.ts';
import { judgeSeries, soakTable } from '../soak/verdict.ts';
import { SeededRandom } from '../support/run/seeded-random.ts';

const hours = 8;
const count = 240;
const random = new SeededRandom(3);

/** Samples of eight hours with noise of one unit. */
function series(perHour: number, noise = 1) {
  return Array.from({ length: count }, (_, at) => {
    const time = (at * hours) / count;
    return { hours: time, value: 50 + perHour * time + noise * (random.next() - 0.5) };
  });
}

describe('fitSlope', () => {
  it('returns the slope between bounds that contain it', () => {
    const { perHour, low, high, growth } = fitSlope(series(2))!;
    expect(perHour).toBeCloseTo(2, 1);
    expect(low).toBeLessThan(2);
    expect(high).toBeGreaterThan(2);
    expect(growth).toBeCloseTo(16, 0);
  });

  it('returns null for too few samples', () => {
    expect(fitSlope(series(1).slice(0, 11))).toBe(null);
  });
});

describe('isGrowing', () => {
  const limit = { perHour: 0.1, resolution: 0.5 };

  it('tells a leak of 0.3 MB an hour from noise in eight hours', () => {
    expect(isGrowing(fitSlope(series(0.3))!, limit)).toBe(true);
  });

  it('accepts noise, a slope below the limit, and growth below the resolution', () => {
    expect(isGrowing(fitSlope(series(0))!, limit)).toBe(false);
    expect(isGrowing(fitSlope(series(0.05))!, limit)).toBe(false);
    const short = series(0.3, 0).map((one) => ({ ...one, hours: one.hours / 100 }));
    expect(
      isGrowing(fitSlope(short.map((one) => ({ ...one, value: 50 + one.hours })))!, limit),
    ).toBe(false);
  });
});

describe('judgeSeries', () => {
  it('ignores the first quarter, in which caches fill', () => {
    const samples = series(0).map((one) => ({
      ...one,
      value: one.value - (one.hours < 1.9 ? 40 : 0),
    }));
    expect(afterWarmUp(samples)[0]!.hours).toBeGreaterThan(1.9);
    expect(judgeSeries({ name: 'gateway heap, MB', kind: 'heap', samples }).verdict).toBe('flat');
  });

  it('explains tables of the log, and reports others that grow', () => {
    const samples = series(100);
    const verdictOf = (name: string) => judgeSeries({ name, kind: 'rows', samples }).verdict;
    expect(verdictOf('request_logs')).toBe('explained');
    expect(verdictOf('usage_slices')).toBe('grows');
  });

  it('never judges the resident size, and shows every figure in the table', () => {
    const judged = judgeSeries({ name: 'gateway resident, MB', kind: 'rss', samples: series(9) });
    expect(judged.verdict).toBe('not judged');
    expect(soakTable([judged])).toMatch(/gateway resident, MB.*not judged/);
  });
});
