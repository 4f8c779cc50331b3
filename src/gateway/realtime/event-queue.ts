/** Handles the messages of one direction in their order, also where handling one of them has to wait. */

export interface SocketMessage {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

type Handle = (message: SocketMessage) => void | Promise<void>;

/** Synchronous while nothing waits, which is usual. */
export class EventQueue {
  readonly #handle: Handle;
  /** Called when waiting bytes have changed. */
  readonly #onChange: () => void;
  /** Receives what handling a message throws, which ends the session. */
  readonly #onFault: (error: unknown) => void;
  readonly #waiting: SocketMessage[] = [];
  #bytes = 0;
  #isBusy = false;
  #isClosed = false;

  constructor(handle: Handle, onChange: () => void, onFault: (error: unknown) => void) {
    this.#handle = handle;
    this.#onChange = onChange;
    this.#onFault = onFault;
  }

  /** Bytes of the messages that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  push(message: SocketMessage): void {
    if (this.#isClosed) return;
    if (this.#isBusy) {
      this.#waiting.push(message);
      this.#bytes += message.data.length;
      this.#onChange();
      return;
    }
    this.#start(message);
  }

  /** Drops what waits and handles nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#bytes = 0;
  }

  #start(message: SocketMessage): void {
    try {
      const handling = this.#handle(message);
      if (handling === undefined) return;
      this.#isBusy = true;
      handling.then(
        () => this.#continue(),
        (error: unknown) => this.#fail(error),
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  #continue(): void {
    this.#isBusy = false;
    while (!this.#isBusy && this.#waiting.length > 0) {
      const next = this.#waiting.shift()!;
      this.#bytes -= next.data.length;
      this.#start(next);
    }
    this.#onChange();
  }

  #fail(error: unknown): void {
    this.close();
    this.#onFault(error);
  }
}
