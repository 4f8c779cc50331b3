/** Runs concurrent requests for work one after the other, in the order of the calls. */

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #isUnderWay = false;

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Runs `work` after all earlier work, whether that succeeded or failed. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const one = async (): Promise<T> => {
      this.#isUnderWay = true;
      try {
        return await work();
      } finally {
        this.#isUnderWay = false;
      }
    };
    const turn = this.#last.then(one, one);
    this.#last = turn;
    return turn;
  }

  /** Resolves when all work so far has ended. */
  async drain(): Promise<void> {
    await this.#last.catch(() => undefined);
  }
}
