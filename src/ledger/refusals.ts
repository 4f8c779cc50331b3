/** Remembers the smallest request that a limit has refused, until it is stored with the limit's counter. */
import type { StoredRefusal } from '../store/usage/slice-moves.ts';
import type { Limit } from './limit.ts';

export class Refusals {
  /** Not in a move yet. */
  #new: StoredRefusal | null = null;
  #inMove: StoredRefusal | null = null;
  /** As stored when the last move ended. */
  #stored: StoredRefusal | null = null;

  /** Notes a request, unless a smaller one is known or even the unused limit would refuse it. */
  note({ isHard, isRate, limitUnits }: Limit, units: number): void {
    if (!isHard || isRate || units > limitUnits) return;
    const isStored = this.#stored?.limitUnits === limitUnits;
    if (isStored && this.#stored!.units <= units) return;
    const last = this.#new ?? this.#inMove;
    if (last?.limitUnits === limitUnits && last.units <= units) return;
    this.#new = { units, limitUnits };
  }

  /** Whether a refusal is not stored yet. */
  get isPending(): boolean {
    return this.#new !== null || this.#inMove !== null;
  }

  get hasNew(): boolean {
    return this.#new !== null;
  }

  /** Takes the units of the new refusal for a move under this limit; null for none. */
  beginMove({ limitUnits }: Limit): number | null {
    this.#inMove = this.#new?.limitUnits === limitUnits ? this.#new : null;
    this.#new = null;
    return this.#inMove?.units ?? null;
  }

  endMove(stored: StoredRefusal | null): void {
    this.#inMove = null;
    this.#stored = stored;
  }

  undoMove(): void {
    this.#new ??= this.#inMove;
    this.#inMove = null;
  }
}
