/** Knows what is at hand while a request is served: the parts of the gateway, how the request came, and what became known of it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RefusedCredential } from '../../auth/refused-credentials.ts';
import type { LimitLeft } from '../../ledger/account.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { OpenChargeKey } from '../../store/tables/open-charges.ts';
import type { Origins } from '../../upstream/origins.ts';
import type { Callers } from '../callers/authenticate.ts';
import type { Exchange, ReadHeader } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { AnswerCache } from '../calls/answer-cache.ts';
import type { Attempted } from '../calls/attempt.ts';
import type { Breakers } from '../calls/breaker.ts';
import type { ProviderCalls } from '../calls/provider-calls.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { RequestRecord } from '../logs/request-record.ts';
import type { RequestTrace } from '../logs/request-trace.ts';
import type { SpanExport } from '../logs/span-export.ts';
import { tellLimits } from '../metering/limit-headers.ts';
import type { LimitSwitches, Policies } from '../metering/limits.ts';
import type { Metered } from '../metering/meter.ts';
import type { AskedObjects } from '../references/asked-objects.ts';
import type { OwnedPath } from '../references/owned-path.ts';
import type { Configs, GatewayConfig } from '../targets/resolve-config.ts';
import type { Targets } from '../targets/resolve-target.ts';
import type { Caller } from '../transfer/caller.ts';
import type { GatewayError, GatewayErrorForm } from '../transfer/gateway-error.ts';
import type { Prompts } from './prompts.ts';

export interface Pipeline extends Callers {
  readonly configs: Configs;
  readonly policies: Policies;
  readonly ledger: Ledger;
  readonly targets: Targets;
  readonly origins: Origins;
  readonly breakers: Breakers;
  readonly answers: AnswerCache;
  readonly guardrails: Guardrails;
  readonly prompts: Prompts;
  /** Serves requests about what callers keep. */
  readonly objects: {
    serve(calling: Calling, owned: OwnedPath): Promise<void>;
    /** Asks a model, where the request names some, or may have some made. */
    serveAsked(calling: Calling, asked: AskedObjects): Promise<void>;
    /** Serves what is asked of an account as a whole. */
    serveOfAccount(calling: Calling): Promise<void>;
  };
  /** Of headers of ours, in lower case; the first is our own, the others are aliases. */
  readonly headerPrefixes: readonly string[];
  readonly bodyBytesMax: number;
  /** Of one file, which may be larger. */
  readonly fileBytesMax: number;
  /** False: limits count, and refuse nothing. */
  readonly enforcesLimits: boolean;
  readonly limitsBy: LimitSwitches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly isUnavailable: (error: unknown) => boolean;
  readonly record: (entry: RequestRecord) => void;
  /** A credential that is not good, and from where it came. */
  readonly onRefused: (refused: RefusedCredential, remoteAddress: string) => void;
  /** Null where no traces are recorded. */
  readonly spanExport: SpanExport | null;
  /** An error that nobody expected. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** What is known of a request before anything else. */
export interface Arrival {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Behind `/v1`. */
  readonly path: string;
  readonly query: string;
  readonly header: ReadHeader;
  readonly errorForm: GatewayErrorForm;
  readonly headerPrefix: string;
  /** By the monotonic clock. */
  readonly beganMs: number;
}

/** What becomes known, for the record of the request. */
export class Findings {
  /** Null where nobody records it. */
  readonly trace: RequestTrace | null;
  key: GatewayKey | null = null;
  exchange: Exchange | null = null;
  config: GatewayConfig | null = null;
  promptSlug: string | null = null;
  calls: ProviderCalls | null = null;
  attempted: Attempted | null = null;
  firstByteMs: number | null = null;
  metered: Metered | null = null;
  openCharge: OpenChargeKey | null = null;
  error: GatewayError | null = null;
  /** To be called when its answer has begun: who waits for others no longer waits for this one. */
  countOut: () => void = () => {};

  constructor(trace: RequestTrace | null) {
    this.trace = trace;
  }
}

/** One request under way. */
export interface Calling {
  readonly pipeline: Pipeline;
  readonly arrival: Arrival;
  readonly found: Findings;
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly caller: Caller;
  readonly calls: ProviderCalls;
}

/** What every answer to a request tells about the way that it took. */
export function ourHeaders(
  { id, headerPrefix }: Arrival,
  attempted: Attempted | null,
): Record<string, string> {
  const names = answerNames(headerPrefix);
  const headers: Record<string, string> = { [names.traceId]: id };
  if (attempted === null) return headers;
  const { target, retries, cacheStatus } = attempted;
  headers[names.provider] = target.provider;
  headers[names.retries] = String(retries);
  headers[names.targetPath] = target.path;
  headers[names.cacheStatus] = cacheStatus;
  return headers;
}

/** Beside {@link ourHeaders} what is left of the limits; `now` in ms since the epoch. */
export function answerHeaders(
  arrival: Arrival,
  attempted: Attempted | null,
  left: readonly LimitLeft[],
  now: number,
): Record<string, string> {
  const headers = ourHeaders(arrival, attempted);
  tellLimits(headers, answerNames(arrival.headerPrefix).usageRemaining, left, now);
  return headers;
}

/** By the prefix, of which there are a few: made for each answer anew, names cost more than their values. */
const namesByPrefix = new Map<string, ReturnType<typeof namesUnder>>();

export function answerNames(prefix: string) {
  const known = namesByPrefix.get(prefix);
  if (known !== undefined) return known;
  const names = namesUnder(prefix);
  namesByPrefix.set(prefix, names);
  return names;
}

function namesUnder(prefix: string) {
  return {
    traceId: `${prefix}trace-id`,
    provider: `${prefix}provider`,
    retries: `${prefix}retry-attempt-count`,
    targetPath: `${prefix}last-used-option-index`,
    cacheStatus: `${prefix}cache-status`,
    usageRemaining: `${prefix}usage-remaining`,
    cost: `${prefix}cost`,
  };
}
