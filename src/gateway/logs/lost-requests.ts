/** Counts requests that have no log row, by organisation and hour. */
import { startOfTotalsStep } from '../../model/logs/request-log.ts';
import { newIdBytes } from '../../model/wire/ids.ts';

/** Requests of one hour that have no row. The id makes counting them twice impossible. */
export interface LostRequests {
  readonly organisationId: string;
  readonly hour: number;
  readonly requests: number;
  readonly id: Buffer;
}

/** Counts of this process that are not queued yet. */
export class LossCounts {
  readonly #hours = new Map<string, Map<number, number>>();

  get isEmpty(): boolean {
    return this.#hours.size === 0;
  }

  add(organisationId: string, endedAt: number): void {
    const hour = startOfTotalsStep(endedAt);
    const hours = this.#hours.get(organisationId) ?? new Map<number, number>();
    this.#hours.set(organisationId, hours.set(hour, (hours.get(hour) ?? 0) + 1));
  }

  /** Takes all counts, by organisation. */
  take(): LostRequests[][] {
    const taken = [...this.#hours].map(([organisationId, hours]) =>
      [...hours].map(([hour, requests]) => ({ organisationId, hour, requests, id: newIdBytes() })),
    );
    this.#hours.clear();
    return taken;
  }
}
