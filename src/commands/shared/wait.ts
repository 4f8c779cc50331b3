/** Waits for a dependency that is not available yet and reports the reason. */
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '../../failure.ts';
import { isTemporary } from '../../store/connection/unavailable.ts';

/** Short compared to a startup, and negligible load for a server that rejects connections. */
const pollMs = 250;

export interface Wait {
  /** May grow while it is waited. */
  readonly seconds: () => number;
  readonly signal: AbortSignal;
  /** Called when the reason changes. */
  readonly say: (reason: string) => unknown;
}

/**
 * Resolves when `reasonToWait` returns null, or after the time limit; then the following work reports
 * the error.
 *
 * @throws the signal's AbortError
 */
export async function waitWhile(
  reasonToWait: () => Promise<string | null>,
  { seconds, signal, say }: Wait,
): Promise<void> {
  const beganAt = performance.now();
  for (let reported = ''; performance.now() < beganAt + seconds() * 1_000; ) {
    const reason = await reasonToWait();
    if (reason === null) return;
    if (reason !== reported) await say(reason);
    reported = reason;
    await delay(pollMs, undefined, { signal });
  }
}

/** Why the database is unavailable now, or null; rethrows errors that waiting cannot fix. */
export async function reasonUnavailable(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (isTemporary(error)) return (error as Error).message;
    throw error;
  }
}

/** As {@link reasonUnavailable}, for a process that serves without it: whatever an operator can mend is waited for. */
export async function reasonOfFailure(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof Failure || isTemporary(error)) return (error as Error).message;
    throw error;
  }
}
