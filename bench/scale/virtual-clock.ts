/** Runs asynchronous work on simulated time: waits end in their order, without waiting. */

interface Wait {
  readonly atMs: number;
  readonly order: number;
  readonly resolve: () => void;
}

/** Work may wait for nothing but this clock, and promises that are resolved already. */
export class VirtualClock {
  nowMs = 0;
  #order = 0;
  /** A heap: each wait ends no later than the two at twice its position. */
  readonly #waits: Wait[] = [];

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#order += 1;
    this.#push({ atMs: this.nowMs + ms, order: this.#order, resolve });
    return promise;
  }

  /** Runs everything that happens until then. */
  async runUntil(endMs: number): Promise<void> {
    await settled();
    while (this.#waits.length > 0 && this.#waits[0]!.atMs <= endMs) {
      const { atMs, resolve } = this.#pop();
      this.nowMs = atMs;
      resolve();
      await settled();
    }
    this.nowMs = endMs;
  }

  #push(wait: Wait): void {
    const waits = this.#waits;
    let at = waits.push(wait) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!isBefore(wait, waits[above]!)) break;
      waits[at] = waits[above]!;
      at = above;
    }
    waits[at] = wait;
  }

  #pop(): Wait {
    const waits = this.#waits;
    const [first, last] = [waits[0]!, waits.pop()!];
    if (waits.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= waits.length) break;
      if (below + 1 < waits.length && isBefore(waits[below + 1]!, waits[below]!)) below += 1;
      if (!isBefore(waits[below]!, last)) break;
      waits[at] = waits[below]!;
      at = below;
    }
    waits[at] = last;
    return first;
  }
}

function isBefore(one: Wait, other: Wait): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/** Resolves when no promise has anything left to do. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
