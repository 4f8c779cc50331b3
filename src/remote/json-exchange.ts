/** Knows how a service that keeps values for us is asked for JSON: bounded, again where that is harmless, and what no answer means. */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { Failure } from '../failure.ts';
import { type PoolLimits, Pools } from './pools.ts';
import type { Proxies } from './proxies.ts';

export interface JsonRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below that of the address, without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Of what is sent for it; taken anew for each try. */
  readonly headers: () => Record<string, string>;
  readonly body?: unknown;
  /** In place of a body: as forms are sent. */
  readonly form?: URLSearchParams;
}

export interface JsonAnswer {
  readonly status: number;
  /** Null where it is no JSON. */
  readonly body: unknown;
}

export interface JsonExchangeOptions {
  /** Its path, if any, goes before that of each request. */
  readonly address: URL;
  /** Authorities and certificate, where they are not the usual ones. */
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'>;
  /** Null where none is to be used, whatever else is. */
  readonly proxies: Proxies | null;
  readonly answerBytesMax: number;
  readonly clock: Clock;
  /** Waits that many milliseconds. */
  readonly pause: (ms: number) => Promise<void>;
  /** Whether a status says as little as no answer. */
  readonly isSilence: (status: number) => boolean;
  /** Whether a status says that nothing was done, and that it may be later. */
  readonly isLater: (status: number) => boolean;
  /** Whether the service says how much later. */
  readonly heedsRetryAfter: boolean;
  /** What a status of silence is told as. */
  readonly reasonIn: (answer: JsonAnswer) => string;
  readonly unreachable: (reason: string, cause: unknown) => Failure;
  readonly patience?: Patience | undefined;
  readonly connectorTo?: PoolLimits['connectorTo'];
}

/** How long an answer is worth waiting for. */
export interface Patience {
  readonly connectTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly triesMax: number;
  /** After a read without an answer all else fails at once, so that many wait no longer than one. */
  readonly silenceMs: number;
}

const formType = 'application/x-www-form-urlencoded';
const connectionsMax = 8;
const retryAfterSecondsMax = 10;
const usualPatience: Patience = {
  connectTimeoutMs: 5_000,
  answerTimeoutMs: 15_000,
  triesMax: 3,
  silenceMs: 5_000,
};

/** With one service; dispose closes its sockets. */
export class JsonExchange implements AsyncDisposable {
  readonly #options: JsonExchangeOptions;
  readonly #pools: Pools;
  readonly #patience: Patience;
  #silent: { readonly until: number; readonly failure: Failure } | null = null;

  constructor(options: JsonExchangeOptions) {
    this.#options = options;
    this.#patience = options.patience ?? usualPatience;
    const { connectTimeoutMs, answerTimeoutMs } = this.#patience;
    const { answerBytesMax, tls, proxies, connectorTo } = options;
    const timeouts = { connectTimeoutMs, answerTimeoutMs };
    const limits = { connectionsMax, ...timeouts, answerBytesMax, tls, connectorTo };
    this.#pools = new Pools(limits, proxies);
  }

  /**
   * Yields the answer. What only reads is asked again when no answer comes; anything is when the
   * service says that it was not done.
   *
   * @throws what `unreachable` makes, which quotes nothing that was sent
   */
  async ask(request: JsonRequest): Promise<JsonAnswer> {
    const { clock, pause, isSilence, isLater, reasonIn } = this.#options;
    if (this.#silent !== null && clock.now() < this.#silent.until) throw this.#silent.failure;
    for (let tries = 1; ; tries += 1) {
      const { status, body, retryAfterMs, failed } = await this.#send(request);
      const isSilent = failed !== undefined || isSilence(status);
      const mayRepeat = isLater(status) || (isSilent && request.method === 'GET');
      if (mayRepeat && tries < this.#patience.triesMax) {
        await pause(retryAfterMs ?? 200 * 2 ** tries);
        continue;
      }
      if (!isSilent) return { status, body };
      throw this.#unreachable(request, failed ?? new Error(reasonIn({ status, body })));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.destroy();
  }

  async #send({ method, path, query, headers, body, form }: JsonRequest) {
    const { address, heedsRetryAfter } = this.#options;
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const base = address.pathname.replace(/\/$/, '');
    const given = { ...(form && { 'content-type': formType }), ...headers() };
    const json = body === undefined ? null : JSON.stringify(body);
    try {
      const { origin } = address;
      const answer = await this.#pools.at(origin).request({
        ...{ origin, method },
        path: `${base}${path}${search}`,
        headers: { accept: 'application/json', 'user-agent': 'gatewright', ...given },
        body: form?.toString() ?? json,
      });
      const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
      return {
        status: answer.statusCode,
        body: parsed(await answer.body.text()),
        retryAfterMs:
          heedsRetryAfter && Number.isFinite(seconds)
            ? Math.min(seconds, retryAfterSecondsMax) * 1000
            : null,
      };
    } catch (failed) {
      return { status: 0, body: null, retryAfterMs: null, failed };
    }
  }

  /** A write may have been done all the same, so that whoever asked for it will want to look. */
  #unreachable({ method }: JsonRequest, cause: unknown): Failure {
    const { clock, unreachable, address } = this.#options;
    const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
    const failure = unreachable(`${reason}${this.#pools.way(address.origin)}`, cause);
    const { silenceMs } = this.#patience;
    if (method === 'GET') this.#silent = { until: clock.now() + silenceMs, failure };
    return failure;
  }
}

function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return error.message === '' ? (code ?? error.name) : error.message;
}

function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
