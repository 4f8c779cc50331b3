/** Knows the most that a request can use before it is sent, and how it is made to use no more. */
import type { UsageBound } from '../ledger/limit.ts';
import type { Price } from '../model/pricing.ts';
import { inputBound } from './input-bound.ts';

type Params = Readonly<Record<string, unknown>>;

/** How requests of an endpoint say what they may use. */
interface Metering {
  /** Names under which a request says how much it wants, the first to be set where it says nothing; none where there is no output. */
  readonly maxNames: readonly string[];
  /** Names of counts by which the output is multiplied. */
  readonly countNames: readonly string[];
}

const metered: Readonly<Record<string, Metering>> = {
  chat_completions: { maxNames: ['max_completion_tokens', 'max_tokens'], countNames: ['n'] },
  completions: { maxNames: ['max_tokens'], countNames: ['n', 'best_of'] },
  messages: { maxNames: ['max_tokens'], countNames: [] },
  responses: { maxNames: ['max_output_tokens'], countNames: [] },
  embeddings: { maxNames: [], countNames: [] },
};

/** Where neither request nor anybody else says how much a model may answer. */
const outputTokensUsual = 16_384;
/** An answer of fewer tokens helps nobody. */
const outputTokensMin = 16;

/** Whether a provider counts tokens of requests to this endpoint. */
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
  const input = inputBound(params, bodyBytes, model);
  if (metering === undefined || metering.maxNames.length === 0) {
    return { ...input, outputTokens: 0, outputTokensMin: 0, price };
  }
  const wanted = wantedOutput(metering, params) ?? outputTokensUsual;
  const outputTokens = wanted * copiesOf(metering, params);
  const least = Math.min(outputTokens, outputTokensMin * copiesOf(metering, params));
  return { ...input, outputTokens, outputTokensMin: least, price };
}

/** The parameter that keeps the output within what was granted, where the request does not do so by itself. */
export function outputClamp(
  endpoint: string,
  params: Params,
  grantedTokens: number,
): readonly [name: string, value: number] | null {
  const metering = metered[endpoint];
  if (metering === undefined || metering.maxNames.length === 0) return null;
  const each = Math.floor(grantedTokens / copiesOf(metering, params));
  const said = metering.maxNames.find((name) => typeof params[name] === 'number');
  if (said !== undefined && (params[said] as number) <= each) return null;
  return [said ?? metering.maxNames[0]!, each];
}

function wantedOutput({ maxNames }: Metering, params: Params): number | null {
  for (const name of maxNames) {
    const value = params[name];
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  }
  return null;
}

function copiesOf({ countNames }: Metering, params: Params): number {
  const counts = countNames.map((name) => params[name]).filter(Number.isSafeInteger) as number[];
  return Math.max(1, ...counts);
}
