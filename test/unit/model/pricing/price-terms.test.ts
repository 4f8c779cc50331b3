/**
 * Tests the price of a model under an integration: the configured price, else the built-in one with
 * its factors, never too low.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectivePrice } from '../../../../src/model/pricing/effective-price.ts';

const flat = { cacheWriteHourPico: null, tiers: [] };
const known = {
  inputPico: 1_000_000,
  outputPico: 4_000_000,
  requestPico: 10,
  cachedInputPico: 500_000,
  cacheWritePico: null,
  ...flat,
};
const stated = (request?: number, response?: number, more = {}) => ({
  type: 'static',
  pay_as_you_go: {
    ...(request === undefined ? {} : { request_token: { price: request } }),
    ...(response === undefined ? {} : { response_token: { price: response } }),
    ...more,
  },
});

describe('the price of a model', () => {
  it('is the built-in price when nothing is configured, and null when there is none', () => {
    const nothing = { config: null, adjustments: null };
    expect(effectivePrice(nothing, known)).toEqual(known);
    expect(effectivePrice(nothing, null)).toBeNull();
  });

  it('is the configured price in cents per token, whatever is built in', () => {
    const config = stated(0.00025, 0.001, { cache_read_input_token: { price: 0.0000125 } });
    expect(effectivePrice({ config, adjustments: null }, null)).toEqual({
      inputPico: 2_500_000,
      outputPico: 10_000_000,
      requestPico: 0,
      cachedInputPico: 125_000,
      cacheWritePico: null,
      ...flat,
    });
  });

  it('falls back to the built-in price for unconfigured parts, and is null without one', () => {
    const config = stated(0.0003);
    expect(effectivePrice({ config, adjustments: null }, null)).toBeNull();
    expect(effectivePrice({ config, adjustments: null }, known)).toEqual({
      inputPico: 3_000_000,
      outputPico: 4_000_000,
      requestPico: 10,
      cachedInputPico: null,
      cacheWritePico: null,
      ...flat,
    });
  });

  it('multiplies the built-in price by the most specific factor, but not a configured price', () => {
    const multiplier = {
      default: 2,
      response_token: 0.5,
      request_token: null,
      cache_write_input_token: 1.25,
    };
    expect(effectivePrice({ config: null, adjustments: { multiplier } }, known)).toEqual({
      inputPico: 2_000_000,
      outputPico: 2_000_000,
      requestPico: 20,
      cachedInputPico: 1_000_000,
      cacheWritePico: 1_250_000,
      ...flat,
    });
    expect(
      effectivePrice({ config: stated(0.0001, 0.0002), adjustments: { multiplier } }, known),
    ).toMatchObject({ inputPico: 1_000_000, outputPico: 2_000_000 });
  });

  it('has the tiers of the built-in price, each with factors and configured parts', () => {
    const tier = {
      ...known,
      inputTokensAbove: 200_000,
      inputPico: 3_000_000,
      cacheWriteHourPico: 9,
    };
    const tiered = { ...known, tiers: [tier] };
    const adjustments = { multiplier: { default: 2 } };
    expect(effectivePrice({ config: null, adjustments }, tiered)!.tiers).toMatchObject([
      {
        inputTokensAbove: 200_000,
        inputPico: 6_000_000,
        outputPico: 8_000_000,
        cacheWriteHourPico: 18,
      },
    ]);
    const config = stated(undefined, 0.0005);
    expect(effectivePrice({ config, adjustments: null }, tiered)!.tiers).toMatchObject([
      { inputTokensAbove: 200_000, inputPico: 3_000_000, outputPico: 5_000_000 },
    ]);
    expect(effectivePrice({ config: stated(0.1, 0.2), adjustments: null }, tiered)!.tiers).toEqual(
      [],
    );
  });

  it('is exact for decimals, and never below the configured price', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900_000 }), fc.nat(12), (digits, places) => {
        const cents = Number(`${digits}e-${places}`);
        const price = effectivePrice({ config: stated(cents, 0), adjustments: null }, null);
        const exact = BigInt(digits) * 10n ** 10n;
        const scale = 10n ** BigInt(places);
        expect(BigInt(price!.inputPico)).toBe((exact + scale - 1n) / scale);
      }),
    );
  });

  it('stays a safe number for any configured price', () => {
    const price = effectivePrice({ config: stated(1e300, 1e300), adjustments: null }, null);
    expect(Number.isSafeInteger(price!.inputPico)).toBe(true);
  });
});
