/** Has the guardrails of the input judge the messages of a caller of Gemini's live API. */
import type { Judgement } from '../../../guardrails/evaluate.ts';
import type { Guardrail } from '../../../guardrails/guardrail.ts';
import { hasMedia } from '../../../model/realtime/live-input.ts';
import type { LiveMessage } from '../../../model/realtime/live-messages.ts';
import { objectIn } from '../../../model/realtime/openai-events.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import { judgeEvents, judgeUnread } from '../judge-events.ts';
import type { SessionPorts } from '../session-ports.ts';
import type { SessionTerms } from '../session-terms.ts';

export class InputJudge {
  readonly #ports: SessionPorts;
  /** Guardrails that have let sound and pictures pass, which they cannot read; null before the first of them. */
  #mediaPassedBy: readonly Guardrail[] | null = null;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
  }

  get guardrails(): readonly Guardrail[] {
    return this.#ports.terms.guardrails?.input ?? [];
  }

  /** Whether a `realtimeInput` has anything to judge: a text, or media that nothing has let pass yet. */
  mustJudge(message: LiveMessage): boolean {
    if (this.guardrails.length === 0) return false;
    if (objectIn(message, 'realtimeInput').text !== undefined) return true;
    return hasMedia(message) && this.#mediaPassedBy !== this.guardrails;
  }

  /**
   * The message with its texts as the guardrails left them; null when it is denied.
   *
   * @throws GatewayError for a message whose texts cannot be read
   */
  async judge(message: LiveMessage): Promise<LiveMessage | null> {
    const { guardrails } = this;
    const { terms, log } = this.#ports;
    const now = this.#ports.now();
    if (guardrails.length === 0) return message;
    if (hasMedia(message) && this.#mediaPassedBy !== guardrails) {
      const reason = 'sound and pictures are not judged';
      const unread = await judgeUnread(guardrails, 'input', terms, now, reason);
      log.addJudgement(unread);
      if (unread.isDenied) return null;
      this.#mediaPassedBy = guardrails;
    }
    const { judgement, judged } = await judgeLiveInput(guardrails, terms, now, message);
    log.addJudgement(judgement);
    return judgement.isDenied ? null : judged;
  }
}

/** @throws GatewayError for a message whose texts cannot be read */
export async function judgeLiveInput(
  guardrails: readonly Guardrail[],
  terms: SessionTerms,
  now: number,
  message: LiveMessage,
): Promise<{ readonly judgement: Judgement; readonly judged: LiveMessage }> {
  const found = await judgeEvents(guardrails, 'input', terms, now, [message]);
  if (found !== null) return { judgement: found.judgement, judged: found.events[0]! };
  const text = 'Guardrails cannot read the message: it is nested too deeply, or too long';
  throw new GatewayError('invalid_json', text);
}
