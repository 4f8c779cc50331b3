/** Runs an HTTP listener for callers: bounds its connections, rejects what is not HTTP, drains and stops. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { reportUnexpected } from '../../detached.ts';
import type { RefusedBytes } from '../../http/connections/refused-bytes.ts';
import { mayLoseFollowingBytes } from '../../http/input/ambiguity.ts';
import { endAbruptly } from '../../http/responses/response-head.ts';
import { monotonicMs } from '../../monotonic.ts';
import { CallerConnection } from './caller-connection.ts';
import type { GatewayError } from './gateway-error.ts';
import { malformedFault, tunnelFault } from './malformed-request.ts';

export interface CallerListenerOptions {
  readonly connectionsMax: number;
  /** Work in messages about unexpected errors: `an inference request`. */
  readonly what: string;
  /** Reports bytes that are not a request. */
  readonly onRefusedBytes: (refused: RefusedBytes) => void;
  /** Returns the raw response to bytes that are not a request. */
  readonly refusalText: (fault: GatewayError) => string;
  /** Serves a request; `isExcess` when the connection exceeds the bound. May throw. */
  readonly serve: (request: IncomingMessage, response: ServerResponse, isExcess: boolean) => void;
  /** Called when a response is closed. */
  readonly onClose: () => void;
  /** Takes requests to change the protocol; absent where none is offered. */
  readonly upgrades?: UpgradeOptions;
}

/** A request that changes the protocol of its connection. */
export interface UpgradeArrival {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that arrived behind the request. */
  readonly head: Buffer;
  /** Writes a response in place of the change, and closes the connection. */
  readonly refuse: (text: string) => void;
}

interface UpgradeOptions {
  /** Whether the request changes the protocol; any other one is served as if it did not ask for it. */
  readonly isWanted: (request: IncomingMessage) => boolean;
  /** Never throws. */
  readonly serve: (arrival: UpgradeArrival, isExcess: boolean) => void;
}

export interface CallerListener {
  /** Port 0 selects a free port. Resolves to `http://host:port`. */
  listen(host: string, port: number): Promise<string>;
  /** Counts a request that arrived at another listener of the process. */
  begin(response: ServerResponse): void;
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

export function createCallerListener(options: CallerListenerOptions): CallerListener {
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
    shouldUpgradeCallback: (request) => options.upgrades?.isWanted(request) === true,
  });
  server.maxHeadersCount = headersMax;
  server.maxConnections = connectionsMax + refusedMax;
  server.on('connection', (socket) => {
    connections.set(socket, new CallerConnection(socket, connections.size >= connectionsMax));
    socket.once('close', () => connections.delete(socket));
  });
  const onClose = (): void => {
    state.inFlight -= 1;
    options.onClose();
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
  if (options.upgrades !== undefined) serveUpgrades(server, connections, options.upgrades);
  const end = (socket: Duplex, fault: GatewayError, code?: string): void => {
    options.onRefusedBytes({ status: fault.status, code });
    const connection = connections.get(socket);
    if (connection === undefined) socket.destroy();
    else connection.end(options.refusalText(fault));
  };
  server.on('connect', (_, socket) => end(socket, tunnelFault(), 'CONNECT'));
  server.on('clientError', (error: NodeJS.ErrnoException & { reason?: string }, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else end(socket, malformedFault(error), error.code);
  });
  return {
    listen: (host, port) => listen(server, host, port),
    begin: (response) => {
      state.inFlight += 1;
      response.on('close', onClose);
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

/** A connection whose earlier responses are not sent yet cannot change its protocol, and ends. */
function serveUpgrades(
  server: Server,
  connections: ReadonlyMap<Duplex, CallerConnection>,
  { isWanted, serve }: UpgradeOptions,
): void {
  server.on('upgrade', (request, socket, head) => {
    const connection = connections.get(socket);
    socket.on('error', () => socket.destroy());
    // Older versions of Node report every request to change the protocol.
    if (connection?.isFree !== true || !isWanted(request)) {
      socket.destroy();
      return;
    }
    const refuse = (text: string): void => connection.end(text);
    serve({ request, socket, head, refuse }, connection.isExcess);
  });
}

/** Never throws. */
function begin(
  { serve, what }: CallerListenerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isExcess: boolean,
): void {
  try {
    serve(request, response, isExcess);
  } catch (thrown) {
    reportUnexpected(thrown, what);
    endAbruptly(response);
  }
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
