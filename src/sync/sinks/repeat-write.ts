/** Repeats a write that may conflict with others or whose response may be lost. */
import { Failure } from '../../failure.ts';

export interface RepeatWriteOptions {
  /** Names the written object in messages. */
  readonly what: string;
  readonly attemptsMax: number;
  /** Returns whether an error means that the response was lost. */
  readonly isLost: (error: unknown) => boolean;
}

/**
 * Calls `attempt` until the target is in the wanted state. After a lost response or a conflict the
 * next attempt reads again.
 */
export async function repeatWrite(
  { what, attemptsMax, isLost }: RepeatWriteOptions,
  attempt: () => Promise<boolean>,
): Promise<void> {
  let lost: unknown = null;
  for (let attempts = 1; attempts <= attemptsMax; attempts += 1) {
    try {
      if (await attempt()) return;
    } catch (error) {
      // The identical error object means that no new request was made: the server is unreachable.
      if (!isLost(error) || lost === error) throw error;
      lost = error;
    }
  }
  throw lost ?? new Failure('retryable', `${what} is written by others all the time; run it again`);
}
