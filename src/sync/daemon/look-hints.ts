/** Lets webhooks trigger a look before its time, at a limited rate. */
import { setTimeout as delay } from 'node:timers/promises';

/** Minimum time between two looks triggered by hints. */
const hintedLooksMs = 1_000;

/** Merges hints that arrive while one is pending or while the loop works. */
export class LookHints {
  #isWaiting = false;
  #wake: (() => void) | null = null;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** Makes the next look due. */
  trigger(): void {
    this.#isWaiting = true;
    this.#wake?.();
  }

  /** Waits like the `pause` of the loop; a hint ends the wait early and returns `hinted`. */
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
