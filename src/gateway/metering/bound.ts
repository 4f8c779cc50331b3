/** Knows the most that a request can use before it is sent, and how it is made to use no more. */
import type { UsageBound } from '../../ledger/limit.ts';
import type { Price } from '../../model/pricing/pricing.ts';
import { openAiModelServices } from '../../model/services/provider-addresses.ts';
import { type InputBound, inputBound, openTokensMax } from './input-bound.ts';

type Params = Readonly<Record<string, unknown>>;

/** How requests of an endpoint say what they may use. */
interface Metering {
  /** Names under which a request says how much it wants; none where there is no output. */
  readonly maxNames: readonly string[];
  /** Names of counts by which the output is multiplied. */
  readonly countNames: readonly string[];
}

const metered: Readonly<Record<string, Metering>> = {
  chat_completions: { maxNames: ['max_tokens', 'max_completion_tokens'], countNames: ['n'] },
  completions: { maxNames: ['max_tokens'], countNames: ['n', 'best_of'] },
  messages: { maxNames: ['max_tokens'], countNames: [] },
  responses: { maxNames: ['max_output_tokens'], countNames: [] },
  embeddings: { maxNames: [], countNames: [] },
  runs: { maxNames: ['max_completion_tokens'], countNames: [] },
  compact: { maxNames: [], countNames: [] },
};

/** Where neither request nor anybody else says how much a model may answer. */
const outputTokensUsual = 16_384;
/** An answer of fewer tokens helps nobody. */
const outputTokensMin = 16;

/** Whether a provider counts tokens of requests to this endpoint; of objects, by what `meteringOf` says. */
export function isMetered(endpoint: string): boolean {
  return Object.hasOwn(metered, endpoint);
}

export function hasOutput(endpoint: string): boolean {
  return (metered[endpoint]?.maxNames.length ?? 0) > 0;
}

/** `bodyBytes` of the request as it goes out. */
export function boundOf(
  endpoint: string,
  params: Params,
  bodyBytes: number,
  price: Price | null,
  model: string | null,
): UsageBound {
  const metering = metered[endpoint];
  const said = inputBound(params, bodyBytes, model);
  const input = endpoint === 'runs' ? inputOfRun(params, said) : said;
  if (metering === undefined || metering.maxNames.length === 0) {
    return { ...input, outputTokens: 0, outputTokensMin: 0, price };
  }
  const wanted = wantedOutput(metering, params) ?? outputTokensUsual;
  const outputTokens = wanted * copiesOf(metering, params);
  const least = Math.min(outputTokens, outputTokensMin * copiesOf(metering, params));
  return { ...input, outputTokens, outputTokensMin: least, price };
}

/**
 * The parameters that keep the output within what was granted, where the request does not do so by
 * itself: each that it has, as nobody knows which of them a provider heeds, or the one that `service` knows.
 */
export function outputClamps(
  endpoint: string,
  params: Params,
  grantedTokens: number,
  service: string,
): readonly (readonly [name: string, value: number])[] {
  const metering = metered[endpoint];
  if (metering === undefined || metering.maxNames.length === 0) return [];
  const { maxNames } = metering;
  const each = Math.floor(grantedTokens / copiesOf(metering, params));
  const said = maxNames.filter((name) => typeof params[name] === 'number');
  if (said.length === 0) {
    const isNew = maxNames.length > 1 && openAiModelServices.has(service);
    return [[maxNames[isNew ? 1 : 0]!, each]];
  }
  const isWithin = (tokens: number): boolean => tokens >= 0 && tokens <= each;
  return said.filter((name) => !isWithin(params[name] as number)).map((name) => [name, each]);
}

/** The parameter by which a request could ask for more than can be told from it; null for none. */
export function unboundedParam(endpoint: string, params: Params): string | null {
  const { maxNames = none, countNames = none } = metered[endpoint] ?? {};
  for (const names of [maxNames, countNames, endpoint === 'runs' ? namesOfRun : none]) {
    for (const name of names) {
      const said = params[name] ?? null;
      if (said !== null && !Number.isSafeInteger(said)) return name;
    }
  }
  return null;
}

const none: readonly string[] = [];
const namesOfRun = ['max_prompt_tokens'];

/** All of its thread, of which the provider reads no more than it is told to. */
function inputOfRun({ max_prompt_tokens: most }: Params, said: InputBound): InputBound {
  const isSaid = Number.isSafeInteger(most) && (most as number) > 0;
  const { inputTokens, likelyInputTokens } = said;
  return {
    inputTokens: isSaid ? (most as number) : inputTokens + openTokensMax,
    likelyInputTokens,
  };
}

/** The most of what it says; null where it says nothing, or something that may mean any number. */
function wantedOutput({ maxNames }: Metering, params: Params): number | null {
  let most: number | null = null;
  for (const name of maxNames) {
    const said = params[name];
    if (!Number.isSafeInteger(said)) continue;
    if ((said as number) <= 0) return null;
    most = Math.max(most ?? 0, said as number);
  }
  return most;
}

function copiesOf({ countNames }: Metering, params: Params): number {
  let most = 1;
  for (const name of countNames) {
    const said = params[name];
    if (Number.isSafeInteger(said)) most = Math.max(most, said as number);
  }
  return most * promptsOf(params);
}

/** A list of texts, or of lists of tokens, is one prompt each; a list of tokens is one. */
function promptsOf({ prompt }: Params): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(1, prompt.length) : 1;
}
