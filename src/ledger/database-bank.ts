/** Exchanges slices with the database: one transaction for each exchange of a holder. */
import type { Database, Db } from '../store/connection/db.ts';
import { isOutcomeUnknown } from '../store/connection/unavailable.ts';
import type { CounterKey } from '../store/usage/counter-place.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import * as journalledUse from '../store/usage/journalled-use.ts';
import * as holders from '../store/usage/usage-holders.ts';
import * as slices from '../store/usage/usage-slices.ts';
import * as wantedSlices from '../store/usage/wanted-slices.ts';
import type { BankAnswer, BankRequest, LimitBank } from './limit-bank.ts';
import { holderLeaseMs } from './slice-lease.ts';

/** Age up to which a recorded shortage counts; waiting processes renew it more often. */
const wantedWithinMs = 2_000;

/** An exchange with unknown outcome, and its answer if it was carried out. */
interface DoubtfulExchange {
  readonly sequence: number;
  readonly answer: BankAnswer;
}

export interface DatabaseBankOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class DatabaseBank implements LimitBank {
  readonly #options: DatabaseBankOptions;
  readonly #doubts = new Map<string, DoubtfulExchange>();

  constructor(options: DatabaseBankOptions) {
    this.#options = options;
  }

  async exchange(request: BankRequest): Promise<BankAnswer | null> {
    const { holder, sequence } = request;
    const key = holder.holder.toString('hex');
    const doubt = this.#doubts.get(key);
    if (doubt !== undefined) {
      const reached = await this.#findSequence(holder);
      this.#doubts.delete(key);
      if (doubt.sequence === sequence && reached === sequence + 1) return doubt.answer;
      if (sequence > 0 && reached !== sequence) return null;
    }
    const attempt: { answer: BankAnswer | null } = { answer: null };
    try {
      await this.#options.database.transaction(async (tx) => {
        attempt.answer = null;
        attempt.answer = await this.#carryOut(tx, request);
      });
    } catch (error) {
      const { answer } = attempt;
      if (isOutcomeUnknown(error) && answer !== null) this.#doubts.set(key, { sequence, answer });
      throw error;
    }
    return attempt.answer;
  }

  listWanted(holder: holders.Holder): Promise<readonly CounterKey[]> {
    return wantedSlices.listWanted(this.#options.database.db, holder, wantedWithinMs);
  }

  async settle(holder: holders.Holder, uses: readonly JournalledUse[]): Promise<void> {
    const now = this.#options.now();
    await this.#options.database.transaction((tx) => journalledUse.settle(tx, holder, uses, now));
  }

  async close(holder: holders.Holder): Promise<void> {
    this.#doubts.delete(holder.holder.toString('hex'));
    await this.#options.database.transaction(async (tx) => {
      await holders.findSequence(tx, holder);
      await slices.chargeAll(tx, holder);
      // The journal may still have what was reported.
      if (holder.isJournalled) await holders.markSettled(tx, holder);
      else await holders.deleteOne(tx, holder);
    });
  }

  /** The row lock waits for an exchange that is still running. */
  #findSequence(holder: holders.Holder): Promise<number | null> {
    return this.#options.database.transaction((tx) => holders.findSequence(tx, holder));
  }

  async #carryOut(tx: Db, request: BankRequest): Promise<BankAnswer | null> {
    const { holder, sequence, moves, listsHeld, countsHolders, keepsAnswer } = request;
    if (keepsAnswer) {
      const stored = await holders.findAnswer(tx, holder, sequence + 1);
      if (stored !== null) return JSON.parse(stored) as BankAnswer;
    }
    if (sequence === 0) await holders.insert(tx, holder, holderLeaseMs);
    else if (!(await holders.renew(tx, holder, sequence, holderLeaseMs))) return null;
    const held = listsHeld ? await slices.listHeld(tx, holder) : null;
    const outcomes =
      moves.length === 0 ? [] : await slices.exchange(tx, holder, moves, this.#options.now());
    const none = { holders: null, rank: null };
    const count = countsHolders ? await holders.countWithRank(tx, holder) : none;
    const answer = { outcomes, held, ...count };
    if (keepsAnswer) await holders.keepAnswer(tx, holder, JSON.stringify(answer));
    return answer;
  }
}
