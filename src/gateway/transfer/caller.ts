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
  #isWatched = false;

  constructor(response: Receiver) {
    this.#response = response;
  }

  /** Whether the connection ended before its answer did. */
  get isGone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** What is to be done when it goes, in place of what was said before; null for nothing. */
  onLeave(leave: (() => void) | null): void {
    this.#leave = leave;
    if (leave === null) return;
    if (!this.#isWatched) this.#watch();
    if (this.isGone) this.#left();
  }

  /** From when somebody wants to know: by then the call is on its way, which is waited for anyhow. */
  #watch(): void {
    this.#isWatched = true;
    this.#response.on('close', () => this.#left());
  }

  #left(): void {
    const leave = this.#leave;
    this.#leave = null;
    if (!this.#response.writableFinished) leave?.();
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
