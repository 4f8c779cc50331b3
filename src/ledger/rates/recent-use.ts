/** Sums recent usage, in which older usage weighs less. */

/** Usage that continues at one rate sums up to what ten minutes of it use. */
export const recentMs = 600_000;

export class RecentUse {
  #units = 0;
  #atMs = Number.NEGATIVE_INFINITY;
  #sinceMs = 0;

  note(units: number, nowMs: number): void {
    if (units <= 0) return;
    if (this.isIdle(nowMs)) this.#sinceMs = nowMs;
    this.#units = this.unitsAt(nowMs) + units;
    this.#atMs = nowMs;
  }

  /** At most what was noted: a process that has just started expects little. */
  unitsAt(nowMs: number): number {
    return this.#units === 0 ? 0 : this.#units * Math.exp((this.#atMs - nowMs) / recentMs);
  }

  /** Time in which that much was used: ten minutes, less for a process that has just started. */
  spanMs(nowMs: number): number {
    return recentMs * (1 - Math.exp((this.#sinceMs - nowMs) / recentMs));
  }

  /** Whether nothing was noted for ten minutes. */
  isIdle(nowMs: number): boolean {
    return nowMs - this.#atMs > recentMs;
  }
}
