/** Pauses requests to services that failed several times in a row, and lets one request probe them afterwards. */
import { LRUCache } from 'lru-cache';

interface State {
  failures: number;
  /** Monotonic end of the pause; 0 while requests are sent. */
  pausedUntilMs: number;
}

/** Failures in a row after which a service is paused. */
const failuresMax = 5;
const pauseMs = 10_000;
const statesMax = 10_000;

export class ServiceBreakers {
  readonly #states = new LRUCache<string, State>({ max: statesMax });
  readonly #monotonicMs: () => number;

  constructor(clock: () => number) {
    this.#monotonicMs = clock;
  }

  /**
   * Whether a request may be sent to the destination. The first request after a pause probes it, and extends the
   * pause for all others until its result is noted.
   */
  admits(destination: string): boolean {
    const state = this.#states.get(destination);
    if (state === undefined || state.pausedUntilMs === 0) return true;
    const nowMs = this.#monotonicMs();
    if (nowMs < state.pausedUntilMs) return false;
    state.pausedUntilMs = nowMs + pauseMs;
    return true;
  }

  note(destination: string, hasAnswered: boolean): void {
    if (hasAnswered) {
      this.#states.delete(destination);
      return;
    }
    const state = this.#states.get(destination) ?? { failures: 0, pausedUntilMs: 0 };
    state.failures += 1;
    if (state.failures >= failuresMax) state.pausedUntilMs = this.#monotonicMs() + pauseMs;
    this.#states.set(destination, state);
  }
}
