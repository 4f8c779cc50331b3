/** Sets up the node:http server: limits, checks before the router, refusal of what is no HTTP request. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Server as Listener } from 'node:net';
import { errorBody } from '../../model/wire/errors.ts';
import { type Connections, limitConnections } from '../connections/connections.ts';
import { refuseMalformed, refuseTunnel } from '../connections/refusals.ts';
import { mayLoseFollowingBytes, refuseAmbiguity } from '../input/ambiguity.ts';
import { commonHeaders } from '../responses/respond.ts';
import { writeResponseHead } from '../responses/response-head.ts';
import { createRequestState, trackRequest } from './access-log.ts';
import type { RequestState } from './endpoint.ts';
import { defaultHttpLimits, type HttpServerOptions } from './http-server-options.ts';

/** Connections waiting to be accepted; the kernel has a limit of its own as well. */
const backlogMax = 4096;

type NodeServerOptions = Pick<
  HttpServerOptions<never>,
  'limits' | 'log' | 'now' | 'observe' | 'onRefusedBytes' | 'passOn' | 'createListener'
>;

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

interface NodeServer {
  readonly connections: Connections;
  /** Resolves with the URL. */
  listen(host: string, port: number): Promise<string>;
  /** Resolves once all connections are closed. */
  stopListening(): Promise<void>;
}

export function createNodeServer(
  options: NodeServerOptions,
  states: WeakMap<IncomingMessage, RequestState>,
  dispatch: RequestHandler,
): NodeServer {
  const server = createLimitedServer(options);
  const connections = limitConnections(server, options.limits ?? defaultHttpLimits, options.log);
  const handle: RequestListener = (request, response) => {
    if (!connections.admit(response)) return;
    if (mayLoseFollowingBytes(request)) connections.endWith(response);
    const state = trackRequest(options, states, request, response);
    const ambiguity = refuseAmbiguity(request);
    if (ambiguity !== null) {
      // The rest of the request is not trusted either.
      connections.endWith(response);
      const body = Buffer.from(JSON.stringify(errorBody(ambiguity)));
      const headers = { 'x-request-id': state.id, ...commonHeaders, 'content-length': body.length };
      writeResponseHead(response, 400, headers);
      response.end(body);
      return;
    }
    const pattern = passOn(options, request, response);
    if (pattern === null) dispatch(request, response);
    else state.route = pattern;
  };
  server
    .on('request', handle)
    // Expectations other than 100-continue may be ignored. Without this listener the server would
    // answer them itself with 417, outside the limits, the log and the metrics.
    .on('checkExpectation', handle)
    // Without this listener the server would end the connection without log entry and metric.
    .on('connect', (request, stream) => {
      const { id: requestId, route } = createRequestState(request, options.now());
      const status = refuseTunnel(connections, requestId, stream);
      options.observe({ method: 'CONNECT', route, status, durationMs: 0 });
      options.log.info({ method: 'CONNECT', route, status, requestId }, 'request');
    })
    .on('clientError', (error, stream) =>
      refuseMalformed(connections, options.onRefusedBytes, error, stream),
    );
  const { createListener } = options;
  const listener = createListener?.((socket) => server.emit('connection', socket)) ?? server;
  const scheme = listener === server ? 'http' : 'https';
  return {
    connections,
    listen: async (host, port) => `${scheme}://${await listen(listener, host, port)}`,
    stopListening: () => stopListening(listener),
  };
}

function createLimitedServer({ limits = defaultHttpLimits }: NodeServerOptions): Server {
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    maxHeaderSize: limits.headerBytesMax,
    keepAliveTimeout: 65_000,
    // The ambiguity check refuses a missing Host header in the usual error format.
    requireHostHeader: false,
  });
  server.maxHeadersCount = limits.headersMax;
  return server;
}

/** Resolves with host and port. */
async function listen(server: Listener, host: string, port: number): Promise<string> {
  server.listen({ host, port, backlog: backlogMax });
  await once(server, 'listening');
  const { address, family, port: boundPort } = server.address() as AddressInfo;
  return `${family === 'IPv6' ? `[${address}]` : address}:${boundPort}`;
}

async function stopListening(server: Listener): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  await closed;
}

/**
 * Offers the request to the other listeners. They read the API key from one header only, so a key in the
 * older header is moved. A request with two different keys stays here and is refused.
 */
function passOn(
  { passOn: serveElsewhere }: NodeServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): string | null {
  if (serveElsewhere === undefined || serveElsewhere === null) return null;
  if (request.headers['x-portkey-api-key'] !== undefined) {
    const {
      'x-portkey-api-key': older,
      'x-gateway-api-key': key = older,
      ...rest
    } = request.headers;
    if (key !== older) return null;
    request.headers = { 'x-gateway-api-key': key, ...rest };
  }
  return serveElsewhere(request, response);
}
