/** Seals what a server wants back with the next round of a call, to the caller, the server and the arguments of the call. */
import { hash } from 'node:crypto';
import { TextSealer } from '../../auth/sealing.ts';
import { isObject, readJsonObject } from '../../model/json/read-object.ts';
import { PlaneFault } from '../messages/plane-fault.ts';
import type { RpcObject } from '../messages/read-messages.ts';

/** The request that a state belongs to. */
export interface CallSubject {
  readonly principal: string;
  readonly serverId: string;
  readonly method: string;
  /** As the caller sent them. */
  readonly params: RpcObject;
}

/** A call that waits for input. */
export interface CallState {
  readonly id: string;
  /** State of the server; null for none. */
  readonly upstream: string | null;
  /** Questions of the server so far. */
  readonly rounds: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Longer states are refused unread. */
const sealedCharsMax = 128 * 1024;

export class CallStates {
  readonly #sealer: TextSealer;

  /** `readKey` is called once, when the first call waits for input. */
  constructor(readKey: () => Buffer) {
    this.#sealer = new TextSealer({ readKey, purpose: 'mcp-call-state', sealedCharsMax });
  }

  seal(state: CallState, subject: CallSubject): string {
    return this.#sealer.seal(JSON.stringify(state), subjectBinding('mcp-call-state', subject));
  }

  /** Null for every state that was not sealed for this request, and for an expired one. */
  open(sealed: string, subject: CallSubject, now: number): CallState | null {
    const text = this.#sealer.open(sealed, subjectBinding('mcp-call-state', subject));
    const state = text === null ? null : readJsonObject(text);
    if (state === null || !(Number(state.expiresAt) > now)) return null;
    return state as unknown as CallState;
  }
}

/** One error for every state that continues no call. */
export function callStateFault(): PlaneFault {
  const message = 'The requestState is not valid or has expired; send the request without it';
  return new PlaneFault('request_state_invalid', message);
}

/** The text to which a state of the kind is bound, so that it belongs to one request. */
export function subjectBinding(
  kind: string,
  { principal, serverId, method, params }: CallSubject,
): string {
  const { _meta: _, inputResponses: __, requestState: ___, ...own } = params;
  const digest = hash('sha256', JSON.stringify(sorted(own)));
  return JSON.stringify([kind, principal, serverId, method, digest]);
}

/** Clients may repeat members in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  return names.map((name) => [name, sorted(value[name])]);
}
