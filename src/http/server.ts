/** Knows how routes are served: listening, limits, order of the checks, access log, and stopping. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { usualBody } from '../model/body-limits.ts';
import { ApiError, type ErrorKind, errorBody } from '../model/errors.ts';
import { validationError } from '../model/validation-error.ts';
import type { Feature } from '../settings.ts';
import { begin, type Exchange, note } from './access-log.ts';
import { hidesNext, refuseAmbiguity } from './ambiguity.ts';
import {
  answerStrangers,
  attach,
  bodyBound,
  bodyBoundStrategy,
  explain,
  type RouteKit,
} from './attach.ts';
import { boundConnections, type ConnectionLimits, type Connections } from './connections.ts';
import {
  type Admission,
  createEndpoint,
  createInnerRequests,
  type Endpoint,
  header,
  type Running,
  remoteAddressOf,
} from './endpoint.ts';
import { refuseMalformed, refuseTunnel } from './refusals.ts';
import type { RefusedBytes } from './refused-bytes.ts';
import { checkRoutes, type MountedRoute, mountRoutes } from './registry.ts';
import { usualHeaders } from './respond.ts';
import type { CredentialKind, Route } from './route.ts';
import { RouteTable } from './route-table.ts';

/** What a request carried to prove who sent it; never logged. */
interface Credentials {
  /** The `Authorization` header, or null. */
  readonly authorization: string | null;
  /** The `x-gateway-api-key` or `x-portkey-api-key` header, or null. */
  readonly gatewayKey: string | null;
  /** What a browser sent with its cookies; null where there are none. */
  readonly browser: {
    readonly cookies: string;
    readonly origin: string | null;
    readonly isChange: boolean;
    /** The `gatewright-workspace` header, or null. */
    readonly workspace: string | null;
  } | null;
  readonly remoteAddress: string;
}

export interface HttpLimits extends ConnectionLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly headerBytesMax: number;
  readonly headersMax: number;
}

export const usualLimits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  headerBytesMax: 16 * 1024,
  headersMax: 100,
  requestsPerSocketMax: 1000,
  requestsInFlightMax: 4,
  unsentBytesMax: 64 * 1024,
  connectionsMax: 2000,
  stallTimeoutMs: 20_000,
  lingerTimeoutMs: 60_000,
};

export interface HttpServerOptions<Caller> {
  /** Routes that need credentials. */
  readonly routes: readonly Route<Caller>[];
  /** Routes open to all: probes, the interface description. */
  readonly publicRoutes: readonly Route<null>[];
  /** Finds the caller, or throws an ApiError: `unauthorized`, or `invalid` for two credentials. */
  readonly authenticate: (
    credentials: Credentials,
    accepts: readonly CredentialKind[],
    now: number,
  ) => Promise<Caller>;
  /** Throws an ApiError `forbidden` unless the caller holds the scope. */
  readonly authorise: (caller: Caller, scope: string) => void;
  /** What the access log calls the caller; never a credential. */
  readonly callerId: (caller: Caller) => string;
  readonly disabledFeatures: ReadonlySet<Feature>;
  /** Kind of an error that is not an ApiError: `unavailable` when trying again may help. */
  readonly classifyError: (error: unknown) => ErrorKind;
  readonly observe: (exchange: Exchange) => void;
  /** Is told of bytes that are no request. */
  readonly onRefusedBytes: (refused: RefusedBytes) => void;
  /**
   * Takes a request that belongs to another listener of the process and came here, since its client knows
   * one address only. Yields the pattern of its path; null for one that is ours. An API key stands in
   * `x-gateway-api-key`, whichever header it came by.
   */
  readonly passOn?: ((request: IncomingMessage, response: ServerResponse) => string | null) | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly limits?: HttpLimits;
}

export interface HttpServer {
  /** Starts to listen; port 0 takes a free one. Resolves to `http://host:port`. */
  listen(host: string, port: number): Promise<string>;
  /** Serves a request that came to another listener of the process, which bounds its connection. */
  take(request: IncomingMessage, response: ServerResponse): void;
  /** Goes on serving, but each answer is the last of its connection, so that callers go elsewhere. */
  takeLeave(): void;
  /** Stops accepting, waits for what is in flight, cuts it after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws Failure when a route lacks a rule. */
export function createHttpServer<Caller>(options: HttpServerOptions<Caller>): HttpServer {
  const guarded = mountRoutes(options.routes);
  const open = mountRoutes(options.publicRoutes);
  checkRoutes(guarded, open);
  const table = new RouteTable<Endpoint>();
  const inner = createInnerRequests(table, (thrown, id) => explain(options, thrown, id));
  const anyone = (mounted: MountedRoute<null>): Admission<null> => ({
    authenticate: () => null,
    callerId: () => null,
    permit: () => requireFeatures(options, mounted),
  });
  const endpoints = [
    ...guarded.map((mounted) => createEndpoint(mounted, createAdmission(options, mounted), inner)),
    ...open.map((mounted) => createEndpoint(mounted, anyone(mounted), inner)),
  ];
  for (const endpoint of endpoints) {
    const { route, pattern } = endpoint.mounted;
    table.add(route.method, pattern, endpoint);
  }
  const running = new WeakMap<IncomingMessage, Running>();
  const { app, connections, answer } = createFastify(options, running, table);
  const { classifyError, log } = options;
  const { holdBehind } = connections;
  const kit: RouteKit = { app, running, holdBehind, classifyError, log };
  attach(kit, endpoints);
  answerStrangers(kit, table);
  return {
    listen: (host, port) => listen(app, host, port),
    take: (request, response) => {
      note(options, running, request, response);
      // Where nothing has listened here yet, routes are still to be made ready.
      app.ready().then(
        () => answer(request, response),
        () => response.destroy(),
      );
    },
    takeLeave: connections.takeLeave,
    close: async (graceMs) => {
      connections.takeLeave();
      await connections.endAll(graceMs, app.close());
    },
  };
}

function createAdmission<Caller>(
  options: HttpServerOptions<Caller>,
  mounted: MountedRoute<Caller>,
): Admission<Caller> {
  const { authenticate, authorise, callerId } = options;
  const { accepts } = mounted;
  const { scope } = mounted.route;
  return {
    authenticate: (request, now) => authenticate(credentialsOf(request), accepts, now),
    callerId,
    permit: (caller, params) => {
      const wanted = typeof scope === 'function' ? scope(params()) : scope;
      if (wanted !== undefined) authoriseAny(authorise, caller, [wanted].flat());
      requireFeatures(options, mounted);
    },
  };
}

function requireFeatures(
  { disabledFeatures }: Pick<HttpServerOptions<never>, 'disabledFeatures'>,
  { route: { features } }: MountedRoute<never>,
): void {
  if (features?.some((feature) => disabledFeatures.has(feature))) {
    throw new ApiError('featureDisabled');
  }
}

/** Throws the last refusal when none of the scopes is held. */
function authoriseAny<Caller>(
  authorise: HttpServerOptions<Caller>['authorise'],
  caller: Caller,
  scopes: readonly string[],
): void {
  const refusals = scopes.flatMap((scope) => {
    try {
      authorise(caller, scope);
      return [];
    } catch (refusal) {
      return [refusal];
    }
  });
  if (refusals.length === scopes.length) throw refusals.at(-1);
}

function createFastify<Caller>(
  options: HttpServerOptions<Caller>,
  running: WeakMap<IncomingMessage, Running>,
  table: RouteTable<Endpoint>,
): Pick<NodeServer, 'connections'> & { readonly app: FastifyInstance; readonly answer: Answerer } {
  const node = createNodeServer(options, running);
  const app = fastify({
    logger: false,
    bodyLimit: usualBody.bytesMax,
    // While closing, requests on open connections are still served, and told to close.
    return503OnClosing: false,
    // One who asks for the head is answered as one who asks for all; the body is not sent.
    exposeHeadRoutes: false,
    routerOptions: { constraints: { [bodyBound]: bodyBoundStrategy(running, table) } },
    clientErrorHandler: (error, stream) =>
      refuseMalformed(node.connections, options.onRefusedBytes, error, stream),
    serverFactory: node.serve,
    // Routes have schemas of another kind; the framework would load a compiler for its own.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
  });
  app.removeAllContentTypeParsers();
  // Bytes are kept as they came: each route knows how to read them.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return { app, connections: node.connections, answer: node.answer };
}

/** Of connections that wait to be taken; the kernel has a bound of its own as well. */
const backlogMax = 4096;

function noCompiler(): never {
  throw new Error('no route has a schema of the framework');
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  await app.listen({ host, port, backlog: backlogMax });
  const { address, family, port: taken } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
}

type Answerer = (request: IncomingMessage, response: ServerResponse) => void;

interface NodeServer {
  readonly connections: Connections;
  /** Sets who answers; yields the server, which does not listen yet. */
  serve(answer: Answerer): Server;
  /** Once that was set. */
  readonly answer: Answerer;
}

function createNodeServer<Caller>(
  options: HttpServerOptions<Caller>,
  running: WeakMap<IncomingMessage, Running>,
): NodeServer {
  const limits = options.limits ?? usualLimits;
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
    maxHeaderSize: limits.headerBytesMax,
    keepAliveTimeout: 65_000,
    // Missing ones are refused with what else can be read in two ways, and in the same form.
    requireHostHeader: false,
  });
  server.maxHeadersCount = limits.headersMax;
  const connections = boundConnections(server, limits, options.log);
  let answerer: Answerer | null = null;
  const serve: NodeServer['serve'] = (answer) => {
    answerer = answer;
    const take: RequestListener = (request, response) => {
      if (!connections.admit(response)) return;
      if (hidesNext(request)) connections.endWith(response);
      const state = note(options, running, request, response);
      const ambiguity = refuseAmbiguity(request);
      if (ambiguity === null) {
        const passedOn = passOn(options, request, response);
        if (passedOn === null) return answer(request, response);
        state.route = passedOn;
        return;
      }
      // The rest of the request is not trusted either.
      connections.endWith(response);
      const body = Buffer.from(JSON.stringify(errorBody(ambiguity)));
      const headers = { 'x-request-id': state.id, ...usualHeaders, 'content-length': body.length };
      response.writeHead(400, headers).end(body);
    };
    // What a request expects beyond 100-continue may be ignored; the server would refuse it by itself,
    // past every bound, and tell nobody.
    server.on('request', take).on('checkExpectation', take);
    // Without anybody who listens the server ends the connection, and tells nobody either.
    return server.on('connect', (request, stream) => {
      const { id: requestId, route } = begin(request, options.now());
      const status = refuseTunnel(connections, requestId, stream);
      options.observe({ method: 'CONNECT', route, status, durationMs: 0 });
      options.log.info({ method: 'CONNECT', route, status, requestId }, 'request');
    });
  };
  return { connections, serve, answer: (request, response) => answerer!(request, response) };
}

function credentialsOf(request: FastifyRequest): Credentials {
  const key = header(request, 'x-gateway-api-key');
  const olderKey = header(request, 'x-portkey-api-key');
  if (key !== null && olderKey !== null && key !== olderKey) {
    throw validationError({ path: [], message: 'two different API keys were sent' });
  }
  return {
    authorization: header(request, 'authorization'),
    gatewayKey: key ?? olderKey,
    browser: browserOf(request),
    remoteAddress: remoteAddressOf(request),
  };
}

function browserOf(request: FastifyRequest): Credentials['browser'] {
  const cookies = header(request, 'cookie');
  if (cookies === null) return null;
  const isChange = request.method !== 'GET' && request.method !== 'HEAD';
  const workspace = header(request, 'gatewright-workspace');
  return { cookies, origin: header(request, 'origin'), isChange, workspace };
}

/** A key comes in one of two headers here; elsewhere nobody knows of the older. Two keys are refused here. */
function passOn(
  { passOn: take }: Pick<HttpServerOptions<never>, 'passOn'>,
  request: IncomingMessage,
  response: ServerResponse,
): string | null {
  if (take === undefined || take === null) return null;
  if (request.headers['x-portkey-api-key'] !== undefined) {
    const {
      'x-portkey-api-key': older,
      'x-gateway-api-key': key = older,
      ...rest
    } = request.headers;
    if (key !== older) return null;
    request.headers = { 'x-gateway-api-key': key, ...rest };
  }
  return take(request, response);
}
