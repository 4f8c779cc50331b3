/** Knows what stands for the connection of a caller where the gateway asks for itself. */
import { EventEmitter } from 'node:events';

/** Gone when nobody wants the answer any more. */
export class SignalReceiver extends EventEmitter<{ close: [] }> {
  readonly writableFinished = false;
  readonly #signal: AbortSignal | undefined;

  /** Without a signal it is wanted to its end. */
  constructor(signal: AbortSignal | undefined) {
    super();
    this.#signal = signal;
    signal?.addEventListener('abort', () => this.emit('close'), { once: true });
  }

  get destroyed(): boolean {
    return this.#signal?.aborted ?? false;
  }
}
