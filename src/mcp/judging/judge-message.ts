/** Has guardrails judge a message of a server: its texts, and those beside them that it could carry. */
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { NamedCapability } from '../messages/capability-rules.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import { ownParams } from '../messages/protocol-meta.ts';
import type { ClientMessage, RpcObject } from '../messages/read-messages.ts';
import { textsBeside } from '../messages/server-message.ts';
import { type JudgedCall, judgeTexts, type TextVerdict } from './judge-texts.ts';

/** The call to which a message belongs. */
interface OwningCall {
  readonly message: ClientMessage;
  readonly named: NamedCapability | null;
  noteVerdict(verdict: TextVerdict): void;
}

export interface MessageJudge
  extends Pick<JudgedCall, 'headers' | 'metadata' | 'traceId' | 'now' | 'tenant'> {
  readonly guardrails: readonly Guardrail[];
  /** Undefined for a message that belongs to no call. */
  readonly call: OwningCall | undefined;
  /** Slug. */
  readonly server: string;
}

interface JudgedMessage {
  /** The same object without changes. */
  readonly message: RpcObject;
  readonly fault: PlaneFault | null;
}

/** Judges a request or notification, with progress, log or elicitation texts. */
export async function judgeServerRequest(
  judge: MessageJudge,
  message: RpcObject,
): Promise<JudgedMessage> {
  const { params } = message;
  const { texts, replace } = ownParams(isObject(params) ? params : {});
  const others = textsBeside(message);
  if (others.length === 0 && Object.keys(texts).length === 0) return { message, fault: null };
  const { value, fault } = await verdictOn(judge, texts, others);
  const isSame = fault !== null || value === texts;
  return { message: isSame ? message : { ...message, params: replace(value) }, fault };
}

/** Judges a result or an error. */
export async function judgeServerResponse(
  judge: MessageJudge,
  message: RpcObject,
): Promise<JudgedMessage> {
  const member = 'result' in message ? 'result' : 'error';
  const body = message[member];
  if (!isObject(body)) return { message, fault: null };
  // The id of a call is that of its caller.
  const others = judge.call === undefined ? textsBeside(message) : [];
  const { value, fault } = await verdictOn(judge, body, others);
  const isSame = fault !== null || value === body;
  return { message: isSame ? message : { ...message, [member]: value }, fault };
}

async function verdictOn(judge: MessageJudge, texts: RpcObject, others: readonly string[]) {
  const { guardrails, call, ...about } = judge;
  const judged = {
    ...about,
    method: call?.message.method ?? 'stream',
    tool: call?.named?.name ?? null,
    params: call?.message.params ?? {},
  };
  const verdict = await judgeTexts(guardrails, judged, 'output', texts, others);
  call?.noteVerdict(verdict);
  const { value, changesOthers } = verdict;
  return { value, fault: changesOthers ? unsendable() : verdict.fault };
}

function unsendable(): PlaneFault {
  const message = 'A guardrail changes the method or id of a message, so it cannot be sent';
  return new PlaneFault('guardrail_denied', message);
}
