/** Knows what a provider says of the tokens that a request has used, in each of the formats. */
import { pickMembers } from '../json/json-object.ts';
import type { TokenUsage } from './pricing.ts';

type Json = Readonly<Record<string, unknown>>;

/** What was said so far; null for what was not. A stream says it in parts. */
export interface SaidUsage {
  /** The model that answers, as the provider names it. */
  model: string | null;
  /** All of it, with what was kept and what is being kept. */
  inputTokens: number | null;
  /** With what was thought, wherever that is told. */
  outputTokens: number | null;
  /** Input and output together, as the provider adds them up. */
  totalTokens: number | null;
  /** Input as it was told: all of it, or what is beside the cache. */
  toldInputTokens: number | null;
  isCacheBeside: boolean;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  /** Of those, the ones kept for an hour. */
  cacheWriteHourTokens: number;
  /** Something was said that no count can be. */
  isAbsurd: boolean;
}

/** No request has more; what says so counts as a lie. */
const tokensMax = 100_000_000;

export function nothingSaid(): SaidUsage {
  return {
    ...{ inputTokens: null, outputTokens: null, cachedInputTokens: 0, cacheWriteTokens: 0 },
    ...{ cacheWriteHourTokens: 0, isAbsurd: false, model: null },
    ...{ totalTokens: null, toldInputTokens: null, isCacheBeside: false },
  };
}

/** At the top of a body, where usage and model stand. */
const holders = ['usage', 'model', 'message', 'response'];
const blanks = new Set([0x20, 0x09, 0x0a, 0x0d]);
const openBrace = 0x7b;
/** Up to here it costs less to make all values than to tell which are needed. */
const wholeBytesMax = 4 * 1024;

/**
 * Of an answer in JSON what may say what was used. The rest, which is most of a long one, is looked
 * through and no values are made of it. Null for another value than an object; throws for what ends before
 * its end. `text` is what the bytes say, where somebody has made it already.
 */
export function usageParts(body: Buffer | null, text: string | null = null): Json | null {
  if (body === null || !beginsObject(body)) return null;
  if (body.length <= wholeBytesMax) {
    try {
      return JSON.parse(text ?? body.toString('utf8')) as Json;
    } catch {
      // Where the rest of it is wrong, what was used may be said all the same.
    }
  }
  const parts: Record<string, unknown> = {};
  for (const [name, value] of pickMembers(body, holders)) parts[name] = JSON.parse(value);
  return parts;
}

function beginsObject(body: Buffer): boolean {
  let at = 0;
  while (blanks.has(body[at]!)) at += 1;
  return body[at] === openBrace;
}

/** Takes in a body, or the data of one event of a stream. */
export function noteUsage(said: SaidUsage, body: unknown): void {
  if (!isJson(body)) return;
  said.model ??= modelIn(body) ?? modelIn(body.message) ?? modelIn(body.response);
  // Anthropic says the input in the message that begins, OpenAI's responses in one that ends.
  const usage = usageIn(body) ?? usageIn(body.message) ?? usageIn(body.response);
  if (usage !== null) noteCounts(said, usage);
}

function usageIn(place: unknown): Json | null {
  return isJson(place) && isJson(place.usage) ? place.usage : null;
}

function modelIn(place: unknown): string | null {
  return isJson(place) && typeof place.model === 'string' ? place.model : null;
}

function noteCounts(said: SaidUsage, usage: Json): void {
  const count = (value: unknown): number | null => {
    if (value === undefined || value === null) return null;
    if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax) {
      return value as number;
    }
    said.isAbsurd = true;
    return null;
  };
  const detail = (name: string): number | null =>
    count(below(usage, 'prompt_tokens_details', name)) ??
    count(below(usage, 'input_tokens_details', name));
  const chatInput = count(usage.prompt_tokens);
  // Of Anthropic the input is what was neither kept nor is being kept; who says it in OpenAI's words counts all.
  said.isCacheBeside ||= chatInput === null && isSplit(usage);
  said.cachedInputTokens =
    count(usage.cache_read_input_tokens) ?? detail('cached_tokens') ?? said.cachedInputTokens;
  said.cacheWriteTokens =
    count(usage.cache_creation_input_tokens) ??
    detail('cache_write_tokens') ??
    said.cacheWriteTokens;
  said.cacheWriteHourTokens =
    count(below(usage, 'cache_creation', 'ephemeral_1h_input_tokens')) ?? said.cacheWriteHourTokens;
  said.toldInputTokens = chatInput ?? count(usage.input_tokens) ?? said.toldInputTokens;
  said.totalTokens = count(usage.total_tokens) ?? said.totalTokens;
  const { toldInputTokens: input, isCacheBeside } = said;
  const kept = isCacheBeside ? said.cachedInputTokens + said.cacheWriteTokens : 0;
  said.inputTokens = input === null ? null : input + kept;
  const output = count(usage.completion_tokens) ?? count(usage.output_tokens);
  if (output === null) return;
  // Of Perplexity, what was thought and cited is beside the answer, and in no sum.
  const isSearched = usage.citation_tokens !== undefined || usage.num_search_queries !== undefined;
  const beside = isSearched
    ? (count(usage.citation_tokens) ?? 0) + (count(usage.reasoning_tokens) ?? 0)
    : 0;
  // Of xAI and Google, what was thought is in the sum only.
  const unnamed = (count(usage.total_tokens) ?? 0) - (said.inputTokens ?? 0) - output;
  said.outputTokens = output + (said.inputTokens === null ? beside : Math.max(beside, unnamed));
}

function isSplit(usage: Json): boolean {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  return read !== undefined || written !== undefined;
}

function below(usage: Json, place: string, name: string): unknown {
  const details = usage[place];
  return isJson(details) ? details[name] : undefined;
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** All that has to be known; null where not all was said. An embedding has no output, so that its sum is its input. */
export function wholeUsage(said: SaidUsage, hasOutput: boolean): TokenUsage | null {
  const { cachedInputTokens, cacheWriteTokens, cacheWriteHourTokens, isAbsurd } = said;
  const inputTokens = said.inputTokens ?? (hasOutput ? null : said.totalTokens);
  const outputTokens = said.outputTokens ?? (hasOutput ? null : 0);
  if (isAbsurd || inputTokens === null || outputTokens === null) return null;
  const tokens = { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens };
  return cacheWriteHourTokens === 0 ? tokens : { ...tokens, cacheWriteHourTokens };
}
