/**
 * Checks that the shared clock takes precedence, and that only a difference beyond delays counts as
 * a deviation.
 */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createSharedClock, describeDeviation, keepMeasuring } from '../../../src/clock.ts';

const dayMs = 86_400_000;

describe('the shared clock', () => {
  it('corrects a wrong process clock from the first measurement on', async () => {
    let own = 50 * dayMs;
    const clock = createSharedClock(
      { now: () => own, monotonicMs: () => own },
      async () => own - 40 * dayMs,
    );
    expect(clock.now()).toBe(50 * dayMs);
    expect((await clock.measure()).now).toBe(10 * dayMs);
    own += 1000;
    expect(Math.abs(clock.now() - (10 * dayMs + 1000))).toBeLessThan(1000);
  });

  it('equals the process clock when nothing proves that wrong', async () => {
    const times = fc.integer({ min: 0, max: 2 ** 42 });
    await fc.assert(
      fc.asyncProperty(times, async (now) => {
        const clock = createSharedClock(
          { now: () => now, monotonicMs: () => now },
          async () => now,
        );
        expect(await clock.measure()).toEqual({ now, deviationMs: 0 });
        expect(clock.now()).toBe(now);
      }),
    );
  });

  it('keeps its correction while the shared clock does not answer', async () => {
    let answers = true;
    const clock = createSharedClock({ now: () => 9_000, monotonicMs: () => 9_000 }, async () => {
      if (!answers) throw new Error('away');
      return 1_000;
    });
    await clock.measure();
    answers = false;
    await expect(clock.measure()).rejects.toThrow('away');
    expect(clock.now()).toBe(1_000);
  });

  it('advances monotonically when the process clock is set, and detects a suspend at the next measurement', async () => {
    const steps = fc.array(
      fc.record({
        setMs: fc.integer({ min: -40 * dayMs, max: 40 * dayMs }),
        passedMs: fc.nat(10_000),
        sleptMs: fc.nat(2 * dayMs),
      }),
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        let own = 50 * dayMs;
        let monotonicMs = 7;
        let shared = 50 * dayMs;
        const clock = createSharedClock(
          { now: () => own, monotonicMs: () => monotonicMs },
          async () => shared,
        );
        for (const { setMs, passedMs, sleptMs } of all) {
          own += setMs + passedMs;
          monotonicMs += passedMs;
          shared += passedMs;
          expect(clock.now()).toBe(shared);
          shared += sleptMs;
          expect(await clock.measure()).toEqual({ now: shared, deviationMs: own - shared });
          expect(clock.now()).toBe(shared);
        }
      }),
    );
  });

  it('repeats the measurement, also after a failure, one at a time, until disposed of', async () => {
    let running = 0;
    let count = 0;
    const again = Promise.withResolvers<void>();
    const measure = async () => {
      running += 1;
      expect(running).toBe(1);
      await new Promise(setImmediate);
      running -= 1;
      count += 1;
      if (count === 3) again.resolve();
      throw new Error('away');
    };
    const timer = vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const measuring = keepMeasuring({ measure }, 1_000);
      const turns = async (): Promise<void> => {
        while (count < 3) {
          timer.advanceTimersByTime(1_000);
          await new Promise(setImmediate);
        }
      };
      await Promise.all([turns(), again.promise]);
      measuring[Symbol.dispose]();
      timer.advanceTimersByTime(10_000);
      expect(count).toBe(3);
    } finally {
      vi.useRealTimers();
    }
  });
});

it.each([
  [5_000, null],
  [-5_000, null],
  [5_001, 'is 5 s ahead of the database'],
  [-6_400, 'is 6 s behind the database'],
  [40 * dayMs, 'is 3456000 s ahead of the database'],
])('shows a deviation of %d ms as %s', (deviationMs, text) => {
  const reported = describeDeviation({ now: 0, deviationMs });
  if (text === null) expect(reported).toBeNull();
  else expect(reported).toContain(text);
});
