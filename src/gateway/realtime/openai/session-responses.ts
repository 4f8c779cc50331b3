/** Tracks the responses of a session: reserves each before it is created, and charges it when it is done. */

import { nothingJudged } from '../../../guardrails/check-records.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import type { TokenUsage } from '../../../model/pricing/pricing.ts';
import {
  addReportedUsage,
  completeUsage,
  newReportedUsage,
} from '../../../model/pricing/reported-usage.ts';
import { objectIn, type RealtimeEvent, textIn } from '../../../model/realtime/openai-events.ts';
import { monotonicMs } from '../../../monotonic.ts';
import type { MeteredUsage } from '../../metering/meter.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { ConversationBound } from '../conversation-bound.ts';
import { admitResponse, type ResponseAccount, type ResponseBound } from '../response-account.ts';
import type { LoggedResponse } from '../session-log.ts';
import type { SessionPorts } from '../session-ports.ts';

/** A response that was requested, or is running. */
export interface TrackedResponse {
  /** Id of the event that requested it; null for one that the provider started. */
  readonly eventId: string | null;
  readonly account: ResponseAccount;
  /** The part of the conversation that it reads. */
  readonly mark: number;
  /** Whether it belongs to the conversation of the session. */
  readonly isInConversation: boolean;
  readonly beganMs: number;
  readonly startedAt: number;
  firstEventMs: number | null;
}

/** Verdict on a response, for its log entry. */
type ResponseVerdict = Pick<LoggedResponse, 'verdict' | 'judged' | 'status'>;

const unjudged: ResponseVerdict = { verdict: null, judged: nothingJudged, status: 200 };

/** Responses that are requested or running at a time; providers run one in a conversation. */
const responsesMax = 16;

export class SessionResponses {
  readonly #ports: SessionPorts;
  readonly #ledger: Ledger;
  readonly #conversation: ConversationBound;
  /** Requested and not yet confirmed by the provider, in order. */
  readonly #requested: TrackedResponse[] = [];
  readonly #running = new Map<string, TrackedResponse>();

  constructor(ports: SessionPorts, ledger: Ledger, conversation: ConversationBound) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.#conversation = conversation;
  }

  /** Whether the provider works on a response, or is about to. */
  get isActive(): boolean {
    return this.#requested.length > 0 || this.#running.size > 0;
  }

  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Whether a response of the conversation is requested or running; a provider refuses a second one. */
  get isConversationBusy(): boolean {
    return [...this.#requested, ...this.#running.values()].some((one) => one.isInConversation);
  }

  /**
   * Reserves a response under all limits.
   *
   * @throws GatewayError when a limit refuses it, or when too many are running
   */
  async reserve(
    bound: ResponseBound,
    about: Pick<TrackedResponse, 'eventId' | 'isInConversation'>,
  ): Promise<TrackedResponse> {
    if (this.#requested.length + this.#running.size >= responsesMax) {
      const message = `More than ${responsesMax} responses are requested at a time; wait for one to end`;
      throw new GatewayError('rate_limit_exceeded', message);
    }
    const ports = this.#ports;
    const startedAt = ports.now();
    const beganMs = monotonicMs();
    const { target } = ports.terms;
    const mark = this.#conversation.mark();
    try {
      const limits = await ports.terms.limitsAt(startedAt);
      const account = await admitResponse(this.#ledger, target, limits, bound, startedAt);
      return { ...about, account, mark, beganMs, startedAt, firstEventMs: null };
    } catch (thrown) {
      if (thrown instanceof GatewayError) {
        ports.log.addRefused(ports.terms, thrown, { beganMs, startedAt });
      }
      throw thrown;
    }
  }

  /** The request for the response is about to be sent. */
  request(response: TrackedResponse): void {
    this.#requested.push(response);
  }

  /** The provider has refused the event with this id; false if it requested no response. */
  refuse(eventId: string | null): boolean {
    const at = eventId === null ? -1 : this.#requested.findIndex((one) => one.eventId === eventId);
    if (at < 0) return false;
    const [response] = this.#requested.splice(at, 1);
    response!.account.release();
    return true;
  }

  /** The provider has started the next requested response; false if none was requested. */
  start(id: string): boolean {
    const response = this.#requested.shift();
    if (response === undefined) return false;
    this.startOwn(id, response);
    return true;
  }

  startOwn(id: string, response: TrackedResponse): void {
    response.firstEventMs = monotonicMs();
    this.#running.set(id, response);
  }

  /** Charges a finished response and logs it. */
  finish({ response }: RealtimeEvent, judged: ResponseVerdict = unjudged): void {
    const id = textIn(response, 'id') ?? '';
    const tracked = this.#running.get(id);
    if (tracked === undefined) return;
    this.#running.delete(id);
    this.#settle(tracked, usageIn(response), judged, null);
  }

  /** Charges everything that has not ended. */
  close(errorCode: string | null): void {
    const open = [...this.#requested.splice(0), ...this.#running.values()];
    this.#running.clear();
    for (const response of open) this.#settle(response, null, unjudged, errorCode);
  }

  #settle(
    response: TrackedResponse,
    reported: TokenUsage | null,
    { verdict, judged, status }: ResponseVerdict,
    errorCode: string | null,
  ): void {
    const { account, mark, isInConversation, beganMs, firstEventMs, startedAt } = response;
    const metered = account.settle(reported);
    const inputTokens = isInConversation && reported !== null ? reported.inputTokens : null;
    this.#conversation.addOutput(mark, inputTokens, outputOf(metered, account));
    const code = status === 446 ? null : errorCode;
    const times = { beganMs, firstEventMs, startedAt };
    const { terms, log } = this.#ports;
    log.addResponse(terms, { ...times, metered, verdict, judged, status, errorCode: code });
  }
}

function outputOf({ usage, isEstimated }: MeteredUsage, { outputTokens }: ResponseAccount): number {
  return isEstimated ? outputTokens : usage.outputTokens;
}

/** The usage of a response; null when the provider reports none, or an impossible one. */
function usageIn(response: unknown): TokenUsage | null {
  const {
    input_token_details: input,
    output_token_details: output,
    ...counts
  } = objectIn(response, 'usage');
  const reported = newReportedUsage();
  const details = { input_tokens_details: input, output_tokens_details: output };
  addReportedUsage(reported, { usage: { ...counts, ...details } });
  return completeUsage(reported, true);
}
