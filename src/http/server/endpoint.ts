/** Runs one route: authentication, permission, input parsing, then the handler. */
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../model/wire/errors.ts';
import { idempotencyKeyPattern } from '../../model/wire/idempotency.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import { createBodyReader, createInnerBodyReader, readLenient } from '../input/input.ts';
import { createQueryReader } from '../input/query.ts';
import { versionTagPattern } from '../responses/entity-tag.ts';
import type { MountedRoute } from '../routes/registry.ts';
import {
  type InnerRequest,
  type InnerRequests,
  RawReply,
  Reply,
  type Route,
  type RouteRequest,
} from '../routes/route.ts';
import type { RouteTable } from '../routes/route-table.ts';

/** State of a request in flight; the access log entry is made from it. */
export interface RequestState {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Pattern of the route, or `unmatched`. */
  route: string;
  /** Null until the caller is authenticated. */
  callerId: string | null;
}

/** Authenticates and authorises the caller; runs before any of the body is read. */
export interface AccessControl<Caller> {
  /** @throws ApiError `unauthorized`, or `invalid` for two credentials */
  readonly authenticate: (request: IncomingMessage, now: number) => Promise<Caller> | Caller;
  /** Name of the caller in the access log, or null on public routes. */
  readonly callerId: (caller: Caller) => string | null;
  /**
   * `params` is a function so that invalid path parameters are reported to authenticated callers only.
   *
   * @throws ApiError `forbidden` without the scope, `featureDisabled`
   */
  readonly permit: (caller: Caller, params: () => Record<string, string>) => void;
}

/** Serves the requests to one route on one of its mounts. */
export interface Endpoint {
  readonly mounted: MountedRoute<never>;
  /** Resolves to what the handler returned; `readBytes` is called after the caller is permitted. */
  readonly serve: (
    request: IncomingMessage,
    state: RequestState,
    params: Record<string, string>,
    readBytes: () => Promise<Buffer>,
  ) => Promise<unknown>;
  /** Serves a request contained in the body of `outer`. */
  readonly serveInner: (
    outer: RouteRequest<unknown>,
    inner: InnerRequest,
    params: Record<string, string>,
  ) => Promise<unknown>;
}

export function createEndpoint<Caller>(
  mounted: MountedRoute<Caller>,
  { authenticate, callerId, permit }: AccessControl<Caller>,
  inner: InnerRequests,
): Endpoint {
  const { route, mount } = mounted;
  const readBody = createBodyReader(route, mount);
  const readInnerBody = createInnerBodyReader(route, mount);
  const isFenced = route.leaseHeaders?.includes('gatewright-fence') === true;
  const readParams = (params: Record<string, string>): Record<string, string> =>
    route.params === undefined ? params : readLenient(route.params, params);
  const readQuery = createQueryReader(route);
  return {
    mounted,
    serve: async (request, state, rawParams, readBytes) => {
      const caller = await authenticate(request, state.startedAt);
      state.callerId = callerId(caller);
      permit(caller, () => readParams(rawParams));
      const bytes = await readBytes();
      const params = readParams(rawParams);
      const query = readQuery(searchOf(request));
      const hasBody = route.body !== undefined && bytes.length > 0;
      if (hasBody) requireContentType(request, route.bodyType ?? 'json');
      const read = readBody(hasBody ? bytes : undefined);
      return route.handle({
        caller,
        mount,
        params,
        query,
        inner,
        body: read instanceof Promise ? await read : read,
        ifMatch: route.versioned === true ? parseVersion(header(request, 'if-match')) : null,
        ifNoneMatch: header(request, 'if-none-match'),
        acceptEncoding: header(request, 'accept-encoding'),
        cookies: header(request, 'cookie'),
        pageOrigin: header(request, 'origin'),
        host: header(request, 'host'),
        owner: header(request, 'gatewright-owner'),
        fence: isFenced ? parseFence(header(request, 'gatewright-fence')) : null,
        idempotencyKey:
          route.method === 'POST' ? parseIdempotencyKey(header(request, 'idempotency-key')) : null,
        requestId: state.id,
        remoteAddress: remoteAddressOf(request),
        origin: originOf(request),
        now: state.startedAt,
      });
    },
    serveInner: async (outer, { body, ifMatch, idempotencyKey }, rawParams) => {
      permit(outer.caller as Caller, () => readParams(rawParams));
      const params = readParams(rawParams);
      refuseUnsupportedFields(route, { ifMatch, idempotencyKey });
      return route.handle({
        ...(outer as RouteRequest<Caller>),
        mount,
        params,
        query: readQuery(''),
        body: readInnerBody(body),
        fence: isFenced ? outer.fence : null,
        ifMatch,
        idempotencyKey,
      });
    },
  };
}

/** Refuses fields of an inner request that correspond to headers which the route does not support. */
function refuseUnsupportedFields(
  { method, versioned }: Route<never>,
  { ifMatch, idempotencyKey }: Pick<InnerRequest, 'ifMatch' | 'idempotencyKey'>,
): void {
  if (ifMatch !== null && versioned !== true) {
    throw validationError({ path: ['if_match'], message: 'is not supported for creates' });
  }
  if (idempotencyKey !== null && method !== 'POST') {
    const message =
      'is supported for creates only; use if_match to keep a change from being made twice';
    throw validationError({ path: ['idempotency_key'], message });
  }
}

/** `explain` converts anything thrown to the error that the caller receives. */
export function createInnerRequests(
  table: RouteTable<Endpoint>,
  explain: InnerRequests['explain'],
): InnerRequests {
  const carryOut: InnerRequests['carryOut'] = async (outer, inner) => {
    const match = table.find(inner.method, inner.path);
    if (match === null) throw new ApiError('notFound');
    const { entry, params } = match;
    const result = await entry.serveInner(outer, inner, params);
    if (result instanceof Reply) return { status: result.status, body: result.body };
    if (!(result instanceof RawReply)) {
      return { status: entry.mounted.route.successStatus ?? 200, body: result };
    }
    return { status: result.status, body: JSON.parse(String(result.text)) as unknown };
  };
  return { carryOut, explain };
}

/** The query without its `?`; empty when there is none. */
function searchOf({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at + 1);
}

/** Value of a header, or null; duplicates of security-relevant headers were refused earlier. */
export function header(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' ? value : null;
}

/**
 * Address of the peer, possibly a proxy; forwarding headers are ignored because any client can send them.
 */
export function remoteAddressOf(request: IncomingMessage): string {
  return request.socket.remoteAddress ?? '';
}

/** Origin as the proxy in front, if any, reports it; it is only ever returned to the caller itself. */
function originOf(request: IncomingMessage): string {
  const scheme = header(request, 'x-forwarded-proto') === 'https' ? 'https' : 'http';
  return `${scheme}://${header(request, 'host') ?? ''}`;
}

/** @throws ApiError `unsupportedMedia` unless the body is plain UTF-8 of the expected type */
function requireContentType(request: IncomingMessage, bodyType: 'json' | 'form'): void {
  const encoding = header(request, 'content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('unsupportedMedia', 'Send the body without Content-Encoding');
  }
  const [type = '', ...parameters] = (header(request, 'content-type') ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const isJson = type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
  const isExpected = bodyType === 'json' ? isJson : type === 'application/x-www-form-urlencoded';
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (!isExpected || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    const expected = bodyType === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
    throw new ApiError('unsupportedMedia', `Send Content-Type: ${expected} in UTF-8`);
  }
}

/** `"3"` is version 3; `*` and an absent header give null. */
function parseVersion(ifMatch: string | null): number | null {
  if (ifMatch === null) return null;
  const matched = versionTagPattern.exec(ifMatch);
  if (matched !== null) return matched[1] === undefined ? null : Number(matched[1]);
  throw validationError({ path: ['If-Match'], message: 'must be one version in quotes, like "3"' });
}

function parseFence(text: string | null): number | null {
  if (text === null || /^\d{1,15}$/.test(text)) return text === null ? null : Number(text);
  throw validationError({
    path: ['gatewright-fence'],
    message: 'must be the fence number of a lease',
  });
}

function parseIdempotencyKey(text: string | null): string | null {
  if (text === null || idempotencyKeyPattern.test(text)) return text;
  throw validationError({
    path: ['Idempotency-Key'],
    message: 'must be 1 to 255 visible ASCII characters, usually a UUID',
  });
}
