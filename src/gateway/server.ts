/** Serves inference at a listener: decides which requests it accepts, and passes others on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { detach } from '../detached.ts';
import type { RefusedBytes } from '../http/connections/refused-bytes.ts';
import { refuseAmbiguity } from '../http/input/ambiguity.ts';
import type { CanonicalTarget } from '../model/endpoints/canonical-target.ts';
import { geminiPrefix } from '../model/endpoints/catalogue.ts';
import type { GeminiTarget } from '../model/endpoints/gemini-target.ts';
import { prepareId, takePreparedId } from '../model/wire/ids.ts';
import { monotonicMs } from '../monotonic.ts';
import { isAdminRequest, setKeyHeader } from './callers/admin-requests.ts';
import { aliasFault, ownHeaders } from './callers/exchange.ts';
import { takeQueryKey } from './callers/query-key.ts';
import { sendError } from './calls/error-response.ts';
import type { Arrival } from './calls/request-context.ts';
import { canonicalArrival } from './inference/canonical-arrival.ts';
import { type Pipeline, serveRequest } from './inference/pipeline.ts';
import { parsePromptPath } from './inference/prompts.ts';
import { plainModelTarget } from './references/model-path.ts';
import { createCallerListener } from './transfer/caller-listener.ts';
import { errorFormOf } from './transfer/error-form.ts';
import { GatewayError } from './transfer/gateway-error.ts';
import { errorResponseText, methodFault, webSocketFault } from './transfer/malformed-request.ts';

export interface InferenceServerOptions {
  readonly pipeline: Pipeline;
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
    close: listener.close,
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

function respond(pipeline: Pipeline, arrival: Arrival, refusal: GatewayError | null): void {
  if (refusal === null) detach('an inference request', serveRequest(pipeline, arrival));
  else sendError(arrival, refusal);
}

function refusalOf(
  request: IncomingMessage,
  headerPrefixes: readonly string[],
  isExcess: boolean,
): GatewayError | null {
  if (isExcess) {
    const message = 'The gateway has reached its connection limit; try again';
    return new GatewayError('unavailable', message);
  }
  const ambiguity = ambiguityOf(request);
  if (ambiguity !== null) return new GatewayError('invalid_request', ambiguity.message);
  if (request.url!.startsWith('/v1/') || request.url!.startsWith(geminiPrefix)) {
    return (
      methodFault(request.method!) ??
      webSocketFault(request.headers) ??
      aliasFault(request, headerPrefixes)
    );
  }
  return new GatewayError('not_found', 'Inference is served below /v1/ and /v1beta/');
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
  readonly target: CanonicalTarget | GeminiTarget;
  readonly fault: GatewayError | null;
} {
  try {
    return { target: canonicalArrival(request), fault: null };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { url = '' } = request;
    const [path = ''] = url.slice(url.startsWith(geminiPrefix) ? 0 : '/v1'.length).split('?', 1);
    return { target: { path, query: '' }, fault: thrown };
  }
}

/** A trace id sent by the caller is used, as in the Admin API, so that both sides can find the request. */
const traceIdPattern = /^[\w.:-]{1,128}$/;

function arrivalOf(
  pipeline: Pipeline,
  request: IncomingMessage,
  response: ServerResponse,
  target: CanonicalTarget | GeminiTarget,
): Arrival {
  const { path, query } = target;
  const { headerPrefixes } = pipeline;
  const header = ownHeaders(request, headerPrefixes);
  const sentId = header('trace-id');
  return {
    id: sentId !== null && traceIdPattern.test(sentId) ? sentId : takePreparedId(),
    request,
    response,
    header,
    path,
    query,
    errorForm: errorFormOf(request.method, path, request.headers),
    gemini: 'gemini' in target ? target.gemini : null,
    headerPrefix: prefixOf(request, headerPrefixes),
    beganMs: monotonicMs(),
  };
}

/** The response uses the header prefix that the request used. */
function prefixOf(request: IncomingMessage, prefixes: readonly string[]): string {
  const isUsed = (prefix: string): boolean =>
    ['api-key', 'config', 'provider', 'virtual-key'].some(
      (name) => request.headers[prefix + name] !== undefined,
    );
  return (prefixes.length > 1 && prefixes.slice(1).find(isUsed)) || prefixes[0]!;
}
