/** Runs one of two concurrent calls for the same request, so that it can be cancelled alone. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Caller } from '../../transfer/caller.ts';
import { SignalReceiver } from '../../transfer/signal-receiver.ts';
import type { TargetOutcome } from '../outcome.ts';

/** Statuses with which another call may still succeed. */
const retriedStatuses: ReadonlySet<number> = new Set([408, 429]);

/** A cut connection reports its end at once, or has not been opened yet. */
const turnsMax = 5;

export class HedgedSide {
  readonly result: Promise<TargetOutcome>;
  /** Resolves when the call has ended in any way. */
  readonly settled: Promise<void>;
  readonly #controller = new AbortController();
  #outcome: TargetOutcome | null = null;
  isSettled = false;

  constructor(call: (caller: Caller) => Promise<TargetOutcome>) {
    this.result = call(new Caller(new SignalReceiver(this.#controller.signal)));
    this.settled = this.result.then(
      (outcome) => {
        this.#outcome = outcome;
        this.isSettled = true;
      },
      () => {
        this.isSettled = true;
      },
    );
  }

  /** Whether the provider has begun an answer that another call would not improve. */
  get hasAnswered(): boolean {
    const outcome = this.#outcome;
    if (outcome === null || outcome.kind === 'failed') return false;
    return outcome.status < 500 && !retriedStatuses.has(outcome.status);
  }

  async settledWithin(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    await Promise.race([this.settled, promise]);
    clearTimeout(timer);
  }

  cancel(): void {
    this.#controller.abort();
  }

  /** Returns the outcome of a cancelled call; null when it had not reached a provider. */
  async outcomeSoon(): Promise<TargetOutcome | null> {
    for (let turn = 0; turn < turnsMax && !this.isSettled; turn += 1) {
      await Promise.race([this.settled, nextTurn()]);
    }
    return this.#outcome;
  }
}
