/** Options and default limits of the HTTP server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Log } from '../../log.ts';
import type { ErrorKind } from '../../model/wire/errors.ts';
import type { Feature } from '../../settings.ts';
import type { ConnectionLimits } from '../connections/connections.ts';
import type { RefusedBytes } from '../connections/refused-bytes.ts';
import type { CredentialKind, Route } from '../routes/route.ts';
import type { FinishedRequest } from './access-log.ts';
import type { RequestCredentials } from './request-credentials.ts';

export interface HttpLimits extends ConnectionLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly headerBytesMax: number;
  readonly headersMax: number;
  /** Bound of all request bodies in memory together. */
  readonly bodiesBytesMax: number;
}

export const defaultHttpLimits: HttpLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  headerBytesMax: 16 * 1024,
  headersMax: 100,
  // Sixteen of the largest bodies.
  bodiesBytesMax: 64 * 1024 * 1024,
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
  /** Routes without authentication: probes, the OpenAPI document. */
  readonly publicRoutes: readonly Route<null>[];
  /** @throws ApiError `unauthorized`, or `invalid` for two credentials */
  readonly authenticate: (
    credentials: RequestCredentials,
    accepts: readonly CredentialKind[],
    now: number,
  ) => Promise<Caller>;
  /** @throws ApiError `forbidden` unless the caller holds the scope */
  readonly authorise: (caller: Caller, scope: string) => void;
  /** Name of the caller in the access log; never a credential. */
  readonly callerId: (caller: Caller) => string;
  readonly disabledFeatures: ReadonlySet<Feature>;
  /** Kind of an error that is not an ApiError: `unavailable` when a retry may help. */
  readonly classifyError: (error: unknown) => ErrorKind;
  readonly observe: (request: FinishedRequest) => void;
  /** Called for bytes that are not an HTTP request. */
  readonly onRefusedBytes: (refused: RefusedBytes) => void;
  /** Counts an error that no rule foresees; it is logged and ends its request with 500. */
  readonly onUnexpectedError: () => void;
  /**
   * Serves requests that belong to another listener of the process but arrive here, because their client
   * knows one address only. Returns the pattern of the path, or null for a request of this server. An API
   * key is always in `x-gateway-api-key`, whichever header it arrived in.
   */
  readonly passOn?: ((request: IncomingMessage, response: ServerResponse) => string | null) | null;
  /** Creates the server that accepts connections and passes them on, for other ones than of plain TCP. */
  readonly createListener?: (accept: (socket: Socket) => void) => Server;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly limits?: HttpLimits;
}
