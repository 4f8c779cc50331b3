/** Knows what a route goes through before its handler, for a request that came alone and for one that another holds. */
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../model/errors.ts';
import { idempotencyKeyPattern } from '../model/idempotency.ts';
import { validationError } from '../model/validation-error.ts';
import { versionTagPattern } from './entity-tag.ts';
import { createBodyReader, createHeldBodyReader, readLenient } from './input.ts';
import type { MountedRoute } from './registry.ts';
import {
  type InnerRequest,
  type InnerRequests,
  RawReply,
  Reply,
  type Route,
  type RouteRequest,
} from './route.ts';
import type { Found, RouteTable } from './route-table.ts';

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

/** Who may ask: found and judged before anything of the body is read. */
export interface Admission<Caller> {
  /** @throws ApiError `unauthorized`, or `invalid` for two credentials */
  readonly authenticate: (request: FastifyRequest, now: number) => Promise<Caller> | Caller;
  /** What the access log calls the caller, or null where nobody is asked for. */
  readonly callerId: (caller: Caller) => string | null;
  /**
   * `params` is given as a function because a path that does not parse is only reported to someone
   * who is known.
   *
   * @throws ApiError `forbidden` without the scope, `featureDisabled`
   */
  readonly permit: (caller: Caller, params: () => Record<string, string>) => void;
}

/** What a request to one route on one of its mounts goes through. */
export interface Endpoint {
  readonly mounted: MountedRoute<never>;
  /** Before anything of the body is read. */
  readonly admit: (request: FastifyRequest, running: Running) => Promise<void>;
  /** Yields what the handler returned. */
  readonly handle: (request: FastifyRequest, running: Running) => Promise<unknown>;
  /** The same for a request that `outer` holds, whose path says `params`. */
  readonly handleHeld: (
    outer: RouteRequest<unknown>,
    inner: InnerRequest,
    params: Record<string, string>,
  ) => Promise<unknown>;
}

export function createEndpoint<Caller>(
  mounted: MountedRoute<Caller>,
  { authenticate, callerId, permit }: Admission<Caller>,
  inner: InnerRequests,
): Endpoint {
  const { route, mount } = mounted;
  const readBody = createBodyReader(route, mount);
  const readHeldBody = createHeldBodyReader(route, mount);
  const isFenced = route.leaseHeaders?.includes('gatewright-fence') === true;
  const admitted = new WeakMap<FastifyRequest, Caller>();
  const paramsOf = (params: Record<string, string>): Record<string, string> =>
    route.params === undefined ? params : readLenient(route.params, params);
  const queryOf = (query: unknown): unknown =>
    route.query === undefined ? undefined : readLenient(route.query, query);
  return {
    mounted,
    admit: async (request, running) => {
      const caller = await authenticate(request, running.startedAt);
      running.callerId = callerId(caller);
      permit(caller, () => paramsOf(running.found!.params));
      admitted.set(request, caller);
    },
    handle: (request, running) => {
      const params = paramsOf(running.found!.params);
      const query = queryOf(request.query);
      const read = readBody(bodyOf(request, route.body !== undefined, route.bodyType ?? 'json'));
      // Fields one by one, because what is spread is copied for each request.
      const handle = (body: unknown) =>
        route.handle({
          caller: admitted.get(request)!,
          mount,
          params,
          query,
          inner,
          body,
          ifMatch: route.versioned === true ? versionOf(header(request, 'if-match')) : null,
          ifNoneMatch: header(request, 'if-none-match'),
          acceptEncoding: header(request, 'accept-encoding'),
          cookies: header(request, 'cookie'),
          owner: header(request, 'gatewright-owner'),
          fence: isFenced ? fenceOf(header(request, 'gatewright-fence')) : null,
          idempotencyKey:
            route.method === 'POST' ? idempotencyKeyOf(header(request, 'idempotency-key')) : null,
          requestId: running.id,
          remoteAddress: remoteAddressOf(request),
          origin: originOf(request),
          now: running.startedAt,
        });
      return read instanceof Promise ? read.then(handle) : handle(read);
    },
    handleHeld: async (outer, { body, ifMatch, idempotencyKey }, found) => {
      permit(outer.caller as Caller, () => paramsOf(found));
      const params = paramsOf(found);
      refuseUnheeded(route, { ifMatch, idempotencyKey });
      const held = { mount, params, query: queryOf({}), body: readHeldBody(body) };
      const fence = isFenced ? outer.fence : null;
      return route.handle({
        ...outer,
        ...held,
        fence,
        ifMatch,
        idempotencyKey,
      } as RouteRequest<Caller>);
    },
  };
}

/** As a header that no route honours is not sent, so is what a held request says beside its body. */
function refuseUnheeded(
  { method, versioned }: Route<never>,
  { ifMatch, idempotencyKey }: Pick<InnerRequest, 'ifMatch' | 'idempotencyKey'>,
): void {
  if (ifMatch !== null && versioned !== true) {
    throw validationError({ path: ['if_match'], message: 'is not for what is made anew' });
  }
  if (idempotencyKey !== null && method !== 'POST') {
    const message = 'is for creates only; here if_match keeps a change from being made twice';
    throw validationError({ path: ['idempotency_key'], message });
  }
}

/** `explain` says what a caller is told of anything thrown. */
export function createInnerRequests(
  table: RouteTable<Endpoint>,
  explain: InnerRequests['explain'],
): InnerRequests {
  const carryOut: InnerRequests['carryOut'] = async (outer, inner) => {
    const found = table.find(inner.method, inner.path);
    if (found === null) throw new ApiError('notFound');
    const { entry, params } = found;
    const result = await entry.handleHeld(outer, inner, params);
    if (result instanceof Reply) return { status: result.status, body: result.body };
    if (!(result instanceof RawReply)) {
      return { status: entry.mounted.route.successStatus ?? 200, body: result };
    }
    return { status: result.status, body: JSON.parse(String(result.text)) as unknown };
  };
  return { carryOut, explain };
}

/** A single value of a header; duplicates that matter were refused earlier. */
export function header(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}

/** That of a proxy, where one is in front: what a header says of it, anybody may send. */
export function remoteAddressOf(request: FastifyRequest): string {
  return request.socket.remoteAddress ?? '';
}

/** As the proxy before the server has it, where there is one; told to nobody but the caller. */
function originOf(request: FastifyRequest): string {
  const scheme = header(request, 'x-forwarded-proto') === 'https' ? 'https' : 'http';
  return `${scheme}://${header(request, 'host') ?? ''}`;
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
