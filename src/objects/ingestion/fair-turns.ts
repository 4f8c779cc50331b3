/** Knows whose turn it is where few work at once and many wait: nobody waits for all that one other has brought. */

export class FairTurns {
  readonly #atOnceMax: number;
  #running = 0;
  /** By whose they are; who has had a turn comes behind all others. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** Works once it is its turn. */
  async take<T>(whose: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnceMax) this.#running += 1;
    else await this.#turn(whose);
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turn(whose: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#waiting.get(whose);
    if (others === undefined) this.#waiting.set(whose, [resolve]);
    else others.push(resolve);
    return promise;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [whose, [begin, ...rest]] = first;
    this.#waiting.delete(whose);
    if (rest.length > 0) this.#waiting.set(whose, rest);
    begin!();
  }
}
