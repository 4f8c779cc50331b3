/** Checks that something is reported at most once per interval. */
import { expect, it } from 'vitest';
import { atMostOncePer } from '../../../src/rate-limited.ts';

it('reports the first time, then once per interval, and forgets what comes between', () => {
  let nowMs = -5_000;
  const reported: string[] = [];
  const report = atMostOncePer(
    1_000,
    (text: string) => reported.push(text),
    () => nowMs,
  );
  const at = (ms: number, text: string): void => {
    nowMs = ms;
    report(text);
  };
  at(-5_000, 'first');
  at(-4_001, 'too early');
  at(-4_000, 'second');
  at(9_000, 'third');
  at(9_500, 'too early');
  expect(reported).toEqual(['first', 'second', 'third']);
});
