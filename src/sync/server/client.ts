/** Sends requests to the Admin API with a token, limited concurrency and retries. */
import { type Clock, systemClock } from '../../clock.ts';
import type { Proxies } from '../../remote/proxies.ts';
import { AccessToken, type ServiceAccount } from './access-token.ts';
import { ApiRefusal, errorFields } from './refusal.ts';
import { RequestPace } from './request-pace.ts';
import { isSettled, isStrained, type RetryOptions, RetryPolicy } from './retry-policy.ts';
import { LiveSnapshotCache, type SnapshotQuery } from './snapshot-cache.ts';
import {
  connectionsMax,
  type RequestOutcome,
  type ServerResponse,
  Transport,
} from './transport.ts';

export interface ClientOptions extends ServiceAccount, Omit<RetryOptions, 'clock'> {
  /** Base URL of the `/v2` and `/admin/v2` paths. */
  readonly adminBaseUrl: string;
  /** Base URL of the `/v1` paths; ends in `/v1`. */
  readonly baseUrl: string;
  /** The owner of all writes; the server refuses changes to what another owner declared. */
  readonly owner: string;
  readonly clock?: Clock;
  /** Folder that caches the last snapshot for the next run; no cache when absent. */
  readonly cacheFolder?: string;
  /** Proxies to the server; none when absent. */
  readonly proxies?: Proxies | null;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Includes mount and query: `/v2/configs`. */
  readonly path: string;
  readonly body?: unknown;
  /** The body if it is already serialised. */
  readonly bodyText?: string;
  /** Version for `If-Match`. */
  readonly ifMatch?: number | null;
  /** Fence of the owner's lease, for writes of the owner. */
  readonly fence?: number | undefined;
  /** Makes a retried POST run once. */
  readonly idempotencyKey?: string;
  /** False for a request other than GET that changes no resource. */
  readonly countsAsWrite?: boolean;
  /** Status of an error response that the caller expects and reads. */
  readonly accepts?: 422;
  /** Skips the queue behind slow requests. */
  readonly outOfTurn?: boolean;
  /** Raw value for `If-None-Match`. */
  readonly ifNoneMatch?: string | null;
  /** Ends waiting and retries; a request in flight is never cut off. */
  readonly signal?: AbortSignal | undefined;
}

export interface ApiResponse extends Omit<ServerResponse, 'retryAfter'> {
  /** Whether an earlier attempt may have been carried out although its response was lost. */
  readonly maybeDone: boolean;
}

/**
 * A client of one server and one service account. Safe for concurrent use; disposal closes its
 * sockets.
 */
export class AdminClient implements AsyncDisposable {
  readonly owner: string;
  readonly #options: ClientOptions;
  readonly #transport: Transport;
  readonly #pace = new RequestPace({ start: 4, max: connectionsMax });
  readonly #repeats: RetryPolicy;
  readonly #token: AccessToken;
  #writes = 0;

  constructor(options: ClientOptions) {
    const clock = options.clock ?? systemClock;
    this.owner = options.owner;
    this.#options = options;
    this.#transport = new Transport(options.proxies ?? null);
    this.#repeats = new RetryPolicy({ ...options, clock });
    this.#token = new AccessToken(options, this.#transport, this.#repeats, clock);
  }

  /** URL of the server without a trailing slash. */
  get address(): string {
    return this.#options.adminBaseUrl.replace(/\/+$/, '');
  }

  /** Tenant that the client acts in. */
  get tsgId(): string {
    return this.#options.tsgId;
  }

  /** Returns the cache for a snapshot query; null without a cache folder. */
  snapshotCache(query: SnapshotQuery): LiveSnapshotCache | null {
    const { cacheFolder } = this.#options;
    return cacheFolder === undefined
      ? null
      : new LiveSnapshotCache(cacheFolder, { ...this.#options, ...query });
  }

  /** Number of HTTP requests since the start, including token requests and retries. */
  get requests(): number {
    return this.#transport.requests;
  }

  /** Number of requests that could change a resource. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * Sends a request. Retries after connection errors, timeouts and the statuses of an overloaded
   * server. Creates are retried too: a declared identity exists once on the server, so a second
   * create is refused and the caller checks (see `maybeDone`).
   *
   * @throws ApiRefusal for every other error response
   * @throws Unreachable when all attempts failed
   */
  async request(request: ApiRequest): Promise<ApiResponse> {
    const words = `${request.method} ${request.path.split('?')[0]}`;
    let maybeDone = false;
    let freshToken = false;
    for (let tried = 1; ; tried += 1) {
      const outcome = await (request.outOfTurn === true
        ? this.#try(request)
        : this.#pace.take(() => this.#try(request), request.signal));
      if (isSettled(outcome)) {
        const { status, body } = outcome;
        if (status < 400) return { ...outcome, maybeDone };
        if (request.accepts === status) return { ...outcome, maybeDone };
        if (status !== 401) throw new ApiRefusal(status, errorFields(body, status), maybeDone);
        if (freshToken) throw this.#token.refused(body);
        freshToken = true;
        this.#token.forget();
        continue;
      }
      maybeDone ||= !('failed' in outcome) || !outcome.neverSent;
      await this.#repeats.pauseAfter(tried, outcome, words, request.signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]();
  }

  async #try(request: ApiRequest): Promise<RequestOutcome> {
    const token = await this.#token.current(request.signal);
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    const body =
      request.bodyText ?? (request.body === undefined ? null : JSON.stringify(request.body));
    if (body !== null) headers['content-type'] = 'application/json';
    if (request.fence !== undefined) {
      headers['gatewright-owner'] = this.owner;
      headers['gatewright-fence'] = String(request.fence);
    }
    if (request.idempotencyKey !== undefined) headers['idempotency-key'] = request.idempotencyKey;
    if (typeof request.ifMatch === 'number') headers['if-match'] = `"${request.ifMatch}"`;
    if (typeof request.ifNoneMatch === 'string') headers['if-none-match'] = request.ifNoneMatch;
    if (request.countsAsWrite ?? request.method !== 'GET') this.#writes += 1;
    const url = this.#urlOf(request.path);
    const outcome = await this.#transport.send(url, request.method, headers, body);
    this.#pace.report(isStrained(outcome));
    return outcome;
  }

  #urlOf(path: string): URL {
    const { baseUrl, adminBaseUrl } = this.#options;
    const isInference = path.startsWith('/v1/');
    const base = (isInference ? baseUrl : adminBaseUrl).replace(/\/+$/, '');
    return new URL(base + (isInference ? path.slice('/v1'.length) : path));
  }
}
