/** Defines options that all vitest projects share: when a test counts as hanging, and how messages are cut. */
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

/** Values in messages of assertions are cut after this many characters; 40 by default, which hides all. */
export const chaiConfig = { truncateThreshold: 1_000 };
