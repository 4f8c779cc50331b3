/** Knows in which pieces of time and of latency requests for models are counted. */

/** Totals are kept by the hour. */
export const totalsStepMs = 3_600_000;

/** Milliseconds; how many requests took no longer is counted for each. */
export const latencyBoundsMs = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000] as const;

/** The hour that a moment lies in. */
export function totalsStepOf(ms: number): number {
  return ms - (ms % totalsStepMs);
}
