/** Exchanges slices with the database: one transaction for each exchange of a holder. */
import type { Database, Db } from '../store/connection/db.ts';
import { isOutcomeUnknown } from '../store/connection/unavailable.ts';
import { counterKeyText } from '../store/usage/counter-place.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import * as journalledUse from '../store/usage/journalled-use.ts';
import { listLostSlices } from '../store/usage/lost-slices.ts';
import * as sliceCharges from '../store/usage/slice-charges.ts';
import type { MoveOutcome, SliceMove } from '../store/usage/slice-moves.ts';
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
  /** Computes what is granted; by default up to the limits. */
  readonly grant?: slices.GrantMoves;
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

  listWanted(asking: readonly holders.Holder[]): Promise<readonly wantedSlices.WantedSlice[]> {
    return wantedSlices.listWanted(this.#options.database.db, asking, wantedWithinMs);
  }

  async settle(holder: holders.Holder, uses: readonly JournalledUse[]): Promise<void> {
    const { database, now, grant } = this.#options;
    const nowMs = now();
    await database.transaction((tx) => journalledUse.settle(tx, holder, uses, nowMs, grant));
  }

  async close(holder: holders.Holder): Promise<void> {
    this.#doubts.delete(holder.holder.toString('hex'));
    await this.#options.database.transaction(async (tx) => {
      await holders.findSequence(tx, holder);
      await sliceCharges.chargeAll(tx, holder);
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
    const renewal = await renew(tx, request);
    if (renewal === 'repeated') {
      const stored = await holders.findAnswer(tx, holder, 1);
      return stored === null ? null : (JSON.parse(stored) as BankAnswer);
    }
    if (renewal === 'lost') return null;
    const { lostUses = [] } = request;
    if (lostUses.length > 0) await sliceCharges.correctLost(tx, holder, lostUses);
    // Slices of a lease that had ended may have been charged, which the holder could not know when it sent the request.
    const isLate = renewal === 'ended';
    const held = listsHeld || isLate ? await slices.listHeld(tx, holder) : null;
    const leavesOutLost = isLate || request.leavesOutLost === true;
    const lost = leavesOutLost ? await listLostSlices(tx, holder, moves) : [];
    const outcomes = await this.#move(tx, holder, moves, new Set(lost));
    const none = { holders: null, rank: null };
    const count = countsHolders ? await holders.countWithRank(tx, holder) : none;
    const answer = { outcomes, held, ...count, ...(lost.length === 0 ? {} : { lost }) };
    if (keepsAnswer) await holders.keepAnswer(tx, holder, JSON.stringify(answer));
    return answer;
  }

  /** The outcomes in the order of the moves; null for those that are left out. */
  async #move(
    tx: Db,
    holder: holders.Holder,
    moves: readonly SliceMove[],
    leftOut: ReadonlySet<string>,
  ): Promise<MoveOutcome[]> {
    const { now, grant } = this.#options;
    const some = moves.filter(({ counter }) => !leftOut.has(counterKeyText(counter)));
    if (some.length === 0) return moves.map(() => null);
    const outcomes = await slices.exchange(tx, holder, some, now(), grant);
    const found = new Map(some.map((move, at) => [move, outcomes[at]!]));
    return moves.map((move) => found.get(move) ?? null);
  }
}

/** Renews the lease of a holder, or registers it; `'repeated'` when another attempt has registered it meanwhile. */
async function renew(
  tx: Db,
  { holder, sequence }: BankRequest,
): Promise<holders.Renewal | 'repeated'> {
  if (sequence > 0) return holders.renew(tx, holder, sequence, holderLeaseMs);
  return (await holders.insert(tx, holder, holderLeaseMs)) ? 'renewed' : 'repeated';
}
