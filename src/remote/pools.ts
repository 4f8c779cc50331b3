/** Knows how connections to servers are opened and bounded, straight or through a proxy. */
import type { ConnectionOptions } from 'node:tls';
import { type buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { type Proxies, proxyOf } from './proxies.ts';

export interface PoolLimits {
  /** To one origin. */
  readonly connectionsMax: number;
  readonly connectTimeoutMs: number;
  /** Of the first byte of an answer, and between any two. */
  readonly responseTimeoutMs: number;
  readonly responseBytesMax: number;
  /** How long an idle connection is kept; as long as is usual when absent. */
  readonly idleMs?: number | undefined;
  /** Authorities and certificate, where they are not the usual ones. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername'> | undefined;
  /** How a socket is opened where no proxy is between, in place of the usual way. */
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

  /** Requests have to name the origin, too. */
  poolFor(origin: string): Dispatcher {
    const known = this.#open.get(origin);
    if (known !== undefined) return known;
    const pool = this.#openTo(new URL(origin));
    this.#open.set(origin, pool);
    return pool;
  }

  /** Ends of what failed, where a proxy is between: ` through the proxy http://proxy:3128`; else ''. */
  describeRoute(origin: string): string {
    const proxy = this.#proxies && proxyOf(this.#proxies, new URL(origin));
    return proxy === null ? '' : ` through the proxy ${proxy.reveal().origin}`;
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((pool) => pool.close()));
  }

  /** Cuts off what is under way. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#open.values()].map((pool) => pool.destroy()));
  }

  #openTo(origin: URL): Dispatcher {
    const {
      connectTimeoutMs: timeout,
      tls = {},
      idleMs,
      createConnector: connectorTo,
    } = this.#limits;
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
      const connect = connectorTo?.(origin) ?? { timeout, ...tls };
      return new Pool(origin, { ...options, connect });
    }
    return new ProxyAgent({
      ...{ ...options, uri: proxy.reveal().href, connectTimeout: timeout },
      requestTls: { servername: origin.hostname, ...tls },
      // Or what is asked for in the clear, and the tunnel itself, would have no bounds.
      factory: (to, given) => new Pool(to, { ...options, ...given }),
      clientFactory: (to, given) => new Pool(to, { ...options, ...given }),
    });
  }
}
