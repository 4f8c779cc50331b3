/** Knows how the API of a Kubernetes cluster is asked: one request at a time, and what a refusal means. */
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { type JsonAnswer, JsonExchange, type Patience } from '../remote/json-exchange.ts';
import type { KubeAccess } from './kube-access.ts';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
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

/** What is answered; null where the refusal is one that says something of its own. */
export async function nullWhere<T>(
  saysSo: (refusal: KubeRefusal) => boolean,
  asked: Promise<unknown>,
): Promise<T | null> {
  try {
    return (await asked) as T;
  } catch (error) {
    if (error instanceof KubeRefusal && saysSo(error)) return null;
    throw error;
  }
}

const answerBytesMax = 64 * 1024 * 1024;

/** Of one cluster; dispose closes its sockets. */
export class KubeClient implements AsyncDisposable {
  readonly #access: KubeAccess;
  readonly #exchange: JsonExchange;

  /** @param pause waits that many milliseconds */
  constructor(
    access: KubeAccess,
    clock: Clock,
    pause: (ms: number) => Promise<void>,
    patience?: Patience,
  ) {
    this.#access = access;
    const { server, ca, certificate, serverName } = access;
    this.#exchange = new JsonExchange({
      // A cluster is near: pods reach its API without the proxy that leads outside.
      ...{ address: server, proxies: null, answerBytesMax, clock, pause, patience },
      tls: {
        ...(ca === null ? {} : { ca }),
        ...(serverName === null ? {} : { servername: serverName }),
        ...(certificate === null ? {} : { cert: certificate.cert, key: certificate.key.reveal() }),
      },
      isSilence: (status) => status >= 500,
      isLater: (status) => status === 429,
      heedsRetryAfter: true,
      reasonIn: ({ status }) => `it answers ${status}`,
      unreachable: (reason, cause) => {
        const message = `Kubernetes at ${server.origin} is out of reach: ${reason}`;
        return new KubeUnreachable(message, { cause });
      },
    });
  }

  /** Of the server: `10.0.0.1:6443`. */
  get host(): string {
    return this.#access.server.host;
  }

  /**
   * Yields the body of the answer. What only reads is asked again when no answer comes; anything is
   * when the API says that it was not done.
   *
   * @throws KubeRefusal, KubeUnreachable; neither quotes what was sent
   */
  async request(request: KubeRequest): Promise<unknown> {
    const { method, path, query, body, contentType = 'application/json' } = request;
    const headers = (): Record<string, string> => {
      const token = this.#access.token();
      return {
        ...(token === null ? {} : { authorization: `Bearer ${token.reveal()}` }),
        ...(body === undefined ? {} : { 'content-type': contentType }),
      };
    };
    const answer = await this.#exchange.ask({ method, path, query, headers, body });
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw refusalOf(request, answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exchange[Symbol.asyncDispose]();
  }
}

function refusalOf({ method, path }: KubeRequest, { status, body }: JsonAnswer): KubeRefusal {
  const told = body as { readonly reason?: unknown; readonly message?: unknown } | null;
  const reason = typeof told?.reason === 'string' ? told.reason : '';
  const words = status === 401 ? 'the credential is not accepted' : told?.message;
  const message = `Kubernetes refuses ${method} ${path} (${status}): ${String(words ?? reason)}`;
  return new KubeRefusal(status, reason, message);
}
