/** Looks up list prices of models in a published price table, which is loaded at the first lookup. */
import type { ModelPrice } from '@pydantic/genai-prices';
import { outputKinds, type PricedKind, type PricedUnit } from './priced-details.ts';
import { type Price, type TokenPrices, wholeUnits } from './pricing.ts';
import { serviceTierFactors } from './service-tiers.ts';
import { tokenPriceOfModel, unitsOfModel, unitsOfService } from './unit-prices.ts';

type Table = Pick<typeof import('@pydantic/genai-prices'), 'calcPrice'>;

/** Names of services in the price table, by their slugs here. */
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
  ['zhipu', 'zai'],
  ['workers-ai', 'cloudflare'],
]);

/** The price of models that are charged by other units. */
const freeTokens: Price = {
  inputPico: 0,
  outputPico: 0,
  requestPico: 0,
  tiers: [],
  cachedInputPico: null,
  cacheWritePico: null,
  cacheWriteHourPico: null,
};

/** Price of the mock upstream, so that budgets visibly change: 1 and 2 dollars per million tokens. */
const mockPrice: Price = {
  inputPico: 1_000_000,
  outputPico: 2_000_000,
  requestPico: 0,
  tiers: [],
  cachedInputPico: null,
  cacheWritePico: null,
  cacheWriteHourPico: null,
};

const modelCharsMax = 256;
const cacheEntriesMax = 10_000;
/** Prices change at whole minutes, some of them every day. */
const cacheMs = 60_000;

let table: Table | null = null;
/** Looked-up prices by service and model, with the minute of the lookup. */
const cache = new Map<string, { readonly minute: number; readonly price: Price | null }>();

/**
 * Price of a model at a time in milliseconds since the epoch. Null if unknown; a cost limit then rejects
 * the request. Returns synchronously except for the first call, which loads the table.
 */
export function lookUpPrice(
  service: string,
  model: string | null,
  now: number,
): Price | null | Promise<Price | null> {
  if (service === 'mock-upstream') return mockPrice;
  if (!servicesInTable.has(service) || model === null || model.length > modelCharsMax) return null;
  if (table !== null) return cachedPrice(table, service, model, now);
  return import('@pydantic/genai-prices').then((loaded) => {
    table = loaded;
    return cachedPrice(loaded, service, model, now);
  });
}

/**
 * Returns the entry of the price table, or null. Bypasses the cache, so that readers of the price list do
 * not evict prices that requests need.
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

function cachedPrice(from: Table, service: string, model: string, now: number): Price | null {
  const key = `${service} ${model}`;
  const minute = Math.floor(now / cacheMs);
  const cached = cache.get(key);
  if (cached?.minute === minute) return cached.price;
  const price = priceInTable(from, service, model, now);
  cache.delete(key);
  if (cache.size === cacheEntriesMax) cache.delete(cache.keys().next().value!);
  cache.set(key, { minute, price });
  return price;
}

function priceInTable(from: Table, service: string, model: string, now: number): Price | null {
  const providerId = servicesInTable.get(service)!;
  try {
    const entry = entryIn(from, providerId, model, now);
    const price = entry === null ? null : convertPriceEntry(entry);
    return withOwnUnits(service, model, price);
  } catch {
    // Treats an unreadable amount as an unknown price.
    return null;
  }
}

/** Adds prices, units and service tiers that the table lacks. */
function withOwnUnits(service: string, model: string, listed: Price | null): Price | null {
  const ofModel = unitsOfModel(service, model);
  const inputPico = tokenPriceOfModel(service, model);
  const own = inputPico === undefined ? null : { ...freeTokens, inputPico };
  const price = listed ?? own ?? (ofModel === undefined ? null : freeTokens);
  if (price === null) return null;
  const factors = serviceTierFactors(service, model);
  const units = { ...unitsOfService(service), ...ofModel, ...price.units };
  return {
    ...price,
    ...(factors !== undefined && { factors }),
    ...(Object.keys(units).length > 0 && { units }),
  };
}

function entryIn(from: Table, providerId: string, model: string, now: number): ModelPrice | null {
  try {
    const options = { providerId, timestamp: new Date(now) };
    const entry = from.calcPrice({ input_tokens: 0, output_tokens: 0 }, model, options);
    return entry?.model_price ?? null;
  } catch {
    // Treats an unreadable entry as an unknown price.
    return null;
  }
}

/** Kinds of tokens and the names of their prices. */
const kindNames: readonly (readonly [kind: PricedKind, name: string])[] = [
  ['audioInput', 'input_audio_mtok'],
  ['imageInput', 'input_image_mtok'],
  ['videoInput', 'input_video_mtok'],
  ['cachedAudio', 'cache_audio_read_mtok'],
  ['cachedImage', 'cache_image_read_mtok'],
  ['audioOutput', 'output_audio_mtok'],
  ['imageOutput', 'output_image_mtok'],
  ['videoOutput', 'output_video_mtok'],
  ['reasoning', 'output_reasoning_mtok'],
  ['citation', 'output_citation_mtok'],
];

/** All kinds of output tokens; some models return sound or images. */
const outputPrices = [
  'output_mtok',
  'output_reasoning_mtok',
  'output_citation_mtok',
  'output_audio_mtok',
  'output_image_mtok',
  'output_video_mtok',
];
/** Decimal digits from dollars per million tokens, and per thousand requests, to pico-dollars. */
const [tokenDigits, requestDigits] = [6, 9];

/** Converts an entry; null if it has neither a price for input tokens nor one for audio by its duration. */
export function convertPriceEntry(entry: ModelPrice): Price | null {
  if (entry.input_mtok === undefined && entry.input_audio_hours === undefined) return null;
  const units = unitPrices(entry);
  return {
    ...(units !== undefined && { units }),
    ...pricesAbove(entry, -1),
    requestPico: wholeUnits(dollarsAbove(entry.requests_kcount, -1) ?? 0, requestDigits),
    tiers: tierStarts(entry).map((start) => ({
      inputTokensAbove: start,
      ...pricesAbove(entry, start),
    })),
  };
}

const secondsOfHour = 3_600;
const picoDigits = 12;

function unitPrices(entry: ModelPrice): Record<string, number> | undefined {
  const units: Record<string, number> = {};
  const add = (unit: PricedUnit, name: string, toPico: (dollars: number) => number): void => {
    const dollars = dollarsAbove(entry[name], -1);
    if (dollars !== null) units[unit] = toPico(dollars);
  };
  const ofThousand = (dollars: number): number => wholeUnits(dollars, requestDigits);
  add('webSearch', 'web_searches_kcount', ofThousand);
  add('fileSearch', 'storage_searches_kcount', ofThousand);
  add('audioSecond', 'input_audio_hours', (dollars) =>
    Math.ceil(wholeUnits(dollars, picoDigits) / secondsOfHour),
  );
  return Object.keys(units).length === 0 ? undefined : units;
}

/** Input sizes above which a price changes, ascending. */
export function tierStarts(entry: ModelPrice): number[] {
  const starts = Object.values(entry).flatMap((value) =>
    typeof value === 'object' ? value.tiers.map(({ start }) => start) : [],
  );
  return [...new Set(starts)].toSorted((one, other) => one - other);
}

/** The prices of a request with slightly more input tokens than `start`. */
function pricesAbove(entry: ModelPrice, start: number): TokenPrices {
  const pico = (name: string): number | null => {
    const dollars = dollarsAbove(entry[name], start);
    return dollars === null ? null : wholeUnits(dollars, tokenDigits);
  };
  const kinds = kindNames.flatMap(([kind, name]) => {
    const price = pico(name);
    return price === null ? [] : [[kind, price] as const];
  });
  const text = pico('output_mtok');
  if (
    text !== null &&
    kinds.some(([kind]) => (outputKinds as readonly PricedKind[]).includes(kind))
  ) {
    kinds.push(['textOutput', text]);
  }
  return {
    inputPico: pico('input_mtok') ?? 0,
    outputPico: Math.max(...outputPrices.map((name) => pico(name) ?? 0)),
    cachedInputPico: pico('cache_read_mtok'),
    cacheWritePico: pico('cache_write_mtok'),
    cacheWriteHourPico: pico('cache_write_1h_mtok'),
    ...(kinds.length > 0 && { kinds: Object.fromEntries(kinds) }),
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
