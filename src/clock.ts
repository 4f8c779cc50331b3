/** Provides process time, time shared by all replicas, and waiting with a limit. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number;
}

/** The clock of this process. */
export interface ProcessClock extends Clock {
  /** Milliseconds since an arbitrary moment; unaffected by changes to the system time. */
  monotonicMs(): number;
}

export const systemClock: ProcessClock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};

export interface ClockReading {
  /** Time of the shared clock, milliseconds since the Unix epoch. */
  readonly now: number;
  /** Provable lead of the process clock; negative if it is behind, 0 within the measurement error. */
  readonly deviationMs: number;
}

/**
 * The time of the database, which all replicas share, so that a replica whose own clock is wrong
 * judges expiry like all others. Between measurements it advances with the monotonic clock; changes
 * to the system time have no effect.
 */
export interface SharedClock extends Clock {
  /** Reads the shared clock and adjusts {@link now}. Rejects when the clock cannot be read. */
  measure(): Promise<ClockReading>;
  /** Adjusts {@link now} by the shared time that `read` finds among other things. */
  measureBy<T>(read: () => Promise<T>, timeOf: (found: T) => number): Promise<T>;
  /** Reads the shared clock unless it was read within some milliseconds. */
  measureUnlessRecent(withinMs: number): Promise<void>;
}

/** Larger deviations are reported as a wrong clock. */
const deviationMaxMs = 5_000;

/** `readTime` returns the milliseconds of the shared clock; `clock` is that of the process. */
export function createSharedClock(
  clock: ProcessClock,
  readTime: () => Promise<number>,
): SharedClock {
  /** Difference between shared time and the monotonic time of the process. */
  let offsetMs = clock.now() - clock.monotonicMs();
  let measuredAtMs = Number.NEGATIVE_INFINITY;
  /** Even where the clock of the process stands still. */
  const elapsingMs = (): number => performance.now();
  const adjust = (now: number, startedMs: number): number => {
    // The time was read at an unknown moment in between; only the excess is a deviation.
    const tookMs = Math.ceil(clock.monotonicMs() - startedMs);
    const least = now - startedMs - tookMs;
    offsetMs = Math.min(Math.max(offsetMs, least), now - startedMs);
    measuredAtMs = elapsingMs();
    return tookMs;
  };
  const measure = async (): Promise<ClockReading> => {
    const startedAt = clock.now();
    const startedMs = clock.monotonicMs();
    const now = await readTime();
    const tookMs = adjust(now, startedMs);
    const deviationMs = Math.max(startedAt - now, 0) + Math.min(startedAt + tookMs - now, 0);
    return { now, deviationMs };
  };
  return {
    now: () => Math.floor(clock.monotonicMs() + offsetMs),
    measure,
    measureBy: async (read, timeOf) => {
      const startedMs = clock.monotonicMs();
      const found = await read();
      adjust(timeOf(found), startedMs);
      return found;
    },
    measureUnlessRecent: async (withinMs) => {
      if (elapsingMs() - measuredAtMs >= withinMs) await measure();
    },
  };
}

/**
 * Measures repeatedly, because the monotonic clock stops while a machine is suspended. A failed
 * measurement is retried at the next interval.
 */
export function keepMeasuring(
  clock: { readonly measure: () => Promise<unknown> },
  everyMs: number,
): Disposable {
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

/** A message when the process clock is wrong by more than 5 seconds, else null. */
export function describeDeviation({ deviationMs }: ClockReading): string | null {
  if (Math.abs(deviationMs) <= deviationMaxMs) return null;
  const side = deviationMs > 0 ? 'ahead of' : 'behind';
  const seconds = Math.round(Math.abs(deviationMs) / 1000);
  return `the clock of this process is ${seconds} s ${side} the database's; synchronise both`;
}

/** Waits for `work`, at most `ms` milliseconds. Rejects if the work rejects within that time. */
export async function waitAtMost(ms: number, work: Promise<unknown> | null): Promise<void> {
  const over = new AbortController();
  const late = delay(ms, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
