/** Defines when a test counts as hanging. */
import { isLong } from './test-effort.ts';

/**
 * Milliseconds. Only ends a test that would never end: tests wait for conditions, and everything
 * may be slow on a busy machine. A long run tries all cases, which takes longer.
 */
export const hangMs = isLong ? 6 * 600_000 : 600_000;

/**
 * Limit of one awaited condition: half of the test limit, so that the failure is reported before
 * the test ends.
 */
export const waitMs = hangMs / 2;
