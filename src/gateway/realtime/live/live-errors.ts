/** Writes what the gateway itself says in a session of Gemini's live API, whose format has no errors: turns that end, and reasons of a close. */
import type { Judgement } from '../../../guardrails/evaluate.ts';
import type { GatewayError } from '../../transfer/gateway-error.ts';
import type { SessionEnd } from '../session-ports.ts';

/** A turn that ends because a guardrail denied the input or the response; nothing of what it judged is repeated. */
export function rejectedTurn(side: 'input' | 'response', usageMetadata: unknown): string {
  const turnCompleteReason = side === 'input' ? 'PROHIBITED_INPUT_CONTENT' : 'RESPONSE_REJECTED';
  const serverContent = { turnComplete: true, turnCompleteReason };
  return JSON.stringify(
    usageMetadata === undefined ? { serverContent } : { serverContent, usageMetadata },
  );
}

/** The end of a session that an error of the gateway ends. */
export function endByError({ code, message }: GatewayError): SessionEnd {
  return { code: 1008, reason: `${code}: ${message}`, errorCode: code };
}

/** Names the guardrails that denied the setup. */
export function deniedSetup({ results }: Pick<Judgement, 'results'>): string {
  const names = results.filter(({ deny }) => deny).map(({ id }) => id);
  return `A guardrail denied the setup: ${names.join(', ')}`;
}
