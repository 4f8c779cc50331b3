/** Waits for a condition, however busy the machine is. */
import { vi } from 'vitest';
import { waitMs } from '../run/common-options.ts';

/** Resolves with the result of `attempt` once it no longer throws. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: waitMs, interval: 20 });
}
