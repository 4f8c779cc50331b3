/** Keeps calls open while their clients answer questions, within bounds of number and time, and finds them by sealed states. */
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../gateway/transfer/gateway-error.ts';
import { type CallSubject, callStateFault } from '../rounds/call-states.ts';
import type { AskingCall } from './bridged-call.ts';
import { RequestStates } from './request-states.ts';

export interface WaitingCallsOptions {
  /** Called once, when the first call waits for input. */
  readonly readKey: () => Buffer;
  /** Address at which other replicas reach this one. */
  readonly ownAddress: () => string;
}

/** The replica that keeps a call open. */
export interface WaitingReplica {
  /** Address; null for this replica. */
  readonly owner: string | null;
}

interface WaitingCall {
  readonly call: AskingCall;
  readonly principal: string;
  readonly timer: NodeJS.Timeout;
}

/** Bounds of one process. Each call holds a session of a server. */
const [callsMax, callsOfCallerMax] = [1_000, 64];
/** Time for the client to answer. */
const waitMs = 600_000;

export class WaitingCalls {
  readonly #ownAddress: () => string;
  readonly #states: RequestStates;
  readonly #waiting = new Map<string, WaitingCall>();

  constructor({ readKey, ownAddress }: WaitingCallsOptions) {
    this.#ownAddress = ownAddress;
    this.#states = new RequestStates(readKey);
  }

  /** Returns the state with which a retry continues the call. @throws GatewayError when a bound is reached */
  hold(call: AskingCall, subject: CallSubject, now: number): string {
    const { principal } = subject;
    const own = [...this.#waiting.values()].filter((one) => one.principal === principal);
    if (this.#waiting.size >= callsMax || own.length >= callsOfCallerMax) {
      const message = 'The gateway has reached its limit of calls that wait for input; try again';
      throw new GatewayError('unavailable', message);
    }
    const callId = randomUUID();
    const expire = (): void => this.#remove(callId)?.cancel('the client has not answered');
    this.#waiting.set(callId, { call, principal, timer: setTimeout(expire, waitMs).unref() });
    const place = { owner: this.#ownAddress(), callId, expiresAt: now + waitMs };
    return this.#states.seal(place, subject);
  }

  /** Null for a state of another kind. @throws PlaneFault for a call of this replica that waits no longer */
  find(state: string, subject: CallSubject, now: number): WaitingReplica | null {
    const place = this.#states.open(state, subject);
    if (place === null) return null;
    const { owner, callId, expiresAt } = place;
    if (owner !== this.#ownAddress()) return { owner };
    // The expiry counts by the clock of the owner.
    if (expiresAt <= now || !this.#waiting.has(callId)) throw callStateFault();
    return { owner: null };
  }

  /** Each state continues its call once. @throws PlaneFault for a call that waits no longer */
  take(state: string, subject: CallSubject): AskingCall {
    const place = this.#states.open(state, subject);
    const call = place === null ? null : this.#remove(place.callId);
    if (call === null) throw callStateFault();
    return call;
  }

  cancelAll(reason: string): void {
    for (const id of [...this.#waiting.keys()]) this.#remove(id)?.cancel(reason);
  }

  #remove(id: string): AskingCall | null {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return null;
    clearTimeout(waiting.timer);
    this.#waiting.delete(id);
    return waiting.call;
  }
}
