/** Computes retry times with exponential backoff and jitter. */
import type { Clock } from '../../clock.ts';

const backoffMsMin = 5_000;
const backoffMsMax = 300_000;

/**
 * Starts at 5 s and doubles up to 5 min, with ±20 % of jitter. Retry libraries wrap and delay a
 * call; the loop needs only the time of the next one.
 */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** Returns the time of the next retry, ms since the epoch. */
  next(): number {
    const waitMs = Math.min(backoffMsMax, backoffMsMin * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 16);
    return this.#clock.now() + waitMs * (0.8 + 0.4 * this.#random());
  }
}
