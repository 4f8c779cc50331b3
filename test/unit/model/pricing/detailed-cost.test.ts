/** Tests the cost of kinds of tokens, units and service tiers, and that bounds cover it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { priceOfBound } from '../../../../src/model/pricing/bound-price.ts';
import { effectivePrice } from '../../../../src/model/pricing/effective-price.ts';
import { lookUpPrice } from '../../../../src/model/pricing/price-table.ts';
import { pricedKinds, pricedUnits } from '../../../../src/model/pricing/priced-details.ts';
import {
  costUnits,
  costUnitsMax,
  type Price,
  type TokenUsage,
} from '../../../../src/model/pricing/pricing.ts';

const now = Date.UTC(2026, 10, 28);
const plain = { cachedInputTokens: 0, cacheWriteTokens: 0 };

async function cost(service: string, model: string, usage: Partial<TokenUsage>): Promise<number> {
  const price = await lookUpPrice(service, model, now);
  return costUnits(price!, { inputTokens: 0, outputTokens: 0, ...plain, ...usage });
}

describe('the cost of a request with details', () => {
  it.each<[string, string, Partial<TokenUsage>, number]>([
    // 900 text at 2.5, 100 audio at 32; 40 text at 10, 60 audio at 64.
    [
      'openai',
      'gpt-audio',
      {
        inputTokens: 1_000,
        outputTokens: 100,
        details: { kinds: { audioInput: 100, audioOutput: 60 } },
      },
      2_250 + 3_200 + 400 + 3_840,
    ],
    // 50 text at 5, 1,000 image at 8, of which 400 cached at 2; 700 image at 32, 10 text at 10.
    [
      'openai',
      'gpt-image-1.5',
      {
        inputTokens: 1_050,
        outputTokens: 710,
        cachedInputTokens: 400,
        details: { kinds: { imageInput: 1_000, cachedImage: 400, imageOutput: 700 } },
      },
      250 + 4_800 + 800 + 22_400 + 100,
    ],
    ['openai', 'whisper-1', { details: { units: { audioSecond: 61 } } }, 6_100],
    ['openai', 'tts-1', { details: { units: { character: 1_001 } } }, 15_015],
    ['openai', 'dall-e-3', { details: { units: { 'image hd 1024x1792': 2 } } }, 240_000],
    ['cohere', 'rerank-v3.5', { details: { units: { searchUnit: 3 } } }, 6_000],
    ['bedrock', 'cohere.rerank-v3-5:0', { details: { units: { searchUnit: 3 } } }, 6_000],
    ['bedrock', 'amazon.rerank-v1:0', { details: { units: { searchUnit: 3 } } }, 3_000],
    [
      'perplexity-ai',
      'sonar-deep-research',
      {
        inputTokens: 33,
        outputTokens: 11_700,
        details: { kinds: { citation: 2_000, reasoning: 9_000 }, units: { webSearch: 18 } },
      },
      66 + 4_000 + 27_000 + 5_600 + 90_000,
    ],
    [
      'openai',
      'gpt-4o',
      { inputTokens: 1_000, details: { units: { webSearch: 2, fileSearch: 1, codeSession: 1 } } },
      2_500 + 20_000 + 2_500 + 30_000,
    ],
    ['openai', 'gpt-4o', { outputTokens: 100, details: { tiers: ['priority'] } }, 1_700],
    ['openai', 'gpt-4o', { outputTokens: 101, details: { tiers: ['flex'] } }, 505],
    ['openai', 'gpt-4o-mini', { inputTokens: 10_001, details: { tiers: ['priority'] } }, 2_501],
    ['anthropic', 'claude-opus-4-7', { outputTokens: 100, details: { tiers: ['fast'] } }, 15_000],
    [
      'anthropic',
      'claude-opus-4-7',
      {
        inputTokens: 1_000,
        cacheWriteTokens: 1_000,
        cacheWriteHourTokens: 600,
        details: { tiers: ['us'] },
      },
      9_350,
    ],
  ])('is exact for %s %s with %j', async (service, model, usage, units) => {
    expect(await cost(service, model, usage)).toBe(units);
  });

  it('charges all output at the highest price where the provider reports no kinds', async () => {
    const usage = { outputTokens: 1_000 };
    expect(await cost('openai', 'gpt-audio', usage)).toBe(64_000);
    const reported = { ...usage, details: { kinds: { audioOutput: 0 } } };
    expect(await cost('openai', 'gpt-audio', reported)).toBe(10_000);
  });
});

describe('the price of an integration', () => {
  const terms = { adjustments: null };

  it('includes images, units, kinds of tokens and service tiers', () => {
    const config = {
      pay_as_you_go: {
        request_token: { price: 0.0001 },
        response_token: { price: 0.0002 },
        reasoning_token: { price: 0.0003 },
        cache_write_1h_input_token: { price: 0.0004 },
        image: { high: { '1024x1024': { price: 4 } } },
        additional_units: { web_search: { price: 1 } },
      },
      service_tiers: { priority: 1.75 },
    };
    expect(effectivePrice({ ...terms, config }, null)).toMatchObject({
      inputPico: 1_000_000,
      outputPico: 3_000_000,
      cacheWriteHourPico: 4_000_000,
      kinds: { reasoning: 3_000_000, textOutput: 2_000_000 },
      units: { 'image high 1024x1024': 40_000_000_000, webSearch: 10_000_000_000 },
      factors: { priority: { times: 1_750_000, per: 1_000_000 } },
    });
  });

  it('requires no price of tokens where a unit has one', () => {
    const image = { standard: { '512x512': { price: 2 } } };
    const price = effectivePrice({ ...terms, config: { pay_as_you_go: { image } } }, null);
    expect(price).toMatchObject({ inputPico: 0, outputPico: 0 });
  });

  it('multiplies known prices of kinds and units by their factors', async () => {
    const listed = await lookUpPrice('openai', 'gpt-audio', now);
    const multiplier = { default: 2, response_audio_token: 3, additional_units: { web_search: 5 } };
    const price = effectivePrice({ config: null, adjustments: { multiplier } }, listed);
    expect(price!.kinds).toMatchObject({
      audioInput: 64_000_000,
      audioOutput: 192_000_000,
      textOutput: 20_000_000,
    });
    expect(price!.units!.codeSession).toBe(60_000_000_000);
  });
});

const pico = fc.nat(100_000_000);
const maybe = fc.option(pico);
const byName = (names: readonly string[], value: fc.Arbitrary<number>) =>
  fc.dictionary(fc.constantFrom(...names), value);
const tokenPrices = fc.record({
  inputPico: pico,
  outputPico: pico,
  cachedInputPico: maybe,
  cacheWritePico: maybe,
  cacheWriteHourPico: maybe,
  kinds: byName(pricedKinds, pico),
});
const factor = fc.record({
  times: fc.integer({ min: 1, max: 60 }),
  per: fc.integer({ min: 1, max: 20 }),
});
const units = [...pricedUnits, 'image high 1024x1024'];
const anyPrice: fc.Arbitrary<Price> = fc
  .record({
    prices: tokenPrices,
    tier: fc.option(fc.record({ above: fc.nat(2_000), prices: tokenPrices })),
    requestPico: pico,
    units: byName(units, fc.nat(100_000_000_000)),
    factors: fc.dictionary(fc.constantFrom('priority', 'flex', 'us'), factor),
  })
  .map(({ prices, tier, ...rest }) => ({
    ...prices,
    ...rest,
    tiers: tier === null ? [] : [{ inputTokensAbove: tier.above, ...tier.prices }],
  }));

describe('the bound of a request', () => {
  it('covers every usage within it, in any kinds, units and tiers that the request permits', () => {
    const counts = fc.nat(3_000);
    const used = fc.record({
      inputTokens: counts,
      outputTokens: counts,
      cachedInputTokens: counts,
      cacheWriteTokens: counts,
      cacheWriteHourTokens: counts,
      kinds: byName(pricedKinds, counts),
      units: byName(units, fc.nat(40)),
      tiers: fc.subarray(['priority', 'flex', 'us']),
      answered: fc.boolean(),
      spare: fc.nat(500),
    });
    fc.assert(
      fc.property(anyPrice, used, (price, { kinds, units, tiers, answered, spare, ...tokens }) => {
        const cached = Math.min(tokens.cachedInputTokens, tokens.inputTokens);
        const usage = {
          ...tokens,
          cachedInputTokens: cached,
          cacheWriteTokens: Math.min(tokens.cacheWriteTokens, tokens.inputTokens - cached),
          // A provider may answer in the usual tier although another one was requested.
          details: { kinds, units, tiers: answered ? tiers : [] },
        };
        const most = Object.fromEntries(
          Object.entries(units).map(([unit, count]) => [unit, count + spare]),
        );
        const bound = priceOfBound(price, { units: most, tiers });
        const { inputTokens, outputTokens } = usage;
        expect(costUnits(price, usage)).toBeLessThanOrEqual(
          costUnitsMax(bound, inputTokens + spare, outputTokens + spare),
        );
      }),
    );
  });
});
