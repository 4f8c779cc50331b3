/** Knows how a command waits for what is not there yet, and says what that is. */
import { setTimeout as delay } from 'node:timers/promises';
import { isPassing } from '../../store/connection/unavailable.ts';

/** Short beside a start, and next to nothing for a server that refuses connections. */
const pollMs = 250;

export interface Wait {
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Told each reason once, and again when another was in between. */
  readonly say: (reason: string) => unknown;
}

/**
 * Resolves when `reasonToWait` yields null, or when the time is over: what is wrong then, the work
 * itself says.
 *
 * @throws the signal's AbortError
 */
export async function waitWhile(
  reasonToWait: () => Promise<string | null>,
  { seconds, signal, say }: Wait,
): Promise<void> {
  const until = performance.now() + seconds * 1_000;
  for (let said = ''; performance.now() < until; ) {
    const reason = await reasonToWait();
    if (reason === null) return;
    if (reason !== said) await say(reason);
    said = reason;
    await delay(pollMs, undefined, { signal });
  }
}

/** Why the database cannot be used now, or null when it can; throws what waiting does not change. */
export async function reasonUnavailable(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (isPassing(error)) return (error as Error).message;
    throw error;
  }
}
