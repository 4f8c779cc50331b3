/** Applies limits and guardrails to a session of Gemini's live API. */
import type { SocketMessage } from '../event-queue.ts';
import { permitsRules } from '../limit-rules.ts';
import type { SessionRules } from '../session-ports.ts';
import { LiveCallerMessages } from './live-caller-messages.ts';
import { LiveProviderMessages } from './live-provider-messages.ts';
import type { LiveState } from './live-state.ts';

export class LiveRules implements SessionRules {
  readonly #state: LiveState;
  readonly #caller: LiveCallerMessages;
  readonly #provider: LiveProviderMessages;

  constructor(state: LiveState) {
    this.#state = state;
    this.#caller = new LiveCallerMessages(state);
    this.#provider = new LiveProviderMessages(state, () => this.#caller.responseEnded());
  }

  begin(first: SocketMessage): void {
    this.#state.ports.toCaller(first.data);
  }

  get isBusy(): boolean {
    return this.#state.turns.isActive;
  }

  fromCaller(message: SocketMessage): void | Promise<void> {
    return this.#caller.handle(message);
  }

  fromProvider(message: SocketMessage): void | Promise<void> {
    return this.#provider.handle(message);
  }

  mayGoOn(): Promise<boolean> {
    const { limits, ports } = this.#state;
    return permitsRules(limits, ports.terms, ports.now());
  }

  /** Content without the end of a turn interrupts a response and starts none. */
  cancel(): boolean {
    const { turns, ports } = this.#state;
    if (!turns.isActive) return false;
    if (turns.isRunning) ports.toProvider('{"clientContent":{"turnComplete":false}}');
    return true;
  }

  close(): void {
    this.#state.turns.close();
  }
}
