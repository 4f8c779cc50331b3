/** Keeps the rounds of a call that requires input together: seals the state in results, and opens it in retries. */
import { isObject } from '../../model/json/read-object.ts';
import { newId } from '../../model/wire/ids.ts';
import {
  declaredIn,
  requestedCapability,
  undeclaredText,
} from '../messages/declared-capabilities.ts';
import { type PlaneFault, rpcErrorMessage, serverUnusable } from '../messages/plane-fault.ts';
import { capabilitiesMember } from '../messages/protocol-meta.ts';
import type { ClientMessage, RpcObject } from '../messages/read-messages.ts';
import { type CallState, type CallStates, callStateFault } from './call-states.ts';

/** Methods whose results may require input. */
const methods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
/** A server that asks more often is not answered. */
const roundsMax = 16;
/** People take their time to answer. */
const lifetimeMs = 3_600_000;
const upstreamCharsMax = 64 * 1024;

/** A call as far as its rounds are concerned. */
interface RoundCall {
  readonly message: ClientMessage;
  readonly retried: CallState | null;
  fault: Pick<PlaneFault, 'code' | 'rpcCode' | 'message' | 'data'> | null;
}

/** The caller and the server of a call. */
export interface RoundParties {
  readonly principal: string;
  readonly serverId: string;
}

/** A message as the server receives it. */
export interface OpenedRetry {
  readonly message: ClientMessage;
  readonly body: Buffer;
  /** Null when the message is no retry, or its state is not one of this gateway's. */
  readonly state: CallState | null;
}

/** Replaces the sealed state of a retry by that of the server. */
export function openRetry(
  states: CallStates,
  parties: RoundParties,
  sent: { readonly message: ClientMessage; readonly body: Buffer },
  now: number,
): OpenedRetry {
  const { message, body } = sent;
  const { method, params } = message;
  const { requestState: sealed, ...others } = params;
  const none = { message, body, state: null };
  if (typeof sealed !== 'string' || !methods.has(method)) return none;
  const state = states.open(sealed, { ...parties, method, params }, now);
  if (state === null) return none;
  const { upstream } = state;
  const own = upstream === null ? others : { ...others, requestState: upstream };
  const json = { ...message.json, params: own };
  return {
    message: { ...message, params: own, json },
    body: withState(body, sealed, upstream) ?? Buffer.from(JSON.stringify(json)),
    state,
  };
}

/** The body with only this text exchanged; null where that is not possible. */
function withState(body: Buffer, sealed: string, upstream: string | null): Buffer | null {
  if (upstream === null) return null;
  const [before, after, ...more] = body.toString('utf8').split(JSON.stringify(sealed));
  if (before === undefined || after === undefined || more.length > 0) return null;
  return Buffer.from(before + JSON.stringify(upstream) + after);
}

/** @throws PlaneFault for a retry whose state was not issued for it, or has expired */
export function requireOpenedState({ message, retried }: Omit<RoundCall, 'fault'>): void {
  const { method, params } = message;
  if (retried !== null || params.requestState === undefined || !methods.has(method)) return;
  throw callStateFault();
}

/** The message of a server with its state sealed; an error after too many rounds. */
export function sealRound(
  states: CallStates,
  parties: RoundParties,
  calls: readonly RoundCall[],
  message: unknown,
  now: number,
): unknown {
  const [call] = calls;
  if (call === undefined || !methods.has(call.message.method) || !isObject(message)) return message;
  const { result } = message;
  if (!isObject(result) || result.resultType !== 'input_required') return message;
  const { requestState: upstream = null } = result;
  const rounds = (call.retried?.rounds ?? 0) + 1;
  const why = roundFault(rounds, upstream) ?? undeclaredQuestion(call.message, result);
  if (why !== null) {
    call.fault = serverUnusable(why);
    return rpcErrorMessage(call.fault, call.message.id);
  }
  const expiresAt = now + lifetimeMs;
  const state = { id: newId(), upstream: upstream as string | null, rounds, expiresAt };
  const { method, params } = call.message;
  const sealed = states.seal(state, { ...parties, method, params });
  return { ...message, result: { ...result, requestState: sealed } } satisfies RpcObject;
}

/** Null when the client has declared everything for which it is asked. */
function undeclaredQuestion(
  { params }: ClientMessage,
  { inputRequests }: RpcObject,
): string | null {
  if (!isObject(inputRequests)) return null;
  const { _meta: meta } = params;
  const declared = declaredIn(isObject(meta) ? meta[capabilitiesMember] : undefined);
  for (const question of Object.values(inputRequests)) {
    const capability = requestedCapability(isObject(question) ? question.method : null);
    if (capability === null) return 'it asks the client for something unknown';
    if (!declared.includes(capability)) return undeclaredText(capability);
  }
  return null;
}

function roundFault(rounds: number, upstream: unknown): string | null {
  if (rounds > roundsMax) return `it has asked for input more than ${roundsMax} times`;
  if (upstream === null) return null;
  if (typeof upstream !== 'string') return 'its requestState is not a text';
  return upstream.length > upstreamCharsMax ? 'its requestState is too long' : null;
}
