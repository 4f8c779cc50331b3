/** Decides whether a source has stayed the same long enough to delete what left it. */
import type { Plan } from '../plan/plan-model.ts';

export class SettlingTimer {
  readonly #settleMs: number;
  /** The digest that was read last, and since when it has been the same. */
  #seen: { readonly digest: string; readonly at: number } | null = null;
  /** End of the current wait, ms since the epoch; null when nothing waits. */
  until: number | null = null;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Returns the digest if it has stayed the same for the settling time; else null. */
  digestAt(now: number): string | null {
    return this.#seen !== null && now - this.#seen.at >= this.#settleMs ? this.#seen.digest : null;
  }

  /** Records what was read at `now`. */
  observe({ source: { digest }, blocked }: Plan, now: number): void {
    if (this.#seen?.digest !== digest) this.#seen = { digest, at: now };
    const isWaiting = blocked.some(({ reason }) => reason === 'settling');
    this.until = isWaiting ? this.#seen.at + this.#settleMs : null;
  }
}
