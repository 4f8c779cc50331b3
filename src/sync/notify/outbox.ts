/**
 * Sends messages in the background with bounded retries; a newer message replaces an older one of
 * its key.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { waitAtMost } from '../../clock.ts';
import type { OutgoingMessage, Post } from './post.ts';

export interface Outgoing {
  /** Called before each attempt, because a signature includes the time. */
  readonly message: () => OutgoingMessage;
  readonly onDelivered?: (() => void) | undefined;
}

export interface OutboxOptions {
  readonly post: Pick<Post, 'send'>;
  /** Called with the reason when a message is given up, or null when it was delivered. */
  readonly onOutcome: (reason: string | null) => void;
  /** Uniform in [0, 1); spreads the attempts. */
  readonly random?: (() => number) | undefined;
  /** Throws early when the signal is aborted. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** With the pauses below, a receiver may be unreachable for 45 minutes. */
const triesMax = 10;
const pauseMsMin = 1_000;
const pauseMsMax = 600_000;
/** Maximum number of waiting messages; the oldest are dropped. */
const waitingMax = 32;
/** How long waiting messages may take when the process ends. */
const closingMs = 5_000;

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #waiting = new Map<string, Outgoing>();
  readonly #stop = new AbortController();
  #work: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Returns immediately. Replaces a waiting message of the same key. */
  put(key: string, outgoing: Outgoing): void {
    if (this.#closing.signal.aborted) return;
    this.#waiting.delete(key);
    this.#waiting.set(key, outgoing);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > waitingMax) this.#waiting.delete(oldest!);
    this.#work ??= this.#sendAll();
  }

  /**
   * Waits for the message in flight, tries the others once more, and gives up after a time limit.
   */
  async close(waitMs = 0): Promise<void> {
    if (this.#work !== null && waitMs > 0) await waitAtMost(waitMs, this.#work);
    this.#closing.abort();
    const late = setTimeout(() => this.#stop.abort(), closingMs);
    await this.#work;
    clearTimeout(late);
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#first(); next !== undefined; next = this.#first()) {
      await this.#deliver(...next);
    }
    // In the same turn as the last check, so that no new message is missed in between.
    this.#work = null;
  }

  #first(): [string, Outgoing] | undefined {
    const [first] = this.#waiting;
    return first;
  }

  /** Ends when the message is delivered, given up, or replaced. */
  async #deliver(key: string, outgoing: Outgoing): Promise<void> {
    const { post, onOutcome } = this.#options;
    for (let tried = 1; ; tried += 1) {
      const attempt = await post.send(outgoing.message(), this.#stop.signal);
      const isLast =
        attempt.kind === 'refused' || tried >= triesMax || this.#closing.signal.aborted;
      if (attempt.kind === 'delivered') outgoing.onDelivered?.();
      const isReplaced = this.#waiting.get(key) !== outgoing;
      if (attempt.kind === 'delivered' || (isLast && !isReplaced)) {
        if (!isReplaced) this.#waiting.delete(key);
        return onOutcome(attempt.kind === 'delivered' ? null : attempt.reason);
      }
      if (isReplaced) return;
      await this.#pause(tried, attempt.kind === 'mayPass' ? attempt.waitMs : null);
      if (this.#waiting.get(key) !== outgoing) return;
    }
  }

  /**
   * Waits as long as the receiver asks for, else four times as long each time; only the end of the
   * process shortens it.
   */
  async #pause(tried: number, requestedMs: number | null): Promise<void> {
    const { random = Math.random, pause = pauseFor } = this.#options;
    const ceiling = Math.min(pauseMsMax, pauseMsMin * 4 ** (tried - 1));
    try {
      await pause(requestedMs ?? ceiling / 2 + (ceiling / 2) * random(), this.#closing.signal);
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    }
  }
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
