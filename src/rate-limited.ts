/** Limits how often a program reports something. */

/** Returns a function that calls `report` at most once per interval, and otherwise does nothing. */
export function atMostOncePer<Args extends readonly unknown[]>(
  intervalMs: number,
  report: (...args: Args) => void,
  now: () => number = () => performance.now(),
): (...args: Args) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (...args) => {
    const nowMs = now();
    if (nowMs < nextMs) return;
    nextMs = nowMs + intervalMs;
    report(...args);
  };
}
