/** Limits failed authentication attempts, in bounded memory. */

export interface FailureThrottle {
  /**
   * Counts one failure under each name; false when one of them exceeds the limit of this window.
   * `now` in milliseconds since the epoch.
   */
  recordFailure(names: readonly string[], now: number): boolean;
}

const windowMs = 60_000;
const failuresMax = 20;
const namesMax = 10_000;

/**
 * Allows 20 failures a minute and name. Remembers the 10,000 names that failed last; dropping an
 * older one only resets its count.
 */
export function createFailureThrottle(): FailureThrottle {
  const counts = new Map<string, { startedAt: number; failures: number }>();
  const record = (name: string, now: number): boolean => {
    const previous = counts.get(name);
    const current = previous !== undefined && now - previous.startedAt < windowMs;
    const count = current ? previous : { startedAt: now, failures: 0 };
    count.failures += 1;
    // Deleting first moves the name to the end, so the front of the map is the oldest.
    counts.delete(name);
    counts.set(name, count);
    if (counts.size > namesMax) counts.delete(counts.keys().next().value!);
    return count.failures <= failuresMax;
  };
  return {
    recordFailure: (names, now) => names.map((name) => record(name, now)).every(Boolean),
  };
}
