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
  logTurn,
  settleUnreported,
  type Turn,
  type TurnCause,
  type TurnTerms,
  type TurnVerdict,
  turnOf,
  unjudged,
} from './live-turn.ts';
import { withLiveReport } from './live-usage.ts';
import { NextTurn } from './next-turn.ts';

export class LiveTurns {
  readonly #ports: SessionPorts;
  readonly #terms: TurnTerms;
  readonly #conversation: ConversationBound;
  readonly #next: NextTurn;
  #running: Turn | null = null;
  /** Has ended; its usage may follow in a message of its own. */
  #ended: Turn | null = null;
  #isClosed = false;

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
    this.#next = new NextTurn(ports, terms, conversation, first && turnOf(first, ports.now()));
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Whether the provider works on a response, is about to, or has not reported the usage of one. */
  get isActive(): boolean {
    return this.#running !== null || this.#ended?.reported === null || this.#next.isCertain;
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
    return this.#terms.isGoverned ? this.#next.prepare(cause) : undefined;
  }

  /** The provider has sent a part of a response. */
  begin(): void | Promise<void> {
    if (this.#running !== null) return;
    // A response follows, so that the usage of the last one does not.
    this.#settleEnded();
    const taken = this.#next.take();
    return taken instanceof Promise ? taken.then((turn) => this.#run(turn)) : this.#run(taken);
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
    if (hasCalls) this.#next.forgetResults();
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
    const next = this.#next.close();
    if (next !== null) this.#settle(next);
    this.#running = null;
    this.#isClosed = true;
  }

  #run(turn: Turn): void {
    if (turn.cause === null) turn.mark = this.#next.lastMark;
    turn.firstEventMs = monotonicMs();
    // The session may have ended while the response was reserved.
    if (this.#isClosed) this.#settle(turn);
    else this.#running = turn;
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
    this.#next.lastMark = this.#conversation.mark();
    logTurn(this.#ports, turn, metered);
  }
}
