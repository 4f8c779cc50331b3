/**
 * Reads the seed and the effort of random tests: GATEWRIGHT_TEST_SEED sets the seed,
 * GATEWRIGHT_TEST_LONG tries everything.
 */

export const seed = Number(process.env.GATEWRIGHT_TEST_SEED ?? 20_261_122);

/** Whether to try all cases, which takes minutes instead of seconds. */
export const isLong = process.env.GATEWRIGHT_TEST_LONG === 'ON';
