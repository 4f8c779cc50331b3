/** Defines how long a process may use the units that it holds. */

/** Lease of a process. Slices without a lease of their own end with it. */
export const holderLeaseMs = 30_000;
/** A holder stops using its units this much before a lease ends. */
export const leaseMarginMs = 5_000;

/** Time until which the slices of a process may be used, monotonic clock. */
export interface HolderLease {
  endsMs: number;
}

/** The lease of one slice, monotonic clock. A move that would shorten it does so at once, because it may be carried out unnoticed. */
export class SliceLease {
  readonly #holder: HolderLease;
  #endsMs = 0;
  #endsMsBefore = 0;
  #lengthMs = 0;

  constructor(holder: HolderLease) {
    this.#holder = holder;
  }

  isOverAt(nowMs: number): boolean {
    return nowMs >= this.#endsMs && nowMs >= this.#holder.endsMs;
  }

  /** Whether less than half of it remains. */
  isDueAt(nowMs: number): boolean {
    return this.#lengthMs > 0 && this.#endsMs - nowMs < this.#lengthMs / 2;
  }

  /** A move begins that sets the lease; null for the lease of the process. */
  begin(leaseMs: number | null, nowMs: number): void {
    this.#endsMsBefore = this.#endsMs;
    this.#endsMs = Math.min(this.#endsMs, endOf(leaseMs, nowMs));
  }

  /** The move was carried out; `startedMs` is not later than its beginning. */
  end(leaseMs: number | null, startedMs: number): void {
    this.#endsMs = endOf(leaseMs, startedMs);
    this.#lengthMs = leaseMs ?? 0;
  }

  undo(): void {
    this.#endsMs = this.#endsMsBefore;
  }

  lose(): void {
    this.#endsMs = 0;
    this.#lengthMs = 0;
  }
}

function endOf(leaseMs: number | null, fromMs: number): number {
  return leaseMs === null ? 0 : fromMs + leaseMs - leaseMarginMs;
}
