/** Retries work after errors by which the server has rolled back all of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { isRetryable } from './unavailable.ts';

const attemptsDefault = 6;
const firstDelayMs = 20;

/**
 * Runs `work` again, a few times, after a deadlock, a lock-wait timeout, a concurrently changed row or a
 * certification conflict between cluster nodes. `work` is a whole transaction, or one statement outside
 * transactions, so that such an error has undone everything it did.
 */
export async function retrying<T>(
  work: () => Promise<T>,
  attemptsMax = attemptsDefault,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attemptsMax || !isRetryable(error)) throw error;
      await delay(delayBeforeMs(attempt));
    }
  }
}

/** Random, so that two conflicting transactions do not conflict again. */
function delayBeforeMs(attempt: number): number {
  return Math.random() * firstDelayMs * 2 ** attempt;
}
