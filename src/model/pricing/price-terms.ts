/** Knows what a model costs under an integration: what that says of it, else the known price as it is adjusted there. */
import type { PricingAdjustments, PricingConfig } from '../providers/integration.ts';
import { type Price, type TokenPrices, wholeUnits } from './pricing.ts';

/** What an integration says of the price of one model. */
export interface PriceTerms {
  readonly config: PricingConfig | null;
  readonly adjustments: PricingAdjustments | null;
}

/** Those that count for a model: its own, where they hold any factor, in place of all of its integration's. */
export function factorsFor(
  own: PricingAdjustments | null | undefined,
  ofIntegration: PricingAdjustments | null,
): PricingAdjustments | null {
  return own?.multiplier !== undefined && holdsNumber(own.multiplier) ? own : ofIntegration;
}

function holdsNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'number';
  return Object.values(value).some(holdsNumber);
}

/** Of cents, in pico-dollars. */
const centDigits = 10;

/**
 * What is told of a kind of token counts for it; of others the known price, adjusted. Null where neither
 * says what input or output costs.
 */
export function priceUnder({ config, adjustments }: PriceTerms, known: Price | null): Price | null {
  const factors = adjustments?.multiplier;
  const usual = known === null || factors === undefined ? known : adjusted(known, factors);
  const said = config?.pay_as_you_go;
  if (said === undefined) return usual;
  const prices = toldPrices(said, usual);
  if (prices === null) return null;
  const isAllTold = [said.request_token, said.response_token].every((one) => picoOf(one) !== null);
  const tiers = isAllTold ? [] : (usual?.tiers ?? []);
  return {
    ...prices,
    requestPico: usual?.requestPico ?? 0,
    tiers: tiers.map((tier) => ({ ...tier, ...toldPrices(said, tier) })),
  };
}

type Told = NonNullable<PricingConfig['pay_as_you_go']>;

function toldPrices(said: Told, usual: TokenPrices | null): TokenPrices | null {
  const input = picoOf(said.request_token);
  const output = picoOf(said.response_token);
  const inputPico = input ?? usual?.inputPico;
  const outputPico = output ?? usual?.outputPico;
  if (inputPico === undefined || outputPico === undefined) return null;
  // A usual discount is one on the usual price of input.
  const discounts = input === null ? usual : null;
  const written = picoOf(said.cache_write_input_token);
  return {
    ...{ inputPico, outputPico },
    cachedInputPico: picoOf(said.cache_read_input_token) ?? discounts?.cachedInputPico ?? null,
    cacheWritePico: written ?? discounts?.cacheWritePico ?? null,
    cacheWriteHourPico: written === null ? (discounts?.cacheWriteHourPico ?? null) : null,
  };
}

type Factors = NonNullable<PricingAdjustments['multiplier']>;

/** Both are kept for many requests, and a price has many digits to get right. */
const adjustedBy = new WeakMap<Factors, WeakMap<Price, Price>>();

function adjusted(price: Price, factors: Factors): Price {
  let known = adjustedBy.get(factors);
  if (known === undefined) {
    known = new WeakMap();
    adjustedBy.set(factors, known);
  }
  const before = known.get(price);
  if (before !== undefined) return before;
  const after = adjustedPrice(price, factors);
  known.set(price, after);
  return after;
}

function adjustedPrice(price: Price, factors: Factors): Price {
  return {
    ...adjustedPrices(price, factors),
    requestPico: wholePico(price.requestPico * (factors.default ?? 1)),
    tiers: price.tiers.map((tier) => ({ ...tier, ...adjustedPrices(tier, factors) })),
  };
}

function adjustedPrices(prices: TokenPrices, factors: Factors): TokenPrices {
  const usual = factors.default ?? 1;
  const factorOf = (kind: string): number => (factors as Kinds)[kind] ?? usual;
  /** Where it has no price of its own it costs what other input does, unless it has a factor of its own. */
  const kept = (pico: number | null, kind: string): number | null => {
    const own = (factors as Kinds)[kind] ?? null;
    if (pico === null) return own === null ? null : wholePico(prices.inputPico * own);
    return wholePico(pico * (own ?? usual));
  };
  const hour = prices.cacheWriteHourPico;
  return {
    inputPico: wholePico(prices.inputPico * factorOf('request_token')),
    outputPico: wholePico(prices.outputPico * factorOf('response_token')),
    cachedInputPico: kept(prices.cachedInputPico, 'cache_read_input_token'),
    cacheWritePico: kept(prices.cacheWritePico, 'cache_write_input_token'),
    cacheWriteHourPico:
      hour === null ? null : wholePico(hour * factorOf('cache_write_input_token')),
  };
}

type Kinds = Readonly<Record<string, number | null | undefined>>;

/** Null where no price is told. */
function picoOf(said: { readonly price?: number | undefined } | undefined): number | null {
  if (said?.price === undefined) return null;
  return Math.min(wholeUnits(said.price, centDigits), Number.MAX_SAFE_INTEGER);
}

/** Rounded up, save for what the binary fractions of a product add to its decimals. */
function wholePico(pico: number): number {
  return Math.min(Math.ceil(Number(pico.toPrecision(15))), Number.MAX_SAFE_INTEGER);
}
