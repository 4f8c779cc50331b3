/** Limits concurrent work and serves waiting owners in turn, so that one owner's many tasks do not delay the others. */

export class FairQueue {
  readonly #atOnceMax: number;
  #running = 0;
  /** Waiting tasks by owner; an owner that has been served moves to the end. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** Runs the work when it is the owner's turn. */
  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnceMax) this.#running += 1;
    else await this.#turn(owner);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turn(owner: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#waiting.get(owner);
    if (others === undefined) this.#waiting.set(owner, [resolve]);
    else others.push(resolve);
    return promise;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [owner, [begin, ...rest]] = first;
    this.#waiting.delete(owner);
    if (rest.length > 0) this.#waiting.set(owner, rest);
    begin!();
  }
}
