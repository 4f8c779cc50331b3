/** Verifies the prices of moderation models, which the published table lacks or lists without tokens. */
import { describe, expect, it } from 'vitest';
import { lookUpPrice } from '../../../../src/model/pricing/price-table.ts';

describe('the price of a moderation model', () => {
  it.each([
    ['openai', 'omni-moderation-latest', 0],
    ['openai', 'text-moderation-007', 0],
    ['mistral-ai', 'mistral-moderation-latest', 100_000],
    ['mistral-ai', 'mistral-moderation-2411', 100_000],
  ])('is that of %s for %s: %i pico-dollars a token of input', async (service, model, pico) => {
    const price = await lookUpPrice(service, model, Date.UTC(2026, 0, 1));
    expect(price).toMatchObject({ inputPico: pico, outputPico: 0 });
  });
});
