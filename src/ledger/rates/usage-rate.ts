/** Measures the recent rate of usage. */

/** Shorter intervals are too random for a rate. */
const stretchMs = 100;

export class UsageRate {
  /** Older usage is ignored. */
  readonly #forgetMs: number;
  #units = 0;
  #sinceMs = 0;
  #latestMs = Number.NEGATIVE_INFINITY;
  #perMs = 0;

  constructor(forgetMs: number) {
    this.#forgetMs = forgetMs;
  }

  note(units: number, nowMs: number): void {
    this.#latestMs = nowMs;
    this.#units += units;
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs < stretchMs) return;
    this.#perMs = passedMs > this.#forgetMs ? 0 : (this.#perMs + this.#units / passedMs) / 2;
    this.#units = 0;
    this.#sinceMs = nowMs;
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.#latestMs > this.#forgetMs;
  }

  /** Expected units in the given time, rounded up; 0 when idle. */
  unitsIn(ms: number, nowMs: number): number {
    return this.isIdle(nowMs) ? 0 : Math.ceil(this.#perMs * ms);
  }
}
