/** Knows whether a source has stayed the same for so long that what left it may go. */
import type { Plan } from '../plan/planned.ts';

export class Settling {
  readonly #settleMs: number;
  /** What the source was read as, since when. */
  #seen: { readonly digest: string; readonly at: number } | null = null;
  /** When something waits no longer, ms since the epoch; null when nothing waits. */
  until: number | null = null;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Digest of a source that has stayed the same for the settling time; null when none has. */
  digestAt(now: number): string | null {
    return this.#seen !== null && now - this.#seen.at >= this.#settleMs ? this.#seen.digest : null;
  }

  /** Takes note of what was read at `now`. */
  see({ source: { digest }, blocked }: Plan, now: number): void {
    if (this.#seen?.digest !== digest) this.#seen = { digest, at: now };
    const isWaiting = blocked.some(({ reason }) => reason === 'settling');
    this.until = isWaiting ? this.#seen.at + this.#settleMs : null;
  }
}
