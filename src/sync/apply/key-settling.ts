/** Brings the values of existing keys to their places before anything else is written. */
import type { SurveyedKey } from './key-survey.ts';
import type { SecretOutput } from './secret-output.ts';

/** Values that swap places need several passes, since each must first make room. */
const looksMax = 3;

/** Moves every value to its place, and repeats for those that had to give way to another. */
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

/** Returns whether the value is not in its place, or a pending value exists that no key has. */
export function needsSettling({ delivery: { state }, unclaimed }: SurveyedKey): boolean {
  return state === 'pending' || state === 'elsewhere' || unclaimed.length > 0;
}
