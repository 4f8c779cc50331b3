/** Counts what passes a link to a bank, and how large it is in the form in which the link sends it. */
import { z } from 'zod';
import {
  ExchangeAnswer,
  ExchangeRequest,
  WantedAnswer,
  WantedRequest,
} from '../../src/control-link/bank-messages.ts';
import type { BankAnswer, BankRequest, LimitBank } from '../../src/ledger/limit-bank.ts';
import type { Holder } from '../../src/store/usage/usage-holders.ts';
import type { WantedSlice } from '../../src/store/usage/wanted-slices.ts';

export interface LinkFigures {
  exchanges: number;
  /** Moves of slices in exchanges. */
  moves: number;
  /** Units that were granted. */
  units: number;
  /** Moves that were granted units. */
  grants: number;
  /** Questions which units others lack. */
  recalls: number;
  /** Bytes of requests and answers, extrapolated from some of them. */
  bytes: number;
}

/** One exchange and one question of so many are encoded. */
const encodedEvery = 16;

export const noTraffic: LinkFigures = {
  exchanges: 0,
  moves: 0,
  units: 0,
  grants: 0,
  recalls: 0,
  bytes: 0,
};

export class CountingBank implements LimitBank {
  readonly #bank: LimitBank;
  readonly #figures: LinkFigures;

  constructor(bank: LimitBank, figures: LinkFigures) {
    this.#bank = bank;
    this.#figures = figures;
  }

  async exchange(request: BankRequest): Promise<BankAnswer | null> {
    const answer = await this.#bank.exchange(request);
    const figures = this.#figures;
    figures.exchanges += 1;
    figures.moves += request.moves.length;
    for (const outcome of answer?.outcomes ?? []) {
      figures.units += outcome?.granted ?? 0;
      figures.grants += Number((outcome?.granted ?? 0) > 0);
    }
    if (figures.exchanges % encodedEvery === 0)
      this.#count(z.encode(ExchangeRequest, request), z.encode(ExchangeAnswer, { answer }));
    return answer;
  }

  async listWanted(holders: readonly Holder[]): Promise<readonly WantedSlice[]> {
    const counters = await this.#bank.listWanted(holders);
    this.#figures.recalls += 1;
    if (this.#figures.recalls % encodedEvery === 0)
      this.#count(z.encode(WantedRequest, { holders }), z.encode(WantedAnswer, { counters }));
    return counters;
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  close(holder: Holder): Promise<void> {
    return this.#bank.close(holder);
  }

  #count(...messages: readonly unknown[]): void {
    for (const message of messages)
      this.#figures.bytes += encodedEvery * JSON.stringify(message).length;
  }
}
