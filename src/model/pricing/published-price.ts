/** Knows how the public list of prices is told: in US cents, by units, tier by tier. */
import type { ModelPrice } from '@pydantic/genai-prices';
import { dollarsAbove, listedPrice, tierStarts } from './price-table.ts';

/** By the field that tells it, the name of the list: dollars for a million. */
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

interface Told {
  readonly price: number;
}

interface PayAsYouGo extends Partial<Record<Unit, Told>> {
  readonly additional_units?: { readonly request: Told };
}

interface PublishedPrice {
  readonly pay_as_you_go: PayAsYouGo;
  readonly tiers: { readonly input_tokens_above: number; readonly pay_as_you_go: PayAsYouGo }[];
}

/** At a time, ms since the epoch; null where the list has none. */
export async function publishedPriceOf(
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
  const told = publishedUnits.flatMap((unit) => {
    const dollars = dollarsAbove(entry[units[unit]], start);
    return dollars === null ? [] : [[unit, { price: cents(dollars, 1_000_000) }] as const];
  });
  const requests = dollarsAbove(entry.requests_kcount, start);
  return {
    ...Object.fromEntries(told),
    ...(requests !== null && { additional_units: { request: { price: cents(requests, 1_000) } } }),
  };
}

const centsOfDollar = 100;
const digits = 12;

/** Of one, without what binary numbers add. */
function cents(dollars: number, many: number): number {
  return Number(((dollars * centsOfDollar) / many).toPrecision(digits));
}
