/** Runs the listener for inference: which requests it accepts, how many, and how it stops. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { detach, reportUnexpected } from '../detached.ts';
import type { RefusedBytes } from '../http/connections/refused-bytes.ts';
import { mayLoseFollowingBytes, refuseAmbiguity } from '../http/input/ambiguity.ts';
import { endAbruptly } from '../http/responses/response-head.ts';
import type { CanonicalTarget } from '../model/endpoints/canonical-target.ts';
import { prepareId, takePreparedId } from '../model/wire/ids.ts';
import { monotonicMs } from '../monotonic.ts';
import { isAdminRequest, setKeyHeader } from './callers/admin-requests.ts';
import { aliasFault, ownHeaders } from './callers/exchange.ts';
import { sendError } from './calls/error-response.ts';
import type { Arrival } from './calls/request-context.ts';
import { canonicalArrival } from './inference/canonical-arrival.ts';
import { type Pipeline, serveRequest } from './inference/pipeline.ts';
import { parsePromptPath } from './inference/prompts.ts';
import { plainModelTarget } from './references/model-path.ts';
import { CallerConnection } from './transfer/caller-connection.ts';
import { errorFormOf } from './transfer/error-form.ts';
import { GatewayError } from './transfer/gateway-error.ts';
import {
  errorResponseText,
  malformedFault,
  methodFault,
  tunnelFault,
  webSocketFault,
} from './transfer/malformed-request.ts';

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

const headersTimeoutMs = 10_000;
/** Bound of receiving a request; its response may take longer. */
const requestTimeoutMs = 300_000;
const keepAliveMs = 65_000;
const headerBytesMax = 64 * 1024;
const headersMax = 100;
/** Excess connections that receive an error response; further ones are closed without one. */
const refusedMax = 64;
const backlogMax = 4096;
const sweepMs = 50;

export function createInferenceServer(options: InferenceServerOptions): InferenceServer {
  const { connectionsMax } = options;
  const connections = new Map<Duplex, CallerConnection>();
  const state = { isDraining: false, inFlight: 0 };
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
    requireHostHeader: false,
  });
  server.maxHeadersCount = headersMax;
  server.maxConnections = connectionsMax + refusedMax;
  server.on('connection', (socket) => {
    connections.set(socket, new CallerConnection(socket, connections.size >= connectionsMax));
    socket.once('close', () => connections.delete(socket));
  });
  const onClose = (): void => {
    state.inFlight -= 1;
    prepareId();
  };
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = connections.get(request.socket);
    if (connection === undefined || !connection.admit(response, onClose)) {
      // An unread body would hide that the caller has gone.
      request.resume();
      return;
    }
    if (state.isDraining || mayLoseFollowingBytes(request)) response.shouldKeepAlive = false;
    state.inFlight += 1;
    begin(options, request, response, connection.isExcess);
  };
  server.on('request', take).on('checkExpectation', take);
  const end = (socket: Duplex, fault: GatewayError, code?: string): void => {
    options.onRefusedBytes({ status: fault.status, code });
    const connection = connections.get(socket);
    if (connection === undefined) socket.destroy();
    else connection.end(errorResponseText(fault));
  };
  server.on('connect', (_, socket) => end(socket, tunnelFault(), 'CONNECT'));
  server.on('clientError', (error: NodeJS.ErrnoException & { reason?: string }, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else end(socket, malformedFault(error), error.code);
  });
  return {
    listen: (host, port) => listen(server, host, port),
    takePrompt: (request, response) => {
      const { target, fault } = readTarget(request);
      if (parsePromptPath(request.method, target.path)?.action !== 'completions') return null;
      state.inFlight += 1;
      response.on('close', onClose);
      const { pipeline } = options;
      const refusal = fault ?? aliasFault(request, pipeline.headerPrefixes);
      respond(pipeline, arrivalOf(pipeline, request, response, target), refusal);
      return '/v1/prompts/:promptId/completions';
    },
    drain: () => {
      state.isDraining = true;
    },
    close: (graceMs) => {
      state.isDraining = true;
      return close(server, connections, graceMs);
    },
    get inFlight() {
      return state.inFlight;
    },
  };
}

/** Never throws. */
function begin(
  options: InferenceServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isExcess: boolean,
): void {
  try {
    dispatch(options, request, response, isExcess);
  } catch (thrown) {
    reportUnexpected(thrown, 'an inference request');
    endAbruptly(response);
  }
}

function dispatch(
  { pipeline, passOn, onRefusedBytes }: InferenceServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isExcess: boolean,
): void {
  const refusal = refusalOf(request, pipeline.headerPrefixes, isExcess);
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
  if (request.url!.startsWith('/v1/')) {
    return (
      methodFault(request.method!) ??
      webSocketFault(request.headers) ??
      aliasFault(request, headerPrefixes)
    );
  }
  return new GatewayError('not_found', 'Inference is served below /v1/');
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
  readonly target: CanonicalTarget;
  readonly fault: GatewayError | null;
} {
  try {
    return { target: canonicalArrival(request), fault: null };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const [path = ''] = (request.url ?? '').slice('/v1'.length).split('?', 1);
    return { target: { path, query: '' }, fault: thrown };
  }
}

/** A trace id sent by the caller is used, as in the Admin API, so that both sides can find the request. */
const traceIdPattern = /^[\w.:-]{1,128}$/;

function arrivalOf(
  pipeline: Pipeline,
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: CanonicalTarget,
): Arrival {
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
    errorForm: errorFormOf(request.method, path),
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

function listen(server: Server, host: string, port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  server.once('error', reject);
  server.listen({ host, port, backlog: backlogMax }, () => {
    server.off('error', reject);
    const { address, family, port: taken } = server.address() as AddressInfo;
    resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`);
  });
  return promise;
}

async function close(
  server: Server,
  connections: ReadonlyMap<Duplex, CallerConnection>,
  graceMs: number,
): Promise<void> {
  if (!server.listening) return;
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  const deadlineMs = monotonicMs() + graceMs;
  const sweep = setInterval(
    () => {
      server.closeIdleConnections();
      if (monotonicMs() < deadlineMs) return;
      for (const socket of connections.keys()) socket.destroy();
    },
    Math.max(1, Math.min(sweepMs, graceMs)),
  );
  await ended.finally(() => clearInterval(sweep));
}
