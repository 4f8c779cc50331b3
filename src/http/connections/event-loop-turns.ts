/** Shares the turns of the event loop fairly among connections. */

/** The share of one connection. */
export interface TurnShare {
  /** Whether the connection may hand over a piece now; if not, its callback runs in a later turn. */
  take(): boolean;
}

/**
 * A response that needs no I/O leads to the next pipelined request within the same turn of the event
 * loop. One connection with thousands of them would block all others and the database. So each
 * connection hands over one piece a turn and queues for the next.
 */
export class EventLoopTurns {
  #current = 0;
  #isCounting = false;
  #isRunning = false;
  readonly #waiting = new Set<() => void>();

  /**
   * @param resume called after `take` returned false, in a turn of its own
   * @param isMidway whether a second piece completes the first, as a body completes its headers
   */
  share(resume: () => void, isMidway: () => boolean): TurnShare {
    let turn = -1;
    let pieces = 0;
    return {
      take: () => {
        const current = this.#now();
        pieces = turn === current ? pieces + 1 : 1;
        turn = current;
        if (pieces === 1 || (pieces === 2 && isMidway())) return true;
        this.#queue(resume);
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

  #queue(resume: () => void): void {
    this.#waiting.add(resume);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#resumeNext);
  }

  readonly #resumeNext = (): void => {
    const [resume] = this.#waiting;
    if (resume === undefined) {
      this.#isRunning = false;
      return;
    }
    this.#waiting.delete(resume);
    this.#current += 1;
    setImmediate(this.#resumeNext);
    resume();
  };
}
