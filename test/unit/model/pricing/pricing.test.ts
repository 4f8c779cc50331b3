/** Tests the cost of tokens, to the micro-dollar. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  affordableOutput,
  costUnits,
  costUnitsMax,
  type Price,
  wholeUnits,
} from '../../../../src/model/pricing/pricing.ts';

const flat: Price = {
  inputPico: 2_500_000,
  outputPico: 10_000_000,
  requestPico: 0,
  tiers: [],
  cachedInputPico: 1_250_000,
  cacheWritePico: null,
  cacheWriteHourPico: null,
};
const tiered: Price = {
  inputPico: 3_000_000,
  outputPico: 15_000_000,
  requestPico: 5_000_000_000,
  cachedInputPico: 300_000,
  cacheWritePico: 3_750_000,
  cacheWriteHourPico: 6_000_000,
  tiers: [
    {
      inputTokensAbove: 200_000,
      inputPico: 6_000_000,
      outputPico: 22_500_000,
      cachedInputPico: 600_000,
      cacheWritePico: 7_500_000,
      cacheWriteHourPico: 12_000_000,
    },
  ],
};
const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 };

describe('cost', () => {
  it.each([
    [{ inputTokens: 1_000_000 }, 2_500_000],
    [{ outputTokens: 1_000_000 }, 10_000_000],
    [{ inputTokens: 1_000_000, cachedInputTokens: 400_000 }, 2_000_000],
    [{ inputTokens: 1 }, 3],
    [{}, 0],
  ])('charges %j with %d micro-dollars, rounded up once', (some, units) => {
    expect(costUnits(flat, { ...usage, ...some })).toBe(units);
  });

  it.each([
    [{ inputTokens: 200_000, outputTokens: 10 }, 5_000 + 600_000 + 150],
    [{ inputTokens: 200_001, outputTokens: 10 }, 5_000 + 1_200_006 + 225],
    [{ inputTokens: 1_000, cacheWriteTokens: 1_000 }, 5_000 + 3_750],
    [{ inputTokens: 1_000, cacheWriteTokens: 1_000, cacheWriteHourTokens: 400 }, 5_000 + 4_650],
  ])('charges %j by the tier of the whole input: %d', (some, units) => {
    expect(costUnits(tiered, { ...usage, ...some })).toBe(units);
  });

  const anyPrice = fc.constantFrom(flat, tiered);
  const anyInput = fc.oneof(fc.nat(10_000), fc.integer({ min: 199_990, max: 400_000 }));

  it('charges usage within a bound at most the cost of the bound', () => {
    fc.assert(
      fc.property(anyPrice, anyInput, fc.nat(50_000), fc.array(fc.nat(100)), (...given) => {
        const [price, inputMax, outputMax, shares] = given;
        const share = (at: number, all: number) => Math.floor((all * (shares[at] ?? 0)) / 100);
        const inputTokens = share(0, inputMax);
        const cachedInputTokens = share(1, inputTokens);
        const cacheWriteTokens = share(2, inputTokens - cachedInputTokens);
        const used = {
          inputTokens,
          cachedInputTokens,
          cacheWriteTokens,
          cacheWriteHourTokens: share(3, cacheWriteTokens),
          outputTokens: share(4, outputMax),
        };
        expect(costUnits(price, used)).toBeLessThanOrEqual(
          costUnitsMax(price, inputMax, outputMax),
        );
      }),
    );
  });

  it('fits the granted output into the amount, and exceeds the amount with one token more', () => {
    fc.assert(
      fc.property(anyPrice, anyInput, fc.nat(5_000_000), (price, inputTokens, units) => {
        const output = affordableOutput(price, units, inputTokens);
        const cost = (outputTokens: number) => costUnitsMax(price, inputTokens, outputTokens);
        if (output >= 0) expect(cost(output)).toBeLessThanOrEqual(units);
        expect(cost(Math.max(output, -1) + 1)).toBeGreaterThan(units - 1);
      }),
    );
  });
});

describe('an amount', () => {
  it.each([
    [0.1, 6, 100_000],
    [0.000_001, 6, 1],
    [0.000_000_1, 6, 1],
    [1.1, 6, 1_100_000],
    [0.29, 2, 29],
    [75, 6, 75_000_000],
    [0, 6, 0],
    [1e21, 0, 1e21],
  ])('converts %d with %d digits to %d whole units by its decimals, rounded up', (...given) => {
    const [amount, digits, units] = given;
    expect(wholeUnits(amount, digits)).toBe(units);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('rejects %d', (amount) => {
    expect(() => wholeUnits(amount, 6)).toThrow(TypeError);
  });
});
