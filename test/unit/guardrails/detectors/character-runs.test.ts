/** Verifies that runs of characters are found as a pattern would find them, in texts of any mixture. */
import { describe, expect, it } from 'vitest';
import {
  characterSet,
  findRuns,
  hasRun,
} from '../../../../src/guardrails/detectors/injection/character-runs.ts';

const set = characterSet('ab');

/** All texts of a length in some characters. */
function* textsOf(length: number): Generator<string> {
  if (length === 0) yield '';
  else for (const rest of textsOf(length - 1)) for (const one of 'abcé') yield one + rest;
}

describe('the search for runs of characters', () => {
  it.each([1, 2, 3, 4])('equals the search by a pattern, from %i characters on', (length) => {
    const pattern = new RegExp(`[ab]{${length},}`, 'g');
    for (const text of textsOf(7)) {
      const expected = [...text.matchAll(pattern)].map(({ 0: match, index }) => ({
        start: index,
        end: index + match.length,
      }));
      expect([[...findRuns(text, set, length)], hasRun(text, set, length)]).toEqual([
        expected,
        expected.length > 0,
      ]);
    }
  });
});
