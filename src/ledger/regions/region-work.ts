/** Repeats what a region does for its limits without being asked: it reports usage home, and returns what home wants. */
import type { Database } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import * as regionHolders from '../../store/regions/region-holders.ts';
import * as regionLoans from '../../store/regions/region-loans.ts';
import type { Borrower } from './borrower.ts';

/** Interval of asking home, for each organisation, what it wants returned. */
const pollMs = 200;
/** Interval of comparing counters with what home has counted. */
const sweepMs = 30_000;
const renewMs = 10_000;
/** Organisations of one turn, and those that are worked on at the same time. */
const dueMax = 200;
const concurrentMax = 8;

export interface RegionWorkOptions {
  readonly database: Pick<Database, 'db'>;
  readonly borrower: Pick<Borrower, 'exchangeDue' | 'recallWanted' | 'isAway'>;
  /** Called when the region's database or home did not respond. */
  readonly onFailure: (error: unknown) => void;
}

export class RegionWork {
  readonly #options: RegionWorkOptions;

  constructor(options: RegionWorkOptions) {
    this.#options = options;
  }

  /** Does what is due, in all organisations. Never rejects. */
  async turn(): Promise<void> {
    const { database, borrower, onFailure } = this.#options;
    try {
      const due = await regionHolders.listDue(database.db, renewMs, dueMax);
      await this.#forEach(due, (id) => borrower.exchangeDue(id));
      const holding = await regionHolders.listHolding(database.db);
      await this.#forEach(holding, (id) => this.#poll(id));
    } catch (error) {
      onFailure(error);
    }
  }

  async #poll(organisationId: string): Promise<void> {
    const { database, borrower } = this.#options;
    const { db } = database;
    if (await regionHolders.claim(db, organisationId, 'swept_at', sweepMs))
      await regionLoans.makeUnreportedDue(db, organisationId, await readServerTime(db));
    if (borrower.isAway(organisationId)) return;
    if (await regionHolders.claim(db, organisationId, 'polled_at', pollMs))
      await borrower.recallWanted(organisationId);
  }

  async #forEach(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
    const left = [...ids];
    const worker = async (): Promise<void> => {
      for (let id = left.shift(); id !== undefined; id = left.shift()) {
        await work(id).catch(this.#options.onFailure);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrentMax, ids.length) }, worker));
  }
}
