/** Checks the events of a caller of OpenAI's realtime API against model rules, limits and guardrails, and passes them on. */

import { base64Bytes, eventTokens } from '../../../model/realtime/input-tokens.ts';
import {
  callerEvents,
  objectIn,
  type RealtimeEvent,
  readEvent,
  textIn,
} from '../../../model/realtime/openai-events.ts';
import {
  answersTurns,
  maxOutputName,
  requestedOutput,
  turnDetectionIn,
  unseenSetting,
  withMaxOutput,
  withoutOwnResponses,
} from '../../../model/realtime/session-settings.ts';
import { run } from '../../../slices.ts';
import { requireModel } from '../../targets/model-permission.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import type { SocketMessage } from '../event-queue.ts';
import { errorEvent, newEventId } from './error-events.ts';
import { CallerEventJudge } from './judge-caller-events.ts';
import type { OpenAiState } from './openai-state.ts';

/** The most that current models write in one response. */
const outputTokensUsual = 4_096;
/** Tokens that providers add to the conversation: instructions for tools, and separators. */
const addedTokens = 1_024;

export class OpenAiCallerEvents {
  readonly #state: OpenAiState;
  readonly #judge: CallerEventJudge;

  constructor(state: OpenAiState) {
    this.#state = state;
    this.#judge = new CallerEventJudge(state.ports);
  }

  handle({ data, isBinary }: SocketMessage): void | Promise<void> {
    const { ports, limits } = this.#state;
    if (isBinary) {
      return ports.end({ code: 1003, reason: 'events are texts', errorCode: 'invalid_request' });
    }
    const { terms } = ports;
    const isJudged = this.#judge.guardrails.length > 0;
    if (!limits.isGoverned && !isJudged && !terms.hasModelRules) return ports.toProvider(data);
    const event = readEvent(data);
    const kind = event === null ? undefined : callerEvents.get(event.type);
    if (event === null || kind === undefined) return this.#refuseUnknown(event);
    if (kind === 'plain') return this.#pass(event);
    if (kind === 'sound' && this.#judge.passesSound) return this.#addSound(event);
    return this.#check(event).catch((thrown: unknown) => this.#refuse(event, thrown));
  }

  /** Creates a response for a turn that the provider has detected, because it may not do so itself. */
  async answerTurn(): Promise<void> {
    const event = { type: 'response.create' };
    await this.#createResponse(event).catch((thrown: unknown) => this.#refuse(event, thrown));
  }

  async #check(event: RealtimeEvent): Promise<void> {
    const kind = callerEvents.get(event.type);
    const session = objectIn(event, kind === 'response' ? 'response' : 'session');
    if (kind === 'session' || kind === 'response') {
      await this.#requireModels(session);
      this.#requireSeen(session, kind);
    }
    const judged = await this.#judge.judge(event);
    if (judged === null || this.#state.ports.isEnded) return;
    if (kind === 'sound') this.#addSound(judged);
    else if (kind === 'session') this.#updateSession(judged);
    else if (kind === 'response') await this.#createResponse(judged);
    else {
      this.#count(judged);
      this.#pass(judged);
    }
  }

  /** @throws GatewayError for settings that name a model which the provider does not let be used */
  async #requireModels(session: RealtimeEvent | Readonly<Record<string, unknown>>): Promise<void> {
    const { target, exchange, hasModelRules } = this.#state.ports.terms;
    if (!hasModelRules) return;
    const { request, path } = exchange;
    const sent = { model: target.model, body: null, params: session };
    await run(
      requireModel(target.workspaceProvider!, { request, path, isJson: false }, sent),
      false,
    );
  }

  /** @throws GatewayError for settings whose usage no limit counts, or whose texts no guardrail sees */
  #requireSeen(session: Readonly<Record<string, unknown>>, holder: string): void {
    const unseen = unseenSetting(session);
    if (unseen === null) return;
    const param = `${holder}.${unseen}`;
    if (this.#state.limits.isBounded) {
      const message = `Limits of tokens or cost cannot count the usage of ${param}; leave it out`;
      throw new GatewayError('usage_unbounded', message, param);
    }
    if (unseen !== 'prompt' || this.#judge.guardrails.length === 0) return;
    const message = 'Guardrails cannot judge a prompt that the provider stores; leave it out';
    throw new GatewayError('invalid_request', message, param);
  }

  #addSound(event: RealtimeEvent): void {
    const { conversation, bytesPerToken, limits } = this.#state;
    // The event has a few more texts only if it is malformed; they count as text.
    const { audio, ...others } = event;
    const text = Buffer.byteLength(JSON.stringify(others)) - usualAppendBytes;
    if (limits.isGoverned) {
      conversation.add(base64Bytes(audio) / bytesPerToken + Math.max(0, text));
    }
    this.#pass(event);
  }

  #updateSession(event: RealtimeEvent): void {
    const state = this.#state;
    this.#count(event);
    const session = objectIn(event, 'session');
    state.noteFormat({ ...state.settings, ...session });
    const turns = turnDetectionIn(session);
    if (turns.value !== undefined) state.answersTurns = answersTurns(turns);
    const { isGoverned } = state.limits;
    this.#pass(isGoverned ? { ...event, session: withoutOwnResponses(session) } : event);
  }

  async #createResponse(event: RealtimeEvent): Promise<void> {
    const { ports, limits, responses, form, conversation, settings, bytesPerToken } = this.#state;
    if (!limits.isGoverned) return this.#pass(event);
    const response = objectIn(event, 'response');
    const outputTokens =
      requestedOutput(response) ?? requestedOutput(settings) ?? outputTokensUsual;
    if (Number.isNaN(outputTokens)) {
      const param = `response.${maxOutputName(form)}`;
      throw new GatewayError(
        'invalid_request',
        `${param} must be a whole number above 0, or inf`,
        param,
      );
    }
    const inputTokens = conversation.tokens + eventTokens(event, bytesPerToken) + addedTokens;
    const eventId = textIn(event, 'event_id') ?? newEventId();
    const tracked = await responses.reserve(
      { inputTokens, outputTokens },
      { eventId, isInConversation: response.conversation !== 'none' },
    );
    if (ports.isEnded) return tracked.account.release();
    responses.request(tracked);
    const { account } = tracked;
    const bounded = account.isClamped
      ? withMaxOutput(response, form, account.outputTokens)
      : response;
    this.#pass({ ...event, event_id: eventId, response: bounded });
  }

  #count(event: RealtimeEvent): void {
    const { conversation, limits, bytesPerToken } = this.#state;
    if (limits.isGoverned) conversation.add(eventTokens(event, bytesPerToken));
  }

  /** Written anew, so that the provider reads exactly what was checked. */
  #pass(event: RealtimeEvent): void {
    this.#state.ports.toProvider(JSON.stringify(event));
  }

  #refuseUnknown(event: RealtimeEvent | null): void {
    const refusal =
      event === null
        ? new GatewayError('invalid_json', 'An event must be a JSON object with a type')
        : new GatewayError('invalid_request', unknownType(event.type), 'type');
    this.#state.ports.toCaller(errorEvent(refusal, textIn(event, 'event_id')));
  }

  #refuse(event: RealtimeEvent, thrown: unknown): void {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { ports } = this.#state;
    if (!ports.isEnded) ports.toCaller(errorEvent(thrown, textIn(event, 'event_id')));
  }
}

/** Bytes of an event that appends sound, without the sound. */
const usualAppendBytes = 128;

function unknownType(type: string): string {
  const quoted = /^[\w.]{1,80}$/.test(type) ? ` ${type}` : '';
  return `The event type${quoted} is not known to the gateway, whose limits, guardrails or model rules could not check it`;
}
