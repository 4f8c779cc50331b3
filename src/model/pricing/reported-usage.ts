/** Parses the token usage that providers report, in each of their formats. */

import { pickMembers } from '../json/json-object.ts';
import { isObject } from '../json/read-object.ts';
import { geminiUsageIn, interactionUsageIn } from './gemini-usage.ts';
import type { TokenUsage } from './pricing.ts';
import {
  addBodyDetails,
  addUsageDetails,
  newReportedDetails,
  type ReportedDetails,
  type RequestedDetails,
  usageDetails,
} from './reported-details.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Usage reported so far; null for what is missing. A stream reports it in parts. */
export interface ReportedUsage {
  /** The model of the response, as the provider names it. */
  model: string | null;
  /** All input, including tokens read from and written to the cache. */
  inputTokens: number | null;
  /** Includes reasoning tokens, wherever the provider reports them. */
  outputTokens: number | null;
  /** Sum of input and output according to the provider. */
  totalTokens: number | null;
  /** Input as reported: all of it, or only the part outside the cache. */
  reportedInputTokens: number | null;
  isCacheSeparate: boolean;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  /** The part of {@link cacheWriteTokens} cached for an hour. */
  cacheWriteHourTokens: number;
  /** Whether the output is that of the beginning of a stream only. */
  isOutputPreliminary: boolean;
  /** Kinds, units and tiers with a price of their own. */
  readonly details: ReportedDetails;
  /** A reported count was not a plausible number. */
  isImplausible: boolean;
}

/** A larger count is treated as false. */
const tokensMax = 100_000_000;

export function newReportedUsage(): ReportedUsage {
  return {
    inputTokens: null,
    outputTokens: null,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    cacheWriteHourTokens: 0,
    isOutputPreliminary: false,
    details: newReportedDetails(),
    isImplausible: false,
    model: null,
    totalTokens: null,
    reportedInputTokens: null,
    isCacheSeparate: false,
  };
}

/** Top-level members of a body that can contain usage or model. */
const holders = [
  'usage',
  'model',
  'message',
  'response',
  'interaction',
  'meta',
  'service_tier',
  'usageMetadata',
  'modelVersion',
  'inputTextTokenCount',
  'predictions',
];
/** Contains the calls of tools that the provider has run. */
const toolHolder = 'output';
const blanks = new Set([0x20, 0x09, 0x0a, 0x0d]);
const openBrace = 0x7b;
/** Up to this size, parsing the whole body is cheaper than searching it. */
const wholeBytesMax = 4 * 1024;

/**
 * Parses the members of a JSON response that can contain usage. The rest, which is most of a long
 * response, is skipped without creating values. `text` is the decoded body if it exists already. `readsTools`:
 * calls of tools of the provider are read too.
 *
 * Returns null if the body is not an object.
 *
 * @throws if the body is truncated
 */
export function parseUsageParts(
  body: Buffer | null,
  text: string | null = null,
  readsTools = false,
): JsonObject | null {
  if (body === null || !beginsObject(body)) return null;
  if (body.length <= wholeBytesMax) {
    try {
      return JSON.parse(text ?? body.toString('utf8')) as JsonObject;
    } catch {
      // The usage can be readable although the rest of the body is invalid.
    }
  }
  const parts: Record<string, unknown> = {};
  const names = readsTools ? [...holders, toolHolder] : holders;
  for (const [name, value] of pickMembers(body, names)) parts[name] = JSON.parse(value);
  return parts;
}

function beginsObject(body: Buffer): boolean {
  let at = 0;
  while (blanks.has(body[at]!)) at += 1;
  return body[at] === openBrace;
}

/** Adds the usage of a body, or of the data of one stream event. */
export function addReportedUsage(reported: ReportedUsage, body: unknown): void {
  if (!isObject(body)) return;
  reported.model ??= modelIn(body) ?? modelIn(body.message) ?? modelIn(body.response);
  // Anthropic reports the input in the first message event, OpenAI's Responses API in the last event.
  const own = usageIn(body) ?? geminiUsageIn(body);
  const usage =
    own ??
    usageIn(body.message) ??
    usageIn(body.response) ??
    usageIn(body.interaction) ??
    billedIn(body.meta) ??
    usageIn(body.metadata) ??
    usageIn(body.delta) ??
    titanUsageIn(body) ??
    predictedUsageIn(body);
  addBodyDetails(reported.details, body, counterOf(reported));
  if (usage === null) return;
  reported.isOutputPreliminary = own === null && usage === usageIn(body.message);
  addCounts(reported, plainUsage(usage));
}

/** Bedrock's Converse spells the counts of Anthropic's usage in another way. */
function plainUsage(usage: JsonObject): JsonObject {
  if (usage.inputTokens === undefined && usage.outputTokens === undefined) return usage;
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens ?? 0,
    cache_creation_input_tokens: usage.cacheWriteInputTokens ?? 0,
  };
}

/** Titan counts the tokens of the text that it embeds. */
function titanUsageIn({ inputTextTokenCount: tokens }: JsonObject): JsonObject | null {
  return tokens === undefined ? null : { input_tokens: tokens };
}

/** Vertex AI counts the tokens of each text that it embeds; null unless it counts all. */
function predictedUsageIn({ predictions }: JsonObject): JsonObject | null {
  if (!Array.isArray(predictions)) return null;
  const counts = predictions.map((one) => one?.embeddings?.statistics?.token_count);
  if (!counts.every((count) => typeof count === 'number')) return null;
  return { input_tokens: counts.reduce((sum, count) => sum + count, 0) };
}

function usageIn(holder: unknown): JsonObject | null {
  if (!isObject(holder) || !isObject(holder.usage)) return null;
  const { usage } = holder;
  // Cohere's chats state what is billed beside all tokens.
  if (isObject(usage.billed_units)) return usage.billed_units;
  return interactionUsageIn(usage) ?? usage;
}

/** Cohere bills tokens or search units. */
function billedIn(meta: unknown): JsonObject | null {
  return isObject(meta) && isObject(meta.billed_units) ? meta.billed_units : null;
}

function modelIn(holder: unknown): string | null {
  if (!isObject(holder)) return null;
  const model = holder.model ?? holder.modelVersion;
  return typeof model === 'string' ? model : null;
}

/** Reads counts; one that is not plausible marks the report. */
function counterOf(reported: ReportedUsage): (value: unknown) => number | null {
  return (value) => {
    if (value === undefined || value === null) return null;
    if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax) {
      return value as number;
    }
    reported.isImplausible = true;
    return null;
  };
}

/**
 * Anthropic's counts exclude what compactions and advisors have used; `iterations` lists all calls of a model, those
 * for the message among them.
 */
function withIterations(usage: JsonObject): JsonObject {
  const iterations: unknown = usage.iterations;
  if (!Array.isArray(iterations)) return usage;
  const calls = iterations.filter(isObject);
  if (calls.every(({ type }) => type === 'message')) return usage;
  const hasMessage = calls.some(({ type }) => type === 'message');
  const sums = iterationCounts
    .filter((name) => hasMessage || usage[name] !== undefined)
    .map((name) => [name, sumOf(name, hasMessage ? calls : [usage, ...calls])]);
  return { ...usage, ...Object.fromEntries(sums) };
}

const iterationCounts = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
];

/** A count that is no number makes the sum none either, so that the report is implausible. */
function sumOf(name: string, calls: readonly JsonObject[]): number {
  return calls.reduce((sum, { [name]: count = 0 }) => {
    return typeof count === 'number' || count === null ? sum + (count ?? 0) : Number.NaN;
  }, 0);
}

function addCounts(reported: ReportedUsage, reportedUsage: JsonObject): void {
  const usage = withIterations(reportedUsage);
  const count = counterOf(reported);
  addUsageDetails(reported.details, usage, count);
  const detail = (name: string): number | null =>
    count(detailOf(usage, 'prompt_tokens_details', name)) ??
    count(detailOf(usage, 'input_tokens_details', name));
  const chatInput = count(usage.prompt_tokens);
  // Anthropic's input excludes cached tokens. In OpenAI's spelling the input includes them.
  reported.isCacheSeparate ||= chatInput === null && isSplit(usage);
  reported.cachedInputTokens =
    count(usage.cache_read_input_tokens) ?? detail('cached_tokens') ?? reported.cachedInputTokens;
  reported.cacheWriteTokens =
    count(usage.cache_creation_input_tokens) ??
    detail('cache_write_tokens') ??
    reported.cacheWriteTokens;
  reported.cacheWriteHourTokens =
    count(detailOf(usage, 'cache_creation', 'ephemeral_1h_input_tokens')) ??
    reported.cacheWriteHourTokens;
  reported.reportedInputTokens =
    chatInput ?? count(usage.input_tokens) ?? reported.reportedInputTokens;
  reported.totalTokens = count(usage.total_tokens) ?? reported.totalTokens;
  const { reportedInputTokens: input, isCacheSeparate: isCacheBeside } = reported;
  const cached = isCacheBeside ? reported.cachedInputTokens + reported.cacheWriteTokens : 0;
  reported.inputTokens = input === null ? null : input + cached;
  const output = count(usage.completion_tokens) ?? count(usage.output_tokens);
  if (output === null) return;
  // Perplexity reports reasoning and citation tokens apart from the output and includes them in no sum.
  const isSearched = usage.citation_tokens !== undefined || usage.num_search_queries !== undefined;
  const separate = isSearched
    ? (count(usage.citation_tokens) ?? 0) + (count(usage.reasoning_tokens) ?? 0)
    : 0;
  // xAI and Google include reasoning tokens in the total only.
  const unnamed = (count(usage.total_tokens) ?? 0) - (reported.inputTokens ?? 0) - output;
  reported.outputTokens =
    output + (reported.inputTokens === null ? separate : Math.max(separate, unnamed));
}

function isSplit(usage: JsonObject): boolean {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  return read !== undefined || written !== undefined;
}

function detailOf(usage: JsonObject, member: string, name: string): unknown {
  const details = usage[member];
  return isObject(details) ? details[name] : undefined;
}

/** Returns the complete usage, or null if a part is missing. An embedding has no output, so its total is its input. */
export function completeUsage(
  reported: ReportedUsage,
  hasOutput: boolean,
  requested: RequestedDetails | null = null,
): TokenUsage | null {
  const {
    cachedInputTokens,
    cacheWriteTokens,
    cacheWriteHourTokens,
    isImplausible: isAbsurd,
  } = reported;
  // Audio that is charged by its duration, and rankings that are charged by searches, have no tokens.
  const { units } = reported.details;
  const hasOtherUnits = units?.audioSecond !== undefined || units?.searchUnit !== undefined;
  const inputTokens =
    reported.inputTokens ?? (hasOtherUnits ? 0 : hasOutput ? null : reported.totalTokens);
  const outputTokens = reported.outputTokens ?? (hasOutput && !hasOtherUnits ? null : 0);
  if (isAbsurd || inputTokens === null || outputTokens === null) return null;
  const tokens = { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens };
  const details = usageDetails(reported.details, requested);
  if (cacheWriteHourTokens === 0 && details === undefined) return tokens;
  return {
    ...tokens,
    ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
    ...(details !== undefined && { details }),
  };
}
