/** Knows when a loop tries again what may pass: ever more rarely, and not all loops at once. */
import type { Clock } from '../../clock.ts';

const backoffMsMin = 5_000;
const backoffMsMax = 300_000;

/** 5 s, doubled each time up to 5 min, spread by ±20 %. */
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

  /** When to try again, ms since the epoch. */
  next(): number {
    const waitMs = Math.min(backoffMsMax, backoffMsMin * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 16);
    return this.#clock.now() + waitMs * (0.8 + 0.4 * this.#random());
  }
}
