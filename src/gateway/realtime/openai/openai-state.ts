/** Keeps what is known about one session of OpenAI's realtime API. */
import type { Ledger } from '../../../ledger/ledger.ts';
import { soundBytesPerToken } from '../../../model/realtime/input-tokens.ts';
import type { RealtimeEvent } from '../../../model/realtime/openai-events.ts';
import { objectIn } from '../../../model/realtime/openai-events.ts';
import type { SettingsForm } from '../../../model/realtime/session-settings.ts';
import { ConversationBound } from '../conversation-bound.ts';
import type { LimitRules } from '../limit-rules.ts';
import type { SessionPorts } from '../session-ports.ts';
import { SessionResponses } from './session-responses.ts';

export class OpenAiState {
  readonly ports: SessionPorts;
  readonly form: SettingsForm;
  readonly limits: LimitRules;
  readonly conversation = new ConversationBound();
  readonly responses: SessionResponses;
  /** Settings of the session as the provider last announced them. */
  settings: Readonly<Record<string, unknown>> = {};
  /** Whether the caller wants a response at the end of each turn. */
  answersTurns = false;
  /** Id of the gateway's own change of the settings, until the provider has confirmed it; null for none. */
  ownUpdate: string | null = null;
  #bytesPerToken: number | null = null;

  constructor(ports: SessionPorts, ledger: Ledger, form: SettingsForm, limits: LimitRules) {
    this.ports = ports;
    this.form = form;
    this.limits = limits;
    this.responses = new SessionResponses(ports, ledger, this.conversation);
  }

  /** Bytes of sound that are one token at most, in every format that the session has had. */
  get bytesPerToken(): number {
    return this.#bytesPerToken ?? soundBytesPerToken({});
  }

  /** Takes over the settings that a `session.` event of the provider announces. */
  noteSettings(event: RealtimeEvent): void {
    this.settings = objectIn(event, 'session');
    this.noteFormat(this.settings);
  }

  noteFormat(settings: Readonly<Record<string, unknown>>): void {
    const bytes = soundBytesPerToken(settings);
    this.#bytesPerToken = Math.min(this.#bytesPerToken ?? bytes, bytes);
  }
}
