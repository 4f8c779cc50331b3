/** Records which calls of one request were charged: the answered one, and those whose response was lost. */
import type { Meter, MeteredUsage } from '../metering/meter.ts';
import type { TargetOutcome } from './outcome.ts';

export interface ChargedCall {
  readonly outcome: TargetOutcome;
  readonly metered: MeteredUsage;
}

/** Shared by all requests with at most one charged call. */
const none: readonly never[] = [];

export class ChargedCalls {
  #meteredOutcome: TargetOutcome | null = null;
  /** Meter of the last call, once its response is being read. */
  #meter: Meter | null = null;
  /** The last call, when it was charged without a response to meter. */
  #lost: ChargedCall | null = null;
  /** Charged calls before the last one. */
  #earlier: readonly ChargedCall[] = none;

  /** Whether a provider may have received calls of checks, which have log entries of their own. */
  hasCheckCalls = false;

  addMeter(outcome: TargetOutcome, meter: Meter): void {
    this.#meteredOutcome = outcome;
    this.#meter = meter;
  }

  addLost(outcome: TargetOutcome, metered: MeteredUsage): void {
    this.#lost = { outcome, metered };
  }

  /** Adds charged calls of a concurrent call for the same request. */
  addEarlier(calls: readonly ChargedCall[]): void {
    if (calls.length > 0) this.#earlier = [...this.#earlier, ...calls];
  }

  /** Closes the last call because another one follows. */
  endCall(): void {
    const last = this.#last();
    if (last === null) return;
    this.#earlier = [...this.#earlier, last];
    this.#meteredOutcome = null;
    this.#meter = null;
    this.#lost = null;
  }

  /** Charge of the last call if its response was lost; null otherwise. */
  get lost(): MeteredUsage | null {
    return this.#lost?.metered ?? null;
  }

  /** All charged calls in order, except the one that `metered` belongs to. */
  except(metered: MeteredUsage | null): readonly ChargedCall[] {
    const last = this.#last();
    return last === null || last.metered === metered ? this.#earlier : [...this.#earlier, last];
  }

  #last(): ChargedCall | null {
    const metered = this.#meter?.metered ?? null;
    return metered === null ? this.#lost : { outcome: this.#meteredOutcome!, metered };
  }
}
