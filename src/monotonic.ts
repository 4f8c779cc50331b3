/** Knows the time of the process that goes on evenly, whatever somebody sets its clock to. */
import { performance } from 'node:perf_hooks';

/**
 * Milliseconds since the process began, with fractions. What Node has of it as a global is looked for anew
 * by each call, which costs a request that comes alone more than the time does.
 */
export function monotonicMs(): number {
  return performance.now();
}
