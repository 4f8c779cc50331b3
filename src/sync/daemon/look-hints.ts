/** Knows how whoever has news of a source makes the loop look before its time, and no more often than it can bear. */
import { setTimeout as delay } from 'node:timers/promises';

/** However many hints come in, they bring about no more than one look in this time. */
const hintedLooksMs = 1_000;

/** Hints that come while one is waiting, or while the loop is at work, are one hint. */
export class LookHints {
  #isWaiting = false;
  #wake: (() => void) | null = null;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** The next look is due. */
  give(): void {
    this.#isWaiting = true;
    this.#wake?.();
  }

  /** As `pause` of the loop: ends with the time, or with a hint, which it says. */
  async pause(ms: number, signal: AbortSignal): Promise<'hinted' | undefined> {
    if (!this.#isWaiting) await this.#wait(ms, signal);
    if (!this.#isWaiting) return undefined;
    const waitMs = Math.max(0, this.#lastAt + hintedLooksMs - performance.now());
    await delay(Math.ceil(waitMs), undefined, { signal });
    this.#isWaiting = false;
    this.#lastAt = performance.now();
    return 'hinted';
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    try {
      await delay(ms, undefined, { signal: AbortSignal.any([signal, woken.signal]) });
    } catch (error) {
      if (!woken.signal.aborted || signal.aborted) throw error;
    } finally {
      this.#wake = null;
    }
  }
}
