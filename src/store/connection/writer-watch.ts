/** Knows whether the writer answers, for those who would turn to its reader (MYSQL_WRITER_HADR_MODE). */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { DatabaseUnavailable } from './unavailable.ts';

const answerCountsMs = 1_000;
const askAgainMs = 1_000;

export interface WriterWatch {
  /**
   * Whether the writer is up. An answer of the last second counts; else it is asked, once for all
   * who wait. While it is known to be down nobody waits: it is asked each second until it is back.
   */
  isUp(): Promise<boolean>;
  /** As {@link isUp}, for those whose connection to the writer failed: no former answer counts. */
  isStillUp(): Promise<boolean>;
  /** What those are told who need the writer while it is down. */
  unavailable(): DatabaseUnavailable;
  /** Ends the asking. */
  stop(): void;
}

/** `ping` rejects, in bounded time, when the writer does not answer. */
export function watchWriter(ping: () => Promise<void>, log: Log | undefined): WriterWatch {
  const stopped = new AbortController();
  let asking: Promise<boolean> | null = null;
  let answerCountsUntilMs = 0;
  let isDown = false;
  let fault: unknown;

  const ask = async (): Promise<boolean> => {
    try {
      await ping();
      answerCountsUntilMs = performance.now() + answerCountsMs;
      return true;
    } catch (error) {
      fault = error;
      return false;
    } finally {
      asking = null;
    }
  };
  const askOnce = (): Promise<boolean> => {
    asking ??= ask();
    return asking;
  };
  const askUntilUp = async (): Promise<void> => {
    do {
      // Alone it keeps no process alive.
      await delay(askAgainMs, undefined, { ref: false, signal: stopped.signal });
    } while (!(await askOnce()));
    isDown = false;
    log?.info('the database writer is back; reads no longer go to the reader');
  };
  const check = async (): Promise<boolean> => {
    if (isDown) return false;
    const isUp = await askOnce();
    if (isUp || isDown || stopped.signal.aborted) return isUp;
    isDown = true;
    log?.warn({ err: fault }, 'the database writer does not answer; reads go to the reader');
    // Rejects when stopped only.
    askUntilUp().catch(() => undefined);
    return false;
  };
  return {
    isUp: async () => (!isDown && performance.now() < answerCountsUntilMs) || check(),
    isStillUp: check,
    unavailable: () =>
      new DatabaseUnavailable('The database does not answer and is asked again each second', {
        cause: fault,
      }),
    stop: () => stopped.abort(),
  };
}
