/** Has the guardrails of the input judge the events of a caller, and tells the caller what they deny. */
import type { Guardrail } from '../../../guardrails/guardrail.ts';
import { type RealtimeEvent, textIn } from '../../../model/realtime/openai-events.ts';
import { GatewayError } from '../../transfer/gateway-error.ts';
import { judgeEvents, judgeUnread } from '../judge-events.ts';
import type { SessionPorts } from '../session-ports.ts';
import { denialEvent } from './error-events.ts';

export class CallerEventJudge {
  readonly #ports: SessionPorts;
  /** Guardrails that have let sound pass, which they cannot read; null before the first sound. */
  #soundPassedBy: readonly Guardrail[] | null = null;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
  }

  get guardrails(): readonly Guardrail[] {
    return this.#ports.terms.guardrails?.input ?? [];
  }

  /** Whether sound needs no judgement, because the present guardrails have let some pass. */
  get passesSound(): boolean {
    return this.guardrails.length === 0 || this.#soundPassedBy === this.guardrails;
  }

  /**
   * The event with its texts as the guardrails left them; null when it is denied.
   *
   * @throws GatewayError for an event whose texts cannot be read
   */
  async judge(event: RealtimeEvent): Promise<RealtimeEvent | null> {
    const ports = this.#ports;
    const { guardrails } = this;
    if (guardrails.length === 0) return event;
    const isSound = event.type === 'input_audio_buffer.append';
    if ((isSound || hasSound(event)) && (await this.#deniesSound(event))) return null;
    if (isSound) return event;
    const judged = await judgeEvents(guardrails, 'input', ports.terms, ports.now(), [event]);
    if (judged === null) {
      const message = 'Guardrails cannot read the event: it is nested too deeply, or too long';
      throw new GatewayError('invalid_json', message);
    }
    ports.log.addJudgement(judged.judgement);
    if (!judged.judgement.isDenied) return judged.events[0]!;
    ports.toCaller(denialEvent(judged.judgement, 'event', textIn(event, 'event_id')));
    return null;
  }

  async #deniesSound(event: RealtimeEvent): Promise<boolean> {
    if (this.passesSound) return false;
    const ports = this.#ports;
    const { guardrails } = this;
    const reason = 'sound is not judged';
    const judgement = await judgeUnread(guardrails, 'input', ports.terms, ports.now(), reason);
    ports.log.addJudgement(judgement);
    if (!judgement.isDenied) {
      this.#soundPassedBy = guardrails;
      return false;
    }
    ports.toCaller(denialEvent(judgement, 'event', textIn(event, 'event_id')));
    return true;
  }
}

function hasSound(event: RealtimeEvent): boolean {
  return /"type":"(?:input_)?audio"/.test(JSON.stringify(event.item ?? event.response ?? null));
}
