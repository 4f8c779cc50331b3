/** Computes how long chats of keys without limits were not served. */
import type { Answer } from './answer.ts';

/** Longest time without a good chat in the time of a fault, in milliseconds; at any gateway. */
export function unavailableMs(
  answers: readonly Answer[],
  { fromMs, healedMs }: { readonly fromMs: number; readonly healedMs: number },
): number {
  const served = answers
    .filter(({ surface, status }) => surface === 'chat' && status === 200)
    .map(({ doneMs }) => doneMs)
    .filter((doneMs) => doneMs >= fromMs && doneMs <= healedMs)
    .toSorted((one, other) => one - other);
  let longestMs = 0;
  let lastMs = fromMs;
  for (const doneMs of [...served, healedMs]) {
    longestMs = Math.max(longestMs, doneMs - lastMs);
    lastMs = doneMs;
  }
  return longestMs;
}
