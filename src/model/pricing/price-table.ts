/** Knows what models cost that nobody has told the price of, by a table that is loaded when it is first looked into. */
import type { ModelPrice } from '@pydantic/genai-prices';
import { type Price, type TokenPrices, wholeUnits } from './pricing.ts';

type Table = Pick<typeof import('@pydantic/genai-prices'), 'calcPrice'>;

/** What the table calls the services that it knows; by their slugs here. */
export const servicesInTable: ReadonlyMap<string, string> = new Map([
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['google', 'google'],
  ['cohere', 'cohere'],
  ['deepseek', 'deepseek'],
  ['x-ai', 'x-ai'],
  ['groq', 'groq'],
  ['cerebras', 'cerebras'],
  ['openrouter', 'openrouter'],
  ['ovhcloud', 'ovhcloud'],
  ['azure-openai', 'azure'],
  ['azure-ai', 'azure'],
  ['bedrock', 'aws'],
  ['vertex-ai', 'google'],
  ['mistral-ai', 'mistral'],
  ['perplexity-ai', 'perplexity'],
  ['fireworks-ai', 'fireworks'],
  ['together-ai', 'together'],
  ['novita-ai', 'novita'],
  ['moonshot', 'moonshotai'],
  ['voyage', 'voyageai'],
  ['z-ai', 'zai'],
  ['workers-ai', 'cloudflare'],
]);

/** Of the mock upstream, so that budgets can be seen to move: 1 and 2 dollars for a million tokens. */
const mockPrice: Price = {
  ...{ inputPico: 1_000_000, outputPico: 2_000_000, requestPico: 0, tiers: [] },
  ...{ cachedInputPico: null, cacheWritePico: null, cacheWriteHourPico: null },
};

const modelCharsMax = 256;
const foundMax = 10_000;
/** Prices begin and end on whole minutes, some of them every day. */
const goodForMs = 60_000;

let table: Table | null = null;
/** What was found, by service and model, and in which minute. */
const found = new Map<string, { readonly minute: number; readonly price: Price | null }>();

/**
 * Price of a model at a time, ms since the epoch; null where it is not known, which a limit of cost
 * refuses. Yields at once save for the first time, when the table is loaded.
 */
export function priceOf(
  service: string,
  model: string | null,
  now: number,
): Price | null | Promise<Price | null> {
  if (service === 'mock-upstream') return mockPrice;
  const name = servicesInTable.get(service);
  if (name === undefined || model === null || model.length > modelCharsMax) return null;
  if (table !== null) return lookedUp(table, name, model, now);
  return import('@pydantic/genai-prices').then((loaded) => {
    table = loaded;
    return lookedUp(loaded, name, model, now);
  });
}

/**
 * As the list has it, and past what is kept: whoever asks for prices is not to crowd out those that
 * requests need. Null for none.
 */
export async function listedPrice(
  service: string,
  model: string,
  now: number,
): Promise<ModelPrice | null> {
  const name = servicesInTable.get(service);
  if (name === undefined || model.length > modelCharsMax) return null;
  table ??= await import('@pydantic/genai-prices');
  return entryIn(table, name, model, now);
}

function lookedUp(from: Table, name: string, model: string, now: number): Price | null {
  const key = `${name} ${model}`;
  const minute = Math.floor(now / goodForMs);
  const known = found.get(key);
  if (known?.minute === minute) return known.price;
  const price = priceInTable(from, name, model, now);
  found.delete(key);
  if (found.size === foundMax) found.delete(found.keys().next().value!);
  found.set(key, { minute, price });
  return price;
}

function priceInTable(from: Table, providerId: string, model: string, now: number): Price | null {
  try {
    const entry = entryIn(from, providerId, model, now);
    return entry === null ? null : priceOfEntry(entry);
  } catch {
    // An amount that cannot be read is as good as none.
    return null;
  }
}

function entryIn(from: Table, providerId: string, model: string, now: number): ModelPrice | null {
  try {
    const options = { providerId, timestamp: new Date(now) };
    const entry = from.calcPrice({ input_tokens: 0, output_tokens: 0 }, model, options);
    return entry?.model_price ?? null;
  } catch {
    // An entry that cannot be read is as good as none.
    return null;
  }
}

/** All that a token of output can be; some models are asked for sound or pictures. */
const outputKinds = [
  ...['output_mtok', 'output_reasoning_mtok', 'output_citation_mtok'],
  ...['output_audio_mtok', 'output_image_mtok', 'output_video_mtok'],
];
/** Dollars for a million tokens, and for a thousand requests, in pico-dollars. */
const [tokenDigits, requestDigits] = [6, 9];

/** Null for an entry that says nothing of the tokens of the input. */
export function priceOfEntry(entry: ModelPrice): Price | null {
  if (entry.input_mtok === undefined) return null;
  return {
    ...pricesAbove(entry, -1),
    requestPico: wholeUnits(dollarsAbove(entry.requests_kcount, -1) ?? 0, requestDigits),
    tiers: tierStarts(entry).map((start) => ({
      inputTokensAbove: start,
      ...pricesAbove(entry, start),
    })),
  };
}

/** Tokens of input above which something costs otherwise, the fewest first. */
export function tierStarts(entry: ModelPrice): number[] {
  const starts = Object.values(entry).flatMap((value) =>
    typeof value === 'object' ? value.tiers.map(({ start }) => start) : [],
  );
  return [...new Set(starts)].toSorted((one, other) => one - other);
}

/** The prices of a request with a little more input than these tokens. */
function pricesAbove(entry: ModelPrice, start: number): TokenPrices {
  const pico = (name: string): number | null => {
    const dollars = dollarsAbove(entry[name], start);
    return dollars === null ? null : wholeUnits(dollars, tokenDigits);
  };
  return {
    inputPico: pico('input_mtok')!,
    outputPico: Math.max(...outputKinds.map((name) => pico(name) ?? 0)),
    cachedInputPico: pico('cache_read_mtok'),
    cacheWritePico: pico('cache_write_mtok'),
    cacheWriteHourPico: pico('cache_write_1h_mtok'),
  };
}

export function dollarsAbove(value: ModelPrice[string], start: number): number | null {
  if (value === undefined) return null;
  if (typeof value === 'number') return value;
  return value.tiers.reduce(
    (dollars, tier) => (tier.start <= start ? tier.price : dollars),
    value.base,
  );
}
