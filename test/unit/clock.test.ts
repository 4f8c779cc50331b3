/** Guarantees that the shared clock rules, and that only what delays cannot explain counts as a deviation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSharedClock, describeDeviation } from '../../src/clock.ts';

const dayMs = 86_400_000;

describe('the shared clock', () => {
  it('sets right a process clock that is wrong, from the first measurement on', async () => {
    let own = 50 * dayMs;
    const clock = createSharedClock({ now: () => own }, async () => own - 40 * dayMs);
    expect(clock.now()).toBe(50 * dayMs);
    expect((await clock.measure()).now).toBe(10 * dayMs);
    own += 1000;
    expect(Math.abs(clock.now() - (10 * dayMs + 1000))).toBeLessThan(1000);
  });

  it('is the process clock where nothing proves it wrong', async () => {
    const times = fc.integer({ min: 0, max: 2 ** 42 });
    await fc.assert(
      fc.asyncProperty(times, async (now) => {
        const clock = createSharedClock({ now: () => now }, async () => now);
        expect(await clock.measure()).toEqual({ now, deviationMs: 0 });
        expect(clock.now()).toBe(now);
      }),
    );
  });

  it('keeps what it knew while the shared clock does not answer', async () => {
    let answers = true;
    const clock = createSharedClock({ now: () => 9_000 }, async () => {
      if (!answers) throw new Error('away');
      return 1_000;
    });
    await clock.measure();
    answers = false;
    await expect(clock.measure()).rejects.toThrow('away');
    expect(clock.now()).toBe(1_000);
  });
});

it.each([
  [5_000, null],
  [-5_000, null],
  [5_001, 'is 5 s ahead of the database'],
  [-6_400, 'is 6 s behind the database'],
  [40 * dayMs, 'is 3456000 s ahead of the database'],
])('a deviation of %d ms reads %s', (deviationMs, text) => {
  const told = describeDeviation({ now: 0, deviationMs });
  if (text === null) expect(told).toBeNull();
  else expect(told).toContain(text);
});
