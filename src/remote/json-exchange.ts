/** Sends JSON requests to a service with bounded time and size, and retries those that are safe to repeat. */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { Failure } from '../failure.ts';
import { type PoolLimits, Pools } from './pools.ts';
import type { Proxies } from './proxies.ts';

export interface JsonRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Appended to the path of the service's address; without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | URLSearchParams | undefined;
  /** Called once for each attempt. */
  readonly headers: () => Record<string, string>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** A URL-encoded form, sent instead of `body`. */
  readonly form?: URLSearchParams;
}

export class JsonResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;

  constructor(status: number, headers: JsonResponse['headers'], text: string) {
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  /** Null when the text is empty or not JSON. */
  get body(): unknown {
    try {
      return this.text === '' ? null : JSON.parse(this.text);
    } catch {
      return null;
    }
  }
}

export interface JsonExchangeOptions {
  /** Its path, if any, precedes the path of each request. */
  readonly address: URL;
  /** Certificate authorities and client certificate, where the defaults do not apply. */
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'>;
  /** Null to connect directly even when proxies are configured. */
  readonly proxies: Proxies | null;
  readonly responseBytesMax: number;
  readonly clock: Clock;
  /** Resolves after that many milliseconds. */
  readonly pause: (ms: number) => Promise<void>;
  /** Whether a status counts as an outage, like a lost connection. */
  readonly isUnavailable: (status: number) => boolean;
  /** Whether a status says that nothing was done and the request may be repeated. */
  readonly isRetryLater: (status: number) => boolean;
  /** Whether the `retry-after` header sets the pause before a retry. */
  readonly honorsRetryAfter: boolean;
  /** Describes a response whose status counts as an outage. */
  readonly describeUnavailable: (response: JsonResponse) => string;
  readonly unreachable: (reason: string, cause: unknown) => Failure;
  readonly limits?: CallLimits | undefined;
  readonly createConnector?: PoolLimits['createConnector'];
}

/** Timeouts and retries of the calls to one service. */
export interface CallLimits {
  readonly connectTimeoutMs: number;
  /** Until the first byte of a response, and between any two. */
  readonly responseTimeoutMs: number;
  readonly triesMax: number;
  /** After a read found the service unavailable, all calls fail at once for this long. */
  readonly failFastMs: number;
}

const formType = 'application/x-www-form-urlencoded';
const connectionsMax = 8;
const retryAfterSecondsMax = 10;
/** One attempt takes at most this many response timeouts, so that a trickling body cannot last forever. */
const deadlineFactor = 4;
const defaultLimits: CallLimits = {
  connectTimeoutMs: 5_000,
  responseTimeoutMs: 15_000,
  triesMax: 3,
  failFastMs: 5_000,
};

/** Exchanges JSON with one service; dispose closes its sockets. */
export class JsonExchange implements AsyncDisposable {
  readonly #options: JsonExchangeOptions;
  readonly #pools: Pools;
  readonly #limits: CallLimits;
  #outage: { readonly until: number; readonly failure: Failure } | null = null;

  constructor(options: JsonExchangeOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultLimits;
    const { connectTimeoutMs, responseTimeoutMs } = this.#limits;
    const { responseBytesMax, tls, proxies, createConnector } = options;
    const poolLimits: PoolLimits = {
      connectionsMax,
      connectTimeoutMs,
      responseTimeoutMs,
      responseBytesMax,
      tls,
      createConnector,
    };
    this.#pools = new Pools(poolLimits, proxies);
  }

  /**
   * Resolves with the response. A GET is retried when the service is unavailable; any request is
   * retried when the service says that nothing was done.
   *
   * @throws the failure of `unreachable`, which quotes nothing that was sent
   */
  async send(request: JsonRequest): Promise<JsonResponse> {
    const { clock, pause, isUnavailable, isRetryLater, describeUnavailable } = this.#options;
    if (this.#outage !== null && clock.now() < this.#outage.until) throw this.#outage.failure;
    for (let tries = 1; ; tries += 1) {
      const result = await this.#attempt(request);
      const isOutage = result instanceof Error || isUnavailable(result.status);
      const mayRepeat =
        (isOutage && request.method === 'GET') ||
        (!(result instanceof Error) && isRetryLater(result.status));
      if (mayRepeat && tries < this.#limits.triesMax) {
        await pause(this.#retryAfterMs(result) ?? 200 * 2 ** tries);
        continue;
      }
      if (result instanceof Error) throw this.#unreachable(request, result);
      if (isOutage) throw this.#unreachable(request, new Error(describeUnavailable(result)));
      return result;
    }
  }

  /** Closes idle sockets at once, and those in use when their responses have arrived. */
  async close(): Promise<void> {
    await this.#pools.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.destroy();
  }

  async #attempt({ method, path, query, headers, body, form }: JsonRequest) {
    const { address } = this.#options;
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const base = address.pathname.replace(/\/$/, '');
    const own = { ...(form && { 'content-type': formType }), ...headers() };
    const json = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const { origin } = address;
    try {
      const response = await this.#pools.poolFor(origin).request({
        origin,
        method,
        path: `${base}${path}${search}`,
        headers: { accept: 'application/json', 'user-agent': 'gatewright', ...own },
        body: form?.toString() ?? json ?? null,
        signal: AbortSignal.timeout(this.#limits.responseTimeoutMs * deadlineFactor),
      });
      return new JsonResponse(response.statusCode, response.headers, await response.body.text());
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #retryAfterMs(result: JsonResponse | Error): number | null {
    if (result instanceof Error || !this.#options.honorsRetryAfter) return null;
    const seconds = Number(result.headers['retry-after'] ?? Number.NaN);
    return Number.isFinite(seconds) ? Math.min(seconds, retryAfterSecondsMax) * 1000 : null;
  }

  /** A failed write starts no fail-fast period: it may have been done, and the caller must be able to check. */
  #unreachable({ method }: JsonRequest, cause: Error): Failure {
    const { clock, unreachable, address } = this.#options;
    const route = this.#pools.describeRoute(address.origin);
    const failure = unreachable(`${reasonOf(cause)}${route}`, cause);
    if (method === 'GET') {
      this.#outage = { until: clock.now() + this.#limits.failFastMs, failure };
    }
    return failure;
  }
}

function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return error.message === '' ? (code ?? error.name) : error.message;
}
