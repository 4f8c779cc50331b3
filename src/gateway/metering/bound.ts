/** Bounds what a request can use before it is sent, and clamps its output to what was granted. */
import type { UsageBound } from '../../ledger/limit.ts';
import type { Price } from '../../model/pricing/pricing.ts';
import { openAiModelServices } from '../../model/services/provider-addresses.ts';
import { type InputBound, inputBound, openTokensMax } from './input-bound.ts';

type Params = Readonly<Record<string, unknown>>;

/** Names of the parameters that determine the usage of an endpoint. */
interface EndpointMetering {
  /** Parameters that limit the output; empty for endpoints without output tokens. */
  readonly maxNames: readonly string[];
  /** Parameters that multiply the output. */
  readonly countNames: readonly string[];
}

const meteredEndpoints: Readonly<Record<string, EndpointMetering>> = {
  chat_completions: { maxNames: ['max_tokens', 'max_completion_tokens'], countNames: ['n'] },
  completions: { maxNames: ['max_tokens'], countNames: ['n', 'best_of'] },
  messages: { maxNames: ['max_tokens'], countNames: [] },
  responses: { maxNames: ['max_output_tokens'], countNames: [] },
  embeddings: { maxNames: [], countNames: [] },
  runs: { maxNames: ['max_completion_tokens'], countNames: [] },
  compact: { maxNames: [], countNames: [] },
};

/** Assumed output when the request sets no limit. */
const outputTokensUsual = 16_384;
/** Smallest useful output. */
const outputTokensMin = 16;

/** Whether requests to this endpoint use tokens. `endpoint` as `meteredEndpointOf` returns it. */
export function isMetered(endpoint: string): boolean {
  return Object.hasOwn(meteredEndpoints, endpoint);
}

export function hasOutput(endpoint: string): boolean {
  return (meteredEndpoints[endpoint]?.maxNames.length ?? 0) > 0;
}

/** `bodyBytes` is the size of the request as it is sent to the provider. */
export function boundOf(
  endpoint: string,
  params: Params,
  bodyBytes: number,
  price: Price | null,
  model: string | null,
): UsageBound {
  const metering = meteredEndpoints[endpoint];
  const estimate = inputBound(params, bodyBytes, model);
  const input = endpoint === 'runs' ? inputOfRun(params, estimate) : estimate;
  if (metering === undefined || metering.maxNames.length === 0) {
    return { ...input, outputTokens: 0, outputTokensMin: 0, price };
  }
  const requested = requestedOutput(metering, params) ?? outputTokensUsual;
  const outputTokens = requested * copiesOf(metering, params);
  const least = Math.min(outputTokens, outputTokensMin * copiesOf(metering, params));
  return { ...input, outputTokens, outputTokensMin: least, price };
}

/**
 * Returns the parameters that keep the output within what was granted, if the request exceeds it. All limits in
 * the request are clamped, because it is unknown which one a provider uses; otherwise the one that `service`
 * supports is added.
 */
export function outputClamps(
  endpoint: string,
  params: Params,
  grantedTokens: number,
  service: string,
): readonly (readonly [name: string, value: number])[] {
  const metering = meteredEndpoints[endpoint];
  if (metering === undefined || metering.maxNames.length === 0) return [];
  const { maxNames } = metering;
  const each = Math.floor(grantedTokens / copiesOf(metering, params));
  const present = maxNames.filter((name) => typeof params[name] === 'number');
  if (present.length === 0) {
    const isNew = maxNames.length > 1 && openAiModelServices.has(service);
    return [[maxNames[isNew ? 1 : 0]!, each]];
  }
  const isWithin = (tokens: number): boolean => tokens >= 0 && tokens <= each;
  return present.filter((name) => !isWithin(params[name] as number)).map((name) => [name, each]);
}

/** Returns a parameter that makes the usage unbounded, because it is not a whole number; null for none. */
export function unboundedParam(endpoint: string, params: Params): string | null {
  const { maxNames = none, countNames = none } = meteredEndpoints[endpoint] ?? {};
  for (const names of [maxNames, countNames, endpoint === 'runs' ? namesOfRun : none]) {
    for (const name of names) {
      const value = params[name] ?? null;
      if (value !== null && !Number.isSafeInteger(value)) return name;
    }
  }
  return null;
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
function requestedOutput({ maxNames }: EndpointMetering, params: Params): number | null {
  let most: number | null = null;
  for (const name of maxNames) {
    const value = params[name];
    if (!Number.isSafeInteger(value)) continue;
    if ((value as number) <= 0) return null;
    most = Math.max(most ?? 0, value as number);
  }
  return most;
}

function copiesOf({ countNames }: EndpointMetering, params: Params): number {
  let most = 1;
  for (const name of countNames) {
    const value = params[name];
    if (Number.isSafeInteger(value)) most = Math.max(most, value as number);
  }
  return most * promptsOf(params);
}

/** Each item of a list of texts or token lists is one prompt; a list of tokens is one prompt. */
function promptsOf({ prompt }: Params): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1;
}
