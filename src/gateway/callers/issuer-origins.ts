/** Connects to token issuers: with the guards for provider connections, or through a proxy, which resolves names itself. */
import type { Dispatcher } from 'undici';
import { Pools } from '../../remote/pools.ts';
import { type Proxies, proxyOf } from '../../remote/proxies.ts';
import type { Origins } from '../../upstream/origins.ts';

const limits = {
  connectionsMax: 1,
  connectTimeoutMs: 5_000,
  responseTimeoutMs: 5_000,
  responseBytesMax: 1024 * 1024,
};

export class IssuerOrigins implements AsyncDisposable {
  readonly #direct: Pick<Origins, 'at'>;
  readonly #proxies: Proxies | null;
  readonly #proxied: Pools;

  constructor(direct: Pick<Origins, 'at'>, proxies: Proxies | null) {
    this.#direct = direct;
    this.#proxies = proxies;
    this.#proxied = new Pools(limits, proxies);
  }

  /** Requests must name the origin as well. */
  at(origin: string): Dispatcher {
    const isProxied = this.#proxies !== null && proxyOf(this.#proxies, new URL(origin)) !== null;
    return isProxied ? this.#proxied.poolFor(origin) : this.#direct.at(origin);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxied.destroy();
  }
}
