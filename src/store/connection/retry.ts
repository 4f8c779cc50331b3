/** Knows when work is done again: after errors by which the server itself undid all of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { isRetryable } from './unavailable.ts';

const attemptsDefault = 6;
const firstDelayMs = 20;

/**
 * Runs `work` again, a few times, after a deadlock, a lock-wait time-out, a row that changed meanwhile
 * or a certification conflict between nodes of a cluster. `work` is a whole transaction, or one statement outside of any:
 * everything it did must have been undone by such an error.
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

/** Random, so that two that met do not meet again. */
function delayBeforeMs(attempt: number): number {
  return Math.random() * firstDelayMs * 2 ** attempt;
}
