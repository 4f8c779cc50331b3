/** Knows how a test waits for what comes about by itself, however busy the machine is. */
import { vi } from 'vitest';
import { waitMs } from '../run/time-limits.ts';

/** Resolves with what `attempt` yields once it no longer throws. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: waitMs, interval: 20 });
}
