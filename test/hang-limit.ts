/** Knows how long a test may take before it counts as hanging. */

/**
 * Milliseconds. Only ends what never would: tests wait for what they wait for, and on a busy machine
 * everything takes as long as it takes.
 */
export const hangMs = 600_000;
