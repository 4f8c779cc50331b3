/** Reads prices and factors of integrations for kinds of tokens, other units and service tiers. */
import type { PricingAdjustments, PricingConfig } from '../providers/integration.ts';
import {
  type Counts,
  imageUnit,
  isImageUnit,
  outputKinds,
  type PricedKind,
  type PricedUnit,
  type PriceFactor,
} from './priced-details.ts';
import { type Price, type TokenPrices, wholeUnits } from './pricing.ts';

export type OwnPrices = NonNullable<PricingConfig['pay_as_you_go']>;
export type Factors = NonNullable<PricingAdjustments['multiplier']>;

interface OwnPrice {
  readonly price?: number | undefined;
}

/** Names of kinds in integrations. */
export const kindMembers = {
  audioInput: 'request_audio_token',
  imageInput: 'request_image_token',
  cachedAudio: 'cache_read_audio_input_token',
  cachedImage: 'cache_read_image_input_token',
  textOutput: 'response_text_token',
  audioOutput: 'response_audio_token',
  imageOutput: 'response_image_token',
  reasoning: 'reasoning_token',
} as const satisfies Partial<Record<PricedKind, string>>;

/** Names of units in `additional_units`. */
export const unitMembers = {
  webSearch: 'web_search',
  fileSearch: 'file_search',
  codeSession: 'code_interpreter',
  searchUnit: 'search_unit',
  character: 'character',
  audioSecond: 'audio_second',
} as const satisfies Record<PricedUnit, string>;

/** Decimal digits from cents to pico-dollars. */
const centDigits = 10;

/** Pico-dollars of a price in cents; null without a price. */
export function picoOf(own: OwnPrice | undefined): number | null {
  if (own?.price === undefined) return null;
  return Math.min(wholeUnits(own.price, centDigits), Number.MAX_SAFE_INTEGER);
}

/** Rounds up, after removing the error that binary floating point adds to a decimal product. */
export function wholePico(pico: number): number {
  return Math.min(Math.ceil(Number(pico.toPrecision(15))), Number.MAX_SAFE_INTEGER);
}

const isOutput = (kind: string): boolean => (outputKinds as readonly string[]).includes(kind);

/**
 * Prices of kinds: own ones, else those of the list, unless an own price of all input or output replaces them. The
 * price of output without reported kinds is the highest one.
 */
export function ownKinds(
  own: OwnPrices,
  base: TokenPrices | null,
  outputPico: number,
): Pick<TokenPrices, 'kinds' | 'outputPico'> {
  const kinds: Partial<Record<PricedKind, number>> = {};
  for (const [kind, pico] of Object.entries(base?.kinds ?? {}) as [PricedKind, number][]) {
    const replaced = isOutput(kind) ? own.response_token : own.request_token;
    if (replaced === undefined) kinds[kind] = pico;
  }
  for (const [kind, member] of Object.entries(kindMembers)) {
    const pico = picoOf(own[member]);
    if (pico !== null) kinds[kind as PricedKind] = pico;
  }
  const outputs = Object.entries(kinds).filter(([kind]) => isOutput(kind));
  if (Object.keys(kinds).length === 0) return { outputPico };
  if (outputs.length === 0) return { kinds, outputPico };
  kinds.textOutput ??= outputPico;
  const most = Math.max(outputPico, ...outputs.map(([, pico]) => pico));
  return { kinds, outputPico: most };
}

/** Prices of units: own ones, else those of the list. */
export function ownUnits(own: OwnPrices, base: Price | null): Pick<Price, 'units'> {
  const units: Record<string, number> = { ...base?.units };
  if (own.image !== undefined) {
    for (const unit of Object.keys(units)) if (isImageUnit(unit)) delete units[unit];
  }
  for (const [quality, sizes] of Object.entries(own.image ?? {})) {
    for (const [size, price] of Object.entries(sizes)) {
      const pico = picoOf(price);
      if (pico !== null) units[imageUnit(quality, size)] = pico;
    }
  }
  for (const [unit, member] of Object.entries(unitMembers)) {
    const pico = picoOf(own.additional_units?.[member]);
    if (pico !== null) units[unit] = pico;
  }
  return Object.keys(units).length === 0 ? {} : { units };
}

/** Whether the prices name a unit that is charged instead of tokens. */
export function hasOwnUnits(own: OwnPrices): boolean {
  return own.image !== undefined || own.additional_units !== undefined;
}

/** Factors are decimal numbers with up to six digits. */
const factorDigits = 6;

export function ownFactors(config: PricingConfig, base: Price | null): Pick<Price, 'factors'> {
  const own = Object.entries(config.service_tiers ?? {}).map(
    ([tier, factor]): [string, PriceFactor] => [
      tier,
      { times: wholeUnits(factor, factorDigits), per: 10 ** factorDigits },
    ],
  );
  const factors = { ...base?.factors, ...Object.fromEntries(own) };
  return Object.keys(factors).length === 0 ? {} : { factors };
}

type FactorsByName = Readonly<Record<string, number | null | undefined>>;

/** Applies the factors of the integration to kinds. */
export function adjustedKinds(
  { kinds }: TokenPrices,
  factors: Factors,
): Pick<TokenPrices, 'kinds'> {
  if (kinds === undefined) return {};
  const names: Readonly<Record<string, string>> = kindMembers;
  const adjusted = Object.entries(kinds).map(([kind, pico]) => {
    const own = (factors as FactorsByName)[names[kind] ?? ''];
    const general = kind === 'textOutput' ? (factors as FactorsByName).response_token : undefined;
    return [kind, wholePico(pico * (own ?? general ?? factors.default ?? 1))];
  });
  return { kinds: Object.fromEntries(adjusted) };
}

/** Applies the factors of the integration to units. */
export function adjustedUnits({ units }: Price, factors: Factors): { readonly units?: Counts } {
  if (units === undefined) return {};
  const names: Readonly<Record<string, string>> = unitMembers;
  const factorOf = (unit: string): number => {
    const own = isImageUnit(unit)
      ? factors.image?.default
      : factors.additional_units?.[names[unit] ?? ''];
    return own ?? factors.default ?? 1;
  };
  const adjusted = Object.entries(units).map(([unit, pico]) => [
    unit,
    wholePico(pico * factorOf(unit)),
  ]);
  return { units: Object.fromEntries(adjusted) };
}
