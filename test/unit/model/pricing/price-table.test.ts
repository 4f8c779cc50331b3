/** Checks that the built-in prices are complete and exact. */
import { calcPrice, findProvider } from '@pydantic/genai-prices';
import { describe, expect, it } from 'vitest';
import {
  convertPriceEntry,
  lookUpPrice,
  servicesInTable,
} from '../../../../src/model/pricing/price-table.ts';
import { costUnits } from '../../../../src/model/pricing/pricing.ts';
import { aiProviders } from '../../../../src/model/services/ai-providers.ts';

const now = Date.UTC(2026, 10, 22, 12);

describe('a known price', () => {
  it('is listed under slugs of existing services and names of the table', () => {
    for (const [slug, name] of servicesInTable) {
      expect(aiProviders.has(slug), slug).toBe(true);
      expect(findProvider({ providerId: name })?.id, slug).toBe(name);
    }
  });

  it('covers most models that integrations list by default', async () => {
    const unknown: string[] = [];
    let models = 0;
    for (const slug of servicesInTable.keys()) {
      for (const model of aiProviders.get(slug)!.models) {
        models += 1;
        if ((await lookUpPrice(slug, model, now)) === null) unknown.push(`${slug}/${model}`);
      }
    }
    expect(models).toBeGreaterThan(40);
    expect(unknown).toEqual([]);
  });

  it.each([
    ['openai', 'gpt-4o', 123_457, 1_003],
    ['openai', 'gpt-4o-2024-08-06', 123_457, 1_003],
    ['anthropic', 'claude-sonnet-4-5', 200_000, 77],
    ['anthropic', 'claude-sonnet-4-5', 200_001, 77],
    ['google', 'gemini-2.5-pro', 200_001, 5],
    ['perplexity-ai', 'sonar-pro', 10, 10],
    ['azure-openai', 'gpt-4o', 1_000, 1_000],
  ])('charges %s %s for %d and %d tokens by its price, to the micro-dollar', async (...given) => {
    const [slug, model, inputTokens, outputTokens] = given;
    const price = (await lookUpPrice(slug, model, now))!;
    const used = { inputTokens, outputTokens, cachedInputTokens: 0, cacheWriteTokens: 0 };
    const counts = { input_tokens: inputTokens, output_tokens: outputTokens };
    const reported = calcPrice(counts, model, { providerId: servicesInTable.get(slug)! })!;
    expect(costUnits(price, used)).toBe(Math.ceil(Number((reported.total_price * 1e6).toFixed(6))));
  });

  it('changes with the hour where the service has time-dependent prices', async () => {
    const at = async (hour: number) =>
      (await lookUpPrice('deepseek', 'deepseek-v4-pro', Date.UTC(2026, 10, 22, hour)))?.inputPico;
    expect(await at(2)).not.toBe(await at(5));
  });

  it.each([
    ['openai', 'no such model'],
    ['openai', null],
    ['openai', 'x'.repeat(100_000)],
    ['ollama', 'llama3'],
    ['@team-openai', 'gpt-4o'],
    ['constructor', 'gpt-4o'],
  ])('is unknown for %s %s', async (slug, model) => {
    expect(await lookUpPrice(slug, model, now)).toBeNull();
  });

  it('has every threshold of any token type, and the most expensive kind of output', () => {
    const price = convertPriceEntry({
      input_mtok: { base: 0.1, tiers: [{ start: 100, price: 0.2 }] },
      output_mtok: { base: 1, tiers: [{ start: 300, price: 2 }] },
      output_audio_mtok: 1.5,
    });
    expect(price).toMatchObject({ inputPico: 100_000, outputPico: 1_500_000 });
    expect(price!.tiers).toMatchObject([
      { inputTokensAbove: 100, inputPico: 200_000, outputPico: 1_500_000 },
      { inputTokensAbove: 300, inputPico: 200_000, outputPico: 2_000_000 },
    ]);
  });
});
