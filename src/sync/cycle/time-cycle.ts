/** Measures the duration of a cycle. */
import type { CycleOptions, CycleResult } from './cycle-options.ts';
import { reconcile } from './reconcile.ts';

export interface TimedCycle {
  readonly result: CycleResult;
  readonly durationMs: number;
}

/** @throws as {@link reconcile} */
export async function timeCycle(options: CycleOptions): Promise<TimedCycle> {
  const since = performance.now();
  const result = await reconcile(options);
  return { result, durationMs: performance.now() - since };
}
