/** Records when the run itself stood still on a busy machine, and with it the links of the servers to their database. */

/** Times by `Date.now()`. */
export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface StallWatch extends Disposable {
  /** Stalls so far, in their order. */
  readonly stalls: readonly Stall[];
}

const lookMs = 100;
/** Connections to the database are given up after twice this time. */
const stallMsMin = 1_000;

export function watchStalls(): StallWatch {
  const stalls: Stall[] = [];
  let lastMs = Date.now();
  const timer = setInterval(() => {
    const nowMs = Date.now();
    if (nowMs - lastMs >= stallMsMin) stalls.push({ fromMs: lastMs, toMs: nowMs });
    lastMs = nowMs;
  }, lookMs);
  return { stalls, [Symbol.dispose]: () => clearInterval(timer) };
}
