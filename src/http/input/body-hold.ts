/** Counts the bytes of one request body in a total that bounds all of them. */

/** Counts from the first byte that arrives until the body is released; dispose releases it. */
export class BodyHold implements Disposable {
  readonly #take: (bytes: number) => void;
  #bytes = 0;
  #isReleased = false;

  /** `take` adds to the total and throws when that has no room; a negative number releases. */
  constructor(take: (bytes: number) => void) {
    this.#take = take;
  }

  /** @throws the error of the total when it has no room */
  add(bytes: number): void {
    if (this.#isReleased) return;
    this.#take(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    if (this.#bytes > 0) this.#take(-this.#bytes);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
