/** Knows what one connection of a caller has under way, and that it ends behind the answers it is owed. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests that one connection may have under way; clients that wait for answers have one. */
const pipelinedMax = 4;

/** Where the answers go; ended, it closes when what was written is out. */
interface Line {
  readonly destroyed: boolean;
  write(text: string): unknown;
  destroySoon(): void;
}

/** An answer in the making, and by its `req` the request. */
type Pending = Pick<ServerResponse, 'on' | 'headersSent' | 'shouldKeepAlive'> & {
  readonly req: Pick<IncomingMessage, 'complete'>;
};

export class CallerConnection {
  /** Over the bound: its requests are refused. */
  readonly isExcess: boolean;
  readonly #line: Line;
  readonly #pending = new Set<Pending>();
  /** Behind the one that ends the connection nothing is served. */
  #latest: Pending | null = null;
  /** What is said when all that is owed is out; null while the connection goes on. */
  #farewell: string | null = null;

  constructor(line: Line, isExcess: boolean) {
    this.#line = line;
    this.isExcess = isExcess;
  }

  /**
   * Counts a request in, until `onClose` is called; false for one that nobody may serve, as it comes behind
   * the last or is one too many.
   */
  admit(response: Pending, onClose: () => void): boolean {
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

  /** Serves nothing more; says this in the place of an answer once those that are owed are out, and closes. */
  end(farewell: string): void {
    if (this.#farewell !== null) return;
    this.#farewell = farewell;
    this.#finish();
  }

  #finish(): void {
    if (this.#farewell === null || this.#line.destroyed) return;
    const left = [...this.#pending];
    if (left.some(({ req }) => req.complete)) return;
    // What is left is a request that never comes whole: it gets this answer, unless it has begun to get another.
    const isAnswered = left.some(({ headersSent }) => headersSent);
    const isLastOut = left.length === 0 && this.#latest?.shouldKeepAlive === false;
    if (!isAnswered && !isLastOut) this.#line.write(this.#farewell);
    this.#line.destroySoon();
  }
}
