/** Waits for a condition up to a deadline. */
import { setTimeout as wait } from 'node:timers/promises';

const pollMs = 250;

/** Resolves with whether the condition became true in time; a condition that throws is not true yet. */
export async function until(
  condition: () => Promise<boolean> | boolean,
  limitMs: number,
): Promise<boolean> {
  const endMs = Date.now() + limitMs;
  for (;;) {
    const isTrue = await Promise.resolve()
      .then(condition)
      .catch(() => false);
    if (isTrue) return true;
    if (Date.now() >= endMs) return false;
    await wait(pollMs);
  }
}
