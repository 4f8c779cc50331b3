/** Replaces the connection of a caller in internal calls; an AbortSignal closes it. */
import { EventEmitter } from 'node:events';

export class SignalReceiver extends EventEmitter<{ close: [] }> {
  readonly writableFinished = false;
  readonly #signal: AbortSignal | undefined;

  /** Without a signal the receiver is never closed. */
  constructor(signal: AbortSignal | undefined) {
    super();
    this.#signal = signal;
    signal?.addEventListener('abort', () => this.emit('close'), { once: true });
  }

  get destroyed(): boolean {
    return this.#signal?.aborted ?? false;
  }
}
