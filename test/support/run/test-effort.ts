/** Knows how much is drawn at random in this run, and from where: GATEWRIGHT_TEST_SEED looks elsewhere, GATEWRIGHT_TEST_LONG looks longer. */

export const seed = Number(process.env.GATEWRIGHT_TEST_SEED ?? 20_261_122);

/** Everything that there is to try, for minutes rather than seconds. */
export const isLong = process.env.GATEWRIGHT_TEST_LONG === 'ON';
