/** Knows the life of a request on one route: who asks, may they, what do they send, what is answered. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { ApiError, type ErrorKind } from '../model/errors.ts';
import { idempotencyKeyPattern } from '../model/idempotency.ts';
import { validationError } from '../model/validation-error.ts';
import type { Feature } from '../settings.ts';
import type { Connections } from './connections.ts';
import { versionTagPattern } from './entity-tag.ts';
import type { PendingAnswer } from './gated-socket.ts';
import { bodyLimitsOf, createBodyReader, readLenient } from './input.ts';
import type { MountedRoute } from './registry.ts';
import { type Answer, answerOf, errorAnswer, toApiError, usualHeaders } from './respond.ts';
import type { CredentialKind, ErrorForm } from './route.ts';
import type { Found, RouteTable } from './route-table.ts';
import { endWithSlices, SlicedText } from './sliced-text.ts';

/** What is known of a request while it runs; its access-log line is made from this. */
export interface Running {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** What its method and path lead to; null when that is nothing, or before anyone has looked. */
  found: Found<Endpoint> | null;
  /** Pattern of the route, or `unmatched`. */
  route: string;
  /** Null until someone was recognised. */
  callerId: string | null;
}

/** What every route shares. */
export interface RouteKit {
  readonly app: FastifyInstance;
  readonly running: WeakMap<IncomingMessage, Running>;
  readonly holdBehind: Connections['holdBehind'];
  readonly disabledFeatures: ReadonlySet<Feature>;
  readonly classifyError: (error: unknown) => ErrorKind;
  readonly log: Log;
}

/**
 * Finds the caller and checks the scope, before anything of the body is read. `params` is given as
 * a function because a path that does not parse is only reported to someone who is known.
 */
export type Identify<Caller> = (
  request: FastifyRequest,
  params: () => Record<string, string>,
  running: Running,
) => Promise<Caller>;

/** What a request to one route on one of its mounts goes through. */
export interface Endpoint {
  readonly mounted: MountedRoute<never>;
  /** Before anything of the body is read. */
  readonly admit: (request: FastifyRequest, running: Running) => Promise<void>;
  /** Yields what the handler returned. */
  readonly handle: (request: FastifyRequest, running: Running) => Promise<unknown>;
}

export function createEndpoint<Caller>(
  mounted: MountedRoute<Caller>,
  identify: Identify<Caller>,
): Endpoint {
  const { route, mount } = mounted;
  const readBody = createBodyReader(route, mount);
  const isFenced = route.leaseHeaders?.includes('gatewright-fence') === true;
  const admitted = new WeakMap<FastifyRequest, Caller>();
  const paramsOf = ({ found }: Running): Record<string, string> => {
    const { params } = found!;
    return route.params === undefined ? params : readLenient(route.params, params);
  };
  return {
    mounted,
    admit: async (request, running) => {
      admitted.set(request, await identify(request, () => paramsOf(running), running));
    },
    handle: (request, running) =>
      route.handle({
        caller: admitted.get(request)!,
        mount,
        params: paramsOf(running),
        query: route.query === undefined ? undefined : readLenient(route.query, request.query),
        body: readBody(bodyOf(request, route.body !== undefined, route.bodyType ?? 'json')),
        ifMatch: route.versioned === true ? versionOf(header(request, 'if-match')) : null,
        ifNoneMatch: header(request, 'if-none-match'),
        acceptEncoding: header(request, 'accept-encoding'),
        owner: header(request, 'gatewright-owner'),
        fence: isFenced ? fenceOf(header(request, 'gatewright-fence')) : null,
        idempotencyKey:
          route.method === 'POST' ? idempotencyKeyOf(header(request, 'idempotency-key')) : null,
        requestId: running.id,
        now: running.startedAt,
      }),
  };
}

/**
 * The framework is given no routes but one for each bound of a body, which it keeps while it reads;
 * which of them a request takes follows from what our own table found for it.
 */
export function attach(kit: RouteKit, endpoints: readonly Endpoint[]): void {
  const bounds = new Set(endpoints.map(({ mounted }) => bodyLimitsOf(mounted.route).bytesMax));
  const runningOf = ({ raw }: FastifyRequest): Running => kit.running.get(raw)!;
  const mountedOf = (request: FastifyRequest): MountedRoute<never> =>
    runningOf(request).found!.entry.mounted;
  for (const bytesMax of bounds) {
    kit.app.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
      url: '*',
      bodyLimit: bytesMax,
      constraints: { [bodyBound]: String(bytesMax) },
      errorHandler: (error, request, reply) => {
        const { route, accepts } = mountedOf(request);
        send(kit, reply, failure(kit, error, request, route.errors ?? 'wrapped', accepts));
      },
      onRequest: async (request, reply) => {
        const { route, pattern } = mountedOf(request);
        if (route.mayClose === true) kit.holdBehind(reply.raw);
        const running = runningOf(request);
        running.route = pattern;
        await running.found!.entry.admit(request, running);
        if (route.features?.some((feature) => kit.disabledFeatures.has(feature))) {
          throw new ApiError('featureDisabled');
        }
      },
      handler: async (request, reply) => {
        const running = runningOf(request);
        const result = await running.found!.entry.handle(request, running);
        const status = mountedOf(request).route.successStatus ?? 200;
        send(kit, reply, await answerOf(result, status));
      },
    });
  }
}

/** The framework's name for what tells its routes apart. */
export const bodyBound = 'bodyBytesMax';

/** For the framework's router: the bound of the body of what our table has for the request. */
export function bodyBoundStrategy(
  running: WeakMap<IncomingMessage, Running>,
  table: RouteTable<Endpoint>,
) {
  return {
    name: bodyBound,
    storage: () => new Map(),
    deriveConstraint: (request: IncomingMessage) => {
      const state = running.get(request)!;
      const found = table.find(request.method!, request.url!.split('?', 1)[0]!);
      state.found = found;
      return found === null ? 'none' : String(bodyLimitsOf(found.entry.mounted.route).bytesMax);
    },
  };
}

/** Answers what no route takes: 405 where another method would do, else 404. */
export function answerStrangers(kit: RouteKit, table: RouteTable<Endpoint>): void {
  const refuse = (request: FastifyRequest, reply: FastifyReply): void => {
    const allowed = table.methodsOf(request.url.split('?', 1)[0]!);
    const error = new ApiError(allowed.length > 0 ? 'methodNotAllowed' : 'notFound');
    const answer = errorAnswer(error, 'wrapped', []);
    const headers = allowed.length > 0 ? { allow: allowed.join(', ') } : answer.headers;
    send(kit, reply, { ...answer, headers });
  };
  kit.app.setNotFoundHandler(refuse);
  kit.app.setErrorHandler((error, request, reply) => {
    // What the framework asks of a body, or of QUERY without one, says nothing where no route is.
    if (toApiError(error, kit.classifyError).status < 500) refuse(request, reply);
    else send(kit, reply, failure(kit, error, request, 'wrapped', []));
  });
}

/** A single value of a header; duplicates that matter were refused earlier. */
export function header(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}

/** The answer is finished, so the framework is passed by: it would look at type and headers once more. */
function send(kit: RouteKit, reply: FastifyReply, { status, text, headers }: Answer): void {
  const response = reply.hijack().raw;
  const lines: Record<string, string | number | string[]> = {
    'x-request-id': kit.running.get(response.req)!.id,
    ...usualHeaders,
    ...headers,
  };
  // What the framework has to say: that a connection ends whose request it leaves unread.
  const connection = reply.getHeader('connection');
  if (connection !== undefined) lines.connection = connection;
  const isSliced = text instanceof SlicedText;
  const bytes = isSliced ? text.bytes : text === null ? 0 : Buffer.byteLength(text);
  // A 304 tells the length of nothing.
  if (status !== 304 && bytes !== null) lines['content-length'] = bytes;
  response.writeHead(status, lines);
  if (!isSliced) response.end(text);
  else endWithSlices(response, text.slices).catch((error) => cutOff(kit, response, error));
}

/** The status is out already; that the connection ends within the answer tells its reader. */
function cutOff(kit: RouteKit, response: PendingAnswer, thrown: unknown): void {
  logFault(kit, toApiError(thrown, kit.classifyError), response.req, 'answer broken off');
  response.destroy();
}

/** Only faults of ours are logged. */
function failure(
  kit: RouteKit,
  thrown: unknown,
  request: FastifyRequest,
  form: ErrorForm,
  accepts: readonly CredentialKind[],
): Answer {
  const error = toApiError(thrown, kit.classifyError);
  if (error.status >= 500) {
    const text = error.kind === 'internal' ? 'request failed' : 'request could not be served now';
    logFault(kit, error, request.raw, text);
  }
  return errorAnswer(error, form, accepts);
}

/** Without the fields where drivers keep the values of a statement. */
function logFault(kit: RouteKit, error: ApiError, request: IncomingMessage, text: string): void {
  const cause = (error.cause ?? error) as Partial<Record<string, unknown>>;
  const { name, message, code, errno, stack } = cause;
  const requestId = kit.running.get(request)?.id;
  const line = { requestId, error: { name, message, code, errno, stack } };
  if (error.kind === 'internal') kit.log.error(line, text);
  else kit.log.warn(line, text);
}

function bodyOf(
  request: FastifyRequest,
  wanted: boolean,
  bodyType: 'json' | 'form',
): Buffer | undefined {
  const body = request.body as Buffer | undefined;
  if (!wanted || body === undefined || body.length === 0) return undefined;
  const encoding = header(request, 'content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('unsupportedMedia', 'Send the body without Content-Encoding');
  }
  const [type = '', ...parameters] = (header(request, 'content-type') ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const json = type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
  const fits = bodyType === 'json' ? json : type === 'application/x-www-form-urlencoded';
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (!fits || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    const expected = bodyType === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
    throw new ApiError('unsupportedMedia', `Send Content-Type: ${expected} in UTF-8`);
  }
  return body;
}

/** `"3"` is version 3; `*` and an absent header ask for no version. */
function versionOf(ifMatch: string | null): number | null {
  if (ifMatch === null) return null;
  const matched = versionTagPattern.exec(ifMatch);
  if (matched !== null) return matched[1] === undefined ? null : Number(matched[1]);
  throw validationError({ path: ['If-Match'], message: 'takes one version in quotes, like "3"' });
}

function fenceOf(text: string | null): number | null {
  if (text === null || /^\d{1,15}$/.test(text)) return text === null ? null : Number(text);
  throw validationError({
    path: ['gatewright-fence'],
    message: 'takes the whole number of a lease',
  });
}

function idempotencyKeyOf(text: string | null): string | null {
  if (text === null || idempotencyKeyPattern.test(text)) return text;
  throw validationError({
    path: ['Idempotency-Key'],
    message: 'takes 1 to 255 visible ASCII characters, a UUID as a rule',
  });
}
