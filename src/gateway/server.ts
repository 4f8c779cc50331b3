/** Serves inference at a listener: decides which requests it accepts, and passes others on. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { detach } from '../detached.ts';
import { renderRawResponse } from '../http/connections/refusals.ts';
import type { RefusedBytes } from '../http/connections/refused-bytes.ts';
import { refuseAmbiguity } from '../http/input/ambiguity.ts';
import { addOwnHeader } from '../http/responses/response-head.ts';
import type { CanonicalTarget } from '../model/endpoints/canonical-target.ts';
import { bedrockPrefix } from '../model/endpoints/catalogue.ts';
import type { ActionTarget } from '../model/endpoints/cloud-target.ts';
import { prepareId, takePreparedId } from '../model/wire/ids.ts';
import { monotonicMs } from '../monotonic.ts';
import { isAdminRequest, setKeyHeader } from './callers/admin-requests.ts';
import { aliasFault, ownHeaders } from './callers/exchange.ts';
import { takeQueryKey } from './callers/query-key.ts';
import { sendError } from './calls/error-response.ts';
import type { Arrival } from './calls/request-context.ts';
import { canonicalArrival, isInferenceUrl } from './inference/canonical-arrival.ts';
import { type Pipeline, serveRequest } from './inference/pipeline.ts';
import { parsePromptPath } from './inference/prompts.ts';
import { type RealtimeServices, serveRealtime } from './realtime/serve-realtime.ts';
import { isSocketPath, isSocketRequest, takeLiveUrl } from './realtime/socket-request.ts';
import { plainModelTarget } from './references/model-path.ts';
import { createCallerListener, type UpgradeArrival } from './transfer/caller-listener.ts';
import { errorFormOf } from './transfer/error-form.ts';
import { GatewayError, gatewayErrorBody } from './transfer/gateway-error.ts';
import { errorResponseText, methodFault, webSocketFault } from './transfer/malformed-request.ts';

export interface InferenceServerOptions {
  readonly pipeline: Pipeline;
  readonly realtime: RealtimeServices;
  readonly connectionsMax: number;
  /** Reports bytes that are not a request, and requests that are rejected as malformed or ambiguous. */
  readonly onRefusedBytes: (refused: RefusedBytes) => void;
  /** Serves a request for the Admin API. */
  readonly passOn: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface InferenceServer {
  /** Port 0 selects a free port. Resolves to `http://host:port`. */
  listen(host: string, port: number): Promise<string>;
  /**
   * Serves a prompt completion that arrived at another listener of the process, which limits its own
   * connections. Returns the pattern of its path; null for any other request, which it ignores.
   */
  takePrompt(request: IncomingMessage, response: ServerResponse): string | null;
  /** Continues to serve, but closes each connection after its next response. */
  drain(): void;
  /** Stops accepting, waits for requests in flight, and cuts them after `graceMs`. */
  close(graceMs: number): Promise<void>;
  /** Number of requests in flight. */
  readonly inFlight: number;
}

export function createInferenceServer(options: InferenceServerOptions): InferenceServer {
  const { pipeline } = options;
  const listener = createCallerListener({
    connectionsMax: options.connectionsMax,
    what: 'an inference request',
    onRefusedBytes: options.onRefusedBytes,
    refusalText: errorResponseText,
    serve: (...arrived) => dispatch(options, ...arrived),
    onClose: prepareId,
    upgrades: {
      isWanted: isSocketRequest,
      serve: (arrived, isExcess) => dispatchUpgrade(options, arrived, isExcess),
    },
  });
  return {
    listen: listener.listen,
    takePrompt: (request, response) => {
      const { target, fault } = readTarget(request);
      if (parsePromptPath(request.method, target.path)?.action !== 'completions') return null;
      listener.begin(response);
      const refusal = fault ?? aliasFault(request, pipeline.headerPrefixes);
      respond(pipeline, arrivalOf(pipeline, request, response, target), refusal);
      return '/v1/prompts/:promptId/completions';
    },
    drain: listener.drain,
    close: async (graceMs) => {
      await Promise.all([options.realtime.sessions.close(graceMs), listener.close(graceMs)]);
    },
    get inFlight() {
      return listener.inFlight;
    },
  };
}

function dispatch(
  { pipeline, passOn, onRefusedBytes }: InferenceServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isExcess: boolean,
): void {
  const refusal = refusalOf(request, pipeline.headerPrefixes, isExcess) ?? takeQueryKey(request);
  if (refusal === null && isAdminRequest(request)) {
    setKeyHeader(request, pipeline.headerPrefixes);
    passOn(request, response);
    return;
  }
  const { target, fault } = readTarget(request);
  const arrival = arrivalOf(pipeline, request, response, target);
  if (refusal !== null) {
    // The rest of the connection cannot be trusted.
    response.shouldKeepAlive = false;
    onRefusedBytes(refusal);
  }
  respond(pipeline, arrival, refusal ?? fault);
}

/** Never throws. */
function dispatchUpgrade(
  { pipeline, realtime, onRefusedBytes }: InferenceServerOptions,
  { request, socket, head, refuse }: UpgradeArrival,
  isExcess: boolean,
): void {
  const { headerPrefixes } = pipeline;
  const live = takeLiveUrl(request);
  const [liveVersion, liveFault] = live instanceof GatewayError ? [null, live] : [live, null];
  const refusal =
    excessFault(isExcess) ??
    liveFault ??
    plainFault(request) ??
    aliasFault(request, headerPrefixes);
  if (refusal !== null) onRefusedBytes(refusal);
  const { target, fault } = readTarget(request);
  const header = ownHeaders(request, headerPrefixes);
  const headerPrefix = prefixOf(request, headerPrefixes);
  const id = requestIdOf(header);
  const refuseBy = (error: GatewayError): void => refuse(refusedUpgrade(error, id, headerPrefix));
  const first = refusal ?? fault;
  if (first !== null) {
    refuseBy(first);
    return;
  }
  const about = { ...target, id, header, headerPrefix, beganMs: monotonicMs(), liveVersion };
  const arrival = { ...about, request, socket, head, refuse: refuseBy };
  detach('a realtime session', serveRealtime(realtime, arrival));
}

/** The raw response to a request for a WebSocket that is refused. */
function refusedUpgrade(error: GatewayError, id: string, prefix: string): string {
  const { status, retryAfterMs } = error;
  const headers = [`${prefix}trace-id: ${id}`, `${prefix}gateway-exception: true`];
  if (retryAfterMs !== null) headers.push(`retry-after: ${Math.ceil(retryAfterMs / 1000)}`);
  const body = gatewayErrorBody(error, 'openai');
  return renderRawResponse(`${status} ${STATUS_CODES[status]}`, headers, body);
}

function respond(pipeline: Pipeline, arrival: Arrival, refusal: GatewayError | null): void {
  if (refusal === null) detach('an inference request', serveRequest(pipeline, arrival));
  else sendError(arrival, refusal);
}

function refusalOf(
  request: IncomingMessage,
  headerPrefixes: readonly string[],
  isExcess: boolean,
): GatewayError | null {
  const fault = excessFault(isExcess) ?? plainFault(request);
  if (fault !== null) return fault;
  if (isInferenceUrl(request.url!) || isSocketPath(request)) {
    return (
      methodFault(request.method!) ??
      webSocketFault(request, isSocketPath(request)) ??
      aliasFault(request, headerPrefixes)
    );
  }
  return new GatewayError(
    'not_found',
    'Inference is served below /v1/, /v2/, /v1beta/ and /model/',
  );
}

function excessFault(isExcess: boolean): GatewayError | null {
  if (!isExcess) return null;
  const message = 'The gateway has reached its connection limit; try again';
  return new GatewayError('unavailable', message);
}

/** The fault of a request that two readers could understand differently; null for none. */
function plainFault(request: IncomingMessage): GatewayError | null {
  const ambiguity = ambiguityOf(request);
  return ambiguity && new GatewayError('invalid_request', ambiguity.message);
}

/** Checks for a target with a model name only when the target is not plain as it is. */
function ambiguityOf(request: IncomingMessage): ReturnType<typeof refuseAmbiguity> {
  const ambiguity = refuseAmbiguity(request);
  const url = ambiguity === null ? null : plainModelTarget(request);
  if (url === null) return ambiguity;
  const { rawHeaders, httpVersion } = request;
  return refuseAmbiguity({ rawHeaders, httpVersion, url });
}

/** The canonical target; with a fault a target that is only reported. */
function readTarget(request: IncomingMessage): {
  readonly target: CanonicalTarget | ActionTarget;
  readonly fault: GatewayError | null;
} {
  try {
    return { target: canonicalArrival(request), fault: null };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { url = '' } = request;
    const [path = ''] = url.slice(url.startsWith('/v1/') ? '/v1'.length : 0).split('?', 1);
    return { target: { path, query: '' }, fault: thrown };
  }
}

/** A trace id sent by the caller is used, as in the Admin API, so that both sides can find the request. */
const traceIdPattern = /^[\w.:-]{1,128}$/;

function arrivalOf(
  pipeline: Pipeline,
  request: IncomingMessage,
  response: ServerResponse,
  target: CanonicalTarget | ActionTarget,
): Arrival {
  const { path, query } = target;
  const { headerPrefixes } = pipeline;
  const header = ownHeaders(request, headerPrefixes);
  const headerPrefix = prefixOf(request, headerPrefixes);
  const ageSeconds = pipeline.configurationAgeSeconds();
  if (ageSeconds !== null) addOwnHeader(response, `${headerPrefix}config-age`, String(ageSeconds));
  return {
    id: requestIdOf(header),
    request,
    response,
    header,
    path,
    query,
    errorForm: request.url!.startsWith(bedrockPrefix)
      ? 'aws'
      : errorFormOf(request.method, path, request.headers),
    action: 'action' in target ? target.action : null,
    headerPrefix,
    beganMs: monotonicMs(),
  };
}

function requestIdOf(header: Arrival['header']): string {
  const sentId = header('trace-id');
  return sentId !== null && traceIdPattern.test(sentId) ? sentId : takePreparedId();
}

/** The response uses the header prefix that the request used. */
function prefixOf(request: IncomingMessage, prefixes: readonly string[]): string {
  const isUsed = (prefix: string): boolean =>
    ['api-key', 'config', 'provider', 'virtual-key'].some(
      (name) => request.headers[prefix + name] !== undefined,
    );
  return (prefixes.length > 1 && prefixes.slice(1).find(isUsed)) || prefixes[0]!;
}
