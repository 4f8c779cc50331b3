/** Knows how long a test may take before it counts as hanging. */
import { isLong } from './test-effort.ts';

/**
 * Milliseconds. Only ends what never would: tests wait for what they wait for, and on a busy machine
 * everything takes as long as it takes. Who tries everything there is takes that long, too.
 */
export const hangMs = isLong ? 6 * 600_000 : 600_000;

/** Of one thing that a test waits for: half of that, so that what did not come is told before the test ends. */
export const waitMs = hangMs / 2;
