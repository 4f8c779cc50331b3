/**
 * Reserves the usage of each response of a live session before the caller's input can start it, and charges it once. A
 * provider starts responses by itself, so one is reserved ahead as soon as anything is sent that may start it.
 */
import type { TokenUsage } from '../../../model/pricing/pricing.ts';
import { monotonicMs } from '../../../monotonic.ts';
import type { ConversationBound } from '../conversation-bound.ts';
import type { ResponseAccount } from '../response-account.ts';
import type { SessionPorts } from '../session-ports.ts';
import {
  addedOutput,
  isCertain,
  logTurn,
  mayHaveBegun,
  noteCause,
  reserveTurn,
  settleUnreported,
  type Turn,
  type TurnCause,
  type TurnTerms,
  type TurnVerdict,
  turnOf,
  unjudged,
} from './live-turn.ts';
import { withLiveReport } from './live-usage.ts';

/** Input that is reserved beyond what is there, so that sound does not extend the reservation with each message. */
const spareTokens = 1_024;

export class LiveTurns {
  readonly #ports: SessionPorts;
  readonly #terms: TurnTerms;
  readonly #conversation: ConversationBound;
  #next: Turn | null;
  #running: Turn | null = null;
  /** Has ended; its usage may follow in a message of its own. */
  #ended: Turn | null = null;
  /** The conversation at the end of the last response. */
  #lastMark: number;

  /** `first` is reserved with the setup; null where no limit may refuse responses. */
  constructor(
    ports: SessionPorts,
    terms: TurnTerms,
    conversation: ConversationBound,
    first: ResponseAccount | null,
  ) {
    this.#ports = ports;
    this.#terms = terms;
    this.#conversation = conversation;
    this.#next = first && turnOf(first, ports.now());
    this.#lastMark = conversation.mark();
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Whether the provider works on a response, is about to, or has not reported the usage of one. */
  get isActive(): boolean {
    return this.#running !== null || this.#ended?.reported === null || isCertain(this.#next);
  }

  /** Whether a response has ended whose usage may still be reported. */
  get isUsageDue(): boolean {
    return this.#ended !== null;
  }

  /**
   * Reserves the response that input may start. The input is part of the conversation already. Synchronous where the
   * reservation suffices.
   *
   * @throws GatewayError when a limit refuses it
   */
  prepare(cause: TurnCause): void | Promise<void> {
    if (!this.#terms.isGoverned) return;
    const next = this.#next;
    const needed = this.#conversation.tokens - (next?.account.inputTokens ?? 0);
    if (next !== null && needed <= 0) return this.#note(next, cause);
    return this.#reserve(needed).then((turn) => this.#note(turn, cause));
  }

  /** The provider has sent a part of a response. */
  begin(): void | Promise<void> {
    if (this.#running !== null) return;
    // A response follows, so that the usage of the last one does not.
    this.#settleEnded();
    const next = this.#next;
    if (next === null) {
      return this.#reserve(this.#conversation.tokens).then((turn) => this.#run(turn));
    }
    this.#run(next);
  }

  /** Adds output that has arrived to the running response. */
  addOutput(tokens: number): void {
    if (this.#running !== null) this.#running.arrivedTokens += tokens;
  }

  /** The provider has reported usage; undefined for an implausible report. */
  report(usage: TokenUsage | undefined): void {
    const turn = this.#running ?? this.#ended;
    if (turn === null || usage === undefined) return;
    turn.reported = withLiveReport(turn.reported, usage);
    if (turn === this.#ended) this.#settleEnded();
  }

  /**
   * The running response has ended, by calls if `isByCalls`; without reported usage, calls do not end it. `isReported`:
   * its end has its usage, so that no report follows.
   */
  end(isByCalls: boolean, isReported: boolean, verdict: TurnVerdict = unjudged): void {
    const turn = this.#running;
    if (turn === null) return;
    if (isByCalls && turn.reported === null) {
      turn.hasCalls = true;
      return;
    }
    const { hasCalls } = turn;
    // Its results have continued this response.
    if (hasCalls && this.#next?.cause === 'results') this.#next.cause = null;
    this.#running = null;
    this.#settleEnded();
    turn.verdict = verdict;
    this.#ended = turn;
    if (isReported) this.#settleEnded();
  }

  /** Charges everything that has not ended. */
  close(): void {
    this.#settleEnded();
    if (this.#running !== null) this.#settle(this.#running);
    if (this.#next !== null && mayHaveBegun(this.#next, this.#terms)) this.#settle(this.#next);
    else this.#next?.account.release();
    this.#running = null;
    this.#next = null;
  }

  #note(turn: Turn, cause: TurnCause): void {
    noteCause(turn, cause, { last: this.#lastMark, now: this.#conversation.mark() });
  }

  /** Returns the next response, with `tokens` more input than it has. */
  async #reserve(tokens: number): Promise<Turn> {
    const ports = this.#ports;
    const { ledger, isGoverned } = this.#terms;
    const now = ports.now();
    if (this.#next !== null) {
      await this.#next.account.extend(ledger, tokens + spareTokens, now);
      return this.#next;
    }
    const turn = await reserveTurn(ports, this.#terms, isGoverned ? tokens + spareTokens : 0);
    this.#next = turn;
    return turn;
  }

  #run(turn: Turn): void {
    if (turn.cause === null) turn.mark = this.#lastMark;
    turn.firstEventMs = monotonicMs();
    this.#running = turn;
    this.#next = null;
  }

  #settleEnded(): void {
    if (this.#ended !== null) this.#settle(this.#ended);
    this.#ended = null;
  }

  #settle(turn: Turn): void {
    const { account, reported, mark } = turn;
    const metered =
      reported === null
        ? settleUnreported(turn, this.#conversation.tokens, this.#terms)
        : account.settle(reported);
    this.#conversation.addOutput(mark, reported?.inputTokens ?? null, addedOutput(metered, turn));
    this.#lastMark = this.#conversation.mark();
    logTurn(this.#ports, turn, metered);
  }
}
