/** Queues the messages of a server until the call that they belong to takes them, and holds the server back meanwhile. */
import type { RpcObject } from '../messages/read-messages.ts';

export type TakenMessage =
  | { readonly kind: 'message'; readonly message: RpcObject }
  /** Nothing has arrived in the given time. */
  | { readonly kind: 'silence' }
  /** No further message arrives; the error is null when the server has ended its response. */
  | { readonly kind: 'end'; readonly error: Error | null };

interface QueuedMessage {
  readonly message: RpcObject;
  readonly bytes: number;
}

/** Servers wait while more bytes than this are queued. */
const waitingBytesMax = 256 * 1024;

/** Has one reader and any number of writers. */
export class MessageQueue {
  readonly #messages: QueuedMessage[] = [];
  #bytes = 0;
  #end: { readonly error: Error | null } | null = null;
  #wakeReader = (): void => {};
  #wakeWriters: (() => void)[] = [];

  /** Resolves when there is room for another message. */
  async put(message: RpcObject, bytes: number): Promise<void> {
    if (this.#end !== null) return;
    this.#messages.push({ message, bytes });
    this.#bytes += bytes;
    this.#wakeReader();
    if (this.#bytes <= waitingBytesMax) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeWriters.push(resolve);
    await promise;
  }

  /** The first end counts. Messages that have arrived before can still be taken. */
  end(error: Error | null): void {
    this.#end ??= { error };
    this.#wakeReader();
    this.#release();
  }

  /** @param timeoutMs null to wait without a limit */
  async take(timeoutMs: number | null): Promise<TakenMessage> {
    if (this.#messages.length === 0 && this.#end === null) await this.#arrival(timeoutMs);
    const first = this.#messages.shift();
    if (first === undefined) {
      return this.#end === null ? { kind: 'silence' } : { kind: 'end', ...this.#end };
    }
    this.#bytes -= first.bytes;
    if (this.#bytes <= waitingBytesMax) this.#release();
    return { kind: 'message', message: first.message };
  }

  async #arrival(timeoutMs: number | null): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeReader = resolve;
    const timer = timeoutMs === null ? undefined : setTimeout(resolve, timeoutMs);
    await promise;
    clearTimeout(timer);
  }

  #release(): void {
    const waiting = this.#wakeWriters;
    this.#wakeWriters = [];
    for (const wake of waiting) wake();
  }
}
