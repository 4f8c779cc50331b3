/** Knows the way of one inference request: who asks, by which config, to which provider, and back. */
import type { IncomingMessage } from 'node:http';
import { endpointOf } from '../../model/endpoint.ts';
import { monotonicMs } from '../../monotonic.ts';
import { Secret } from '../../secret.ts';
import { authenticate, credentialsOf, type Shown } from '../callers/authenticate.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import { metadataOf } from '../callers/metadata.ts';
import type { ChargedCall } from '../calls/charged-calls.ts';
import { ProviderCalls } from '../calls/provider-calls.ts';
import type { EarlierAttempt, RequestRecord } from '../logs/request-record.ts';
import { beginTrace } from '../logs/request-trace.ts';
import { askedObjectsOf } from '../references/asked-objects.ts';
import { isOfAccount, ownedPathOf, sendsFile } from '../references/owned-path.ts';
import { Caller } from '../transfer/caller.ts';
import { GatewayError, gatewayErrorBody } from '../transfer/gateway-error.ts';
import { allowedMethods } from '../transfer/malformed.ts';
import { isJsonType, parseParams, readBody } from '../transfer/read-body.ts';
import { isEventStream } from '../transfer/relay.ts';
import { countIn, untilAllIsRead } from '../transfer/turn.ts';
import {
  type Arrival,
  answerHeaders,
  type Calling,
  Findings,
  ourHeaders,
  type Pipeline,
} from './calling.ts';
import { type Filled, promptPathOf } from './prompts.ts';
import { sendRendered } from './rendered-back.ts';
import { callProvider } from './send-back.ts';

/** Answers the request, whatever becomes of it. */
export async function serve(pipeline: Pipeline, arrival: Arrival): Promise<void> {
  const now = pipeline.now();
  const { spanExport } = pipeline;
  const found = new Findings(
    spanExport && beginTrace(arrival.request, arrival.beganMs, spanExport.sampler),
  );
  found.countOut = countIn();
  try {
    await exchangeOf(pipeline, arrival, found, now);
  } catch (thrown) {
    const { id, response } = arrival;
    found.error = refusalOf(pipeline, response.destroyed ? null : id, thrown);
    const { refused } = found.error;
    if (refused !== null) {
      pipeline.onRefused(refused, arrival.request.socket.remoteAddress ?? '');
    }
    const left = found.calls?.left() ?? [];
    refuse(arrival, found.error, answerHeaders(arrival, found.attempted, left, now));
  }
  found.countOut();
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
  refuseUnpassable(request, shown.key!);
  const { path } = arrival;
  const prompt = promptPathOf(request.method, path);
  const owned = prompt === null ? ownedPathOf(request.method, path) : null;
  const isUnread = owned !== null && sendsFile(owned, request);
  await untilAllIsRead();
  const read = isUnread ? null : readBody(request, pipeline.bodyBytesMax);
  const body = read instanceof Promise ? await read.finally(untilAllIsRead) : read;
  const isJson = body !== null && isJsonType(request.headers['content-type']);
  const sent = isJson ? parseParams(body) : {};
  const filled = prompt === null ? null : await pipeline.prompts.fill(key, prompt, sent);
  pipeline.keys.noteUse(key, now);
  if (prompt?.action === 'render') return sendRendered(arrival, filled!);
  if (filled !== null) found.promptSlug = filled.slug;
  const asked = filled ?? { path, params: sent, body, isJson, metadata: undefined };
  const whole = exchangeFrom(arrival, key, shown, now, asked);
  const exchange = isUnread ? { ...whole, unread: request } : whole;
  found.exchange = exchange;
  const given = pipeline.policies.of(key.organisationId);
  const policies = given instanceof Promise ? await given : given;
  const calls = new ProviderCalls(pipeline, {
    exchange,
    config,
    policies,
    caller,
    trace: found.trace,
  });
  found.calls = calls;
  try {
    const calling = { pipeline, arrival, found, exchange, config, caller, calls };
    if (owned !== null) await pipeline.objects.serve(calling, owned);
    else await ask(calling);
  } finally {
    calls.close();
  }
}

/** Of `asked` it is what was sent, or what a prompt has made of it. */
function exchangeFrom(
  arrival: Arrival,
  key: GatewayKey,
  shown: Shown,
  now: number,
  { path, params, body, isJson, metadata }: Omit<Filled, 'slug'>,
): Exchange {
  const { id, request, header, headerPrefix, query, errorForm } = arrival;
  // Written out, as are all objects of each request: put together of parts they cost several times as much.
  return {
    id,
    request,
    header,
    headerPrefix,
    path,
    query,
    errorForm,
    now,
    key,
    sentKey: new Secret(shown.key!, 'the request'),
    credential: shown.credential,
    body,
    params,
    isJson,
    metadata: metadataOf(key, header, params.user, metadata),
  };
}

/** What no provider could be sent as it came. */
function refuseUnpassable({ headers, url = '' }: IncomingMessage, key: string): void {
  if (headers['content-encoding'] !== undefined) {
    const message = 'The body must be sent without a content encoding';
    throw new GatewayError('unsupported_encoding', message, 'content-encoding');
  }
  if (!url.includes(key)) return;
  const message =
    'The address of the request holds the API key, which a provider would see: leave it out';
  throw new GatewayError('invalid_request', message);
}

function ask(calling: Calling): Promise<void> {
  const { pipeline, exchange } = calling;
  if (isOfAccount(exchange.request.method, exchange.path)) {
    return pipeline.objects.serveOfAccount(calling);
  }
  const asked = askedObjectsOf(exchange);
  return asked === null ? callProvider(calling) : pipeline.objects.serveAsked(calling, asked);
}

/** Never 401 because of the database: who cannot be known now may well be known later. */
export function refusalOf(
  { isUnavailable, onFault }: Pipeline,
  id: string | null,
  thrown: unknown,
): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const cause = { cause: thrown };
  if (isUnavailable(thrown)) {
    const message = 'The gateway cannot look this up now, try again';
    return new GatewayError('unavailable', message, null, cause);
  }
  if (id !== null) onFault(thrown, id);
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
  if (!isWorthReading(request)) response.shouldKeepAlive = false;
  response.writeHead(error.status, {
    ...headers,
    [`${headerPrefix}gateway-exception`]: 'true',
    'content-type': 'application/json',
    'content-length': body.length,
    ...headersOf(error),
  });
  response.end(body);
}

/** What a client goes by: methods, and when to try again; a budget that is used up is there again too late for anybody to wait. */
function headersOf({ code, retryAfterMs }: GatewayError): Record<string, string> {
  if (code === 'usage_limit_exceeded') return { 'x-should-retry': 'false' };
  if (code === 'method_not_allowed') return { allow: allowedMethods };
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

/** What is told of a request that is over. */
export function recordOf(
  arrival: Pick<Arrival, 'id' | 'path' | 'beganMs'> & {
    readonly response: { readonly statusCode: number };
  },
  found: Findings,
  startedAt: number,
): RequestRecord {
  const { key, exchange, config, calls, attempted, firstByteMs, error, promptSlug } = found;
  // Of a call without an answer it is known once it is given up.
  const metered = found.metered ?? (attempted && calls?.charged.lost) ?? null;
  const { id, response, path, beganMs } = arrival;
  const call = attempted?.call ?? null;
  return {
    id,
    startedAt,
    firstByteMs,
    durationMs: monotonicMs() - beganMs,
    organisationId: key?.organisationId ?? null,
    workspaceId: key?.workspace?.id ?? null,
    apiKeyId: key?.id ?? null,
    configId: config?.id ?? null,
    promptSlug,
    endpoint: endpointOf(exchange?.path ?? path),
    status: response.statusCode,
    provider: attempted?.target.provider ?? null,
    requestedModel: textOrNull(exchange?.params.model),
    model: attempted?.target.model ?? null,
    answeredModel: metered?.model ?? null,
    targetPath: attempted?.target.path ?? null,
    retries: attempted?.retries ?? 0,
    cacheStatus: attempted?.cacheStatus ?? null,
    guardrailVerdict: attempted?.verdict ?? null,
    isStream: call !== null && isEventStream(call.headers),
    tokens: metered?.usage ?? null,
    costUnits: metered?.costUnits ?? null,
    isEstimated: metered?.isEstimated ?? false,
    openCharge: found.openCharge,
    earlierAttempts: earlierAttemptsOf(calls?.charged.beside(metered)),
    errorCode: error?.code ?? null,
    metadata: exchange?.metadata ?? {},
  };
}

const none: readonly never[] = [];

function earlierAttemptsOf(charged: readonly ChargedCall[] = none): readonly EarlierAttempt[] {
  if (charged.length === 0) return none;
  return charged.map(({ attempted: { target, status }, metered }) => ({
    ...{ provider: target.provider, model: target.model, targetPath: target.path, status },
    ...{ tokens: metered.usage, costUnits: metered.costUnits, isEstimated: metered.isEstimated },
  }));
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
