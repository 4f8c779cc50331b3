/** Applies limits, guardrails and model rules to a session of OpenAI's realtime API. */
import type { Ledger } from '../../../ledger/ledger.ts';
import { readEvent } from '../../../model/realtime/openai-events.ts';
import {
  answersTurns,
  quietSession,
  type SettingsForm,
  turnDetectionIn,
  unseenSetting,
} from '../../../model/realtime/session-settings.ts';
import type { SocketMessage } from '../event-queue.ts';
import { type LimitRules, permitsRules } from '../limit-rules.ts';
import type { SessionPorts, SessionRules } from '../session-ports.ts';
import { newEventId } from './error-events.ts';
import { OpenAiCallerEvents } from './openai-caller-events.ts';
import { OpenAiProviderEvents } from './openai-provider-events.ts';
import { OpenAiState } from './openai-state.ts';

export function openAiRules(
  ports: SessionPorts,
  ledger: Ledger,
  form: SettingsForm,
  limits: LimitRules,
): SessionRules {
  return new OpenAiRules(new OpenAiState(ports, ledger, form, limits));
}

class OpenAiRules implements SessionRules {
  readonly #state: OpenAiState;
  readonly #caller: OpenAiCallerEvents;
  readonly #provider: OpenAiProviderEvents;

  constructor(state: OpenAiState) {
    this.#state = state;
    this.#caller = new OpenAiCallerEvents(state);
    this.#provider = new OpenAiProviderEvents(state, () => this.#caller.answerTurn());
  }

  /** Takes over from the provider which responses are created, before the caller can send anything. */
  begin(first: SocketMessage): void {
    const state = this.#state;
    const { ports, limits, form, conversation } = state;
    const event = readEvent(first.data);
    if (event !== null) state.noteSettings(event);
    conversation.add(first.data.length);
    const unseen = limits.isBounded ? unseenSetting(state.settings) : null;
    if (unseen !== null) {
      const reason = `limits cannot count the usage of session.${unseen}`;
      ports.end({ code: 1008, reason, errorCode: 'usage_unbounded' });
      return;
    }
    const turns = turnDetectionIn(state.settings);
    if (limits.isGoverned && answersTurns(turns)) {
      state.answersTurns = true;
      state.ownUpdate = newEventId();
      const session = quietSession(state.settings, form);
      const update = { type: 'session.update', event_id: state.ownUpdate, session };
      ports.toProvider(JSON.stringify(update));
    }
    ports.toCaller(first.data);
  }

  get isBusy(): boolean {
    return this.#state.responses.isActive;
  }

  fromCaller(message: SocketMessage): void | Promise<void> {
    return this.#caller.handle(message);
  }

  fromProvider(message: SocketMessage): void | Promise<void> {
    return this.#provider.handle(message);
  }

  mayGoOn(): Promise<boolean> {
    const { limits, ports } = this.#state;
    return permitsRules(limits, ports.terms, ports.now());
  }

  cancel(): boolean {
    const { responses, ports } = this.#state;
    if (!responses.isActive) return false;
    ports.toProvider('{"type":"response.cancel"}');
    return true;
  }

  close(): void {
    this.#state.responses.close(null);
  }
}
