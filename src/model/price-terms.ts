/** Knows what a model costs under an integration: what that says of it, else the known price as it is adjusted there. */
import type { PricingAdjustments, PricingConfig } from './integration.ts';
import type { Price } from './pricing.ts';

/** What an integration says of the price of one model. */
export interface PriceTerms {
  readonly config: PricingConfig | null;
  readonly adjustments: PricingAdjustments | null;
}

/** One US cent. */
const picoPerCent = 10_000_000_000;

/**
 * What is told of a kind of token counts for it; of others the known price, adjusted. Null where neither
 * says what input or output costs.
 */
export function priceUnder({ config, adjustments }: PriceTerms, known: Price | null): Price | null {
  const usual = known === null ? null : adjusted(known, adjustments?.multiplier ?? {});
  const said = config?.pay_as_you_go;
  if (said === undefined) return usual;
  const input = picoOf(said.request_token);
  const output = picoOf(said.response_token);
  const inputPico = input ?? usual?.inputPico;
  const outputPico = output ?? usual?.outputPico;
  if (inputPico === undefined || outputPico === undefined) return null;
  // A usual discount is one on the usual price of input.
  const discounts = input === null ? usual : null;
  return {
    ...{ inputPico, outputPico, requestPico: usual?.requestPico ?? 0 },
    cachedInputPico: picoOf(said.cache_read_input_token) ?? discounts?.cachedInputPico ?? null,
    cacheWritePico: picoOf(said.cache_write_input_token) ?? discounts?.cacheWritePico ?? null,
  };
}

type Factors = NonNullable<PricingAdjustments['multiplier']>;

function adjusted(price: Price, factors: Factors): Price {
  const usual = factors.default ?? 1;
  const factorOf = (kind: string): number => (factors as Kinds)[kind] ?? usual;
  const input = factorOf('request_token');
  /** Where it has no price of its own it costs what other input does, unless it has a factor of its own. */
  const kept = (pico: number | null, kind: string): number | null => {
    const own = (factors as Kinds)[kind] ?? null;
    if (pico === null) return own === null ? null : wholePico(price.inputPico * own);
    return wholePico(pico * (own ?? usual));
  };
  return {
    inputPico: wholePico(price.inputPico * input),
    outputPico: wholePico(price.outputPico * factorOf('response_token')),
    cachedInputPico: kept(price.cachedInputPico, 'cache_read_input_token'),
    cacheWritePico: kept(price.cacheWritePico, 'cache_write_input_token'),
    requestPico: wholePico(price.requestPico * usual),
  };
}

type Kinds = Readonly<Record<string, number | null | undefined>>;

/** Null where no price is told. */
function picoOf(said: { readonly price?: number | undefined } | undefined): number | null {
  return said?.price === undefined ? null : wholePico(said.price * picoPerCent);
}

/** Rounded up, save for what the binary fractions of a product add to its decimals. */
function wholePico(pico: number): number {
  return Math.min(Math.ceil(Number(pico.toPrecision(15))), Number.MAX_SAFE_INTEGER);
}
