/** Knows whether the caller of a request is still there, and what has to be done when it goes. */
/** What an answer is sent to. */
interface Receiver {
  on(event: 'close', listener: () => void): unknown;
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
}

/** An AbortSignal would cost as much as the rest of a stage, and one at a time wants to know. */
export class Caller {
  readonly #response: Receiver;
  #leave: (() => void) | null = null;

  constructor(response: Receiver) {
    this.#response = response;
    response.on('close', () => {
      const leave = this.#leave;
      this.#leave = null;
      if (!response.writableFinished) leave?.();
    });
  }

  /** Whether the connection ended before its answer did. */
  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** What is to be done when it goes, in place of what was said before; null for nothing. */
  onLeave(leave: (() => void) | null): void {
    this.#leave = leave;
    if (leave !== null && this.isGone) {
      this.#leave = null;
      leave();
    }
  }

  /** Waits that long, or until it goes. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.onLeave(resolve);
    await promise;
    clearTimeout(timer);
    this.onLeave(null);
  }
}
