/**
 * Limits concurrent requests: the limit grows while all is well and halves at any sign of overload.
 */

/**
 * Additive increase, multiplicative decrease; waiting callers are served in order. Queue libraries
 * have a fixed limit.
 */
export class RequestPace {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #underWay = 0;
  /** Successful responses since the limit last changed. */
  #good = 0;

  constructor(options: { start: number; max: number }) {
    this.#limit = options.start;
    this.#max = options.max;
  }

  /** The current limit. */
  get limit(): number {
    return this.#limit;
  }

  /**
   * Runs `work` when the limit allows it.
   *
   * @throws the signal's reason when it is aborted before that
   */
  async take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#underWay >= this.#limit) await this.#turn(signal);
    else {
      signal?.throwIfAborted();
      this.#underWay += 1;
    }
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
      this.#admit();
    }
  }

  /** Adjusts the limit: plus one after a full round of successes, half after a sign of overload. */
  report(strained: boolean): void {
    if (strained) {
      this.#limit = Math.max(1, Math.floor(this.#limit / 2));
      this.#good = 0;
      return;
    }
    this.#good += 1;
    if (this.#good >= this.#limit && this.#limit < this.#max) {
      this.#limit += 1;
      this.#good = 0;
      this.#admit();
    }
  }

  #admit(): void {
    while (this.#underWay < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#underWay += 1;
      next();
    }
  }

  /** Resolves with a slot already taken. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        const at = this.#waiting.indexOf(enter);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal!.reason);
      };
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}
