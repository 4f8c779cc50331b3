/** Knows which outcomes of a request are worth a repeat, how long to wait before it, and when to give up. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { errorFields, Unreachable } from './refusal.ts';
import { type Answer, describeFailed, type Outcome } from './transport.ts';

export interface RepeatOptions {
  /** For messages: what the user may have set wrong. */
  readonly adminBaseUrl: string;
  readonly clock: Clock;
  /** Uniform in [0, 1); spreads repeats. */
  readonly random?: (() => number) | undefined;
  /** Pauses between repeats; ends early, by throwing, when the signal is aborted. */
  readonly pause?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

const triesMax = 6;
const backoffMsMin = 200;
const backoffMsMax = 10_000;
const retryAfterMsMax = 60_000;
const repeatable = new Set([408, 425, 429, 502, 503, 504]);
/** Answers that say "less": everything repeatable but the ones about this request alone. */
const overload = new Set([408, 429, 502, 503, 504]);

/** An answer that another try would not change. */
export function isSettled(outcome: Outcome): outcome is Answer {
  return !('failed' in outcome) && !repeatable.has(outcome.status);
}

/** Whether the server should be asked for less. */
export function isStrained(outcome: Outcome): boolean {
  return 'failed' in outcome || overload.has(outcome.status);
}

export class Repeats {
  readonly #options: RepeatOptions;

  constructor(options: RepeatOptions) {
    this.#options = options;
  }

  /**
   * Waits before the next try: as long as the server asked for, else twice as long each time.
   *
   * @param tried how many tries there were
   * @param words method and path of the request, for the message
   * @throws Unreachable when that was the last try, and the signal's reason when aborted
   */
  async pauseAfter(
    tried: number,
    outcome: Outcome,
    words: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (tried >= triesMax) throw this.#gaveUp(words, outcome);
    const { clock, random = Math.random, pause = pauseFor } = this.#options;
    const ceiling = Math.min(backoffMsMax, backoffMsMin * 2 ** (tried - 1));
    const asked = 'failed' in outcome ? null : retryAfterMs(outcome.retryAfter, clock.now());
    await pause(asked ?? ceiling / 2 + (ceiling / 2) * random(), signal);
  }

  #gaveUp(words: string, outcome: Outcome): Unreachable {
    const reason =
      'failed' in outcome
        ? describeFailed(outcome.failed)
        : `it keeps answering ${outcome.status} (${errorFields(outcome.body, outcome.status).message})`;
    const { adminBaseUrl } = this.#options;
    return new Unreachable(
      `cannot reach ${adminBaseUrl}: ${words} failed ${triesMax} times, ${reason}.
Check that the server runs and that adminBaseUrl is right.`,
      {
        ...('failed' in outcome ? { cause: outcome.failed } : {}),
        reason: `${adminBaseUrl}: ${reason}`,
      },
    );
  }
}

/** Seconds or a date (RFC 9110 10.2.3), no longer than `mostMs`; null when absent or unreadable. */
export function retryAfterMs(
  value: string | null,
  now: number,
  mostMs = retryAfterMsMax,
): number | null {
  if (value === null) return null;
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(waitMs) ? null : Math.min(mostMs, Math.max(0, waitMs));
}

async function pauseFor(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
