/** Tests that the bound of each kind of priced request covers what its provider charges. */
import { describe, expect, it } from 'vitest';
import { boundOf } from '../../../src/gateway/metering/bound.ts';
import { boundDetails, toolClamps } from '../../../src/gateway/metering/requested-details.ts';
import { meteringAt } from '../../../src/model/endpoints/catalogue.ts';
import { priceOfBound } from '../../../src/model/pricing/bound-price.ts';
import { lookUpPrice } from '../../../src/model/pricing/price-table.ts';
import { costUnitsMax } from '../../../src/model/pricing/pricing.ts';
import { pricedRequests } from '../../support/upstream/priced-requests.ts';

const now = Date.UTC(2026, 10, 28);
/** Each answer reports no more input than this body contains. */
const bodyBytes = 7_000;

describe('the bound of a priced request', () => {
  it.each(pricedRequests)(
    'covers the cost of %s',
    async (_, { provider, path, params, journal }) => {
      const { model } = params as { readonly model: string };
      const members = params as Readonly<Record<string, unknown>>;
      const price = await lookUpPrice(provider, model, now);
      const metering = meteringAt('POST', path.slice('/v1'.length), members);
      const details = boundDetails(metering, members, bodyBytes, price);
      const bound = boundOf(metering, members, bodyBytes, price, model);
      const most = details === null ? price! : priceOfBound(price!, details);
      const units = costUnitsMax(most, bound.inputTokens, bound.outputTokens);
      expect(units).toBeGreaterThanOrEqual(journal);
    },
  );

  it('is that of the dearest picture where quality or size are unknown, and of every copy', async () => {
    const price = await lookUpPrice('openai', 'dall-e-3', now);
    const details = boundDetails('images', { n: 3, size: 'auto' }, 10, price);
    expect(Object.values(details!.units)).toEqual([3]);
    expect(priceOfBound(price!, details!).requestPico).toBe(3 * 120_000_000_000);
  });

  it('covers every tier that the provider may select, and never less than the usual one', async () => {
    const price = await lookUpPrice('openai', 'gpt-4o', now);
    const most = (service_tier: string): number => {
      const details = boundDetails('chat_completions', { service_tier }, 10, price);
      return details === null ? price!.outputPico : priceOfBound(price!, details).outputPico;
    };
    expect(['auto', 'priority', 'flex', 'default'].map(most)).toEqual([
      17_000_000, 17_000_000, 10_000_000, 10_000_000,
    ]);
  });

  it('covers audio whose length is unknown, and speech of the lowest bit rate', async () => {
    const price = await lookUpPrice('openai', 'whisper-1', now);
    expect(boundDetails('transcriptions', {}, null, price)!.units.audioSecond).toBe(200_000);
    expect(boundDetails('transcriptions', {}, 7_500, price)!.units.audioSecond).toBe(10);
  });

  it('changes no tools of the caller, and no request without tools of the provider', async () => {
    const price = await lookUpPrice('openai', 'gpt-4o', now);
    const tools = [{ type: 'function', name: 'web_search' }];
    const details = boundDetails('responses', { tools }, 10, price);
    expect(details).toBeNull();
    expect(toolClamps('responses', { tools }, details)).toEqual([]);
  });
});
