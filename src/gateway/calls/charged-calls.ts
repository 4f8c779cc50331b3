/** Knows which calls of one request were charged: the one that was answered, and those whose answer nobody got. */

import type { Meter, Metered } from '../metering/meter.ts';
import type { Attempted } from './attempt.ts';

/** A call that was charged. */
export interface ChargedCall {
  readonly attempted: Attempted;
  readonly metered: Metered;
}

/** Shared by all requests of which one call at most is charged. */
const none: readonly never[] = [];

export class ChargedCalls {
  /** Of the last call, once its answer is watched. */
  #watched: { readonly attempted: Attempted; readonly meter: Meter } | null = null;
  /** The last call, where it was charged without an answer that was watched. */
  #lost: ChargedCall | null = null;
  /** Those before the last one. */
  #earlier: readonly ChargedCall[] = none;

  watch(attempted: Attempted, meter: Meter): void {
    this.#watched = { attempted, meter };
  }

  lose(attempted: Attempted, metered: Metered): void {
    this.#lost = { attempted, metered };
  }

  /** Another one follows. */
  endCall(): void {
    const last = this.#last();
    if (last === null) return;
    this.#earlier = [...this.#earlier, last];
    this.#watched = null;
    this.#lost = null;
  }

  /** What the last call was charged with, where no answer of it was watched. */
  get lost(): Metered | null {
    return this.#lost?.metered ?? null;
  }

  /** Those that were charged with something else than this, in their order. */
  beside(metered: Metered | null): readonly ChargedCall[] {
    const last = this.#last();
    return last === null || last.metered === metered ? this.#earlier : [...this.#earlier, last];
  }

  #last(): ChargedCall | null {
    const metered = this.#watched?.meter.metered ?? null;
    return metered === null ? this.#lost : { attempted: this.#watched!.attempted, metered };
  }
}
