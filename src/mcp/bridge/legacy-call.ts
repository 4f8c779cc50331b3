/** Sends a call of a legacy client to a modern server, and repeats it with the answers to the server's questions. */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../model/json/read-object.ts';
import { isEventStream } from '../../model/wire/media-type.ts';
import { modernHeaders, modernParams } from '../messages/modern-request.ts';
import { PlaneFault, rpcErrorMessage, serverUnusable } from '../messages/plane-fault.ts';
import type { ClientMessage, RpcObject } from '../messages/read-messages.ts';
import { firstModernVersion, type ParamHeaders } from '../messages/verify-headers.ts';
import type { LiveResponse } from '../transfer/response-chunks.ts';
import type { BridgePort } from './bridge-port.ts';
import { type BridgedCall, CallEnded } from './bridged-calls.ts';
import { legacyNotification, legacyResponse, withoutInvalidTools } from './legacy-messages.ts';
import type { LegacyReply } from './legacy-reply.ts';
import type { LegacySession } from './legacy-session.ts';
import { answerOf, type RequiredInput, requiredInput } from './questions.ts';
import { messagesIn } from './response-messages.ts';

export interface LegacyCall {
  readonly port: BridgePort;
  readonly session: LegacySession;
  readonly message: ClientMessage;
  /** Null for no log messages. */
  readonly logLevel: string | null;
  readonly reply: LegacyReply;
  readonly call: BridgedCall;
  /** The id of the question with this number. */
  readonly sealQuestion: (question: number) => string;
}

/** A server that requires input again and again is stopped. */
const roundsMax = 10;
const answerMs = 600_000;
/** Before a call is repeated that has no questions. */
const pauseMs = 1_000;

/** Responds in every case, except to faults before the response has begun. @throws PlaneFault */
export async function sendLegacyCall(bridged: LegacyCall): Promise<void> {
  const { reply, port, message } = bridged;
  try {
    await reply.end(await resultOf(bridged));
  } catch (thrown) {
    if (thrown instanceof CallEnded) return await reply.end(null);
    if (!reply.isStream || !(thrown instanceof PlaneFault)) throw thrown;
    port.onFault(thrown);
    await reply.end(rpcErrorMessage(thrown, message.id));
  }
}

/** The response for the client, after all rounds of questions. */
async function resultOf(bridged: LegacyCall): Promise<unknown> {
  let more: RpcObject = {};
  let questionCount = 0;
  for (let round = 0; round <= roundsMax; round += 1) {
    const outcome = await exchangeOnce(bridged, more, round);
    if ('final' in outcome) return outcome.final;
    if (round === roundsMax) break;
    const answered = await answersTo(bridged, outcome.input, questionCount);
    if ('final' in answered) return answered.final;
    questionCount += outcome.input.questions.length;
    more = answered.more;
  }
  throw serverUnusable(`it requires input more than ${roundsMax} times`);
}

type Outcome = { readonly final: unknown } | { readonly input: RequiredInput };

/** A server whose definitions are unknown or have changed refuses a call without headers of its arguments; it is sent once more. */
async function exchangeOnce(bridged: LegacyCall, more: RpcObject, round: number): Promise<Outcome> {
  const { port, message, call } = bridged;
  const id = `${call.nonce}.${round}`;
  const headersKnown = (): ParamHeaders | undefined =>
    message.method === 'tools/call' ? port.paramHeaders(String(message.params.name)) : undefined;
  const used = headersKnown();
  const response = await responseTo(bridged, more, id, used);
  if (message.method !== 'tools/call' || !isHeaderMismatch(response)) {
    return await readResponse(bridged, response);
  }
  await port.learnParamHeaders();
  const learned = headersKnown();
  if (isDeepStrictEqual(learned, used)) return await readResponse(bridged, response);
  return await readResponse(bridged, await responseTo(bridged, more, `${id}.again`, learned));
}

const headerMismatch = -32020;

function isHeaderMismatch({ error }: RpcObject): boolean {
  return isObject(error) && error.code === headerMismatch;
}

async function responseTo(
  bridged: LegacyCall,
  more: RpcObject,
  id: string,
  known: ParamHeaders | undefined,
): Promise<RpcObject> {
  const { port, message, session, logLevel, call, reply } = bridged;
  const { method } = message;
  const { capabilities, client: info } = session;
  // Tasks exist as an extension only, which no legacy client knows.
  const { task: _, ...own } = message.params;
  const client = { version: firstModernVersion, capabilities, info, logLevel };
  const params = { ...modernParams(own, client), ...more };
  const headers = modernHeaders(method, params, firstModernVersion, known);
  const live = await sendOnce(bridged, headers, { jsonrpc: '2.0', id, method, params });
  requireModern(port, live.status);
  if (isEventStream(live.headers)) reply.begin();
  for await (const one of messagesIn(live, port.beginReading())) {
    if (!isObject(one)) continue;
    if (isResponse(one, id)) {
      call.follow(null);
      return one;
    }
    await passNotification(bridged, one);
  }
  call.follow(null);
  throw new PlaneFault('server_unusable', 'The MCP server sent no response to the call');
}

/** A call can be cancelled before its response begins. @throws PlaneFault, CallEnded */
async function sendOnce(
  { port, call }: LegacyCall,
  headers: Readonly<Record<string, string>>,
  message: RpcObject,
): Promise<LiveResponse> {
  try {
    return await port.send(headers, message, false, (opened) => call.follow(opened));
  } catch (error) {
    call.follow(null);
    throw error;
  }
}

/** A request refused by status has an error, whose id may be null. */
function isResponse(message: RpcObject, id: string): boolean {
  if (message.method !== undefined) return false;
  return message.id === id || ((message.id ?? null) === null && 'error' in message);
}

function requireModern(port: BridgePort, status: number): void {
  if (status === 405 || status === 406 || status === 415) {
    port.onOtherEra();
    throw new PlaneFault('session_not_found', 'The session does not exist; initialize a new one');
  }
}

/** Codes with which legacy servers refuse a request without a session. */
const sessionCodes: ReadonlySet<unknown> = new Set([-32000, -32001]);

async function readResponse(bridged: LegacyCall, response: RpcObject): Promise<Outcome> {
  const { port, message, session } = bridged;
  const { method, id } = message;
  const { error, result } = response;
  if (isObject(error) && response.id === null && sessionCodes.has(error.code)) {
    port.onOtherEra();
    throw new PlaneFault('session_not_found', 'The session does not exist; initialize a new one');
  }
  const input = requiredInput(result, session.capabilities);
  if (input !== null) return { input };
  const taken = await port.take(legacyResponse(response, method, id));
  if (taken !== null) return { final: withoutInvalidTools(taken, method) };
  throw new PlaneFault('server_unusable', 'The MCP server sent no usable response to the call');
}

async function passNotification({ port, reply }: LegacyCall, message: RpcObject): Promise<void> {
  const notification = legacyNotification(message);
  if (notification === null) return;
  const taken = await port.take(notification);
  if (taken !== null) await reply.send(taken);
}

type Answers = { readonly final: unknown } | { readonly more: RpcObject };

/** Sends all questions of a round, and waits for all answers. */
async function answersTo(
  bridged: LegacyCall,
  { questions, state }: RequiredInput,
  questionCount: number,
): Promise<Answers> {
  const { port, reply, call, sealQuestion } = bridged;
  if (questions.length === 0) await delay(pauseMs);
  const waiting: Promise<readonly [name: string, answer: RpcObject]>[] = [];
  for (const [at, question] of questions.entries()) {
    const { name, method, params } = question;
    const number = questionCount + at;
    const request = { jsonrpc: '2.0', id: sealQuestion(number), method, params };
    const taken = await port.take(request);
    // A refused question ends the call; its error is the response.
    if (!isObject(taken) || taken.method === undefined) return { final: taken };
    const answer = call
      .answer(number, answerMs)
      .then((response) => [name, answerOf(question, response)] as const);
    // Awaited below, and not at all when another question is refused.
    answer.catch(() => undefined);
    waiting.push(answer);
    await reply.send(taken);
  }
  const inputResponses = Object.fromEntries(await Promise.all(waiting));
  return { more: { inputResponses, ...(state === undefined ? {} : { requestState: state }) } };
}
