/** Provides monotonic time, which changes to the system time do not affect. */
import { performance } from 'node:perf_hooks';

/**
 * Milliseconds since the process started, with fractions. The import avoids the lookup of the global
 * `performance` on every call, which takes longer than reading the time.
 */
export function monotonicMs(): number {
  return performance.now();
}
