/** Admits requests of one organisation while the bank is away, by what the process may grant itself. */
import { monotonicMs } from '../monotonic.ts';
import type { Charge, Grant, Reservations } from './account.ts';
import type { UsageJournal } from './journal/usage-journal.ts';
import { LimitsUnknown, type UsageBound } from './limit.ts';
import type { OrganisationSlices } from './organisation-slices.ts';
import type { Sharing } from './share.ts';

/** A shorter absence is waited for. */
export const outageAfterMs = 500;
/** Absence from which on requests that lack units are refused at once. */
const refuseAfterMs = 1_750;

export interface OutageSources {
  /** Null without a folder for it. */
  readonly journal: UsageJournal | null;
  /** Processes that shared limits when the database was last seen, by any process; null when unknown. */
  readonly gatewaysSeen: () => number | null;
}

export class Outage {
  readonly #slices: OrganisationSlices;
  readonly #journal: UsageJournal | null;
  readonly #gatewaysSeen: () => number | null;
  /** Null while the bank responds; monotonic clock. */
  #sinceMs: number | null = null;
  /** Null unless the bank is a region that lacks units and cannot ask its home; monotonic clock. */
  #homeAwaySinceMs: number | null = null;

  constructor(slices: OrganisationSlices, { journal, gatewaysSeen }: OutageSources) {
    this.#slices = slices;
    this.#journal = journal;
    this.#gatewaysSeen = gatewaysSeen;
  }

  begin(nowMs: number): void {
    this.#sinceMs = Math.min(this.#sinceMs ?? nowMs, nowMs);
  }

  end(): void {
    this.#sinceMs = null;
  }

  /** Whether waiting for the bank is pointless. */
  get isLong(): boolean {
    return this.#sinceMs !== null && monotonicMs() - this.#sinceMs >= refuseAfterMs;
  }

  /** Notes whether the region that is the bank could ask its home for units that a request lacks. */
  noteHome(isAway: boolean, nowMs: number): void {
    this.#homeAwaySinceMs = isAway ? (this.#homeAwaySinceMs ?? nowMs) : null;
  }

  /** Whether waiting for what the region lacks is pointless. */
  get isCutOffLong(): boolean {
    const sinceMs = this.#homeAwaySinceMs;
    return sinceMs !== null && monotonicMs() - sinceMs >= refuseAfterMs;
  }

  /** The error of a request that cannot be admitted. */
  refusal(cause: unknown, charges: readonly Charge[]): LimitsUnknown {
    const allowing = charges.find(({ limit }) => limit.isHard && (limit.outageUnits ?? 0) > 0);
    if (allowing === undefined || this.#journal !== null) return new LimitsUnknown(cause);
    const { label } = allowing.limit;
    const hint = `${label} has an on_outage_allowance, which needs GATEWRIGHT_SPOOL_DIRECTORY`;
    return new LimitsUnknown(cause, hint);
  }

  /** By the number that was seen by others where this process has seen none. */
  get #sharing(): Sharing {
    const { sharing } = this.#slices;
    return sharing.holders === null ? { holders: this.#gatewaysSeen(), rank: null } : sharing;
  }

  /**
   * Null when the bank is not away, or the process may not grant itself enough. Grants of budgets are on disk before the
   * request is sent.
   */
  admit(
    reservations: Reservations,
    charges: readonly Charge[],
    bound: UsageBound,
  ): Grant | Promise<Grant> | null {
    return this.#admitSince(this.#sinceMs, reservations, charges, bound);
  }

  /** As {@link admit}, after the region has answered that it lacks units and cannot ask its home. */
  admitCutOff(
    reservations: Reservations,
    charges: readonly Charge[],
    bound: UsageBound,
  ): Grant | Promise<Grant> | null {
    return this.#admitSince(this.#homeAwaySinceMs, reservations, charges, bound);
  }

  #admitSince(
    sinceMs: number | null,
    reservations: Reservations,
    charges: readonly Charge[],
    bound: UsageBound,
  ): Grant | Promise<Grant> | null {
    const nowMs = monotonicMs();
    if (sinceMs === null || nowMs - sinceMs < outageAfterMs) return null;
    const terms = { sharing: this.#sharing, journal: this.#journal };
    const drawn = reservations.draw(charges, bound, nowMs, terms);
    if (drawn === null) return null;
    const grant = { outputTokens: bound.outputTokens };
    if (drawn.length === 0) return grant;
    return this.#slices.secure(drawn).then(
      () => grant,
      (error) => {
        reservations.release();
        reservations.uncount();
        throw new LimitsUnknown(error);
      },
    );
  }
}
