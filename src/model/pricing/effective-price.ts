/** Computes the price of a model under an integration: its own prices, or the adjusted list price. */
import type { PricingAdjustments, PricingConfig } from '../providers/integration.ts';
import {
  adjustedKinds,
  adjustedUnits,
  type Factors,
  hasOwnUnits,
  type OwnPrices,
  ownFactors,
  ownKinds,
  ownUnits,
  picoOf,
  wholePico,
} from './own-prices.ts';
import type { Price, TokenPrices } from './pricing.ts';

/** Price settings of an integration for one model. */
export interface PriceTerms {
  readonly config: PricingConfig | null;
  readonly adjustments: PricingAdjustments | null;
  /** Names the integration and its version, such as `team-openai@7`; '' without one. */
  readonly version: string;
}

/** Returns the adjustments for a model: its own if they contain a factor, else those of the integration. */
export function selectAdjustments(
  own: PricingAdjustments | null | undefined,
  integration: PricingAdjustments | null,
): PricingAdjustments | null {
  return own?.multiplier !== undefined && holdsNumber(own.multiplier) ? own : integration;
}

function holdsNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'number';
  return Object.values(value).some(holdsNumber);
}

/**
 * Returns the price of a model. Configured prices of a kind of token apply as they are; for other kinds
 * the adjusted list price applies. Null if the price of input or output is unknown.
 */
export function effectivePrice(
  { config, adjustments }: Omit<PriceTerms, 'version'>,
  listPrice: Price | null,
): Price | null {
  const factors = adjustments?.multiplier;
  const base =
    listPrice === null || factors === undefined ? listPrice : adjusted(listPrice, factors);
  const own = config?.pay_as_you_go;
  if (own === undefined) {
    return base === null || config?.service_tiers === undefined
      ? base
      : { ...base, ...ownFactors(config, base) };
  }
  const prices = ownPrices(own, base);
  if (prices === null) return null;
  const isComplete = [own.request_token, own.response_token].every((one) => picoOf(one) !== null);
  const tiers = isComplete ? [] : (base?.tiers ?? []);
  return {
    ...prices,
    ...ownUnits(own, base),
    ...ownFactors(config!, base),
    requestPico: base?.requestPico ?? 0,
    tiers: tiers.map((tier) => ({ ...tier, ...ownPrices(own, tier) })),
  };
}

function ownPrices(own: OwnPrices, base: TokenPrices | null): TokenPrices | null {
  const input = picoOf(own.request_token);
  const output = picoOf(own.response_token);
  const free = hasOwnUnits(own) ? 0 : undefined;
  const inputPico = input ?? base?.inputPico ?? free;
  const outputPico = output ?? base?.outputPico ?? free;
  if (inputPico === undefined || outputPico === undefined) return null;
  // The cache discounts of the list relate to the list price of input.
  const discounts = input === null ? base : null;
  const written = picoOf(own.cache_write_input_token);
  return {
    inputPico,
    ...ownKinds(own, base, outputPico),
    cachedInputPico: picoOf(own.cache_read_input_token) ?? discounts?.cachedInputPico ?? null,
    cacheWritePico: written ?? discounts?.cacheWritePico ?? null,
    cacheWriteHourPico:
      picoOf(own.cache_write_1h_input_token) ??
      (written === null ? (discounts?.cacheWriteHourPico ?? null) : null),
  };
}

/** Factors and prices live for many requests, and the rounding of many digits is slow. */
const adjustedBy = new WeakMap<Factors, WeakMap<Price, Price>>();

function adjusted(price: Price, factors: Factors): Price {
  let byPrice = adjustedBy.get(factors);
  if (byPrice === undefined) {
    byPrice = new WeakMap();
    adjustedBy.set(factors, byPrice);
  }
  const cached = byPrice.get(price);
  if (cached !== undefined) return cached;
  const result = adjustedPrice(price, factors);
  byPrice.set(price, result);
  return result;
}

function adjustedPrice(price: Price, factors: Factors): Price {
  return {
    ...adjustedPrices(price, factors),
    ...adjustedUnits(price, factors),
    ...(price.factors !== undefined && { factors: price.factors }),
    requestPico: wholePico(price.requestPico * (factors.default ?? 1)),
    tiers: price.tiers.map((tier) => ({ ...tier, ...adjustedPrices(tier, factors) })),
  };
}

function adjustedPrices(prices: TokenPrices, factors: Factors): TokenPrices {
  const defaultFactor = factors.default ?? 1;
  const factorOf = (kind: string): number => (factors as Kinds)[kind] ?? defaultFactor;
  /** A kind without a price costs as much as other input, unless it has a factor of its own. */
  const cachePrice = (pico: number | null, kind: string): number | null => {
    const own = (factors as Kinds)[kind] ?? null;
    if (pico === null) return own === null ? null : wholePico(prices.inputPico * own);
    return wholePico(pico * (own ?? defaultFactor));
  };
  const hour = prices.cacheWriteHourPico;
  return {
    ...adjustedKinds(prices, factors),
    inputPico: wholePico(prices.inputPico * factorOf('request_token')),
    outputPico: wholePico(prices.outputPico * factorOf('response_token')),
    cachedInputPico: cachePrice(prices.cachedInputPico, 'cache_read_input_token'),
    cacheWritePico: cachePrice(prices.cacheWritePico, 'cache_write_input_token'),
    cacheWriteHourPico:
      hour === null ? null : wholePico(hour * factorOf('cache_write_input_token')),
  };
}

type Kinds = Readonly<Record<string, number | null | undefined>>;
