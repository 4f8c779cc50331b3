/** Pending calls of one connection and their time limit. */

type Reject = (error: Error) => void;

export class Waiters {
  readonly #timeoutMs: number;
  readonly #onTimeout: (afterMs: number) => void;
  readonly #rejects = new Set<Reject>();
  #answers = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onTimeout` when no response arrived for `timeoutMs` while a call was pending; 0 means no limit. */
  constructor(timeoutMs: number, onTimeout: (afterMs: number) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onTimeout = onTimeout;
  }

  add(reject: Reject): void {
    this.#rejects.add(reject);
    this.#startTime();
  }

  /** Removes a call whose response has arrived; the time limit of the next one starts now. */
  remove(reject: Reject): void {
    this.#rejects.delete(reject);
    this.#answers += 1;
    if (this.#rejects.size > 0) this.#startTime();
  }

  /** Rejects all pending calls, which the driver would leave pending. */
  fail(error: Error): void {
    for (const reject of this.#rejects) reject(error);
    this.#rejects.clear();
    clearTimeout(this.#timer);
  }

  /**
   * Reports a timeout, unless a response arrived while the process was busy: Node runs timers before it
   * reads sockets, so that the check is deferred. A caller with a shorter limit calls this itself.
   */
  expire(afterMs: number): void {
    const answers = this.#answers;
    setImmediate(() => {
      if (this.#answers === answers && this.#rejects.size > 0) this.#onTimeout(afterMs);
    });
  }

  /** Refreshing one timer costs a fraction of creating one for each statement. */
  #startTime(): void {
    if (this.#timeoutMs === 0) return;
    this.#timer ??= setTimeout(() => this.expire(this.#timeoutMs), this.#timeoutMs).unref();
    this.#timer.refresh();
  }
}
