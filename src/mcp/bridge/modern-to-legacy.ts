/** Serves requests of modern clients by servers that speak the legacy era only. */
import type { ServerResponse } from 'node:http';
import { Caller } from '../../gateway/transfer/caller.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { ServerConnections } from '../event-transport/call-mcp-server.ts';
import { SessionLost } from '../legacy-sessions/legacy-transport.ts';
import { type ModernRequest, readModernRequest } from '../messages/legacy-request.ts';
import {
  capabilityFault,
  discoverResult,
  inputRequiredResult,
  modernError,
  modernResult,
  statusOf,
} from '../messages/modern-response.ts';
import { PlaneFault, rpcErrorMessage } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';
import type { CallSubject } from '../rounds/call-states.ts';
import { AskingCall, type CallRound } from './bridged-call.ts';
import { type LegacyAccess, LegacyLeases } from './legacy-leases.ts';
import { listenLegacy } from './listen-legacy.ts';
import type { ModernOutput } from './modern-output.ts';
import { WaitingCalls, type WaitingCallsOptions, type WaitingReplica } from './waiting-calls.ts';

/** A request of a modern client, after all rules on what the client sends. */
export interface BridgedRequest extends LegacyAccess {
  readonly response: ServerResponse;
  readonly output: ModernOutput;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Returns what the rules of the server leave of a message; null for nothing. */
  readonly take: (message: RpcObject) => Promise<unknown>;
  /** Reports that the server may have received the request. */
  readonly noteSent: () => void;
  /** Reports a fault that ends a response that has begun. */
  readonly noteFault: (fault: PlaneFault) => void;
  /** Reports a stream without an end of its own; returns a function that forgets it. */
  readonly addStream: (end: () => void) => () => void;
}

export interface ModernToLegacyOptions extends WaitingCallsOptions {
  readonly connections: ServerConnections;
}

export class ModernToLegacy implements AsyncDisposable {
  readonly #sessions: LegacyLeases;
  readonly #waiting: WaitingCalls;

  constructor(options: ModernToLegacyOptions) {
    this.#sessions = new LegacyLeases(options.connections);
    this.#waiting = new WaitingCalls(options);
  }

  /** Finds the call that a retry continues; null for a state of another kind. @throws PlaneFault */
  findRetry(state: string, subject: CallSubject, now: number): WaitingReplica | null {
    return this.#waiting.find(state, subject, now);
  }

  /** @throws PlaneFault @throws GatewayError */
  async serve(bridged: BridgedRequest): Promise<void> {
    if (bridged.message.id === undefined) {
      // The legacy server has no use for notifications of another era.
      bridged.output.accept();
      return;
    }
    const request = readModernRequest(bridged.message);
    if (request.method === 'server/discover') await this.#discover(bridged, request);
    else if (request.method === 'subscriptions/listen') await this.#listen(bridged, request);
    else await this.#call(bridged, request);
  }

  /** Lists all tools or prompts for the gateway itself; null for a response without a list. @throws PlaneFault */
  async list(access: LegacyAccess, type: 'tool' | 'prompt'): Promise<unknown[] | null> {
    return await this.#sessions.list(access, type);
  }

  /** Ends calls that wait for input, and all sessions. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting.cancelAll('the gateway is stopping');
    await this.#sessions[Symbol.asyncDispose]();
  }

  async #discover(bridged: BridgedRequest, request: ModernRequest): Promise<void> {
    const leased = await this.#sessions.lease(bridged, request);
    const result = discoverResult(leased.session.initialized);
    leased.giveBack();
    await bridged.output.finish({ jsonrpc: '2.0', id: request.id, result }, 200);
  }

  async #listen(bridged: BridgedRequest, request: ModernRequest): Promise<void> {
    const { response, output, take, addStream } = bridged;
    const leased = await this.#sessions.lease(bridged, request, true);
    try {
      await listenLegacy({ session: leased.session, request, response, output, take, addStream });
    } finally {
      await leased.end();
    }
  }

  async #call(bridged: BridgedRequest, request: ModernRequest): Promise<void> {
    const { requestState: state } = request;
    const call =
      state === null
        ? await this.#start(bridged, request, false)
        : await this.#resume(bridged, request, state);
    try {
      await this.#serveRound(call, bridged, request);
    } catch (error) {
      if (!(error instanceof SessionLost) || state !== null) throw faultOf(error);
      // The server has ended a session between two calls, and has not seen this one.
      const again = await this.#start(bridged, request, true);
      await this.#serveRound(again, bridged, request);
    }
  }

  async #start(
    bridged: BridgedRequest,
    request: ModernRequest,
    wantsFresh: boolean,
  ): Promise<AskingCall> {
    const leased = await this.#sessions.lease(bridged, request, wantsFresh);
    return await AskingCall.start(request, leased);
  }

  async #resume(
    { subject }: BridgedRequest,
    { inputResponses }: ModernRequest,
    state: string,
  ): Promise<AskingCall> {
    const call = this.#waiting.take(state, subject);
    try {
      await call.answer(inputResponses ?? {});
      return call;
    } catch (error) {
      call.cancel('the answers cannot be delivered');
      throw faultOf(error);
    }
  }

  /** @throws SessionLost when the server has not seen the call */
  async #serveRound(
    call: AskingCall,
    bridged: BridgedRequest,
    request: ModernRequest,
  ): Promise<void> {
    const { output } = bridged;
    const caller = new Caller(bridged.response);
    caller.onLeave(() => call.cancel('the client has gone'));
    const round: CallRound = {
      request,
      take: bridged.take,
      notify: (message) => output.notify(message),
    };
    output.keepAlive();
    try {
      const response = await call.run(round);
      caller.onLeave(null);
      if (call.isSent) bridged.noteSent();
      if (response !== null) await respond(call, bridged, request, response);
      else await this.#askClient(call, bridged, request);
    } catch (error) {
      if (call.isSent) bridged.noteSent();
      call.cancel('the response cannot be delivered');
      if (!output.isStream) throw error;
      const fault = faultOf(error);
      if (!(fault instanceof PlaneFault)) throw fault;
      bridged.noteFault(fault);
      await output.finish(rpcErrorMessage(fault, request.id), 200);
    }
  }

  async #askClient(
    call: AskingCall,
    { subject, now, output }: BridgedRequest,
    { id }: ModernRequest,
  ): Promise<void> {
    const { questions, initialized } = call;
    const state = this.#waiting.hold(call, subject, now);
    const result = inputRequiredResult(questions.inputRequests, state, initialized);
    await output.finish({ jsonrpc: '2.0', id, result }, 200);
  }
}

function faultOf(error: unknown): unknown {
  return error instanceof SessionLost
    ? new PlaneFault('server_unusable', 'The MCP server has lost its session', { cause: error })
    : error;
}

/** Sends the response of the server in the form of the modern era. */
async function respond(
  call: AskingCall,
  { output, noteFault }: BridgedRequest,
  { id, method, client, params }: ModernRequest,
  response: RpcObject,
): Promise<void> {
  call.finish();
  const fault = capabilityFault(response, client.capabilities);
  if (fault !== null) {
    noteFault(fault);
    await output.finish(rpcErrorMessage(fault, id), fault.status);
    return;
  }
  const { result, error } = response;
  const own = isObject(result)
    ? { result: modernResult(method, result, call.initialized) }
    : { error: modernError(isObject(error) ? error : {}, params) };
  await output.finish({ jsonrpc: '2.0', id, ...own }, statusOf(own));
}
