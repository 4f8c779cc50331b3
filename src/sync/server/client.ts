/** Knows how to talk to the Admin API: with a token, at a pace, again where that can help. */
import { type Clock, systemClock } from '../../clock.ts';
import type { Proxies } from '../../remote/proxies.ts';
import { AccessToken, type ServiceAccount } from './access-token.ts';
import { Pace } from './pace.ts';
import { ApiRefusal, errorFields } from './refusal.ts';
import { isSettled, isStrained, type RepeatOptions, Repeats } from './repeat.ts';
import { SnapshotCache, type SnapshotQuery } from './snapshot-cache.ts';
import { type Answer, connectionsMax, type Outcome, Transport } from './transport.ts';

export interface ClientOptions extends ServiceAccount, Omit<RepeatOptions, 'clock'> {
  /** Base of `/v2` and `/admin/v2` paths. */
  readonly adminBaseUrl: string;
  /** Base of `/v1` paths; ends in `/v1`. */
  readonly baseUrl: string;
  /** In whose name is written, so that the server refuses to touch what another owner declared. */
  readonly owner: string;
  readonly clock?: Clock;
  /** Folder in which the last snapshot is kept for the next run; it is not when absent. */
  readonly cacheFolder?: string;
  /** By which the server is reached; none when absent. */
  readonly proxies?: Proxies | null;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With mount and query: `/v2/configs`. */
  readonly path: string;
  readonly body?: unknown;
  /** The body, where it is written already. */
  readonly bodyText?: string;
  /** Version for `If-Match`. */
  readonly ifMatch?: number | null;
  /** Of the owner's lease, for a write in the owner's name. */
  readonly fence?: number | undefined;
  /** Sent again under it, a POST is carried out once. */
  readonly idempotencyKey?: string;
  /** False for what changes no resource although it is no GET. */
  readonly countsAsWrite?: boolean;
  /** Status of an answer that is no success and still tells what was asked for. */
  readonly accepts?: 422;
  /** Not to be kept waiting by requests that take long. */
  readonly outOfTurn?: boolean;
  /** Raw value for `If-None-Match`. */
  readonly ifNoneMatch?: string | null;
  /** Ends waiting for a turn and repeating; a request under way is never cut off. */
  readonly signal?: AbortSignal | undefined;
}

export interface ApiResponse extends Omit<Answer, 'retryAfter'> {
  /** An earlier try of the request may have been carried out although no answer came. */
  readonly maybeDone: boolean;
}

/** One server, one service account. Safe to use from many places at once; dispose closes its sockets. */
export class AdminClient implements AsyncDisposable {
  readonly owner: string;
  readonly #options: ClientOptions;
  readonly #transport: Transport;
  readonly #pace = new Pace({ start: 4, max: connectionsMax });
  readonly #repeats: Repeats;
  readonly #token: AccessToken;
  #writes = 0;

  constructor(options: ClientOptions) {
    const clock = options.clock ?? systemClock;
    this.owner = options.owner;
    this.#options = options;
    this.#transport = new Transport(options.proxies ?? null);
    this.#repeats = new Repeats({ ...options, clock });
    this.#token = new AccessToken(options, this.#transport, this.#repeats, clock);
  }

  /** Where the server is, without a slash at the end. */
  get address(): string {
    return this.#options.adminBaseUrl.replace(/\/+$/, '');
  }

  /** Where the last answer to a question is kept; null where none is. */
  snapshotCache(query: SnapshotQuery): SnapshotCache | null {
    const { cacheFolder } = this.#options;
    return cacheFolder === undefined
      ? null
      : new SnapshotCache(cacheFolder, { ...this.#options, ...query });
  }

  /** HTTP requests sent since the start, the token's and repeats included. */
  get requests(): number {
    return this.#transport.requests;
  }

  /** Those of them that could change a resource. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * Sends one request, repeating it after connection errors, timeouts and the statuses of an
   * overloaded server. Creates are repeated too: a declared identity exists once on the server, so
   * that a second create is refused and the caller looks (see `maybeDone`).
   *
   * @throws ApiRefusal for every other error answer
   * @throws Unreachable once all tries have failed
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

  async #try(request: ApiRequest): Promise<Outcome> {
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
