/** Monitors whether a database server responds, so that work does not wait for one that does not. */
import { setTimeout as delay } from 'node:timers/promises';
import { detach } from '../../detached.ts';
import type { Log } from '../../log.ts';
import { DatabaseUnavailable } from './unavailable.ts';

const [responseValidMs, probeIntervalMs] = [1_000, 300];

export interface ReachWatchOptions {
  /** Rejects in bounded time when the server does not respond. */
  readonly probe: () => Promise<void>;
  /** Whether the server is away after this error of the probe, rather than unwilling. */
  readonly isAwayAfter: (error: unknown) => boolean;
  /** Runs once the server is known not to respond. */
  readonly onAway?: (fault: DatabaseUnavailable) => void;
  /** Messages for the log. */
  readonly messages: { readonly away: string; readonly back: string };
  readonly log: Log | undefined;
}

/** Costs nothing until somebody suspects the server or asks whether it responds. */
export class ReachWatch {
  readonly #options: ReachWatchOptions;
  readonly #stopped = new AbortController();
  #fault: DatabaseUnavailable | null = null;
  #probing: Promise<boolean> | null = null;
  #validUntilMs = 0;

  constructor(options: ReachWatchOptions) {
    this.#options = options;
  }

  /** The error of work that needs the server while it does not respond; null while it does. */
  get fault(): DatabaseUnavailable | null {
    return this.#fault;
  }

  /**
   * Whether the server responds. A response of the last second counts; otherwise one probe serves all callers. While the
   * server is known not to respond this returns at once, and repeated probes detect its return.
   */
  async isUp(): Promise<boolean> {
    return (this.#fault === null && performance.now() < this.#validUntilMs) || this.isStillUp();
  }

  /** As {@link isUp} after a failure: an earlier response does not count. */
  async isStillUp(): Promise<boolean> {
    if (this.#fault !== null) return false;
    this.#probing ??= this.#check().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  /** Probes the server after a failure or a long wait; until it responds, {@link fault} is set. */
  suspect(): void {
    if (this.#probing !== null || this.#stopped.signal.aborted) return;
    detach('probing the database', this.isStillUp());
  }

  /** Ends the probes. */
  stop(): void {
    this.#stopped.abort();
    this.#fault = null;
  }

  async #check(): Promise<boolean> {
    const fault = await this.#probe();
    if (fault === null || this.#stopped.signal.aborted) return fault === null;
    this.#fault = fault;
    const { messages, log, onAway } = this.#options;
    log?.warn({ err: fault }, messages.away);
    detach('probing the database', this.#probeUntilUp());
    onAway?.(fault);
    return false;
  }

  async #probeUntilUp(): Promise<void> {
    const { signal } = this.#stopped;
    while (this.#fault !== null) {
      // Does not keep the process alive.
      await delay(probeIntervalMs, undefined, { ref: false, signal }).catch(() => undefined);
      const fault = signal.aborted ? null : await this.#probe();
      if (signal.aborted) return;
      this.#fault = fault;
    }
    this.#options.log?.info(this.#options.messages.back);
  }

  async #probe(): Promise<DatabaseUnavailable | null> {
    try {
      await this.#options.probe();
      this.#validUntilMs = performance.now() + responseValidMs;
      return null;
    } catch (error) {
      if (!this.#options.isAwayAfter(error)) return null;
      if (error instanceof DatabaseUnavailable) return error;
      return new DatabaseUnavailable('The database does not respond', { cause: error });
    }
  }
}
