/** Knows what a route is: data that says method, path, who may call it, what it takes, and what answers. */
import type { z } from 'zod';
import type { BodyLimits } from '../model/body-limits.ts';
import type { ApiError, ErrorKind } from '../model/errors.ts';
import type { LongList } from '../model/long-list.ts';
import type { Feature } from '../settings.ts';
import type { SlicedText } from './sliced-text.ts';

/** Where a route hangs: `/v1`, `/v2`, `/admin/v2`, or the root (token service, IAM, probes). */
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
 * `session`: the cookie of somebody who is signed in. `client`: HTTP Basic client id and secret.
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
  /** Version named by `If-Match: "3"`, or null when the caller sent none. */
  readonly ifMatch: number | null;
  /** Raw `If-None-Match` value, or null. */
  readonly ifNoneMatch: string | null;
  /** Raw `Accept-Encoding` value, or null. */
  readonly acceptEncoding: string | null;
  /** Value of the `gatewright-owner` header (docs/api.md, Ownership), or null. */
  readonly owner: string | null;
  /** Value of the `gatewright-fence` header: which holding of the owner's lease writes; or null. */
  readonly fence: number | null;
  /** Value of the `idempotency-key` header of a POST, or null. */
  readonly idempotencyKey: string | null;
  /** Raw `Cookie` value, or null. */
  readonly cookies: string | null;
  readonly requestId: string;
  /** Of the other end of the connection, whatever headers say. */
  readonly remoteAddress: string;
  /** Where the caller has found the server: `https://gateway.example.com`. */
  readonly origin: string;
  /** Milliseconds since the epoch, read once when the request was accepted. */
  readonly now: number;
  readonly inner: InnerRequests;
}

/** A change that another request holds. */
export interface InnerRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** With its mount: `/v2/configs`. */
  readonly path: string;
  /** As JSON was read; undefined for none. */
  readonly body: unknown;
  /** As `If-Match` and `Idempotency-Key` of a request of its own. */
  readonly ifMatch: number | null;
  readonly idempotencyKey: string | null;
}

/**
 * Has requests carried out that `outer` holds, each as though its caller had sent it alone: the same
 * scope, features, schemas, limits and handler.
 */
export interface InnerRequests {
  /** @throws what refuses it, an ApiError; what the database throws */
  carryOut(outer: RouteRequest<unknown>, inner: InnerRequest): Promise<InnerAnswer>;
  /** What a caller is told of anything thrown; faults of ours are logged. */
  explain(thrown: unknown, requestId: string): ApiError;
}

export interface InnerAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Several lines for what may be said more than once: `set-cookie`. */
export type HeaderLines = Readonly<Record<string, string | string[]>>;

/** An answer of the response schema's shape with a status or headers of its own. */
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
 * An answer that no response schema speaks of: `304`, an error in another form, text
 * written already. JSON unless the headers say otherwise.
 */
export class RawReply {
  readonly status: number;
  /** Goes out as it is; null for no body. */
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

/** How a route writes its errors. */
export type ErrorForm = 'wrapped' | 'flat' | 'oauth' | 'scim';

export type LeaseHeader = 'gatewright-owner' | 'gatewright-fence';

export interface Route<Caller = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fastify-style path below the mount: `/guardrails/:guardrailId`. */
  readonly path: string;
  /** Credential kinds accepted on each mount the route hangs on. The server refuses to start if empty. */
  readonly mounts: Partial<Record<Mount, readonly CredentialKind[]>>;
  /**
   * Scope the caller must hold (docs/api.md, Scopes), or a function when it depends on the path, or a
   * list of which any one will do when it depends on the resource: the handler then asks for the one.
   * Required unless every mount accepts `none` or `client` only; the server refuses to start otherwise.
   */
  readonly scope?: string | readonly string[] | ((params: Record<string, string>) => string);
  /** The switches that govern it: while any is off, it answers 403. */
  readonly features?: readonly Feature[];
  /** One line for the OpenAPI document. */
  readonly summary: string;
  /**
   * `flat` sends the four error fields without the wrapper; `oauth` is the
   * form of RFC 6749 5.2, for the token service only, `scim` that of RFC 7644 3.12.
   */
  readonly errors?: ErrorForm;
  readonly params?: z.ZodType<Record<string, string>>;
  readonly query?: z.ZodType;
  /** JSON body schema; unknown fields are dropped on v1 and refused on v2 and admin. */
  readonly body?: z.ZodType;
  /** `form` for application/x-www-form-urlencoded bodies (the token request). */
  readonly bodyType?: 'json' | 'form';
  /** Bytes and values of the body; those usual for its type when left out. */
  readonly bodyLimits?: BodyLimits;
  /** Body field names that repeat the path or the token and are ignored where unknown fields are refused. */
  readonly ignoredFields?: readonly string[];
  /** Shape of the answer of success, for the OpenAPI document; the handler answers nothing else. */
  readonly response: z.ZodType;
  /** 204 is answered without a body. */
  readonly successStatus?: 200 | 201 | 204;
  /** Whether an answer may close its connection, on which nothing behind it is begun before; for routes without body. */
  readonly mayClose?: boolean;
  /** Whether a POST sent twice does no more than one, so that it needs no `Idempotency-Key`. */
  readonly repeatable?: boolean;
  /**
   * Kind of the resource whose credential the answer tells, once: what is answered again under an
   * `Idempotency-Key` is a read of it.
   */
  readonly tellsCredentialOf?: 'ApiKey' | 'Deployment';
  /** Whether the handler honours `If-Match`; any other never sees it. */
  readonly versioned?: boolean;
  /** Whether the handler honours `If-None-Match` and may answer 304. */
  readonly revalidated?: boolean;
  /** Which headers of an owner's lease (docs/api.md, Leases of owners) the handler honours. */
  readonly leaseHeaders?: readonly LeaseHeader[];
  /** Refusals of the handler that nothing else of the route tells (see route-errors.ts). */
  readonly refusals?: readonly ErrorKind[];
  /** Status of an answer in the response's shape that is no success. */
  readonly failureStatus?: 422 | 503;
  readonly handle: (request: RouteRequest<Caller>) => Promise<unknown>;
}

/** A route whose handler sees the parsed types of its own schemas and answers what its response says. */
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
  ) => Promise<Answering<R>>;
}

/** What a handler may answer where this is the response schema. */
export type Answering<R extends z.ZodType> =
  | z.input<R>
  | Reply<z.input<R>>
  | LongList<z.input<R>>
  | Reply<LongList<z.input<R>>>
  | RawReply;

/**
 * Declares one route. The handler's `params`, `query`, `body` and answer have the types of the
 * schemas; the cast forgets them again, because the server only ever hands over what those schemas
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
