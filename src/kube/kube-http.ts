/** Sends the requests of `@kubernetes/client-node` through bounded, pooled and retried connections. */
/*
 * The library's own transport is not used: it limits neither the time nor the size of a response, and version 2.0.1
 * makes a new agent, and thus a new TLS connection, for every request.
 */

import { createHash } from 'node:crypto';
import {
  type PromiseHttpLibrary,
  type RequestContext,
  ResponseContext,
} from '@kubernetes/client-node/dist/gen/http/http.js';
import type { Clock } from '../clock.ts';
import { detach } from '../detached.ts';
import {
  type CallLimits,
  JsonExchange,
  type JsonRequest,
  type JsonResponse,
} from '../remote/json-exchange.ts';
import { Secret } from '../secret.ts';
import type { KubeCredentials, KubeLogin } from './kube-credentials.ts';
import { KubeRefusal, KubeUnreachable } from './kube-errors.ts';

export interface KubeHttpOptions {
  readonly login: KubeLogin;
  readonly server: URL;
  /** `proxy-url` of the kubeconfig. HTTPS_PROXY is ignored: pods reach the API of their cluster directly. */
  readonly proxy: URL | null;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  readonly limits?: CallLimits | undefined;
}

const responseBytesMax = 64 * 1024 * 1024;

export class KubeHttp implements PromiseHttpLibrary, AsyncDisposable {
  readonly #options: KubeHttpOptions;
  /** Replaced when the certificates change. */
  #open: { readonly fingerprint: string; readonly exchange: JsonExchange } | null = null;

  constructor(options: KubeHttpOptions) {
    this.#options = options;
  }

  /**
   * Resolves with a successful response only. A 401 is repeated once with renewed credentials.
   *
   * @throws KubeRefusal, KubeUnreachable; neither quotes what was sent
   */
  async send(context: RequestContext): Promise<ResponseContext> {
    const { login } = this.#options;
    const credentials = await login.current();
    let response = await this.#exchangeWith(context, credentials);
    if (response.status === 401) {
      const renewed = await login.renewed();
      const isNew = JSON.stringify(renewed) !== JSON.stringify(credentials);
      if (isNew) response = await this.#exchangeWith(context, renewed);
    }
    const { status, text } = response;
    if (status < 200 || status >= 300) throw refusalOf(context, response);
    const type = String(response.headers['content-type'] ?? 'application/json');
    return new ResponseContext(
      status,
      { 'content-type': type },
      {
        text: async () => text,
        binary: async () => Buffer.from(text),
        stream: () => null,
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.exchange[Symbol.asyncDispose]();
  }

  #exchangeWith(context: RequestContext, { headers, tls }: KubeCredentials): Promise<JsonResponse> {
    const url = new URL(context.getUrl());
    const own = Object.entries(context.getHeaders()).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]);
    return this.#exchangeFor(tls).send({
      method: context.getHttpMethod() as JsonRequest['method'],
      path: url.pathname,
      query: url.search === '' ? undefined : url.searchParams,
      headers: () => ({ ...Object.fromEntries(own), ...headers, accept: 'application/json' }),
      body: context.getBody() as string | undefined,
    });
  }

  #exchangeFor(tls: KubeCredentials['tls']): JsonExchange {
    const fingerprint = createHash('sha256').update(JSON.stringify(tls)).digest('hex');
    if (this.#open?.fingerprint === fingerprint) return this.#open.exchange;
    detach('closing the connections to the cluster', this.#open?.exchange.close());
    const { server, proxy, clock, pause, limits } = this.#options;
    const proxies = proxy && {
      http: undefined,
      https: new Secret(proxy, 'proxy-url of the kubeconfig'),
      exempt: [],
    };
    const exchange = new JsonExchange({
      address: new URL(server.origin),
      proxies,
      responseBytesMax,
      clock,
      pause,
      limits,
      tls,
      isUnavailable: (status) => status >= 500,
      isRetryLater: (status) => status === 429,
      honorsRetryAfter: true,
      describeUnavailable: ({ status }) => `it responds with ${status}`,
      unreachable: (reason, cause) => {
        const message = `Kubernetes at ${server.origin} is out of reach: ${reason}`;
        return new KubeUnreachable(message, { cause });
      },
    });
    this.#open = { fingerprint, exchange };
    return exchange;
  }
}

function refusalOf(context: RequestContext, { status, body }: JsonResponse): KubeRefusal {
  const details = body as { readonly reason?: unknown; readonly message?: unknown } | null;
  const reason = typeof details?.reason === 'string' ? details.reason : '';
  const text = status === 401 ? 'the credential is not accepted' : details?.message;
  const call = `${context.getHttpMethod()} ${new URL(context.getUrl()).pathname}`;
  const message = `Kubernetes refuses ${call} (${status}): ${String(text ?? reason)}`;
  return new KubeRefusal(status, reason, message);
}
