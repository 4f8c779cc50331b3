/** Passes the messages of one stream to the calls that they belong to. */
import { isObject } from '../../model/json/read-object.ts';
import { idKey, type RpcObject } from '../messages/read-messages.ts';
import type { EventCall } from './event-call.ts';

export class MessageRouter {
  /** Calls that wait for their response, by the id of the request. */
  readonly #pending = new Map<string, EventCall>();
  /** Calls by the token of their progress. */
  readonly #progress = new Map<string, EventCall>();
  #listener: EventCall | null = null;

  get isIdle(): boolean {
    return this.#pending.size === 0 && this.#listener === null;
  }

  /** A request whose id is in use waits, because its response could not be told from the other one. */
  async register(message: RpcObject, call: EventCall): Promise<void> {
    const key = idKey(message.id);
    for (let other = this.#pending.get(key); other; other = this.#pending.get(key)) {
      await endOf(other);
    }
    const token = progressTokenOf(message);
    this.#pending.set(key, call);
    if (token !== null) this.#progress.set(token, call);
    call.onEnd(() => {
      if (this.#pending.get(key) === call) this.#pending.delete(key);
      if (token !== null && this.#progress.get(token) === call) this.#progress.delete(token);
    });
  }

  /** The last listener replaces the one before. */
  listen(call: EventCall): void {
    this.#listener?.end(null);
    this.#listener = call;
    call.onEnd(() => {
      if (this.#listener === call) this.#listener = null;
    });
  }

  /** Returns false for a message that nobody receives. */
  pass(message: RpcObject, event: Buffer): boolean {
    const { method, id, params } = message;
    if (typeof method !== 'string') {
      const call = this.#pending.get(idKey(id ?? null));
      call?.push(event);
      call?.end(null);
      return call !== undefined;
    }
    const token = isObject(params) ? params.progressToken : undefined;
    const isProgress = method === 'notifications/progress' && token !== undefined;
    const receiver = isProgress
      ? (this.#progress.get(idKey(token)) ?? null)
      : this.#receiverOf(message);
    receiver?.push(event);
    return receiver !== null;
  }

  /** @param error of calls that have no response */
  end(error: Error): void {
    for (const call of [...this.#pending.values()]) call.end(error);
    this.#listener?.end(null);
  }

  /** Questions and log messages belong to a call, which the server does not name; changes belong to the session. */
  #receiverOf({ method, id }: RpcObject): EventCall | null {
    const newest = [...this.#pending.values()].at(-1) ?? null;
    const isOfCall = id !== undefined || method === 'notifications/message';
    return isOfCall ? (newest ?? this.#listener) : (this.#listener ?? newest);
  }
}

export function endOf(call: EventCall): Promise<void> {
  return new Promise((resolve) => call.onEnd(resolve));
}

function progressTokenOf({ params }: RpcObject): string | null {
  const { _meta: meta } = isObject(params) ? params : {};
  const token = isObject(meta) ? meta.progressToken : undefined;
  return token === undefined ? null : idKey(token);
}
