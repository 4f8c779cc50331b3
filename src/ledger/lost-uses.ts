/** Keeps what was used of slices that were charged because their lease had ended, until the bank has corrected the charge. */
import type { LostUse } from '../store/usage/slice-charges.ts';

/** Most uses of one exchange. */
const usesMax = 200;

export class LostUses {
  #uses: readonly LostUse[] = [];

  get isEmpty(): boolean {
    return this.#uses.length === 0;
  }

  /** The part that the next exchange reports; undefined for none. */
  next(): readonly LostUse[] | undefined {
    return this.isEmpty ? undefined : this.#uses.slice(0, usesMax);
  }

  /** An exchange has reported the first ones, and its answer tells further losses. */
  endExchange(reported: readonly LostUse[] | undefined, lost: readonly LostUse[]): void {
    this.#uses = [...this.#uses.slice(reported?.length ?? 0), ...lost];
  }

  clear(): void {
    this.#uses = [];
  }
}
