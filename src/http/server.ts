/** Knows how routes are served: listening, limits, order of the checks, access log, and stopping. */
import { randomUUID } from 'node:crypto';
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
import { refuseAmbiguity } from './ambiguity.ts';
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

/** One finished exchange, for metrics. `route` is a pattern or `unmatched`, never a raw path. */
export interface Exchange {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
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
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly limits?: HttpLimits;
}

export interface HttpServer {
  /** Starts to listen; port 0 takes a free one. Resolves to `http://host:port`. */
  listen(host: string, port: number): Promise<string>;
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
  const { app, connections } = createFastify(options, running, table);
  const { classifyError, log } = options;
  const { holdBehind } = connections;
  const kit: RouteKit = { app, running, holdBehind, classifyError, log };
  attach(kit, endpoints);
  answerStrangers(kit, table);
  return {
    listen: (host, port) => listen(app, host, port),
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
): { app: FastifyInstance; connections: Connections } {
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
      refuseMalformed(node.connections, options.log, error, stream),
    serverFactory: node.serve,
    // Routes have schemas of another kind; the framework would load a compiler for its own.
    schemaController: {
      compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler },
    },
  });
  app.removeAllContentTypeParsers();
  // Bytes are kept as they came: each route knows how to read them.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return { app, connections: node.connections };
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

interface NodeServer {
  readonly connections: Connections;
  /** Sets who answers; yields the server, which does not listen yet. */
  serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Server;
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
  const serve: NodeServer['serve'] = (answer) => {
    const take: RequestListener = (request, response) => {
      if (!connections.admit(response)) return;
      const state = begin(request, options.now());
      running.set(request, state);
      const started = performance.now();
      response.on('close', () => {
        report(options, state, request, response, performance.now() - started);
      });
      const ambiguity = refuseAmbiguity(request);
      if (ambiguity === null) return answer(request, response);
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
  return { connections, serve };
}

/** As long as the audit log keeps one; a longer one, or one of other characters, is replaced. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

function begin(request: IncomingMessage, startedAt: number): Running {
  const given = request.headers['x-request-id'];
  const sane = typeof given === 'string' && requestIdPattern.test(given);
  return {
    id: sane ? given : randomUUID(),
    startedAt,
    found: null,
    route: 'unmatched',
    callerId: null,
  };
}

/** One line and one observation a request, whatever became of it. */
function report<Caller>(
  { log, observe }: HttpServerOptions<Caller>,
  state: Running,
  request: IncomingMessage,
  response: ServerResponse,
  durationMs: number,
): void {
  const method = request.method ?? '';
  const { route, id: requestId, callerId: principalId } = state;
  const status = response.statusCode;
  observe({ method, route, status, durationMs });
  const aborted = response.writableFinished ? undefined : true;
  const rounded = Math.round(durationMs * 1000) / 1000;
  const line = { method, route, status, durationMs: rounded, requestId, principalId, aborted };
  if (/^\/(livez|readyz|startupz)$/.test(route)) log.debug(line, 'request');
  else log.info(line, 'request');
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
