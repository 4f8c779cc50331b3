/** Monitors whether the database writer responds, so that reads can go to the reader (MYSQL_WRITER_HADR_MODE). */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { DatabaseUnavailable } from './unavailable.ts';

const responseValidMs = 1_000;
const pingIntervalMs = 1_000;

export interface WriterWatch {
  /**
   * Whether the writer is up. A response of the last second counts; otherwise one ping serves all
   * callers. While the writer is down this returns at once, and a ping each second detects its return.
   */
  isUp(): Promise<boolean>;
  /** As {@link isUp} after a failed connection: an earlier response does not count. */
  isStillUp(): Promise<boolean>;
  /** Whether the last check found the writer down. */
  isDown(): boolean;
  /** The error for callers that need the writer while it is down. */
  unavailable(): DatabaseUnavailable;
  /** Stops the pings. */
  stop(): void;
}

/** `ping` rejects, in bounded time, when the writer does not answer. */
export function watchWriter(ping: () => Promise<void>, log: Log | undefined): WriterWatch {
  const stopped = new AbortController();
  let pinging: Promise<boolean> | null = null;
  let validUntilMs = 0;
  let isDown = false;
  let fault: unknown;

  const pingWriter = async (): Promise<boolean> => {
    try {
      await ping();
      validUntilMs = performance.now() + responseValidMs;
      return true;
    } catch (error) {
      fault = error;
      return false;
    } finally {
      pinging = null;
    }
  };
  const pingOnce = (): Promise<boolean> => {
    pinging ??= pingWriter();
    return pinging;
  };
  const pingUntilUp = async (): Promise<void> => {
    do {
      // Does not keep the process alive.
      await delay(pingIntervalMs, undefined, { ref: false, signal: stopped.signal });
    } while (!(await pingOnce()));
    isDown = false;
    log?.info('the database writer is back; reads no longer go to the reader');
  };
  const check = async (): Promise<boolean> => {
    if (isDown) return false;
    const isUp = await pingOnce();
    if (isUp || isDown || stopped.signal.aborted) return isUp;
    isDown = true;
    log?.warn({ err: fault }, 'the database writer does not answer; reads go to the reader');
    // Rejects only when stopped.
    pingUntilUp().catch(() => undefined);
    return false;
  };
  return {
    isUp: async () => (!isDown && performance.now() < validUntilMs) || check(),
    isStillUp: check,
    isDown: () => isDown,
    unavailable: () =>
      new DatabaseUnavailable('The database does not respond and is retried each second', {
        cause: fault,
      }),
    stop: () => stopped.abort(),
  };
}
