/** Knows how the values of keys that exist come to their places before anything else is written. */
import type { SurveyedKey } from './key-survey.ts';
import type { SecretOutput } from './secret-output.ts';

/** Values that change places make room for each other: the first look leads half of the way. */
const looksMax = 3;

/** Brings every value to its place; looks again at those that had to give way to another. */
export async function settleAll(
  secretOutput: SecretOutput,
  found: readonly SurveyedKey[],
  lookAgain: () => Promise<readonly SurveyedKey[]>,
): Promise<void> {
  let keys = found;
  for (let looks = 1; keys.some(needsSettling); looks += 1) {
    for (const key of keys) if (needsSettling(key)) await secretOutput.settle(key);
    if (looks === looksMax || !keys.some(({ elsewhere }) => elsewhere !== null)) return;
    keys = await lookAgain();
  }
}

/** The value lies elsewhere than in its place, or a pending one is left that no key has. */
export function needsSettling({ delivery: { state }, unclaimed }: SurveyedKey): boolean {
  return state === 'pending' || state === 'elsewhere' || unclaimed.length > 0;
}
