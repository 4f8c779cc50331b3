/** Tracks the bound that a journal has on disk for what a process uses of one slice. */

/**
 * While a bound is being written, the lower one of both counts: either may be on disk when the process dies, and so may
 * one whose write has failed. Without a bound on disk, a lost slice counts as used up.
 */
export class TotalPromise {
  #durable = Number.POSITIVE_INFINITY;
  /** Bounds that may be on disk, in the order of their writes. */
  #pending: { readonly units: number }[] = [];
  /** Null before the first one. */
  latest: number | null = null;
  /** Usage in all that may be reached now. */
  bound = Number.POSITIVE_INFINITY;

  /** Whether the next move makes void what is on disk. */
  isVoiding = false;
  #voidsInMove = false;

  beginMove(): void {
    this.#voidsInMove = this.isVoiding;
  }

  /** The move was carried out. */
  endMove(): void {
    if (this.#voidsInMove) this.reset();
  }

  /** Returns a function that must be called when the bound is on disk. */
  begin(units: number): () => void {
    const one = { units };
    this.#pending.push(one);
    this.latest = units;
    this.isVoiding = false;
    this.#voidsInMove = false;
    this.#update();
    return () => {
      const at = this.#pending.indexOf(one);
      if (at === -1) return;
      // It replaces the earlier ones.
      this.#pending = this.#pending.slice(at + 1);
      this.#durable = units;
      this.#update();
    };
  }

  /** Nothing that is on disk applies any more. */
  reset(): void {
    this.#durable = Number.POSITIVE_INFINITY;
    this.#pending = [];
    this.latest = null;
    this.isVoiding = false;
    this.#voidsInMove = false;
    this.#update();
  }

  #update(): void {
    this.bound = this.#pending.reduce((least, { units }) => Math.min(least, units), this.#durable);
  }
}
