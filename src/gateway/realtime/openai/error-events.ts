/** Writes errors of the gateway as events of a session in the form of OpenAI. */
import type { Judgement } from '../../../guardrails/evaluate.ts';
import { newId } from '../../../model/wire/ids.ts';
import { type GatewayError, gatewayErrors } from '../../transfer/gateway-error.ts';

export function newEventId(): string {
  return `event_${newId()}`;
}

/** `causeId` is the id of the caller's event; null for none. */
export function errorEvent({ code, message, param }: GatewayError, causeId: string | null): string {
  const { type } = gatewayErrors[code];
  return write({ type, code, message, param, event_id: causeId });
}

/** Names the guardrails that denied, and nothing of what they judged. */
export function denialEvent(
  judgement: Pick<Judgement, 'results'> | null,
  side: 'event' | 'response',
  causeId: string | null,
): string {
  const names = judgement?.results.filter(({ deny }) => deny).map(({ id }) => id) ?? [];
  const whose = names.length === 0 ? 'It is too long to be judged' : names.join(', ');
  const message = `A guardrail denied this ${side}: ${whose}`;
  return write({
    type: 'hooks_failed',
    code: 'hooks_failed',
    message,
    param: null,
    event_id: causeId,
  });
}

function write(error: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type: 'error', event_id: newEventId(), error });
}
