/** Knows how the API of a Kubernetes cluster is asked: one request at a time, and what no answer means. */
import { Pool } from 'undici';
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { KubeAccess } from './kube-access.ts';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/api/v1/namespaces/prod/secrets`, without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** `application/json` when absent. */
  readonly contentType?: string;
}

/** The API has answered that it will not. */
export class KubeRefusal extends Failure {
  readonly status: number;
  /** Word of the API: `Conflict`, `AlreadyExists`, `NotFound`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super('refusedByGuard', message);
    this.status = status;
    this.reason = reason;
  }
}

/** No answer came. What was asked for may have been done. */
export class KubeUnreachable extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

const connectionsMax = 8;
const connectTimeoutMs = 5_000;
const answerTimeoutMs = 15_000;
const answerBytesMax = 64 * 1024 * 1024;
const triesMax = 3;
/** After a read without an answer all else fails at once, so that many wait no longer than one. */
const silenceMs = 5_000;

/** Of one cluster; dispose closes its sockets. */
export class KubeClient implements AsyncDisposable {
  readonly #access: KubeAccess;
  readonly #clock: Clock;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #pool: Pool;
  #silent: { readonly until: number; readonly failure: KubeUnreachable } | null = null;

  /** @param pause waits that many milliseconds */
  constructor(access: KubeAccess, clock: Clock, pause: (ms: number) => Promise<void>) {
    this.#access = access;
    this.#clock = clock;
    this.#pause = pause;
    const { ca, certificate, serverName } = access;
    this.#pool = new Pool(access.server.origin, {
      connections: connectionsMax,
      connect: {
        timeout: connectTimeoutMs,
        ...(ca === null ? {} : { ca }),
        ...(serverName === null ? {} : { servername: serverName }),
        ...(certificate === null ? {} : { cert: certificate.cert, key: certificate.key.reveal() }),
      },
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
      maxResponseSize: answerBytesMax,
    });
  }

  /**
   * Yields the body of the answer. What only reads is asked again when no answer comes; anything is
   * when the API says that it was not done.
   *
   * @throws KubeRefusal, KubeUnreachable; neither quotes what was sent
   */
  async request(request: KubeRequest): Promise<unknown> {
    if (this.#silent !== null && this.#clock.now() < this.#silent.until) throw this.#silent.failure;
    for (let tries = 1; ; tries += 1) {
      const { status, body, retryAfterMs, failed } = await this.#send(request);
      const isSilent = failed !== undefined || status >= 500;
      const mayRepeat = status === 429 || (isSilent && request.method === 'GET');
      if (mayRepeat && tries < triesMax) {
        await this.#pause(retryAfterMs ?? 200 * 2 ** tries);
        continue;
      }
      if (isSilent) throw this.#unreachable(request, failed ?? new Error(`it answers ${status}`));
      if (status >= 200 && status < 300) return body;
      throw refusalOf(request, status, body);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  async #send({ method, path, query, body, contentType }: KubeRequest) {
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const token = this.#access.token();
    const base = this.#access.server.pathname.replace(/\/$/, '');
    try {
      const answer = await this.#pool.request({
        method,
        path: `${base}${path}${search}`,
        headers: {
          accept: 'application/json',
          'user-agent': 'gatewright',
          ...(token === null ? {} : { authorization: `Bearer ${token.reveal()}` }),
          ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
      return {
        status: answer.statusCode,
        body: parsed(await answer.body.text()),
        retryAfterMs: Number.isFinite(seconds) ? Math.min(seconds, 10) * 1000 : null,
      };
    } catch (failed) {
      return { status: 0, body: null, retryAfterMs: null, failed };
    }
  }

  /** A write may have been done all the same, so that whoever asked for it will want to look. */
  #unreachable({ method }: KubeRequest, cause: unknown): KubeUnreachable {
    const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
    const message = `Kubernetes at ${this.#access.server.origin} is out of reach: ${reason}`;
    const failure = new KubeUnreachable(message, { cause });
    if (method === 'GET') this.#silent = { until: this.#clock.now() + silenceMs, failure };
    return failure;
  }
}

function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return error.message === '' ? (code ?? error.name) : error.message;
}

function refusalOf({ method, path }: KubeRequest, status: number, body: unknown): KubeRefusal {
  const told = body as { readonly reason?: unknown; readonly message?: unknown } | null;
  const reason = typeof told?.reason === 'string' ? told.reason : '';
  const words = status === 401 ? 'the credential is not accepted' : told?.message;
  const message = `Kubernetes refuses ${method} ${path} (${status}): ${String(words ?? reason)}`;
  return new KubeRefusal(status, reason, message);
}

function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
