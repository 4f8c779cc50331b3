/** Pools the connections to providers: as many as there are requests in flight, reused by later ones. */

import { type buildConnector, type Dispatcher, Pool } from 'undici';
import { detach } from '../detached.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { createGuardedConnect, type Resolve } from './guarded-connect.ts';

const connectTimeoutMs = 5_000;
/** Shorter than the usual keep-alive of servers and load balancers, so that none closes while we send. */
const idleMs = 10_000;
/** Bound of pools; beyond it the oldest one is closed. */
const originsMax = 1_000;

/**
 * One unbounded pool of sockets for each origin. Streams hold a socket for minutes, so a bound would delay requests
 * without a visible reason. The gateway limits the requests instead.
 */
export class Origins implements AsyncDisposable {
  readonly #trusted: TrustedHosts;
  readonly #resolve: Resolve | undefined;
  readonly #pools = new Map<string, Pool>();

  constructor(trusted: TrustedHosts, resolve?: Resolve) {
    this.#trusted = trusted;
    this.#resolve = resolve;
  }

  /** `origin` as the URL parser formats it: `https://api.example.com`. */
  at(origin: string): Dispatcher {
    const existing = this.#pools.get(origin);
    if (existing !== undefined) return existing;
    const pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      connect: this.connectorTo(origin),
    });
    this.#pools.set(origin, pool);
    if (this.#pools.size > originsMax) this.#closeFirst();
    return pool;
  }

  /** Connects outside of any pool, for a WebSocket. */
  connectorTo(origin: string): buildConnector.connector {
    return createGuardedConnect(new URL(origin), {
      trusted: this.#trusted,
      connectTimeoutMs,
      resolve: this.#resolve,
    });
  }

  /** Running requests of the pool finish. */
  #closeFirst(): void {
    const [first] = this.#pools;
    this.#pools.delete(first![0]);
    detach(
      'closing the connections to a provider',
      first![1].close().catch(() => undefined),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}
