/** Knows whether a loop is the one of its owner that looks and writes. */

/** A number that changes whenever the leading begins anew; null while another loop leads. */
type Ask = () => Promise<number | null>;

/** Whether this loop is the one that looks and writes. */
export class Leadership {
  readonly #ask: Ask | undefined;
  /** What was answered last. */
  #leading: number | null = null;

  constructor(ask: Ask | undefined) {
    this.#ask = ask;
  }

  get isHeld(): boolean {
    return this.#ask === undefined || this.#leading !== null;
  }

  /** Asks; whether the answer is other than the last, so that another loop may have written since. */
  async hasChanged(): Promise<boolean> {
    if (this.#ask === undefined) return false;
    const before = this.#leading;
    this.#leading = await this.#ask();
    return this.#leading !== before;
  }
}
