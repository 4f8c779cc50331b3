/** Knows the way of one inference request: who asks, by which config, to which provider, and back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Ledger } from '../ledger/ledger.ts';
import { Secret } from '../secret.ts';
import type { Origins } from '../upstream/origins.ts';
import type { AnswerCache, KeptAnswer } from './answer-cache.ts';
import { type Attempted, errorOf } from './attempt.ts';
import { authenticate, type Callers, credentialsOf } from './authenticate.ts';
import type { Breakers } from './breaker.ts';
import { Caller } from './caller.ts';
import { endpointOf } from './endpoint.ts';
import type { Exchange, ReadHeader } from './exchange.ts';
import { GatewayError, type GatewayErrorForm, gatewayErrorBody } from './gateway-error.ts';
import type { GatewayKey } from './gateway-key.ts';
import type { GuardedAnswer } from './guarded-answer.ts';
import { GuardedCalls } from './guarded-calls.ts';
import type { Guardrails } from './guardrails.ts';
import { limitHeaders } from './limit-headers.ts';
import type { Policies } from './limits.ts';
import { metadataOf } from './metadata.ts';
import { type Metered, meteredNothing } from './meter.ts';
import { ProviderCalls } from './provider-calls.ts';
import { isJsonType, parseParams, readBody } from './read-body.ts';
import { isEventStream, passedHeaders, relay } from './relay.ts';
import type { RequestRecord } from './request-record.ts';
import { beginTrace, type RequestTrace } from './request-trace.ts';
import type { Configs, GatewayConfig } from './resolve-config.ts';
import type { Targets } from './resolve-target.ts';
import { walk } from './route.ts';
import type { SpanExport } from './span-export.ts';

export interface Pipeline extends Callers {
  readonly configs: Configs;
  readonly policies: Policies;
  readonly ledger: Ledger;
  readonly targets: Targets;
  readonly origins: Origins;
  readonly breakers: Breakers;
  readonly answers: AnswerCache;
  readonly guardrails: Guardrails;
  /** Of headers of ours, in lower case; the first is our own, the others are aliases. */
  readonly headerPrefixes: readonly string[];
  readonly bodyBytesMax: number;
  /** False: limits count, and refuse nothing. */
  readonly enforcesLimits: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly isUnavailable: (error: unknown) => boolean;
  readonly record: (entry: RequestRecord) => void;
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
interface Findings {
  readonly trace: RequestTrace | null;
  key: GatewayKey | null;
  exchange: Exchange | null;
  config: GatewayConfig | null;
  calls: ProviderCalls | null;
  attempted: Attempted | null;
  firstByteMs: number | null;
  metered: Metered | null;
  error: GatewayError | null;
}

/** Answers the request, whatever becomes of it. */
export async function serve(pipeline: Pipeline, arrival: Arrival): Promise<void> {
  const now = pipeline.now();
  const { spanExport } = pipeline;
  const found: Findings = {
    trace: spanExport && beginTrace(arrival.request, arrival.beganMs, spanExport.sampler),
    ...{ key: null, exchange: null, config: null, calls: null, attempted: null },
    ...{ firstByteMs: null, metered: null, error: null },
  };
  try {
    await exchangeOf(pipeline, arrival, found, now);
  } catch (thrown) {
    found.error = refusalOf(pipeline, arrival, thrown);
    const left = found.calls?.left() ?? [];
    refuse(arrival, found.error, {
      ...ourHeaders(arrival, found.attempted),
      ...limitHeaders(left, arrival.headerPrefix, now),
    });
  }
  const record = recordOf(arrival, found, now);
  pipeline.record(record);
  if (found.trace !== null) spanExport!.add(found.trace, record, arrival.response.headersSent);
}

async function exchangeOf(
  pipeline: Pipeline,
  arrival: Arrival,
  found: Findings,
  now: number,
): Promise<void> {
  const { request, response, header } = arrival;
  const caller = new Caller(response);
  const shown = credentialsOf(request, header);
  const known = authenticate(pipeline, shown, now);
  const key = known instanceof Promise ? await known : known;
  found.key = key;
  const resolved = pipeline.configs.resolve(key, header);
  const config = resolved instanceof Promise ? await resolved : resolved;
  found.config = config;
  if (request.headers['content-encoding'] !== undefined) {
    const message = 'The body must be sent without a content encoding';
    throw new GatewayError('unsupported_encoding', message, 'content-encoding');
  }
  const body = await readBody(request, pipeline.bodyBytesMax);
  const isJson = body !== null && isJsonType(request.headers['content-type']);
  const params = isJson ? parseParams(body) : {};
  const metadata = metadataOf(key, header, params.user);
  const { id, path, query, errorForm, headerPrefix } = arrival;
  const exchange: Exchange = {
    ...{ id, request, response, header, headerPrefix, path, query, errorForm, now, key },
    ...{ credential: shown.credential, body, params, isJson, metadata },
    sentKey: new Secret(shown.key!, 'the request'),
  };
  found.exchange = exchange;
  pipeline.keys.noteUse(key, now);
  const given = pipeline.policies.of(key.organisationId);
  const policies = given instanceof Promise ? await given : given;
  const { ledger, origins, targets, answers, enforcesLimits } = pipeline;
  const calls = new ProviderCalls({
    ...{ ledger, origins, targets, answers },
    ...{ exchange, config, policies, caller, enforcesLimits, trace: found.trace },
  });
  found.calls = calls;
  try {
    await callProvider({ pipeline, arrival, found, exchange, config, caller, calls });
  } finally {
    calls.close();
  }
}

interface Calling {
  readonly pipeline: Pipeline;
  readonly arrival: Arrival;
  readonly found: Findings;
  readonly exchange: Exchange;
  readonly config: GatewayConfig;
  readonly caller: Caller;
  readonly calls: ProviderCalls;
}

async function callProvider(calling: Calling): Promise<void> {
  const { pipeline, found, exchange, config, caller, calls } = calling;
  const { params, metadata, path, now } = exchange;
  const { guardrails } = pipeline;
  const guarded = new GuardedCalls({ guardrails, calls, exchange, caller });
  const attempted = await walk(config.root, {
    ...{ mark: config.mark, now, breakers: pipeline.breakers, caller, chance: Math.random },
    subject: { metadata, params, url: { pathname: `/v1${path}` } },
    call: (leaf) => guarded.call(leaf),
  });
  found.attempted = attempted;
  found.metered = attempted.metered ?? null;
  if (attempted.guarded !== undefined) sendGuarded(calling, attempted, attempted.guarded);
  else if (attempted.kept !== null) sendKept(calling, attempted, attempted.kept);
  else if (attempted.call === null) throw attempted.error!;
  else await sendBack(calling, attempted);
}

/** An answer that was given before: of the limits it counts as a request, and nothing else. */
function sendKept(
  { arrival, found, exchange, calls }: Calling,
  attempted: Attempted,
  { status, contentType, body }: KeptAnswer,
): void {
  const { response, beganMs, headerPrefix } = arrival;
  found.firstByteMs = performance.now() - beganMs;
  found.metered = meteredNothing;
  response.writeHead(status, {
    ...ourHeaders(arrival, attempted),
    ...limitHeaders(calls.left(), headerPrefix, exchange.now),
    [`${headerPrefix}cost`]: '0',
    'content-type': contentType,
    'content-length': body.length,
  });
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

/** An answer that was read and judged before anything of it is sent. */
function sendGuarded(
  { arrival, found, exchange, calls }: Calling,
  attempted: Attempted,
  { status, headers, body, metered, cost }: GuardedAnswer,
): void {
  const { response, beganMs, headerPrefix } = arrival;
  found.firstByteMs = performance.now() - beganMs;
  found.metered = metered;
  response.writeHead(status, {
    ...passedHeaders(headers, ourHeaders(arrival, attempted), headerPrefix),
    ...limitHeaders(calls.left(), headerPrefix, exchange.now),
    ...(cost === null ? {} : { [`${headerPrefix}cost`]: String(cost) }),
    'content-length': body.length,
  });
  response.end(body);
  response.socket?.setTimeout(stalledMs);
}

/** Longer than a provider may be silent, so that nobody is cut off for what another does. */
const stalledMs = 330_000;

async function sendBack(
  { arrival, found, exchange, caller, calls }: Calling,
  attempted: Attempted,
): Promise<void> {
  const { response, beganMs, headerPrefix } = arrival;
  const call = attempted.call!;
  const { translator } = attempted.target;
  const { status = null, trailer = null } = attempted.passedOn ?? {};
  const { lingerMs } = calls;
  const meter = calls.meter();
  const headers = (): Record<string, string> => ({
    ...ourHeaders(arrival, attempted),
    ...limitHeaders(calls.left(), headerPrefix, exchange.now),
  });
  const end = await relay(call, {
    ...{ response, caller, headerPrefix, lingerMs, stalledMs, status, trailer },
    isRewritten: translator !== null,
    events: translator === null ? meter.events : translator.events(meter.events),
    headers,
    onFirst: () => {
      if (found.firstByteMs !== null) return;
      attempted.stopClock();
      found.firstByteMs = performance.now() - beganMs;
    },
    onWhole: (came) => {
      const cost = meter.readWhole(came, call.headers);
      const body = translator === null ? came : translator.whole(call, came);
      calls.keep(call, body);
      const told = headers();
      if (cost !== null) told[`${headerPrefix}cost`] = String(cost);
      if (translator !== null) told['content-type'] = 'application/json';
      return { headers: told, body };
    },
  });
  attempted.stopClock();
  found.metered = meter.finish(end);
  if (end.kind !== 'broken') return;
  const error = errorOf(end.error);
  if (!end.isStarted) throw error;
  found.error = error;
}

/** What every answer to a request tells about the way that it took. */
function ourHeaders(
  { id, headerPrefix }: Arrival,
  attempted: Attempted | null,
): Record<string, string> {
  const headers: Record<string, string> = { [`${headerPrefix}trace-id`]: id };
  if (attempted === null) return headers;
  const { target, retries, cacheStatus } = attempted;
  headers[`${headerPrefix}provider`] = target.provider;
  headers[`${headerPrefix}retry-attempt-count`] = String(retries);
  headers[`${headerPrefix}last-used-option-index`] = target.path;
  headers[`${headerPrefix}cache-status`] = cacheStatus;
  return headers;
}

/** Never 401 because of the database: who cannot be known now may well be known later. */
function refusalOf(
  { isUnavailable, onFault }: Pipeline,
  { id, response }: Arrival,
  thrown: unknown,
): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const cause = { cause: thrown };
  if (isUnavailable(thrown)) {
    const message = 'The gateway cannot look this up now, try again';
    return new GatewayError('unavailable', message, null, cause);
  }
  if (!response.destroyed) onFault(thrown, id);
  return new GatewayError('internal_error', 'Internal Server Error', null, cause);
}

/** Answers with an error of the gateway's own; nothing where the answer has begun or nobody listens. */
export function refuse(
  arrival: Arrival,
  error: GatewayError,
  headers: Readonly<Record<string, string>> = ourHeaders(arrival, null),
): void {
  const { request, response, errorForm, headerPrefix } = arrival;
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(gatewayErrorBody(error, errorForm));
  response.writeHead(error.status, {
    ...headers,
    [`${headerPrefix}gateway-exception`]: 'true',
    'content-type': 'application/json',
    'content-length': body.length,
    ...retryHeaders(error),
    ...(isWorthReading(request) ? {} : { connection: 'close' }),
  });
  response.end(body);
}

/** When to try again; a budget that is used up is there again too late for anybody to wait. */
function retryHeaders({ code, retryAfterMs }: GatewayError): Record<string, string> {
  if (code === 'usage_limit_exceeded') return { 'x-should-retry': 'false' };
  if (retryAfterMs === null) return {};
  return { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
}

/** What is left of a refused request has to be read before the next one of its connection can be. */
function isWorthReading({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  const length = Number(headers['content-length'] ?? Number.NaN);
  return length <= worthReadingBytesMax;
}

const worthReadingBytesMax = 1024 * 1024;

function recordOf(arrival: Arrival, found: Findings, startedAt: number): RequestRecord {
  const { key, exchange, config, attempted, firstByteMs, metered, error } = found;
  const { id, response, path, beganMs } = arrival;
  const call = attempted?.call ?? null;
  return {
    ...{ id, startedAt, firstByteMs },
    durationMs: performance.now() - beganMs,
    organisationId: key?.organisationId ?? null,
    workspaceId: key?.workspace?.id ?? null,
    apiKeyId: key?.id ?? null,
    configId: config?.id ?? null,
    endpoint: endpointOf(path),
    status: response.statusCode,
    provider: attempted?.target.provider ?? null,
    requestedModel: textOrNull(exchange?.params.model),
    model: attempted?.target.model ?? null,
    answeredModel: answeredModelOf(metered, attempted),
    targetPath: attempted?.target.path ?? null,
    retries: attempted?.retries ?? 0,
    cacheStatus: attempted?.cacheStatus ?? null,
    guardrailVerdict: attempted?.verdict ?? null,
    isStream: call !== null && isEventStream(call.headers),
    tokens: metered?.usage ?? null,
    costUnits: metered?.costUnits ?? null,
    isEstimated: metered?.isEstimated ?? false,
    errorCode: error?.code ?? null,
    metadata: exchange?.metadata ?? {},
  };
}

function answeredModelOf(metered: Metered | null, attempted: Attempted | null): string | null {
  const model = metered?.model ?? null;
  return model === attempted?.target.model ? null : model;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
