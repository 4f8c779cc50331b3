/** Tells which changes a process has not seen before, so that each is observed once. */
import type { OrganisationChanges } from './changes.ts';

/**
 * When an organisation is read for the first time, nothing is new but what has changed since the process read
 * something of it. Two changes of one organisation between two reads, under the same of its sixteen marks, are one.
 */
export class ObservedChanges {
  readonly #known = new Set<string>();
  /** Time of the last seen change by organisation and mark; only as long as reads list it. */
  readonly #seen = new Map<string, number>();

  /**
   * Returns the times of new changes.
   *
   * @param held the generation that the process holds
   */
  take(organisationId: string, reading: OrganisationChanges, held: string): number[] {
    const isFirst = !this.#known.has(organisationId);
    this.#known.add(organisationId);
    const fresh: number[] = [];
    for (const { slot, changedAtMs } of reading.changes) {
      const key = `${organisationId} ${slot}`;
      if (this.#seen.get(key) === changedAtMs) continue;
      this.#seen.delete(key);
      this.#seen.set(key, changedAtMs);
      fresh.push(changedAtMs);
    }
    if (!isFirst) return fresh;
    const hasChanged = reading.generation !== held && fresh.length > 0;
    return hasChanged ? [Math.max(...fresh)] : [];
  }

  /** Forgets changes that reads no longer list. */
  forgetBefore(ms: number): void {
    for (const [key, changedAtMs] of this.#seen) {
      if (changedAtMs < ms) this.#seen.delete(key);
    }
  }
}
