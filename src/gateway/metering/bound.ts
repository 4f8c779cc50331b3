/** Bounds what a request can use before it is sent, and clamps its output to what was granted. */
import type { UsageBound } from '../../ledger/limit.ts';
import { type Metering, type MeteringName, meterings } from '../../model/endpoints/metering.ts';
import { memberNames } from '../../model/json/lazy-object.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { Price } from '../../model/pricing/pricing.ts';
import { openAiModelServices } from '../../model/services/provider-addresses.ts';
import { type InputBound, inputBound, openTokensMax } from './input-bound.ts';
import { exceeds, outputAmounts, withTokensAtMost } from './output-amounts.ts';

type Params = Readonly<Record<string, unknown>>;

/** Assumed output when the request sets no limit. */
const outputTokensUsual = 16_384;
/** Smallest useful output. */
const outputTokensMin = 16;

/** Output tokens of one byte of a text that is spoken slowly. */
const speechTokensPerByte = 8;
const speechTokensMin = 1_024;

/** Returns how the usage of a request is bounded; null when it has none, or none that can be bounded. */
export function meteringOf(name: MeteringName): Metering | null {
  return isUnmetered(name) ? null : meterings[name];
}

function isUnmetered(name: MeteringName): name is 'nothing' | 'unbounded' | 'batches' {
  return name === 'nothing' || name === 'unbounded' || name === 'batches';
}

export function hasOutput(name: MeteringName): boolean {
  return (meteringOf(name)?.output ?? 'none') !== 'none';
}

/** `bodyBytes` is the size of the request as it is sent to the provider. */
export function boundOf(
  name: MeteringName,
  params: Params,
  bodyBytes: number,
  price: Price | null,
  model: string | null,
): UsageBound {
  const metering = meteringOf(name);
  const scanned = name === 'async_chats' ? ((params.request ?? {}) as Params) : params;
  const input = boundOfInput(name, params, inputBound(scanned, bodyBytes, model));
  if (metering === null || metering.output === 'none') {
    return { ...input, outputTokens: 0, outputTokensMin: 0, price };
  }
  const copies = copiesOf(metering, params);
  const beside = tokensBeside(params);
  const outputTokens = (outputOfCopy(metering, params, bodyBytes) + beside) * copies;
  // Only a limit in the request can be lowered to what is left.
  const isLimited = metering.output === 'members';
  const least = isLimited ? (outputTokensMin + beside) * copies : outputTokens;
  return { ...input, outputTokens, outputTokensMin: Math.min(outputTokens, least), price };
}

function boundOfInput(name: MeteringName, params: Params, estimate: InputBound): InputBound {
  if (name === 'runs') return inputOfRun(params, estimate);
  const metering = meteringOf(name);
  const inputTokens = metering?.inputTokens ?? null;
  if (inputTokens !== null) {
    const likelyInputTokens = Math.min(inputTokens, estimate.likelyInputTokens);
    return { inputTokens, likelyInputTokens };
  }
  if (metering?.readsStored !== true) return estimate;
  return { ...estimate, inputTokens: estimate.inputTokens + openTokensMax };
}

function outputOfCopy(metering: Metering, params: Params, bodyBytes: number): number {
  const { output } = metering;
  if (typeof output === 'number') return output;
  if (output === 'speech') {
    return speechTokensMin + spokenBytes(params, bodyBytes) * speechTokensPerByte;
  }
  return requestedOutput(metering, params) ?? outputTokensUsual;
}

/**
 * Output that no limit of the request includes: thoughts with a budget of their own (Qwen), and predicted text that
 * the model rejects.
 */
function tokensBeside({ thinking_budget: budget, prediction }: Params): number {
  const thoughts = Number.isSafeInteger(budget) && (budget as number) > 0 ? (budget as number) : 0;
  const { content } = isObject(prediction) ? prediction : {};
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const textOf = (part: unknown): unknown => (isObject(part) ? part.text : part);
  const texts = parts.map(textOf).filter((text) => typeof text === 'string');
  return thoughts + texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}

/** Members of a request for speech that are not spoken. */
const unspoken: ReadonlySet<string> = new Set([
  'model',
  'voice',
  'instructions',
  'response_format',
  'speed',
  'stream_format',
]);

/** The whole body where a provider could speak another member than the text in `input`. */
function spokenBytes(params: Params, bodyBytes: number): number {
  const { input } = params;
  const isOnlyInput = memberNames(params).every((name) => name === 'input' || unspoken.has(name));
  return isOnlyInput && typeof input === 'string' ? Buffer.byteLength(input) : bodyBytes;
}

/** A member of the body and its new value. */
type BodyChange = readonly [name: string, value: unknown];

/**
 * Returns the changes that keep the output within what was granted, if the request exceeds it. Every limit in the
 * request is clamped, in whatever member and format, because it is unknown which one a provider uses; without any,
 * the one that `service` supports is added. An object with a limit is always rewritten, so that every reader finds the
 * same number in it.
 */
export function outputClamps(
  name: MeteringName,
  params: Params,
  grantedTokens: number,
  service: string,
): readonly BodyChange[] {
  const metering = meteringOf(name);
  if (metering === null || metering.output !== 'members') return [];
  const { maxNames } = metering;
  const each = Math.floor(grantedTokens / copiesOf(metering, params)) - tokensBeside(params);
  const isWithin = (tokens: number): boolean => tokens >= 0 && tokens <= each;
  const others = otherLimits(metering, params, each);
  const present = maxNames.filter((one) => typeof memberAt(params, one) === 'number');
  if (present.length === 0) {
    const isNew = maxNames.length > 1 && openAiModelServices.has(service);
    return [changeAt(params, maxNames[isNew ? 1 : 0]!, each), ...others];
  }
  const own = present.flatMap((one) => {
    const requested = memberAt(params, one) as number;
    if (isWithin(requested)) return one.includes('.') ? [changeAt(params, one, requested)] : [];
    return [changeAt(params, one, each)];
  });
  return [...own, ...others];
}

/** Members with a limit in another format, such as `max_new_tokens` or `options.num_predict`, and their lower values. */
function otherLimits({ maxNames }: Metering, params: Params, most: number): readonly BodyChange[] {
  const own = new Set<string>(maxNames.map((one) => one.split('.')[0]!));
  const exceeding = outputAmounts(params)
    .found.filter((amount) => exceeds(amount, most))
    .map(({ path }) => path.split('.')[0]!)
    .filter((name) => !own.has(name));
  return [...new Set(exceeding)].map((name) => [name, withTokensAtMost(name, params[name], most)]);
}

/** Limits of the output in other formats, which a provider may read as well: `max_new_tokens`, `maxTokens`. */
const anyLimit =
  /^max_?(?:new_?|output_?|completion_?|gen(?:erat(?:ed|ion))?_?)?(?:tokens?|len(?:gth)?)(?:_?to_?sample)?$/i;

function otherLimitsIn({ maxNames, output }: Metering, params: Params): readonly string[] {
  if (output !== 'members') return none;
  return memberNames(params).filter(
    (name) => anyLimit.test(name) && !maxNames.includes(name) && (params[name] ?? null) !== null,
  );
}

/** Reads `a.b`; undefined when it is absent, and NaN when another reader could find a value. */
function memberAt(params: Params, path: string): unknown {
  const [outer, inner] = path.split('.') as [string, string?];
  const value = params[outer] ?? undefined;
  if (inner === undefined || value === undefined) return value;
  if (typeof value !== 'object' || Array.isArray(value)) return Number.NaN;
  const isMisspelled = Object.keys(value).some(
    (name) => name !== inner && name.toUpperCase().toLowerCase() === inner.toLowerCase(),
  );
  return isMisspelled ? Number.NaN : ((value as Params)[inner] ?? undefined);
}

function changeAt(params: Params, path: string, value: number): BodyChange {
  const [outer, inner] = path.split('.') as [string, string?];
  if (inner === undefined) return [outer, value];
  const beside = withTokensAtMost(outer, params[outer] ?? {}, value) as Params;
  return [outer, { ...beside, [inner]: value }];
}

/**
 * Returns a parameter that makes the usage unbounded, because it is not a whole number or has too many members to be
 * read; null for none.
 */
export function unboundedParam(name: MeteringName, params: Params): string | null {
  const metering = meteringOf(name);
  if (metering !== null && metering.output !== 'none') {
    const { found, unread } = outputAmounts(params);
    const copies = found.find(({ kind, value }) => kind === 'copies' && !isCount(value));
    if (unread !== null || copies !== undefined) return unread ?? copies!.path;
  }
  const { maxNames = none, countNames = none } = metering ?? {};
  const others = metering === null ? none : otherLimitsIn(metering, params);
  for (const names of [maxNames, countNames, others, name === 'runs' ? namesOfRun : none]) {
    for (const one of names) {
      const value = memberAt(params, one);
      if (value !== undefined && !Number.isSafeInteger(value)) return one;
    }
  }
  return null;
}

/** Larger numbers of copies are requested by nobody, and their product could be inexact. */
function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value <= 1_000_000;
}

const none: readonly string[] = [];
const namesOfRun = ['max_prompt_tokens'];

/** A run reads its whole thread, up to `max_prompt_tokens`. */
function inputOfRun({ max_prompt_tokens: most }: Params, estimate: InputBound): InputBound {
  const isLimited = Number.isSafeInteger(most) && (most as number) > 0;
  const { inputTokens, likelyInputTokens } = estimate;
  return {
    inputTokens: isLimited ? (most as number) : inputTokens + openTokensMax,
    likelyInputTokens,
  };
}

/** Returns the largest requested output; null when none is set, or when it may mean any number. */
function requestedOutput({ maxNames }: Metering, params: Params): number | null {
  let most: number | null = null;
  for (const name of maxNames) {
    const value = memberAt(params, name);
    if (!Number.isSafeInteger(value)) continue;
    if ((value as number) <= 0) return null;
    most = Math.max(most ?? 0, value as number);
  }
  return most;
}

/** The largest number of copies in any member that may ask for some, times the number of prompts. */
export function copiesOf({ countNames }: Metering, params: Params): number {
  let most = 1;
  for (const { kind, value } of outputAmounts(params).found) {
    if (kind === 'copies' && isCount(value)) most = Math.max(most, value);
  }
  for (const name of countNames) {
    const value = memberAt(params, name);
    if (Number.isSafeInteger(value)) most = Math.max(most, value as number);
  }
  return most * promptsOf(params);
}

/** Each item of a list of texts or token lists is one prompt; a list of tokens is one prompt. */
function promptsOf({ prompt }: Params): number {
  if (!Array.isArray(prompt) || prompt.every((item) => typeof item === 'number')) return 1;
  return prompt.length;
}
