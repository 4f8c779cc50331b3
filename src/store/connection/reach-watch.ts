/** Monitors whether a database server responds after a failure, so that work does not wait for one that does not. */
import { setTimeout as delay } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import type { Log } from '../../log.ts';
import { DatabaseUnavailable, isServerFull, isTemporary } from './unavailable.ts';

const probeIntervalMs = 300;

export interface ReachWatchOptions {
  /** Opens and closes a connection of its own; rejects in bounded time when the server does not respond. */
  readonly probe: () => Promise<void>;
  /** Fails the work that waits for the server, once it is known not to respond. */
  readonly onAway: (error: DatabaseUnavailable) => void;
  readonly log: Log | undefined;
}

/** Costs nothing while nobody suspects the server. */
export class ReachWatch {
  readonly #options: ReachWatchOptions;
  readonly #stopped = new AbortController();
  #fault: DatabaseUnavailable | null = null;
  #isProbing = false;

  constructor(options: ReachWatchOptions) {
    this.#options = options;
  }

  /** The error of work that needs the server while it does not respond; null while it does. */
  get fault(): DatabaseUnavailable | null {
    return this.#fault;
  }

  /** Probes the server after a failure or a long wait; until it responds, {@link fault} is set. */
  suspect(): void {
    if (this.#isProbing || this.#stopped.signal.aborted) return;
    this.#isProbing = true;
    const probing = this.#probeUntilUp().finally(() => {
      this.#isProbing = false;
    });
    detach('probing the database', probing);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #probeUntilUp(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const fault = await this.#probe();
      if (fault === null) break;
      if (!signal.aborted) this.#setAway(fault);
      // Does not keep the process alive.
      await delay(probeIntervalMs, undefined, { ref: false, signal }).catch(() => undefined);
    }
    if (this.#fault !== null && !signal.aborted) {
      this.#options.log?.info('the database responds again');
    }
    this.#fault = null;
  }

  /** A server that is full, or that refuses the credentials, responds. */
  async #probe(): Promise<DatabaseUnavailable | null> {
    try {
      await this.#options.probe();
      return null;
    } catch (error) {
      if (isServerFull(error) || !isTemporary(error)) return null;
      if (error instanceof DatabaseUnavailable) return error;
      return new DatabaseUnavailable('The database does not respond', { cause: error });
    }
  }

  #setAway(fault: DatabaseUnavailable): void {
    const isNews = this.#fault === null;
    this.#fault = fault;
    if (!isNews) return;
    this.#options.log?.warn(
      { err: fault },
      'the database does not respond; it is probed until it does',
    );
    this.#options.onAway(fault);
  }
}
