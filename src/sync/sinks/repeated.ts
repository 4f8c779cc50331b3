/** Knows how a place is written whose answers may be lost, and that others write as well. */
import { Failure } from '../../failure.ts';

export interface RepeatOptions {
  /** What is written, for messages. */
  readonly what: string;
  readonly attemptsMax: number;
  /** Whether an error says that no answer came. */
  readonly isLost: (error: unknown) => boolean;
}

/**
 * Looks and writes until `attempt` finds things as they are wanted: a write whose answer is lost, or
 * that somebody else's has overtaken, is followed by another look.
 */
export async function repeated(
  { what, attemptsMax, isLost }: RepeatOptions,
  attempt: () => Promise<boolean>,
): Promise<void> {
  let lost: unknown = null;
  for (let attempts = 1; attempts <= attemptsMax; attempts += 1) {
    try {
      if (await attempt()) return;
    } catch (error) {
      // Said once more it comes of no new request: nobody answers there.
      if (!isLost(error) || lost === error) throw error;
      lost = error;
    }
  }
  throw lost ?? new Failure('retryable', `${what} is written by others all the time; run it again`);
}
