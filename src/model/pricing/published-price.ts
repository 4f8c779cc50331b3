/** Formats list prices for the API: in US cents per unit, with tiers. */
import type { ModelPrice } from '@pydantic/genai-prices';
import { dollarsAbove, listedPrice, tierStarts } from './price-table.ts';

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
export const publishedUnits = Object.keys(units) as readonly Unit[];

interface UnitPrice {
  readonly price: number;
}

interface PayAsYouGo extends Partial<Record<Unit, UnitPrice>> {
  readonly additional_units?: { readonly request: UnitPrice };
}

interface PublishedPrice {
  readonly pay_as_you_go: PayAsYouGo;
  readonly tiers: { readonly input_tokens_above: number; readonly pay_as_you_go: PayAsYouGo }[];
}

/** Price at a time in milliseconds since the epoch; null if the table has no entry. */
export async function publishedPrice(
  service: string,
  model: string,
  now: number,
): Promise<PublishedPrice | null> {
  const entry = await listedPrice(service, model, now);
  if (entry === null) return null;
  return {
    pay_as_you_go: pricesAbove(entry, -1),
    tiers: tierStarts(entry).map((input_tokens_above) => ({
      input_tokens_above,
      pay_as_you_go: pricesAbove(entry, input_tokens_above),
    })),
  };
}

function pricesAbove(entry: ModelPrice, start: number): PayAsYouGo {
  const prices = publishedUnits.flatMap((unit) => {
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
