/** Formats list prices for the API: in US cents per unit, with tiers. */
import type { ModelPrice } from '@pydantic/genai-prices';
import { kindMembers, unitMembers } from './own-prices.ts';
import { dollarsAbove, listedPrice, lookUpPrice, tierStarts } from './price-table.ts';
import { isImageUnit, type PricedKind } from './priced-details.ts';
import type { Price, TokenPrices } from './pricing.ts';

/** Field of the response to its name in the price table, which states dollars per million. */
const units = {
  request_token: 'input_mtok',
  response_token: 'output_mtok',
  cache_read_input_token: 'cache_read_mtok',
  cache_write_input_token: 'cache_write_mtok',
  request_audio_token: 'input_audio_mtok',
  response_audio_token: 'output_audio_mtok',
  cache_read_audio_input_token: 'cache_audio_read_mtok',
} as const;
type Unit = keyof typeof units;
const tableUnits = Object.keys(units) as readonly Unit[];
type Kind = (typeof kindMembers)[keyof typeof kindMembers];
export const publishedUnits: readonly string[] = [
  ...new Set([...tableUnits, 'cache_write_1h_input_token', ...Object.values(kindMembers)]),
];
export const publishedOtherUnits: readonly string[] = ['request', ...Object.values(unitMembers)];

interface UnitPrice {
  readonly price: number;
}

interface PayAsYouGo
  extends Partial<Record<Unit | Kind | 'cache_write_1h_input_token', UnitPrice>> {
  /** By quality and size. */
  readonly image?: Readonly<Record<string, Readonly<Record<string, UnitPrice>>>>;
  readonly additional_units?: Readonly<Record<string, UnitPrice>>;
}

interface PublishedPrice {
  readonly pay_as_you_go: PayAsYouGo;
  /** Factors on the prices of tokens; absent for none. */
  readonly service_tiers?: Readonly<Record<string, number>>;
  readonly tiers: { readonly input_tokens_above: number; readonly pay_as_you_go: PayAsYouGo }[];
}

/** Price at a time in milliseconds since the epoch; null if the table has no entry. */
export async function publishedPrice(
  service: string,
  model: string,
  now: number,
): Promise<PublishedPrice | null> {
  const entry = await listedPrice(service, model, now);
  const price = await lookUpPrice(service, model, now);
  if (price === null) return null;
  const factors = Object.entries(price.factors ?? {});
  return {
    pay_as_you_go: {
      ...kindPrices(price),
      ...(entry === null ? {} : pricesAbove(entry, -1)),
      ...otherUnits(price),
    },
    ...(factors.length > 0 && {
      service_tiers: Object.fromEntries(
        factors.map(([name, { times, per }]) => [name, Number((times / per).toPrecision(digits))]),
      ),
    }),
    tiers: (entry === null ? [] : tierStarts(entry)).map((input_tokens_above, at) => ({
      input_tokens_above,
      pay_as_you_go: {
        ...(price.tiers[at] === undefined ? {} : kindPrices(price.tiers[at])),
        ...pricesAbove(entry!, input_tokens_above),
      },
    })),
  };
}

/** Prices of kinds of tokens, of which the table states only some. */
function kindPrices({ kinds = {}, cacheWriteHourPico }: TokenPrices): PayAsYouGo {
  const listed = (Object.keys(kinds) as PricedKind[]).flatMap((kind) => {
    const name = (kindMembers as Partial<Record<PricedKind, Kind>>)[kind];
    return name === undefined ? [] : [[name, { price: centsOfPico(kinds[kind]!) }] as const];
  });
  return {
    ...Object.fromEntries(listed),
    ...(cacheWriteHourPico !== null && {
      cache_write_1h_input_token: { price: centsOfPico(cacheWriteHourPico) },
    }),
  };
}

/** Prices of requests, pictures, searches and other units than tokens. */
function otherUnits({ units: listed = {}, requestPico }: Price): PayAsYouGo {
  const image: Record<string, Record<string, UnitPrice>> = {};
  const others: Record<string, UnitPrice> = {};
  if (requestPico > 0) others.request = { price: centsOfPico(requestPico) };
  for (const [unit, pico] of Object.entries(listed)) {
    const price = { price: centsOfPico(pico) };
    const name = (unitMembers as Readonly<Record<string, string>>)[unit];
    if (name !== undefined) others[name] = price;
    if (!isImageUnit(unit)) continue;
    const [, quality = '', size = ''] = unit.split(' ');
    image[quality] = { ...image[quality], [size]: price };
  }
  return {
    ...(Object.keys(image).length > 0 && { image }),
    ...(Object.keys(others).length > 0 && { additional_units: others }),
  };
}

const picoOfCent = 10_000_000_000;

function centsOfPico(pico: number): number {
  return Number((pico / picoOfCent).toPrecision(digits));
}

function pricesAbove(entry: ModelPrice, start: number): PayAsYouGo {
  const prices = tableUnits.flatMap((unit) => {
    const dollars = dollarsAbove(entry[units[unit]], start);
    return dollars === null ? [] : [[unit, { price: cents(dollars, 1_000_000) }] as const];
  });
  const requests = dollarsAbove(entry.requests_kcount, start);
  return {
    ...Object.fromEntries(prices),
    ...(requests !== null && { additional_units: { request: { price: cents(requests, 1_000) } } }),
  };
}

const centsOfDollar = 100;
const digits = 12;

/** Cents per unit, without the error of binary floating point. */
function cents(dollars: number, many: number): number {
  return Number(((dollars * centsOfDollar) / many).toPrecision(digits));
}
