/** Tests the failure throttle: it counts per name and window, in bounded memory. */
import { describe, expect, it } from 'vitest';
import { createFailureThrottle } from '../../../src/auth/failure-throttle.ts';

describe('failures', () => {
  it('allows twenty failures a minute for each name, and again a minute later', () => {
    const throttle = createFailureThrottle();
    const allowed = Array.from({ length: 25 }, () => throttle.recordFailure(['a'], 0));
    expect(allowed.filter(Boolean)).toHaveLength(20);
    expect(throttle.recordFailure(['a'], 59_999)).toBe(false);
    expect(throttle.recordFailure(['a'], 60_000)).toBe(true);
  });

  it('counts each name separately', () => {
    const throttle = createFailureThrottle();
    for (let time = 0; time < 30; time += 1) throttle.recordFailure(['attacker'], 0);
    expect(throttle.recordFailure(['victim'], 0)).toBe(true);
    expect(throttle.recordFailure(['victim', 'attacker'], 0)).toBe(false);
  });

  it('keeps the latest of a hundred thousand names counted and forgets the earliest', () => {
    const throttle = createFailureThrottle();
    for (let time = 0; time < 21; time += 1) throttle.recordFailure(['first'], 0);
    for (let name = 0; name < 100_000; name += 1) throttle.recordFailure([`n${name}`], 0);
    for (let time = 0; time < 19; time += 1) throttle.recordFailure(['n99999'], 0);
    expect(throttle.recordFailure(['n99999'], 0)).toBe(false);
    expect(throttle.recordFailure(['first'], 0)).toBe(true);
  });
});
