/** Knows how connections that ask for much at once take turns: one of them in a turn of the event loop. */

/** What one connection may do in a turn. */
export interface Share {
  /** Whether it may hand over a piece now; if not, it is told in a later turn. */
  take(): boolean;
}

/**
 * What is answered without waiting for anything leads to the next request before the event loop comes
 * round, so that one connection with thousands of them would keep all others, new ones and the
 * database's, waiting. So each has a share of a turn, and queues for the next.
 */
export class Turns {
  #current = 0;
  #isCounting = false;
  #isRunning = false;
  readonly #waiting = new Set<() => void>();

  /**
   * @param tell called after a refusal, in a turn that no other of the queue has a part in
   * @param isMidway whether a second piece belongs to the first, as a body does to its headers
   */
  share(tell: () => void, isMidway: () => boolean): Share {
    let turn = -1;
    let pieces = 0;
    return {
      take: () => {
        const current = this.#now();
        pieces = turn === current ? pieces + 1 : 1;
        turn = current;
        if (pieces === 1 || (pieces === 2 && isMidway())) return true;
        this.#queue(tell);
        return false;
      },
    };
  }

  #now(): number {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#current += 1;
      });
    }
    return this.#current;
  }

  #queue(tell: () => void): void {
    this.#waiting.add(tell);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#tellNext);
  }

  readonly #tellNext = (): void => {
    const [tell] = this.#waiting;
    if (tell === undefined) {
      this.#isRunning = false;
      return;
    }
    this.#waiting.delete(tell);
    this.#current += 1;
    setImmediate(this.#tellNext);
    tell();
  };
}
