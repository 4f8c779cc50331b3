/** Knows the listener for inference: which requests it takes, how many, and how it stops. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { hidesNext, refuseAmbiguity } from '../http/ambiguity.ts';
import type { RefusedBytes } from '../http/refused-bytes.ts';
import { makeIdReady, readyId } from '../model/ids.ts';
import { monotonicMs } from '../monotonic.ts';
import type { Arrival, Pipeline } from './answering/calling.ts';
import { refuse, serve } from './answering/pipeline.ts';
import { promptPathOf } from './answering/prompts.ts';
import { aliasFault, ownHeaders } from './callers/exchange.ts';
import { isOfAdminApi, showKey } from './callers/passed-on.ts';
import { plainModelTarget } from './references/model-path.ts';
import { CallerConnection } from './transfer/caller-connection.ts';
import { errorFormOf } from './transfer/error-form.ts';
import { GatewayError } from './transfer/gateway-error.ts';
import { malformedFault, methodFault, textOf, tunnelFault } from './transfer/malformed.ts';

export interface InferenceServerOptions {
  readonly pipeline: Pipeline;
  readonly connectionsMax: number;
  /** Is told of what is no request, and of requests that are none for inference or several in one. */
  readonly onRefusedBytes: (refused: RefusedBytes) => void;
  /** Takes a request that is the Admin API's. */
  readonly passOn: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface InferenceServer {
  /** Port 0 takes a free one. Resolves to `http://host:port`. */
  listen(host: string, port: number): Promise<string>;
  /**
   * Serves a request for a prompt that came to another listener of the process, which bounds its
   * connection. Yields the pattern of its path; null for any other request, with which nothing is done.
   */
  takePrompt(request: IncomingMessage, response: ServerResponse): string | null;
  /** Goes on serving, but each answer is the last of its connection. */
  takeLeave(): void;
  /** Stops accepting, waits for what is in flight, cuts it after `graceMs`. */
  close(graceMs: number): Promise<void>;
  /** Requests under way. */
  readonly inFlight: number;
}

const headersTimeoutMs = 10_000;
/** For all of a request; its answer may take as long as it does. */
const requestTimeoutMs = 300_000;
const keepAliveMs = 65_000;
const headerBytesMax = 64 * 1024;
const headersMax = 100;
/** Connections beyond the bound that are told so; those beyond are closed in silence. */
const refusedMax = 64;
const backlogMax = 4096;
const sweepMs = 50;

export function createInferenceServer(options: InferenceServerOptions): InferenceServer {
  const { connectionsMax } = options;
  const connections = new Map<Duplex, CallerConnection>();
  const state = { isLeaving: false, inFlight: 0 };
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
  const takeOut = (): void => {
    state.inFlight -= 1;
    makeIdReady();
  };
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = connections.get(request.socket);
    if (connection === undefined || !connection.admit(response, takeOut)) {
      // Unread, it would keep from us that the caller has gone.
      request.resume();
      return;
    }
    if (state.isLeaving || hidesNext(request)) response.shouldKeepAlive = false;
    state.inFlight += 1;
    begin(options, request, response, connection.isExcess);
  };
  server.on('request', take).on('checkExpectation', take);
  const end = (socket: Duplex, fault: GatewayError, code?: string): void => {
    options.onRefusedBytes({ status: fault.status, code });
    const connection = connections.get(socket);
    if (connection === undefined) socket.destroy();
    else connection.end(textOf(fault));
  };
  server.on('connect', (_, socket) => end(socket, tunnelFault(), 'CONNECT'));
  server.on('clientError', (error: NodeJS.ErrnoException & { reason?: string }, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else end(socket, malformedFault(error), error.code);
  });
  return {
    listen: (host, port) => listen(server, host, port),
    takePrompt: (request, response) => {
      const path = pathOf(request.url!);
      if (promptPathOf(request.method, path)?.action !== 'completions') return null;
      state.inFlight += 1;
      response.on('close', takeOut);
      const { pipeline } = options;
      const refusal = aliasFault(request, pipeline.headerPrefixes);
      answer(pipeline, arrivalOf(pipeline, request, response), refusal);
      return '/v1/prompts/:promptId/completions';
    },
    takeLeave: () => {
      state.isLeaving = true;
    },
    close: (graceMs) => {
      state.isLeaving = true;
      return close(server, connections, graceMs);
    },
    get inFlight() {
      return state.inFlight;
    },
  };
}

function begin(
  { pipeline, passOn, onRefusedBytes }: InferenceServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isExcess: boolean,
): void {
  const refusal = refusalOf(request, pipeline.headerPrefixes, isExcess);
  if (refusal === null && isOfAdminApi(request)) {
    showKey(request, pipeline.headerPrefixes);
    passOn(request, response);
    return;
  }
  const arrival = arrivalOf(pipeline, request, response);
  if (refusal !== null) {
    // Nothing that follows on the connection is trusted.
    response.shouldKeepAlive = false;
    onRefusedBytes(refusal);
  }
  answer(pipeline, arrival, refusal);
}

function answer(pipeline: Pipeline, arrival: Arrival, refusal: GatewayError | null): void {
  if (refusal === null) void serve(pipeline, arrival);
  else refuse(arrival, refusal);
}

function refusalOf(
  request: IncomingMessage,
  headerPrefixes: readonly string[],
  isExcess: boolean,
): GatewayError | null {
  if (isExcess) {
    const message = 'The gateway has as many connections as it takes, try again';
    return new GatewayError('unavailable', message);
  }
  const ambiguity = ambiguityOf(request);
  if (ambiguity !== null) return new GatewayError('invalid_request', ambiguity.message);
  if (request.url!.startsWith('/v1/')) {
    return methodFault(request.method!) ?? aliasFault(request, headerPrefixes);
  }
  return new GatewayError('not_found', 'Inference is served below /v1/');
}

/** Whether its target is that of a model is asked of none that is plain as it stands. */
function ambiguityOf(request: IncomingMessage): ReturnType<typeof refuseAmbiguity> {
  const ambiguity = refuseAmbiguity(request);
  const url = ambiguity === null ? null : plainModelTarget(request);
  if (url === null) return ambiguity;
  const { rawHeaders, httpVersion } = request;
  return refuseAmbiguity({ rawHeaders, httpVersion, url });
}

/** Behind `/v1`, without a query. */
function pathOf(url: string): string {
  const question = url.indexOf('?');
  return url.slice('/v1'.length, question < 0 ? undefined : question);
}

/** As for the Admin API; a caller's own one is kept, so that both sides find the request by it. */
const traceIdPattern = /^[\w.:-]{1,128}$/;

function arrivalOf(
  pipeline: Pipeline,
  request: IncomingMessage,
  response: ServerResponse,
): Arrival {
  const { headerPrefixes } = pipeline;
  const header = ownHeaders(request, headerPrefixes);
  const given = header('trace-id');
  const url = request.url ?? '';
  const path = pathOf(url);
  const question = url.indexOf('?');
  return {
    id: given !== null && traceIdPattern.test(given) ? given : readyId(),
    request,
    response,
    header,
    path,
    query: question < 0 ? '' : url.slice(question),
    errorForm: errorFormOf(request.method, path),
    headerPrefix: prefixOf(request, headerPrefixes),
    beganMs: monotonicMs(),
  };
}

/** An alias is answered in its own words. */
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
