/** Exchanges units of limits with the control plane, for a gateway without a database. */
import { z } from 'zod';
import type { BankAnswer, BankRequest, LimitBank } from '../ledger/limit-bank.ts';
import type { JournalledUse } from '../store/usage/journalled-use.ts';
import type { Holder } from '../store/usage/usage-holders.ts';
import type { WantedSlice } from '../store/usage/wanted-slices.ts';
import {
  ExchangeAnswer,
  ExchangeRequest,
  HolderMessage,
  SettleRequest,
  WantedAnswer,
  WantedRequest,
} from './bank-messages.ts';
import type { ControlLink } from './control-link.ts';
import { linkPaths } from './link-paths.ts';

export class LinkedBank implements LimitBank {
  readonly #link: Pick<ControlLink, 'post'>;

  constructor(link: Pick<ControlLink, 'post'>) {
    this.#link = link;
  }

  /** A repeated request is answered as the first one was: the control plane keeps the last answer of each holder. */
  async exchange(request: BankRequest): Promise<BankAnswer | null> {
    const message = z.encode(ExchangeRequest, request);
    return ExchangeAnswer.parse(await this.#link.post(linkPaths.exchange, message)).answer;
  }

  async listWanted(holders: readonly Holder[]): Promise<readonly WantedSlice[]> {
    const message = z.encode(WantedRequest, { holders });
    return WantedAnswer.parse(await this.#link.post(linkPaths.wanted, message)).counters;
  }

  async settle(holder: Holder, uses: readonly JournalledUse[]): Promise<void> {
    await this.#link.post(linkPaths.settle, z.encode(SettleRequest, { holder, uses: [...uses] }));
  }

  async close(holder: Holder): Promise<void> {
    await this.#link.post(linkPaths.closeHolder, z.encode(HolderMessage, holder));
  }
}
