/** Tracks the requests of one caller connection, and closes it after the responses it is owed. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Bound of pipelined requests; clients that do not pipeline have one. */
const pipelinedMax = 4;

/** The socket of the connection. */
interface ResponseSocket {
  readonly destroyed: boolean;
  write(text: string): unknown;
  destroySoon(): void;
}

/** A response that has not been sent completely. */
type PendingResponse = Pick<ServerResponse, 'on' | 'headersSent' | 'shouldKeepAlive'> & {
  readonly req: Pick<IncomingMessage, 'complete'>;
};

export class CallerConnection {
  /** Whether the connection exceeds the bound; its requests are rejected. */
  readonly isExcess: boolean;
  readonly #socket: ResponseSocket;
  readonly #pending = new Set<PendingResponse>();
  /** The last admitted request; if it ends the connection, no further one is served. */
  #latest: PendingResponse | null = null;
  /** Response that is written before closing; null while the connection stays open. */
  #farewell: string | null = null;

  constructor(socket: ResponseSocket, isExcess: boolean) {
    this.#socket = socket;
    this.isExcess = isExcess;
  }

  /**
   * Admits a request and calls `onClose` when its response is closed. False when the connection is ending, or has too
   * many requests.
   */
  admit(response: PendingResponse, onClose: () => void): boolean {
    if (this.#farewell !== null || this.#latest?.shouldKeepAlive === false) return false;
    if (this.#pending.size >= pipelinedMax) {
      this.end('');
      return false;
    }
    this.#latest = response;
    this.#pending.add(response);
    response.on('close', () => {
      this.#pending.delete(response);
      onClose();
      this.#finish();
    });
    return true;
  }

  /** Whether no response is due, so that the connection can change its protocol. */
  get isFree(): boolean {
    return this.#pending.size === 0 && this.#farewell === null;
  }

  /** Stops serving; writes `farewell` after the pending responses and closes the connection. */
  end(farewell: string): void {
    if (this.#farewell !== null) return;
    this.#farewell = farewell;
    this.#finish();
  }

  #finish(): void {
    if (this.#farewell === null || this.#socket.destroyed) return;
    const left = [...this.#pending];
    if (left.some(({ req }) => req.complete)) return;
    // Only an incomplete request remains. It receives the farewell, unless its response has begun.
    const hasBegun = left.some(({ headersSent }) => headersSent);
    const hasSentLast = left.length === 0 && this.#latest?.shouldKeepAlive === false;
    if (!hasBegun && !hasSentLast) this.#socket.write(this.#farewell);
    this.#socket.destroySoon();
  }
}
