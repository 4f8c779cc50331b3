/** Tracks the bridged calls of this process, so that answers and cancellations reach them. */
import { randomBytes } from 'node:crypto';
import { CallCut } from '../../upstream/call.ts';
import { PlaneFault, type RpcId } from '../messages/plane-fault.ts';
import { idKey, type RpcObject } from '../messages/read-messages.ts';
import type { LiveResponse } from '../transfer/response-chunks.ts';

const nonceBytes = 12;

/** The call was ended by its client, its connection, or the end of the process. */
export class CallEnded extends Error {
  override name = 'CallEnded';
}

export class BridgedCall {
  readonly id: RpcId;
  /** Random, part of the ids of the questions of the call. */
  readonly nonce = randomBytes(nonceBytes).toString('base64url');
  readonly #waiting = new Map<number, PromiseWithResolvers<RpcObject>>();
  #live: LiveResponse | null = null;
  #ended: Error | null = null;

  constructor(id: RpcId) {
    this.id = id;
  }

  /** Whether questions of the call are unanswered. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Sets the response that the end of the call cuts off. @throws the reason when the call has ended */
  follow(live: LiveResponse | null): void {
    this.#live = live;
    if (this.#ended === null) return;
    live?.cut(new CallCut('the call was ended'));
    throw this.#ended;
  }

  /** Resolves with the answer to the question. @throws the reason when the call ends before */
  async answer(question: number, timeoutMs: number): Promise<RpcObject> {
    if (this.#ended !== null) throw this.#ended;
    const waiting = Promise.withResolvers<RpcObject>();
    this.#waiting.set(question, waiting);
    const timer = setTimeout(() => {
      const text = `The client did not answer a question within ${timeoutMs / 1000} seconds`;
      waiting.reject(new PlaneFault('input_refused', text));
    }, timeoutMs);
    try {
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(question);
    }
  }

  /** The first answer to a question counts. */
  receive(question: number, response: RpcObject): void {
    this.#waiting.get(question)?.resolve(response);
  }

  end(reason: Error): void {
    this.#ended ??= reason;
    this.#live?.cut(new CallCut(reason.message));
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
  }
}

/** Calls by their place: the id of their session, or their key and server where they have none. */
export class BridgedCalls {
  readonly #calls = new Map<string, Set<BridgedCall>>();

  add(place: string, call: BridgedCall): void {
    const calls = this.#calls.get(place) ?? new Set();
    calls.add(call);
    this.#calls.set(place, calls);
  }

  remove(place: string, call: BridgedCall): void {
    const calls = this.#calls.get(place);
    calls?.delete(call);
    if (calls?.size === 0) this.#calls.delete(place);
  }

  ofSession(place: string): readonly BridgedCall[] {
    return [...(this.#calls.get(place) ?? [])];
  }

  withNonce(place: string, nonce: string): BridgedCall | undefined {
    return this.ofSession(place).find((call) => call.nonce === nonce);
  }

  withId(place: string, id: unknown): BridgedCall | undefined {
    return this.ofSession(place).find((call) => idKey(call.id) === idKey(id));
  }
}
