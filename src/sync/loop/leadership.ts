/** Tracks whether this loop is the one of its owner that looks and writes. */

/**
 * Returns a number that changes with every new term of leadership; null while another loop leads.
 */
type AskLeadership = () => Promise<number | null>;

/** The leadership of one loop. */
export class Leadership {
  readonly #ask: AskLeadership | undefined;
  /** The last result. */
  #leading: number | null = null;

  constructor(ask: AskLeadership | undefined) {
    this.#ask = ask;
  }

  get isLeading(): boolean {
    return this.#ask === undefined || this.#leading !== null;
  }

  /**
   * Asks again. Returns whether the result changed, in which case another loop may have written
   * since.
   */
  async refresh(): Promise<boolean> {
    if (this.#ask === undefined) return false;
    const before = this.#leading;
    this.#leading = await this.#ask();
    return this.#leading !== before;
  }
}
