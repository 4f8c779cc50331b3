/** Applies the rules of a server to the messages that it sends: lists, unknown names, and guardrails on texts. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { isObject } from '../../model/json/read-object.ts';
import {
  judgeServerRequest,
  judgeServerResponse,
  type MessageJudge,
} from '../judging/judge-message.ts';
import {
  isListMethod,
  type ListNotice,
  type NamedCapability,
} from '../messages/capability-rules.ts';
import {
  disabledText,
  requestedCapability,
  undeclaredText,
} from '../messages/declared-capabilities.ts';
import { type DropReason, ExpectedMessages } from '../messages/expected-messages.ts';
import { type PlaneFault, rpcErrorMessage, serverUnusable } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { ServerErrors } from '../messages/server-errors.ts';
import { isPlainMessage } from '../messages/server-message.ts';
import { Subscription } from '../messages/subscription.ts';
import { saysUnknown, unknownCapability } from '../messages/unknown-capability.ts';
import type { ListExaminer } from '../pins/list-examiner.ts';
import type { PlaneCall } from './plane-call.ts';
import { isPerCaller, type PlaneServer } from './plane-server.ts';
import { guardrailsFor } from './server-guardrails.ts';

export interface ServerMessagesOptions {
  readonly server: PlaneServer;
  /** Calls whose responses are expected; empty for a stream of the server. */
  readonly calls: readonly PlaneCall[];
  readonly errors: ServerErrors;
  readonly headers: IncomingHttpHeaders;
  readonly metadata: Metadata;
  readonly traceId: string;
  readonly now: number;
  readonly lists: ListExaminer;
  /** Capabilities by which the client of a session can be asked; null when they are unknown. */
  readonly declared: readonly string[] | null;
  /** Reports a message that is not sent to the caller. */
  readonly onDropped?: (reason: DropReason) => void;
}

/** Methods whose results contain results of earlier tool calls. */
const taskMethods: ReadonlySet<string> = new Set(['tasks/result', 'tasks/get', 'tasks/update']);

export class ServerMessages {
  readonly #options: ServerMessagesOptions;
  #server: PlaneServer;
  readonly #isOpenStream: boolean;
  readonly #hasList: boolean;
  /** Null for a stream of another kind. */
  readonly #subscription: Subscription | null;
  readonly #expected: ExpectedMessages<PlaneCall>;
  /** Whether a request of the caller waits for its response. */
  readonly expectsAnswer: boolean;

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
    this.#server = options.server;
    this.#isOpenStream = options.calls.length === 0;
    this.#hasList = options.calls.some((call) => isListMethod(call.message.method));
    const listening = options.calls.find((call) => call.isOpenEnded);
    this.#subscription = listening ? new Subscription(listening.message) : null;
    this.#expected = new ExpectedMessages(options, this.#subscription);
    this.expectsAnswer = this.#expected.hasRequests;
  }

  /** Applies the rules of the server as they are now. */
  useServer(server: PlaneServer): void {
    this.#server = server;
  }

  /** Whether the response is a stream of notices without an end of its own. */
  get isOpenEnded(): boolean {
    return this.#isOpenStream || this.#subscription !== null;
  }

  /** Whether every message must be read completely before it is sent. Rules may begin to apply to an open stream. */
  get mustRead(): boolean {
    return (
      this.isJudged ||
      this.isOpenEnded ||
      (this.#hasList && (isPerCaller(this.#server) || this.#server.pins.isTaken))
    );
  }

  /** Whether what was read must be exactly what clients read. */
  get isExact(): boolean {
    return this.isJudged || (this.#server.pins.isEnforced && (this.isOpenEnded || this.#hasList));
  }

  /** The notification as this stream carries it; null where its client has not asked for it. */
  noticeOf(method: ListNotice): RpcObject | null {
    if (this.#isOpenStream) return { jsonrpc: '2.0', method };
    return this.#subscription?.noticeOf(method) ?? null;
  }

  /** Whether short responses must be read, because one may say that a name is unknown. */
  get mayBeUnknown(): boolean {
    const { capabilities } = this.#server;
    const { calls } = this.#options;
    return calls.some(({ named }) => named !== null && capabilities.restricts(named.type));
  }

  /** Whether guardrails judge what the server sends. */
  get isJudged(): boolean {
    if (this.#server.guardrails.output.length === 0) return false;
    if (this.#isOpenStream) return true;
    return this.#options.calls.some((call) => this.#guardrailsOf(call).length > 0);
  }

  /** Returns what the caller receives in place of the message, or a promise of it; null for nothing. */
  take(message: unknown): unknown {
    if (!Array.isArray(message)) return this.#takeOne(message);
    return present(message.map((one) => this.#takeOne(one)));
  }

  /** A promise where guardrails judge the message. */
  #takeOne(message: unknown): unknown {
    if (!isObject(message)) return this.isExact ? null : message;
    if (!this.#expected.accepts(message)) return null;
    if (this.isExact && !isPlainMessage(message)) {
      this.#options.onDropped?.('malformed');
      return refuseMalformed(this.#expected, message);
    }
    return typeof message.method === 'string'
      ? this.#takeRequest(message)
      : this.#takeResponse(message);
  }

  #guardrailsOf(call: PlaneCall | undefined): readonly Guardrail[] {
    return outputGuardrails(this.#server, call, this.#isOpenStream);
  }

  /** A request or notification of the server, with progress, log or elicitation texts. */
  async #takeRequest(message: RpcObject): Promise<RpcObject | null> {
    const { calls } = this.#options;
    const server = this.#server;
    this.#subscription?.note(message);
    this.#options.lists.noteMethod(server.pins, message.method);
    if (namesHiddenResource(server, message)) return null;
    const owner = calls.length === 1 ? calls[0] : undefined;
    const undeclared = refusedQuestion(server, this.#options, message);
    if (undeclared !== null) return this.#endCall(owner, undeclared, message);
    const guardrails =
      owner === undefined
        ? guardrailsFor(server.guardrails.output, null)
        : this.#guardrailsOf(owner);
    if (guardrails.length === 0) return message;
    const judge = this.#judge(guardrails, owner);
    const { message: judged, fault } = await judgeServerRequest(judge, message);
    // A refused question ends the call, which would wait for its answer; a refused notice is left out.
    return fault === null ? judged : this.#endCall(owner, fault, message);
  }

  #takeResponse(message: RpcObject): RpcObject | Promise<RpcObject> {
    const call = this.#expected.answeredBy(message);
    this.#options.errors.note(message);
    if (call?.named && isUnknownName(this.#server, call.named, message)) {
      return refuse(call, unknownCapability(call.named), message);
    }
    const guardrails = this.#guardrailsOf(call);
    if (guardrails.length === 0)
      return listedResponse(this.#server, this.#options.lists, call, message);
    return this.#judgedResponse(guardrails, call, message);
  }

  async #judgedResponse(
    guardrails: readonly Guardrail[],
    call: PlaneCall | undefined,
    message: RpcObject,
  ): Promise<RpcObject> {
    const judge = this.#judge(guardrails, call);
    const { message: judged, fault } = await judgeServerResponse(judge, message);
    return fault === null
      ? listedResponse(this.#server, this.#options.lists, call, judged)
      : refuse(call, fault, message);
  }

  #judge(guardrails: readonly Guardrail[], call: PlaneCall | undefined): MessageJudge {
    const about = { guardrails, call, server: this.#server.slug };
    return judgeOf(this.#options, about);
  }

  #endCall(call: PlaneCall | undefined, fault: PlaneFault, message: RpcObject): RpcObject | null {
    if (call === undefined || !('id' in message) || !this.#expected.answer(call)) return null;
    return refuse(call, fault, { id: call.message.id });
  }
}

async function present(taking: readonly unknown[]): Promise<unknown[]> {
  return (await Promise.all(taking)).filter((one) => one !== null);
}

function judgeOf(
  { server: tenant, headers, metadata, traceId, now }: ServerMessagesOptions,
  about: Pick<MessageJudge, 'guardrails' | 'call' | 'server'>,
): MessageJudge {
  return { ...about, tenant, headers, metadata, traceId, now };
}

/** Refuses a message with a part that no rule reads, which could carry what guardrails deny. */
function refuseMalformed(
  expected: ExpectedMessages<PlaneCall>,
  message: RpcObject,
): RpcObject | null {
  const call = message.method === undefined ? expected.answeredBy(message) : undefined;
  if (call === undefined) return null;
  const fault = serverUnusable('its response is not a message of JSON-RPC');
  return refuse(call, fault, { id: call.message.id });
}

/** Null for a message that asks for nothing, or that the client can be asked. */
function refusedQuestion(
  { disabledClientCapabilities: disabled }: PlaneServer,
  { declared, onDropped }: Pick<ServerMessagesOptions, 'declared' | 'onDropped'>,
  { method }: RpcObject,
): PlaneFault | null {
  const capability = requestedCapability(method);
  if (capability === null) return null;
  const isDisabled = disabled.has(capability);
  if (!isDisabled && (declared === null || declared.includes(capability))) return null;
  onDropped?.('unasked');
  return serverUnusable(isDisabled ? disabledText(capability) : undeclaredText(capability));
}

function namesHiddenResource({ capabilities }: PlaneServer, { params }: RpcObject): boolean {
  const { uri } = isObject(params) ? params : {};
  return typeof uri === 'string' && capabilities.isDisabled({ type: 'resource', name: uri });
}

/** Whether the server says so of a name whose type has disabled ones. */
function isUnknownName(
  { capabilities }: PlaneServer,
  named: NamedCapability,
  response: RpcObject,
): boolean {
  return capabilities.restricts(named.type) && saysUnknown(response, named);
}

/** The response with its list as the caller may see it. */
function listedResponse(
  server: PlaneServer,
  lists: ListExaminer,
  call: PlaneCall | undefined,
  response: RpcObject,
): RpcObject {
  const mayList = call === undefined || isListMethod(call.message.method);
  const { result } = response;
  if (!mayList || !isObject(result)) return response;
  const filtered = listForCaller(server, lists, result);
  return filtered === result ? response : { ...response, result: filtered };
}

/** The list as its caller may see it. A shared cache would hand a public one to other callers. */
function listForCaller(server: PlaneServer, lists: ListExaminer, all: RpcObject): RpcObject {
  const list = lists.examined(server.pins, server.capabilities.filter(all));
  const isPrivate = list.cacheScope === undefined || list.cacheScope === 'private';
  return isPrivate || !isPerCaller(server) ? list : { ...list, cacheScope: 'private' };
}

function refuse(call: PlaneCall | undefined, fault: PlaneFault, { id }: RpcObject): RpcObject {
  if (call !== undefined) call.fault = fault;
  return rpcErrorMessage(fault, id as never);
}

function outputGuardrails(
  { guardrails: { output } }: PlaneServer,
  call: PlaneCall | undefined,
  isOpenStream: boolean,
) {
  if (call === undefined) return isOpenStream ? guardrailsFor(output, null) : [];
  if (call.isToolCall) return guardrailsFor(output, call.named?.name ?? null);
  return taskMethods.has(call.message.method) ? guardrailsFor(output, null) : [];
}
