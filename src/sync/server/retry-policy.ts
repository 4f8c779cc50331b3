/** Decides which requests are retried, how long to wait before, and when to give up. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { errorFields, Unreachable } from './refusal.ts';
import { describeFailed, type RequestOutcome, type ServerResponse } from './transport.ts';

export interface RetryOptions {
  /** For messages about a setting that may be wrong. */
  readonly adminBaseUrl: string;
  readonly clock: Clock;
  /** Uniform in [0, 1); spreads repeats. */
  readonly random?: (() => number) | undefined;
  /** Waits between attempts; throws early when the signal is aborted. */
  readonly pause?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

const triesMax = 6;
const backoffMsMin = 200;
const backoffMsMax = 10_000;
const retryAfterMsMax = 60_000;
const repeatable = new Set([408, 425, 429, 502, 503, 504]);
/** Retryable statuses that indicate overload, in contrast to those about this request alone. */
const overload = new Set([408, 429, 502, 503, 504]);

/** Returns whether a retry would not change the outcome. */
export function isSettled(outcome: RequestOutcome): outcome is ServerResponse {
  return !('failed' in outcome) && !repeatable.has(outcome.status);
}

/** Returns whether the outcome indicates overload. */
export function isStrained(outcome: RequestOutcome): boolean {
  return 'failed' in outcome || overload.has(outcome.status);
}

export class RetryPolicy {
  readonly #options: RetryOptions;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /**
   * Waits before the next attempt: as long as the server asks for, else twice as long each time.
   *
   * @param tried number of attempts so far
   * @param words method and path of the request, for the message
   * @throws Unreachable after the last attempt, and the signal's reason when aborted
   */
  async pauseAfter(
    tried: number,
    outcome: RequestOutcome,
    words: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (tried >= triesMax) throw this.#gaveUp(words, outcome);
    const { clock, random = Math.random, pause = pauseFor } = this.#options;
    const ceiling = Math.min(backoffMsMax, backoffMsMin * 2 ** (tried - 1));
    const requestedMs =
      'failed' in outcome ? null : parseRetryAfter(outcome.retryAfter, clock.now());
    await pause(requestedMs ?? ceiling / 2 + (ceiling / 2) * random(), signal);
  }

  #gaveUp(words: string, outcome: RequestOutcome): Unreachable {
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

/** Parses seconds or a date (RFC 9110 10.2.3), at most `mostMs`; null when absent or invalid. */
export function parseRetryAfter(
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
