/** Lends units of limits to the gateways of a region, and borrows them from home. */
import type { Database } from '../../store/connection/db.ts';
import type { WantedCounter } from '../../store/regions/home-moves.ts';
import { lendWithinLoans, listUncovered } from '../../store/regions/lending.ts';
import * as regionHolders from '../../store/regions/region-holders.ts';
import type { JournalledUse } from '../../store/usage/journalled-use.ts';
import type { SliceMove } from '../../store/usage/slice-moves.ts';
import type { Holder } from '../../store/usage/usage-holders.ts';
import type { WantedSlice } from '../../store/usage/wanted-slices.ts';
import { DatabaseBank } from '../database-bank.ts';
import type { BankAnswer, BankRequest, LimitBank } from '../limit-bank.ts';
import type { Borrower } from './borrower.ts';

export interface RegionBankOptions {
  /** The region's own. */
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly borrower: Pick<Borrower, 'isAway' | 'borrow'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class RegionBank implements LimitBank {
  readonly #options: RegionBankOptions;
  readonly #bank: DatabaseBank;
  /** Organisations with a row in the region. */
  readonly #known = new Set<string>();

  constructor(options: RegionBankOptions) {
    const { database, borrower, now } = options;
    this.#options = options;
    const grant = lendWithinLoans((organisationId) => borrower.isAway(organisationId));
    this.#bank = new DatabaseBank({ database, now, grant });
  }

  /** Asks home first for what gateways wait for and the region lacks. */
  async exchange(request: BankRequest): Promise<BankAnswer | null> {
    const { organisationId } = request.holder;
    await this.#makeKnown(organisationId);
    const wanted = await this.#findUncovered(organisationId, request.moves);
    if (wanted.size > 0) await this.#options.borrower.borrow(organisationId, wanted);
    const answer = await this.#bank.exchange({ ...request, keepsAnswer: true });
    if (answer === null || answer.holders === null) return answer;
    const row = await regionHolders.find(this.#options.database.db, organisationId);
    const homeHolders = row?.home_holders ?? 1;
    if (homeHolders <= 1) return answer;
    // The gateways of other regions are not known; each region is taken for one as large as this.
    return { ...answer, holders: answer.holders * homeHolders, rank: null };
  }

  listWanted(holders: readonly Holder[]): Promise<readonly WantedSlice[]> {
    return this.#bank.listWanted(holders);
  }

  async settle(holder: Holder, uses: readonly JournalledUse[]): Promise<void> {
    await this.#makeKnown(holder.organisationId);
    await this.#bank.settle(holder, uses);
  }

  close(holder: Holder): Promise<void> {
    return this.#bank.close(holder);
  }

  async #makeKnown(organisationId: string): Promise<void> {
    if (this.#known.has(organisationId)) return;
    await regionHolders.insertMissing(this.#options.database.db, organisationId);
    this.#known.add(organisationId);
  }

  async #findUncovered(
    organisationId: string,
    moves: readonly SliceMove[],
  ): Promise<ReadonlyMap<string, WantedCounter>> {
    const needing = moves.filter(({ needs }) => needs.length > 0);
    return listUncovered(this.#options.database.db, organisationId, needing);
  }
}
