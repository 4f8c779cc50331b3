/** Tracks whether the caller of a request is still connected, and runs a callback when it leaves. */

interface Receiver {
  on(event: 'close', listener: () => void): unknown;
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
}

/** One callback at a time; an AbortSignal would cost as much as the rest of a stage. */
export class Caller {
  readonly #response: Receiver;
  #leave: (() => void) | null = null;
  #isWatched = false;

  constructor(response: Receiver) {
    this.#response = response;
  }

  /** Whether the connection ended before its answer did. */
  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Sets the callback for when the caller leaves, which replaces the previous one; null for none. */
  onLeave(leave: (() => void) | null): void {
    this.#leave = leave;
    if (leave === null) return;
    if (!this.#isWatched) this.#watch();
    if (this.isGone) this.#left();
  }

  /** Starts watching on first use, when the call has already been sent. */
  #watch(): void {
    this.#isWatched = true;
    this.#response.on('close', () => this.#left());
  }

  #left(): void {
    const leave = this.#leave;
    this.#leave = null;
    if (!this.#response.writableFinished) leave?.();
  }

  /** Waits for the given time, or until the caller leaves. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.onLeave(resolve);
    await promise;
    clearTimeout(timer);
    this.onLeave(null);
  }
}
