/** Counts the units of one slice: held, reserved by running requests, and used since the last exchange. */
import type { SliceMove } from '../store/usage/slice-moves.ts';

/** Units of a slice that one request has reserved. */
export interface Reservation {
  /** Holding of the slice; reservations of a lost holding are already charged. */
  readonly holding: number;
  readonly units: number;
}

export class HeldUnits {
  /** Changes when everything that was held is lost. */
  holding = 0;
  /** Units held according to the database, minus those in a running move. */
  units = 0;
  reserved = 0;
  /** Units used since the last move. */
  spent = 0;

  get free(): number {
    return this.units - this.reserved - this.spent;
  }

  /** Whether requests are running, or usage is not reported. */
  get isOpen(): boolean {
    return this.reserved !== 0 || this.spent !== 0;
  }

  reserve(units: number): this {
    this.reserved += units;
    return this;
  }

  /** Ends a reservation. Usage beyond the reservation is always charged. */
  settle({ holding, units }: Reservation, used: number): void {
    if (holding !== this.holding) {
      this.spent += Math.max(0, used - units);
      return;
    }
    this.reserved -= units;
    this.spent += used;
  }

  refund(units: number, holding: number): void {
    if (holding === this.holding) this.spent -= units;
  }

  charge(units: number): this {
    this.spent += units;
    return this;
  }

  beginMove(move: SliceMove): void {
    this.units -= move.spent + move.offered;
    this.spent -= move.spent;
  }

  undoMove(move: SliceMove): void {
    this.units += move.spent + move.offered;
    this.spent += move.spent;
  }

  /** The units held are already charged, usage beyond them is not. */
  lose(): void {
    this.spent = Math.max(0, this.spent + this.reserved - this.units);
    this.#begin();
  }

  /** The counter was deleted together with its usage. */
  forget(): void {
    this.spent = 0;
    this.#begin();
  }

  #begin(): void {
    this.holding += 1;
    this.units = 0;
    this.reserved = 0;
  }
}
