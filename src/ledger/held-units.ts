/** Counts the units of one slice: held, reserved by running requests, and used since the last exchange. */
import type { SliceMove } from '../store/usage/slice-moves.ts';

/** Units of a slice that one request has reserved. */
export interface Reservation {
  /** Holding of the slice; reservations of a lost holding are already charged. */
  readonly holding: number;
  readonly units: number;
  /** Whether the process granted them itself, in an outage. */
  readonly isDrawn: boolean;
}

export class HeldUnits {
  /** Changes when everything that was held is lost. */
  holding = 0;
  /** Units held according to the database, minus those in a running move. */
  units = 0;
  reserved = 0;
  /** Units used since the last move. */
  spent = 0;
  /** Units that the process granted itself for running requests. */
  drawnReserved = 0;
  /** Units used of such grants since the last move. */
  drawnSpent = 0;
  /** Units used of such grants before, as far as they are beyond the limit. */
  drawnBefore = 0;
  /** Units of the bank that were used in all, as reported; reservations are not among them. */
  reportedTotal = 0;
  #spentInMove = 0;
  /** Used units in the running move that no unit of the bank covers. */
  #uncoveredInMove = 0;
  #drawnInMove = 0;

  get free(): number {
    return this.units - this.reserved - this.spent;
  }

  /** Whether requests are running, or usage is not reported. */
  get isOpen(): boolean {
    const isDrawnOpen = this.drawnReserved !== 0 || this.drawnSpent !== 0;
    return this.reserved !== 0 || this.spent !== 0 || isDrawnOpen;
  }

  /** Units of the bank that were used in all. */
  get total(): number {
    return this.reportedTotal + this.spent;
  }

  /** Units granted by the process itself in this window. */
  get drawn(): number {
    return this.drawnBefore + this.drawnReserved + this.drawnSpent;
  }

  /** Usage that would be lost with the process, because no unit of the bank covers it. */
  get uncovered(): UncoveredUse {
    const after = this.drawnReserved + this.drawnSpent + Math.max(0, -this.free);
    return { before: this.#uncoveredInMove, after, running: this.drawnReserved };
  }

  draw(units: number): void {
    this.drawnReserved += units;
  }

  reserve(units: number): this {
    this.reserved += units;
    return this;
  }

  /** Ends a reservation. Usage beyond the reservation is always charged. */
  settle({ holding, units, isDrawn }: Reservation, used: number): void {
    if (isDrawn) {
      this.drawnReserved -= units;
      this.drawnSpent += used;
      return;
    }
    if (holding !== this.holding) {
      this.spent += Math.max(0, used - units);
      return;
    }
    this.reserved -= units;
    this.spent += used;
  }

  refund(units: number, holding: number): void {
    if (this.drawnSpent >= units) this.drawnSpent -= units;
    else if (holding === this.holding) this.spent -= units;
  }

  charge(units: number): this {
    this.spent += units;
    return this;
  }

  /** The move reports all usage. */
  beginMove(move: SliceMove): void {
    this.#uncoveredInMove = this.drawnSpent + Math.max(0, -this.free);
    this.#drawnInMove = this.drawnSpent;
    this.units -= move.spent + move.offered;
    this.#spentInMove = this.spent;
    this.reportedTotal += this.spent;
    this.spent = 0;
    this.drawnBefore += this.drawnSpent;
    this.drawnSpent = 0;
  }

  /** `beyondUnits` is what is used and reserved beyond the limit after the move. */
  endMove(granted: number, beyondUnits: number): void {
    this.units += granted;
    this.#uncoveredInMove = 0;
    this.#drawnInMove = 0;
    this.drawnBefore = Math.min(this.drawnBefore, Math.max(0, beyondUnits));
  }

  undoMove(move: SliceMove): void {
    this.units += move.spent + move.offered;
    this.spent += move.spent - this.#drawnInMove;
    this.reportedTotal -= this.#spentInMove;
    this.drawnSpent += this.#drawnInMove;
    this.drawnBefore -= this.#drawnInMove;
    this.#uncoveredInMove = 0;
    this.#drawnInMove = 0;
  }

  /** The units held are already charged, usage beyond them is not. All of them count as used, as the charge does. */
  lose(): void {
    this.spent = Math.max(0, this.spent + this.reserved - this.units);
    this.reportedTotal += Math.max(0, this.units);
    this.#begin();
  }

  /** The counter was deleted together with its usage. */
  forget(): void {
    this.spent = 0;
    this.drawnSpent = 0;
    this.#begin();
  }

  #begin(): void {
    this.holding += 1;
    this.units = 0;
    this.reserved = 0;
    this.#uncoveredInMove = 0;
    this.#drawnInMove = 0;
  }
}

/** Units of a slice that are used although the bank has not granted them. */
export interface UncoveredUse {
  /** Part of an exchange whose outcome is not known yet. */
  readonly before: number;
  /** Not part of it. */
  readonly after: number;
  /** The part of `after` that running requests have reserved, and may not use. */
  readonly running: number;
}
