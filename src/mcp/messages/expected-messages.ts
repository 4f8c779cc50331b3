/** Decides which messages of a server belong to the request that they arrive for; the others are dropped. */
import type { ClientMessage, RpcObject } from './read-messages.ts';
import { callAnswered } from './server-errors.ts';
import type { Subscription } from './subscription.ts';

/** Why a message is dropped: for another request, a second result, after the result, not asked for, or no message of JSON-RPC. */
export type DropReason = 'foreign_id' | 'second_result' | 'after_result' | 'unasked' | 'malformed';

interface ExpectedMessagesOptions<C> {
  readonly calls: readonly C[];
  readonly onDropped?: (reason: DropReason) => void;
}

export class ExpectedMessages<C extends { readonly message: ClientMessage }> {
  readonly #calls: readonly C[];
  readonly #subscription: Subscription | null;
  readonly #onDropped: (reason: DropReason) => void;
  /** Calls whose response has been sent. */
  readonly #answered = new Set<C>();
  /** Number of calls that are requests. */
  readonly #requests: number;

  /** Without calls: a stream of the server, on which any message may arrive. */
  constructor({ calls, onDropped }: ExpectedMessagesOptions<C>, subscription: Subscription | null) {
    this.#calls = calls;
    this.#onDropped = onDropped ?? (() => {});
    this.#subscription = subscription;
    this.#requests = calls.filter(({ message }) => message.kind === 'request').length;
  }

  /** Whether a response is expected. */
  get hasRequests(): boolean {
    return this.#requests > 0;
  }

  /** Whether the message may pass; reports one that may not. */
  accepts(message: RpcObject): boolean {
    const reason = this.#dropReason(message);
    if (reason !== null) this.#onDropped(reason);
    return reason === null;
  }

  #dropReason(message: RpcObject): DropReason | null {
    if (this.#calls.length === 0) return null;
    if (typeof message.method === 'string') {
      if (this.hasRequests && this.#answered.size === this.#requests) return 'after_result';
      return this.#subscription?.accepts(message) === false ? 'unasked' : null;
    }
    const call = callAnswered(message, this.#calls);
    if (call === undefined) return 'foreign_id';
    return this.#answered.has(call) ? 'second_result' : null;
  }

  /** Notes a response that is sent, and returns its call. */
  answeredBy(message: RpcObject): C | undefined {
    const call = callAnswered(message, this.#calls);
    if (call !== undefined) this.#answered.add(call);
    return call;
  }

  /** Notes that the response of the call is sent. False when one was sent before. */
  answer(call: C): boolean {
    if (this.#answered.has(call)) return false;
    this.#answered.add(call);
    return true;
  }
}
