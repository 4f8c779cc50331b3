/** Knows who waits for answers of one connection, and when that is too long. */

type Reject = (error: Error) => void;

export class Waiters {
  readonly #timeoutMs: number;
  readonly #onTimeout: (afterMs: number) => void;
  readonly #rejects = new Set<Reject>();
  #answers = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * `onTimeout` is called when there was no answer for `timeoutMs` while somebody waited; 0 means no
   * limit.
   */
  constructor(timeoutMs: number, onTimeout: (afterMs: number) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onTimeout = onTimeout;
  }

  add(reject: Reject): void {
    this.#rejects.add(reject);
    this.#startTime();
  }

  /** Whose answer is there; the next one's is begun upon now. */
  remove(reject: Reject): void {
    this.#rejects.delete(reject);
    this.#answers += 1;
    if (this.#rejects.size > 0) this.#startTime();
  }

  /** Says so to all who wait, where the driver would say nothing more. */
  fail(error: Error): void {
    for (const reject of this.#rejects) reject(error);
    this.#rejects.clear();
    clearTimeout(this.#timer);
  }

  /**
   * Tells of a time that is over, of a shorter one for a statement that may take no longer than that. What has
   * come while the process stood still or was busy is read first: timers run before anything is read.
   */
  expire(afterMs: number): void {
    const answers = this.#answers;
    setImmediate(() => {
      if (this.#answers === answers && this.#rejects.size > 0) this.#onTimeout(afterMs);
    });
  }

  /** A timer that is wound up again costs a fraction of one for each statement. */
  #startTime(): void {
    if (this.#timeoutMs === 0) return;
    this.#timer ??= setTimeout(() => this.expire(this.#timeoutMs), this.#timeoutMs).unref();
    this.#timer.refresh();
  }
}
