/** Knows the connections to providers: as many as requests are under way, kept for the next ones. */
import { type Dispatcher, Pool } from 'undici';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { createGuardedConnect, type Resolve } from './guarded-connect.ts';

const connectTimeoutMs = 5_000;
/** Shorter than what servers and balancers are used to, so that none closes as we send. */
const idleMs = 10_000;
/** Origins beyond these lose the connections that were opened first. */
const originsMax = 1_000;

/**
 * A pool of sockets for each origin, without a bound of its own: streams hold theirs for minutes, and
 * who waited for one would not know why. The gateway bounds the requests themselves.
 */
export class Origins implements AsyncDisposable {
  readonly #trusted: TrustedHosts;
  readonly #resolve: Resolve | undefined;
  readonly #pools = new Map<string, Pool>();

  constructor(trusted: TrustedHosts, resolve?: Resolve) {
    this.#trusted = trusted;
    this.#resolve = resolve;
  }

  /** Of an origin as the URL parser writes it: `https://api.example.com`. */
  at(origin: string): Dispatcher {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connections: null,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      connect: createGuardedConnect(new URL(origin), {
        trusted: this.#trusted,
        connectTimeoutMs,
        resolve: this.#resolve,
      }),
    });
    this.#pools.set(origin, pool);
    if (this.#pools.size > originsMax) this.#closeFirst();
    return pool;
  }

  /** What is under way goes on to its end. */
  #closeFirst(): void {
    const [first] = this.#pools;
    this.#pools.delete(first![0]);
    void first![1].close().catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}
