/** Reads which units other processes lack, with few statements for all organisations of a process. */
import { detach } from '../detached.ts';
import { monotonicMs } from '../monotonic.ts';
import { isUnavailable } from '../store/connection/unavailable.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { LimitBank } from './limit-bank.ts';
import type { OrganisationSlices } from './organisation-slices.ts';
import type { Outage } from './outage.ts';

/** Interval of reading. */
const lookMs = 200;
/** Holders of one statement. */
const holdersMax = 200;

/** The part of an organisation's queue that recalls concern. */
interface RecallableQueue {
  readonly slices: Pick<OrganisationSlices, 'recallable' | 'recall'>;
  readonly outage: Pick<Outage, 'begin'>;
  /** Error of the last contact with the bank. */
  fault: unknown;
}

interface HoldingQueue<Queue> {
  readonly queue: Queue;
  readonly holder: Holder;
}

export class Recalls<Queue extends RecallableQueue> {
  readonly #bank: Pick<LimitBank, 'listWanted'>;
  readonly #onRecalled: (queue: Queue) => void;
  #lookedMs = Number.NEGATIVE_INFINITY;
  running: Promise<void> | null = null;

  constructor(bank: Pick<LimitBank, 'listWanted'>, onRecalled: (queue: Queue) => void) {
    this.#bank = bank;
    this.#onRecalled = onRecalled;
  }

  /** Does nothing while a reading runs, and within some time after one began. */
  lookUnlessRecent(queues: Iterable<Queue>, nowMs: number): void {
    if (this.running !== null || nowMs - this.#lookedMs < lookMs) return;
    const holding: HoldingQueue<Queue>[] = [];
    for (const queue of queues) {
      const holder = queue.slices.recallable;
      if (holder !== null) holding.push({ queue, holder });
    }
    if (holding.length === 0) return;
    this.#lookedMs = nowMs;
    this.running = this.#lookAll(holding).finally(() => {
      this.running = null;
    });
    detach('reading which units other processes lack', this.running);
  }

  async #lookAll(holding: readonly HoldingQueue<Queue>[]): Promise<void> {
    for (let from = 0; from < holding.length; from += holdersMax) {
      await this.#look(holding.slice(from, from + holdersMax));
    }
  }

  async #look(holding: readonly HoldingQueue<Queue>[]): Promise<void> {
    try {
      const wanted = await this.#bank.listWanted(holding.map(({ holder }) => holder));
      const byOrganisation = Map.groupBy(wanted, ({ organisationId }) => organisationId);
      for (const { queue, holder } of holding) {
        const counters = byOrganisation.get(holder.organisationId);
        if (counters === undefined) continue;
        queue.slices.recall(counters);
        this.#onRecalled(queue);
      }
    } catch (error) {
      for (const { queue } of holding) {
        queue.fault = error;
        if (isUnavailable(error)) queue.outage.begin(monotonicMs());
      }
    }
  }
}
