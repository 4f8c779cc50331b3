/** Computes the price by which a request is bounded that may use other units or a service tier. */
import { boundFactor, type PriceFactor, type UsageDetails } from './priced-details.ts';
import { type Price, type PriceTier, type TokenPrices, unitsPico } from './pricing.ts';

/** The price by which a request is bounded that may use these units and tiers. */
export function priceOfBound(price: Price, { units = {}, tiers = [] }: UsageDetails): Price {
  const factor = boundFactor(price.factors, tiers);
  const requestPico = Number(BigInt(price.requestPico) + unitsPico(price, units));
  const scaled = factor.times === factor.per ? price : scaledPrices(price, factor);
  return {
    ...price,
    ...scaled,
    requestPico: Math.min(requestPico, Number.MAX_SAFE_INTEGER),
    tiers: price.tiers.map((tier): PriceTier => ({ ...tier, ...scaledPrices(tier, factor) })),
  };
}

function scaledPrices(prices: TokenPrices, { times, per }: PriceFactor): TokenPrices {
  const scale = (pico: number): number => Math.ceil((pico * times) / per);
  const maybe = (pico: number | null): number | null => (pico === null ? null : scale(pico));
  const { kinds } = prices;
  return {
    inputPico: scale(prices.inputPico),
    outputPico: scale(prices.outputPico),
    cachedInputPico: maybe(prices.cachedInputPico),
    cacheWritePico: maybe(prices.cacheWritePico),
    cacheWriteHourPico: maybe(prices.cacheWriteHourPico),
    ...(kinds !== undefined && {
      kinds: Object.fromEntries(
        Object.entries(kinds).map(([kind, pico]) => [kind, scale(pico)] as const),
      ),
    }),
  };
}
