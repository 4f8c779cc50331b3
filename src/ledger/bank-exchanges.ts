/** Sends the exchanges of one holder to the bank, and keeps the one whose outcome is unknown. */
import { isOutcomeUnknown } from '../store/connection/unavailable.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { SliceMove } from '../store/usage/slice-moves.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { BankAnswer, BankRequest, LimitBank } from './limit-bank.ts';
import type { Slice } from './slice.ts';

export interface SliceExchange {
  readonly moves: ReadonlyMap<SliceMove, Slice>;
  readonly request: BankRequest;
  /** Monotonic clock. */
  readonly startedMs: number;
}

export class BankExchanges {
  readonly #bank: LimitBank;
  /** The exchange whose outcome is unknown, which must be sent again before any other; null for none. */
  inDoubt: SliceExchange | null = null;

  constructor(bank: LimitBank) {
    this.#bank = bank;
  }

  /** Returns null when the holder has lost everything it held. Rejects when the bank does not respond. */
  async send(exchange: SliceExchange): Promise<BankAnswer | null> {
    try {
      const answer = await this.#bank.exchange(exchange.request);
      this.inDoubt = null;
      return answer;
    } catch (error) {
      // A repetition that fails says nothing about the attempt before it.
      const isRepetition = exchange === this.inDoubt;
      if (isRepetition || isOutcomeUnknown(error)) this.inDoubt = exchange;
      else for (const [move, slice] of exchange.moves) slice.undoMove(move);
      throw error;
    }
  }

  /** Charges usage that no unit of the bank covers, and what the holder still holds. Rejects when the bank does not respond. */
  async close(
    { holder, sequence }: { readonly holder: Holder; readonly sequence: number },
    uncovered: readonly JournalledUse[],
  ): Promise<void> {
    if (uncovered.length > 0) await this.#bank.settle(holder, uncovered);
    if (sequence > 0) await this.#bank.close(holder);
  }
}
