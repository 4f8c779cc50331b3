/** Opens bounded connection pools, directly or through a proxy. */
import type { ConnectionOptions } from 'node:tls';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { type Proxies, proxyOf } from './proxies.ts';

export interface PoolLimits {
  /** For each origin. */
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  /** Until the first byte of a response, and between any two. */
  readonly responseTimeoutMs: number;
  readonly responseBytesMax: number;
  /** Lifetime of idle connections; default of undici. */
  readonly idleMs?: number | undefined;
  /** Certificate authorities and client certificate, where the defaults do not apply. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'> | undefined;
  /** Replaces the connector of direct connections. */
  readonly createConnector?: ((origin: URL) => buildConnector.connector) | undefined;
}

/** One pool of sockets for each origin. */
export class Pools {
  readonly #limits: PoolLimits;
  readonly #proxies: Proxies | null;
  readonly #open = new Map<string, Dispatcher>();

  constructor(limits: PoolLimits, proxies: Proxies | null) {
    this.#limits = limits;
    this.#proxies = proxies;
  }

  /** Requests must name the origin as well. */
  poolFor(origin: string): Dispatcher {
    const existing = this.#open.get(origin);
    if (existing !== undefined) return existing;
    const pool = this.#openTo(new URL(origin));
    this.#open.set(origin, pool);
    return pool;
  }

  /** Suffix of error messages: ` through the proxy http://proxy:3128`, or '' without a proxy. */
  describeRoute(origin: string): string {
    const proxy = this.#proxies && proxyOf(this.#proxies, new URL(origin));
    return proxy === null ? '' : ` through the proxy ${proxy.reveal().origin}`;
  }

  /** Waits for requests in flight. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((pool) => pool.close()));
  }

  /** Aborts requests in flight. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#open.values()].map((pool) => pool.destroy()));
  }

  #openTo(origin: URL): Dispatcher {
    const { connectTimeoutMs: timeout, tls = {}, idleMs, createConnector } = this.#limits;
    const options = {
      connections: this.#limits.connectionsMax,
      pipelining: 1,
      headersTimeout: this.#limits.responseTimeoutMs,
      bodyTimeout: this.#limits.responseTimeoutMs,
      maxResponseSize: this.#limits.responseBytesMax,
      ...(idleMs === undefined ? {} : { keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs }),
    };
    const proxy = this.#proxies && proxyOf(this.#proxies, origin);
    if (proxy === null) {
      const connect = createConnector?.(origin) ?? { timeout, ...tls };
      return new Pool(origin, { ...options, connect });
    }
    return new ProxyAgent({
      ...options,
      uri: proxy.reveal().href,
      connectTimeout: timeout,
      requestTls: { servername: origin.hostname, ...tls },
      // Without these, plain HTTP requests and the tunnel itself would have no limits.
      factory: (address, own) => new Pool(address, { ...options, ...own }),
      clientFactory: (address, own) => new Pool(address, { ...options, ...own }),
    });
  }
}
