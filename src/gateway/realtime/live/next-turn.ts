/** Reserves the next response of a live session, which the provider may begin at any time, also while a reservation is made. */
import type { ConversationBound } from '../conversation-bound.ts';
import type { SessionPorts } from '../session-ports.ts';
import {
  isCertain,
  mayHaveBegun,
  noteCause,
  reserveTurn,
  type Turn,
  type TurnCause,
  type TurnTerms,
} from './live-turn.ts';

/** Input that is reserved beyond what is there, so that sound does not extend the reservation with each message. */
const spareTokens = 1_024;

export class NextTurn {
  readonly #ports: SessionPorts;
  readonly #terms: TurnTerms;
  readonly #conversation: ConversationBound;
  /** Null when nothing is reserved. */
  #turn: Turn | null;
  #isClosed = false;
  /** The conversation at the end of the last response. */
  lastMark: number;

  constructor(
    ports: SessionPorts,
    terms: TurnTerms,
    conversation: ConversationBound,
    first: Turn | null,
  ) {
    this.#ports = ports;
    this.#terms = terms;
    this.#conversation = conversation;
    this.#turn = first;
    this.lastMark = conversation.mark();
  }

  /** Whether what was sent starts a response. */
  get isCertain(): boolean {
    return isCertain(this.#turn);
  }

  /** Called for one message after the other; synchronous where the reservation suffices. */
  prepare(cause: TurnCause): void | Promise<void> {
    const turn = this.#turn;
    const needed = this.#conversation.tokens - (turn?.account.inputTokens ?? 0);
    if (turn === null || needed > 0) return this.#prepareMore(turn, needed, cause);
    noteCause(turn, cause, { last: this.lastMark, now: this.#conversation.mark() });
  }

  /** The provider begins a response: the one that is reserved, else one that nobody has caused. */
  take(): Turn | Promise<Turn> {
    const turn = this.#turn;
    this.#turn = null;
    if (turn !== null) return turn;
    const { isGoverned } = this.#terms;
    const inputTokens = isGoverned ? this.#conversation.tokens + spareTokens : 0;
    return reserveTurn(this.#ports, this.#terms, inputTokens);
  }

  /** Results of calls have continued the running response, so that they start no other one. */
  forgetResults(): void {
    if (this.#turn?.cause === 'results') this.#turn.cause = null;
  }

  /** Returns the response that must be charged, because the provider may have begun it; null for none. */
  close(): Turn | null {
    const turn = this.#turn;
    this.#isClosed = true;
    this.#turn = null;
    if (turn === null || mayHaveBegun(turn, this.#terms)) return turn;
    turn.account.release();
    return null;
  }

  async #prepareMore(turn: Turn | null, tokens: number, cause: TurnCause): Promise<void> {
    const { ledger } = this.#terms;
    if (turn === null) {
      const reserved = await reserveTurn(this.#ports, this.#terms, tokens + spareTokens);
      if (this.#isClosed) return reserved.account.release();
      this.#turn = reserved;
    } else await turn.account.extend(ledger, tokens + spareTokens, this.#ports.now());
    // The provider may have begun the response meanwhile, so that another one is reserved.
    if (!this.#isClosed) await this.prepare(cause);
  }
}
