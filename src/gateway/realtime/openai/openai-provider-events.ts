/** Handles the events of a provider of OpenAI's realtime API: charges responses, and holds them for guardrails. */

import { detach } from '../../../detached.ts';
import { addJudgement, nothingJudged } from '../../../guardrails/check-records.ts';
import { verdictOf } from '../../../guardrails/evaluate.ts';
import type { Guardrail } from '../../../guardrails/guardrail.ts';
import { isFromCaller } from '../../../guardrails/texts/answer-passages.ts';
import {
  objectIn,
  providerEvents,
  type RealtimeEvent,
  readEvent,
  textIn,
} from '../../../model/realtime/openai-events.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { SocketMessage } from '../event-queue.ts';
import { judgeEvents } from '../judge-events.ts';
import type { SessionPorts } from '../session-ports.ts';
import { DetectedTurns } from './detected-turns.ts';
import { denialEvent } from './error-events.ts';
import { HeldEvents, holdsResponses, isOfResponse, withheldResponse } from './held-events.ts';
import type { OpenAiState } from './openai-state.ts';

export class OpenAiProviderEvents {
  readonly #state: OpenAiState;
  readonly #turns: DetectedTurns;
  readonly #held = new HeldEvents();
  /** Responses that ended and wait for their judgement. */
  readonly #finished: RealtimeEvent[] = [];

  /** `answerTurn` creates a response for a turn that the provider has detected. */
  constructor(state: OpenAiState, answerTurn: () => Promise<void>) {
    this.#state = state;
    this.#turns = new DetectedTurns(state, answerTurn);
  }

  handle({ data, isBinary }: SocketMessage): void | Promise<void> {
    const { ports } = this.#state;
    const event = isBinary ? null : readEvent(data);
    if (event === null) {
      if (!this.#isHolding) ports.toCaller(data);
      return;
    }
    const begun = this.#follow(event);
    if (begun !== undefined) return begun.then(() => this.#deliver(event, data));
    return this.#deliver(event, data);
  }

  get #guardrails() {
    return this.#state.ports.terms.guardrails?.output ?? [];
  }

  get #isHolding(): boolean {
    return holdsResponses(this.#guardrails);
  }

  /** Keeps the state of the session. */
  #follow(event: RealtimeEvent): Promise<void> | undefined {
    const state = this.#state;
    switch (event.type) {
      case 'session.created':
      case 'session.updated':
        state.noteSettings(event);
        return;
      case 'error':
        this.#noteError(textIn(event.error, 'event_id'));
        return;
      case 'response.created':
        return this.#start(textIn(event.response, 'id') ?? '');
      default:
        this.#turns.follow(event.type);
        return;
    }
  }

  #noteError(eventId: string | null): void {
    const { responses, ownUpdate, ports } = this.#state;
    if (eventId === null || responses.refuse(eventId) || eventId !== ownUpdate) return;
    const reason = 'the provider does not leave responses to its callers, so limits cannot hold';
    ports.end({ code: 1011, reason, errorCode: 'usage_unbounded' });
  }

  #start(id: string): Promise<void> | undefined {
    const { responses, limits } = this.#state;
    if (limits.isGoverned && responses.start(id)) return;
    return this.#startOwn(id);
  }

  /** A response that nobody has requested of the gateway: any one without limits, and none under them. */
  async #startOwn(id: string): Promise<void> {
    const { ports, responses, conversation, limits } = this.#state;
    try {
      const outputTokens = limits.isGoverned ? ownOutputTokens : 0;
      const bound = { inputTokens: conversation.tokens, outputTokens };
      const about = { eventId: null, isInConversation: true };
      responses.startOwn(id, await responses.reserve(bound, about));
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      ports.end({ code: 1008, reason: thrown.message, errorCode: thrown.code });
    }
  }

  #deliver(event: RealtimeEvent, data: Buffer): void | Promise<void> {
    const state = this.#state;
    const { ports, responses } = state;
    if (ports.isEnded) {
      // Nobody receives the rest, but its usage is charged.
      if (event.type === 'response.done') responses.finish(event);
      return;
    }
    if (event.type === 'session.updated' && state.ownUpdate !== null) {
      state.ownUpdate = null;
      return;
    }
    if (this.#isHolding || !this.#held.isEmpty) return this.#hold(event, data);
    ports.toCaller(data);
    if (event.type !== 'response.done') return;
    responses.finish(event);
    observe(this.#guardrails, ports, event);
    this.#turns.responseEnded();
  }

  #hold(event: RealtimeEvent, data: Buffer): void | Promise<void> {
    const { ports, responses } = this.#state;
    const kind = providerEvents.get(event.type);
    // Nobody knows which texts an unknown event has.
    if (kind === undefined) return;
    const isHeld = responses.isRunning && isOfResponse(event);
    if (!isHeld) {
      if (kind === 'plain' || kind === 'settings') return ports.toCaller(data);
      return kind === 'texts' ? judgeOne(this.#guardrails, ports, event, data) : undefined;
    }
    if (event.type === 'response.done') this.#finished.push(event);
    if (!this.#held.add(event, data)) ports.toProvider('{"type":"response.cancel"}');
    const isLast =
      event.type === 'response.done' && this.#finished.length >= responses.runningCount;
    return isLast ? this.#release() : undefined;
  }

  /** Judges all responses that have run together, and passes them on or withholds them. */
  async #release(): Promise<void> {
    const { ports, responses } = this.#state;
    const { judgement, isDenied, messages } = await this.#held.judge(
      this.#guardrails,
      ports.terms,
      ports.now(),
    );
    const verdict = judgement === null ? (isDenied ? 'denied' : null) : verdictOf(judgement);
    const judged = judgement ? addJudgement(nothingJudged, judgement) : nothingJudged;
    const status = isDenied ? 446 : verdict === 'failed' ? 246 : 200;
    if (isDenied) ports.toCaller(denialEvent(judgement, 'response', null));
    for (const event of this.#finished.splice(0)) {
      responses.finish(event, { verdict, judged, status });
      if (isDenied) ports.toCaller(JSON.stringify(withheldResponse(event)));
    }
    for (const message of messages) ports.toCaller(message);
    this.#turns.responseEnded();
  }
}

/** Output of a response that the provider starts against its settings. */
const ownOutputTokens = 4_096;

/** Judges an event outside of responses. Items of the caller were judged when they came. */
async function judgeOne(
  guardrails: readonly Guardrail[],
  ports: SessionPorts,
  event: RealtimeEvent,
  data: Buffer,
): Promise<void> {
  if (isFromCaller(objectIn(event, 'item'))) return ports.toCaller(data);
  const judged = await judgeEvents(guardrails, 'output', ports.terms, ports.now(), [event]);
  if (judged === null) return;
  ports.log.addJudgement(judged.judgement);
  if (judged.judgement.isDenied) return;
  ports.toCaller(judged.isChanged ? JSON.stringify(judged.events[0]) : data);
}

/** Lets guardrails that only observe see a response. */
function observe(
  guardrails: readonly Guardrail[],
  ports: SessionPorts,
  event: RealtimeEvent,
): void {
  if (guardrails.length === 0) return;
  const judging = judgeEvents(guardrails, 'output', ports.terms, ports.now(), [event]);
  const noting = judging.then((judged) => {
    if (judged !== null) ports.log.addJudgement(judged.judgement);
  });
  detach('an observing guardrail', noting);
}
