/** Knows what time it is, by the process and by the clock that all replicas share, and how to wait no longer than so long. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
}

/** Of a process. */
export interface ProcessClock extends Clock {
  /** Milliseconds since some moment, which go on evenly where somebody sets the clock. */
  monotonicMs(): number;
}

export const systemClock: ProcessClock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};

export interface ClockReading {
  /** What the shared clock said, milliseconds since the Unix epoch. */
  readonly now: number;
  /** How far the process clock is ahead of it, or behind where negative; 0 where nothing proves more. */
  readonly deviationMs: number;
}

/**
 * The time that all replicas share, as the process knows it: what a replica whose own clock is wrong
 * would judge as over is judged as everybody else judges it. Between two measurements the time that has
 * passed is added; a process clock that is set meanwhile changes nothing.
 */
export interface SharedClock extends Clock {
  /** Asks the shared clock; {@link now} follows what this finds. Rejects when it does not answer. */
  measure(): Promise<ClockReading>;
}

/** More than this is no delay of the network but a clock that is wrong. */
const deviationMaxMs = 5_000;

/** `readTime` yields the shared clock's milliseconds; `clock` is the process's own. */
export function createSharedClock(
  clock: ProcessClock,
  readTime: () => Promise<number>,
): SharedClock {
  /** What is added to the monotonic time of the process to have the shared one. */
  let offsetMs = clock.now() - clock.monotonicMs();
  return {
    now: () => Math.floor(clock.monotonicMs() + offsetMs),
    measure: async () => {
      const asked = clock.now();
      const askedMs = clock.monotonicMs();
      const now = await readTime();
      // The answer was given at some moment in between: only what lies outside is a deviation.
      const tookMs = Math.ceil(clock.monotonicMs() - askedMs);
      const least = now - askedMs - tookMs;
      offsetMs = Math.min(Math.max(offsetMs, least), now - askedMs);
      const deviationMs = Math.max(asked - now, 0) + Math.min(asked + tookMs - now, 0);
      return { now, deviationMs };
    },
  };
}

/**
 * Measures again and again from now on, so that no process is wrong for long whose time stood still,
 * as that of a machine that was suspended does. What fails is tried again at the next turn.
 */
export function keepMeasuring(clock: Pick<SharedClock, 'measure'>, everyMs: number): Disposable {
  let isMeasuring = false;
  const timer = setInterval(() => {
    if (isMeasuring) return;
    isMeasuring = true;
    clock
      .measure()
      .catch(() => undefined)
      .finally(() => {
        isMeasuring = false;
      });
  }, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Why this process cannot be trusted with the time, or null while its clock is right to a few seconds. */
export function describeDeviation({ deviationMs }: ClockReading): string | null {
  if (Math.abs(deviationMs) <= deviationMaxMs) return null;
  const side = deviationMs > 0 ? 'ahead of' : 'behind';
  const seconds = Math.round(Math.abs(deviationMs) / 1000);
  return `the clock of this process is ${seconds} s ${side} the database's; synchronise both`;
}

/** Waits for the work to end, but no longer than `ms`. Rejects where the work does so by then. */
export async function waitAtMost(ms: number, work: Promise<unknown> | null): Promise<void> {
  const over = new AbortController();
  const late = delay(ms, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
