/** Defines a route as data: method, path, mounts, credentials, scope, schemas and handler. */
import type { z } from 'zod';
import type { BodyLimits } from '../../model/json/body-limits.ts';
import type { ApiError, ErrorKind } from '../../model/wire/errors.ts';
import type { StreamedList } from '../../model/wire/streamed-list.ts';
import type { Feature } from '../../settings.ts';
import type { SlicedText } from '../connections/sliced-text.ts';

/** Prefix of a route: `/v1`, `/v2`, `/admin/v2`, or none (token service, IAM, probes). */
export type Mount = 'v1' | 'v2' | 'admin' | 'root';

export const mountPrefixes: Record<Mount, string> = {
  v1: '/v1',
  v2: '/v2',
  admin: '/admin/v2',
  root: '',
};

/**
 * `access-token`: Bearer token of the token service. `api-key`: `x-gateway-api-key` (or its older
 * name) header. `bearer-key`: an API key as a Bearer token, for clients that can send nothing else.
 * `session`: session cookie of a signed-in user. `client`: HTTP Basic client id and secret.
 * `none`: public.
 */
export type CredentialKind =
  | 'access-token'
  | 'api-key'
  | 'bearer-key'
  | 'session'
  | 'client'
  | 'none';

export interface RouteRequest<
  Caller,
  Params = Record<string, string>,
  Query = unknown,
  Body = unknown,
> {
  readonly caller: Caller;
  readonly mount: Mount;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Version in `If-Match: "3"`, or null when the caller sent none. */
  readonly ifMatch: number | null;
  /** Raw `If-None-Match` value, or null. */
  readonly ifNoneMatch: string | null;
  /** Raw `Accept-Encoding` value, or null. */
  readonly acceptEncoding: string | null;
  /** Value of the `gatewright-owner` header (docs/reference/sync-api.md, Ownership), or null. */
  readonly owner: string | null;
  /** Value of the `gatewright-fence` header, the fence number of the owner's lease, or null. */
  readonly fence: number | null;
  /** Value of the `idempotency-key` header of a POST, or null. */
  readonly idempotencyKey: string | null;
  /** Raw `Cookie` value, or null. */
  readonly cookies: string | null;
  /** Raw `Origin` value, which names the page that sent the request, or null. */
  readonly pageOrigin: string | null;
  /** Raw `Host` value, or null. */
  readonly host: string | null;
  readonly requestId: string;
  /** Address of the connection's peer; forwarding headers are ignored. */
  readonly remoteAddress: string;
  /** Base address by which the caller reached the server: `https://gateway.example.com`. */
  readonly origin: string;
  /** Milliseconds since the epoch; the time when the request was accepted. */
  readonly now: number;
  readonly inner: InnerRequests;
}

/** One change contained in the body of another request. */
export interface InnerRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Includes the mount: `/v2/configs`. */
  readonly path: string;
  /** Parsed JSON; undefined for none. */
  readonly body: unknown;
  /** Values of `If-Match` and `Idempotency-Key` for this change. */
  readonly ifMatch: number | null;
  readonly idempotencyKey: string | null;
}

/**
 * Carries out requests contained in `outer` as if its caller had sent each one alone: with the same
 * scope, features, schemas, limits and handler.
 */
export interface InnerRequests {
  /** @throws ApiError when the request is refused; also the errors of the database */
  carryOut(outer: RouteRequest<unknown>, inner: InnerRequest): Promise<InnerResult>;
  /** Converts anything thrown to the error for the caller and logs server errors. */
  explain(thrown: unknown, requestId: string): ApiError;
}

export interface InnerResult {
  readonly status: number;
  readonly body: unknown;
}

/** A list for headers that may be sent more than once: `set-cookie`. */
export type HeaderLines = Readonly<Record<string, string | string[]>>;

/** A response in the shape of the route's schema with a status or headers of its own. */
export class Reply<Body = unknown> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: Body, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/**
 * A response that the route's schema does not describe: `304`, an error in another format, or rendered
 * text. JSON unless the headers say otherwise.
 */
export class RawReply {
  readonly status: number;
  /** Sent unchanged; null for no body. */
  readonly text: string | Buffer | SlicedText | null;
  readonly headers: HeaderLines;

  constructor(
    status: number,
    text: string | Buffer | SlicedText | null,
    headers: HeaderLines = {},
  ) {
    this.status = status;
    this.text = text;
    this.headers = headers;
  }
}

/** Format of a route's errors. */
export type ErrorForm = 'wrapped' | 'flat' | 'oauth' | 'scim';

export type LeaseHeader = 'gatewright-owner' | 'gatewright-fence';

export interface Route<Caller = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the mount, with parameters: `/guardrails/:guardrailId`. */
  readonly path: string;
  /** Credential kinds accepted on each mount. The server refuses to start if a list is empty. */
  readonly mounts: Partial<Record<Mount, readonly CredentialKind[]>>;
  /**
   * Scope the caller must hold (docs/reference/access.md, Scopes). A function when it depends on the path. A
   * list when it depends on the resource: any one suffices, and the handler checks the exact one.
   * Required unless every mount accepts `none` or `client` only; the server refuses to start otherwise.
   */
  readonly scope?: string | readonly string[] | ((params: Record<string, string>) => string);
  /** Feature flags of the route: while any is off, the route returns 403. */
  readonly features?: readonly Feature[];
  /** One line for the OpenAPI document. */
  readonly summary: string;
  /**
   * `flat` sends the four error fields without the wrapper; `oauth` is the format of RFC 6749 5.2, for
   * the token service only; `scim` that of RFC 7644 3.12.
   */
  readonly errors?: ErrorForm;
  readonly params?: z.ZodType<Record<string, string>>;
  /** An object schema. Members that it does not define are refused. */
  readonly query?: z.ZodType;
  /** Whether unknown query members are ignored, for routes of a standard that demands it. */
  readonly ignoresUnknownQuery?: true;
  /** JSON body schema; unknown fields are dropped on v1 and refused on v2 and admin. */
  readonly body?: z.ZodType;
  /** `form` for application/x-www-form-urlencoded bodies (the token request). */
  readonly bodyType?: 'json' | 'form';
  /** Limits on bytes and values of the body; by default those of its type. */
  readonly bodyLimits?: BodyLimits;
  /** Body fields that repeat the path or the token; ignored where unknown fields are refused. */
  readonly ignoredFields?: readonly string[];
  /** Shape of a successful response, for the OpenAPI document and the type of the handler. */
  readonly response: z.ZodType;
  /** 204 is sent without a body. */
  readonly successStatus?: 200 | 201 | 204;
  /**
   * Whether the response may close its connection; pipelined requests wait for it. For routes without body.
   */
  readonly mayClose?: boolean;
  /** Whether a repeated POST has no further effect, so that it needs no `Idempotency-Key`. */
  readonly isRepeatable?: boolean;
  /**
   * Kind of the resource whose credential the response returns, once. Repeating such a response for an
   * `Idempotency-Key` counts as a read of that credential.
   */
  readonly returnsCredentialOf?: 'ApiKey' | 'Deployment' | 'ServiceAccount';
  /** Whether the handler supports `If-Match`; for other routes `ifMatch` is null. */
  readonly versioned?: boolean;
  /** Whether the handler supports `If-None-Match` and may return 304. */
  readonly revalidated?: boolean;
  /** Lease headers (docs/reference/sync-api.md, Leases of owners) that the handler supports. */
  readonly leaseHeaders?: readonly LeaseHeader[];
  /** Errors of the handler that the declaration does not imply (see route-errors.ts). */
  readonly refusals?: readonly ErrorKind[];
  /** Status of an unsuccessful response that has the shape of `response`. */
  readonly failureStatus?: 422 | 503;
  readonly handle: (request: RouteRequest<Caller>) => Promise<unknown>;
}

/** A route whose handler has the parsed types of its schemas and returns what its response schema says. */
interface TypedRoute<
  Caller,
  P extends z.ZodType<Record<string, string>>,
  Q extends z.ZodType,
  B extends z.ZodType,
  R extends z.ZodType,
> extends Omit<Route<Caller>, 'params' | 'query' | 'body' | 'response' | 'handle'> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response: R;
  readonly handle: (
    request: RouteRequest<Caller, z.output<P>, z.output<Q>, z.output<B>>,
  ) => Promise<HandlerResult<R>>;
}

/** Values a handler may return for this response schema. */
export type HandlerResult<R extends z.ZodType> =
  | z.input<R>
  | Reply<z.input<R>>
  | StreamedList<z.input<R>>
  | Reply<StreamedList<z.input<R>>>
  | RawReply;

/**
 * Declares one route. The handler's `params`, `query`, `body` and result have the types of the schemas.
 * The cast drops those types, which is safe because the server passes only values that these schemas
 * parsed.
 */
export function route<
  Caller,
  R extends z.ZodType,
  P extends z.ZodType<Record<string, string>> = z.ZodType<Record<string, string>>,
  Q extends z.ZodType = z.ZodType<undefined>,
  B extends z.ZodType = z.ZodType<undefined>,
>(definition: TypedRoute<Caller, P, Q, B, R>): Route<Caller> {
  return definition as unknown as Route<Caller>;
}
