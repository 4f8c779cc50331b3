/** Applies the rules of a server to the messages that it sends: lists, unknown names, and guardrails on texts. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Metadata } from '../../gateway/callers/metadata.ts';
import { isObject } from '../../model/json/read-object.ts';
import { isListMethod } from '../messages/capability-rules.ts';
import { type PlaneFault, rpcErrorMessage } from '../messages/plane-fault.ts';
import { idKey, type RpcObject } from '../messages/read-messages.ts';
import { saysUnknown, unknownCapability } from '../messages/unknown-capability.ts';
import { judgeTexts } from './judge-texts.ts';
import type { PlaneCall } from './plane-call.ts';
import type { PlaneServer } from './plane-server.ts';
import { guardrailsFor } from './server-guardrails.ts';

export interface ServerMessagesOptions {
  readonly server: PlaneServer;
  /** Calls whose responses are expected; empty for a stream of the server. */
  readonly calls: readonly PlaneCall[];
  readonly headers: IncomingHttpHeaders;
  readonly metadata: Metadata;
  readonly traceId: string;
  readonly now: number;
}

/** Methods whose results contain results of earlier tool calls. */
const taskMethods: ReadonlySet<string> = new Set(['tasks/result', 'tasks/get', 'tasks/update']);

export class ServerMessages {
  readonly #options: ServerMessagesOptions;
  readonly #isOpenStream: boolean;
  /** Calls whose response has been sent. */
  readonly #answered = new Set<PlaneCall>();

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
    this.#isOpenStream = options.calls.length === 0;
  }

  /** Whether every message must be read completely before it is sent. */
  get mustRead(): boolean {
    return (
      this.isJudged ||
      (this.#options.server.capabilities.isRestricted && (this.#isOpenStream || this.#hasList))
    );
  }

  /** Whether short responses must be read, because one may say that a name is unknown. */
  get mayBeUnknown(): boolean {
    const { server, calls } = this.#options;
    return calls.some(({ named }) => named !== null && server.capabilities.restricts(named.type));
  }

  /** Whether guardrails judge what the server sends. */
  get isJudged(): boolean {
    const { server, calls } = this.#options;
    if (server.guardrails.output.length === 0) return false;
    return this.#isOpenStream || calls.some((call) => this.#guardrailsOf(call).length > 0);
  }

  /** Returns what the caller receives in place of the message; null for nothing. */
  async take(message: unknown): Promise<unknown> {
    if (Array.isArray(message)) {
      const taken = await Promise.all(message.map((one) => this.take(one)));
      return taken.filter((one) => one !== null);
    }
    if (!isObject(message)) return this.isJudged ? null : message;
    return typeof message.method === 'string'
      ? await this.#takeRequest(message)
      : await this.#takeResponse(message);
  }

  /** Whether a response lists capabilities or tells of changed ones. */
  get #hasList(): boolean {
    const { calls } = this.#options;
    return calls.some((call) => call.isOpenEnded || isListMethod(call.message.method));
  }

  #guardrailsOf(call: PlaneCall | undefined) {
    const { output } = this.#options.server.guardrails;
    if (call === undefined) return this.#isOpenStream ? guardrailsFor(output, null) : [];
    if (call.isToolCall) return guardrailsFor(output, call.named?.name ?? null);
    return taskMethods.has(call.message.method) ? guardrailsFor(output, null) : [];
  }

  /** A request or notification of the server, with progress, log or elicitation texts. */
  async #takeRequest(message: RpcObject): Promise<RpcObject | null> {
    const { server, calls } = this.#options;
    const { params } = message;
    if (!isObject(params)) return message;
    const { uri } = params;
    const isHidden =
      typeof uri === 'string' && server.capabilities.isDisabled({ type: 'resource', name: uri });
    if (isHidden) return null;
    const [only] = calls;
    const owner = calls.length === 1 ? only : undefined;
    const guardrails =
      owner === undefined
        ? guardrailsFor(server.guardrails.output, null)
        : this.#guardrailsOf(owner);
    if (guardrails.length === 0) return message;
    const { _meta: _, ...texts } = params;
    const judged = await this.#judge(guardrails, owner, texts);
    const { value, fault } = judged;
    owner?.noteVerdict(judged);
    // A refused question ends the call, which would wait for its answer; a refused notice is left out.
    if (fault !== null) return this.#endCall(owner, fault, message);
    return value === texts ? message : { ...message, params: { ...params, ...value } };
  }

  async #takeResponse(message: RpcObject): Promise<RpcObject | null> {
    const call = callAnswered(message, this.#options.calls);
    // A response to nothing that was asked: the server must not answer for another request.
    if (call === undefined && !this.#isOpenStream) return null;
    if (call !== undefined && this.#answered.has(call)) return null;
    if (call !== undefined) this.#answered.add(call);
    const { capabilities } = this.#options.server;
    if (
      call?.named &&
      capabilities.restricts(call.named.type) &&
      saysUnknown(message, call.named)
    ) {
      return this.#refuse(call, unknownCapability(call.named), message);
    }
    const guardrails = this.#guardrailsOf(call);
    const judged = guardrails.length > 0 ? await this.#judgeResponse(call, message) : message;
    const { result } = judged;
    if (!isObject(result)) return judged;
    const mayList = call === undefined || isListMethod(call.message.method);
    const filtered = mayList ? capabilities.filter(result) : result;
    return filtered === result ? judged : { ...judged, result: filtered };
  }

  async #judgeResponse(call: PlaneCall | undefined, message: RpcObject): Promise<RpcObject> {
    const guardrails = this.#guardrailsOf(call);
    const member = 'result' in message ? 'result' : 'error';
    const body = message[member];
    if (!isObject(body)) return message;
    const { _meta: meta, ...texts } = body;
    const all = meta === undefined ? texts : body;
    const judged = await this.#judge(guardrails, call, all);
    const { value, fault } = judged;
    call?.noteVerdict(judged);
    if (fault !== null) return this.#refuse(call, fault, message);
    return value === all ? message : { ...message, [member]: value };
  }

  #judge(
    guardrails: ReturnType<typeof guardrailsFor>,
    call: PlaneCall | undefined,
    value: RpcObject,
  ) {
    const { server, headers, metadata, traceId, now } = this.#options;
    const judged = {
      method: call?.message.method ?? 'stream',
      tool: call?.named?.name ?? null,
      server: server.slug,
      params: call?.message.params ?? {},
      headers,
      metadata,
      traceId,
      now,
    };
    return judgeTexts(guardrails, judged, 'output', value);
  }

  #endCall(call: PlaneCall | undefined, fault: PlaneFault, message: RpcObject): RpcObject | null {
    if (call === undefined || !('id' in message) || this.#answered.has(call)) return null;
    this.#answered.add(call);
    return this.#refuse(call, fault, { id: call.message.id });
  }

  #refuse(call: PlaneCall | undefined, fault: PlaneFault, { id }: RpcObject): RpcObject {
    if (call !== undefined) call.fault = fault;
    return rpcErrorMessage(fault, id as never);
  }
}

/** An error without an id answers the only call. */
function callAnswered(message: RpcObject, calls: readonly PlaneCall[]): PlaneCall | undefined {
  const isNameless = (message.id ?? null) === null && 'error' in message;
  if (isNameless && calls.length === 1) return calls[0];
  const key = idKey(message.id);
  return calls.find((call) => call.message.id !== null && idKey(call.message.id) === key);
}
