/** Guarantees what tokens cost, to the micro-dollar. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { affordableOutput, costUnits, dearestInputPico } from '../../src/model/pricing.ts';

const price = {
  ...{ inputPico: 2_500_000, outputPico: 10_000_000, requestPico: 0 },
  ...{ cachedInputPico: 1_250_000, cacheWritePico: null },
};
const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 };

describe('cost', () => {
  it.each([
    [{ inputTokens: 1_000_000 }, 2_500_000],
    [{ outputTokens: 1_000_000 }, 10_000_000],
    [{ inputTokens: 1_000_000, cachedInputTokens: 400_000 }, 2_000_000],
    [{ inputTokens: 1 }, 3],
    [{}, 0],
  ])('of %j is %d micro-dollars, rounded up once', (some, units) => {
    expect(costUnits(price, { ...usage, ...some })).toBe(units);
  });

  it('of the output that an amount is good for never exceeds it, and a token more does', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(5_000_000), (inputTokens, units) => {
        const output = affordableOutput(price, units, inputTokens);
        const dearest = { ...price, inputPico: dearestInputPico(price) };
        const cost = (outputTokens: number) =>
          costUnits(dearest, { ...usage, inputTokens, outputTokens });
        if (output >= 0) expect(cost(output)).toBeLessThanOrEqual(units);
        expect(cost(Math.max(output, -1) + 1)).toBeGreaterThan(units - 1);
      }),
    );
  });
});
