/** Knows how what is asked for at once is done one after the other, in the order in which it was asked for. */

export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #isUnderWay = false;

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** As `work` ends; what came before it may have failed. */
  take<T>(work: () => Promise<T>): Promise<T> {
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

  /** Once all that was asked for has ended, however it did. */
  async over(): Promise<void> {
    await this.#last.catch(() => undefined);
  }
}
