/** Verifies that texts with very many findings are judged and replaced in turns, as exactly as short ones. */
import { describe, expect, it } from 'vitest';
import { findProse } from '../../../../src/guardrails/detectors/language/prose.ts';
import {
  findInPieces,
  replaceSpans,
  type Span,
  withoutOverlaps,
} from '../../../../src/guardrails/detectors/span.ts';
import { runAtOnce, type Slices } from '../../../../src/slices.ts';

/** The number of interruptions. */
function turnsOf<T>(work: Slices<T>): number {
  let turns = 0;
  while (work.next().done !== true) turns += 1;
  return turns;
}

const find = (text: string): Span[] =>
  [...text.matchAll(/ab+|bb/g)].map(({ 0: match, index }) => ({
    start: index,
    end: index + match.length,
    label: match.length > 2 ? 'LONG' : 'SHORT',
  }));

describe('a text with many findings', () => {
  const text = 'ab abbb bb x '.repeat(20_000);

  it('is searched in pieces with the findings of the whole text', () => {
    expect(runAtOnce(findInPieces(text, 400, find))).toEqual(withoutOverlaps(find(text)));
  });

  it('is replaced as a whole, with interruptions', () => {
    const spans = find(text);
    const replaced = runAtOnce(replaceSpans(text, spans, ({ label }) => `<${label}>`));
    expect(replaced).toBe(
      text.replace(/ab+|bb/g, (match) => (match.length > 2 ? '<LONG>' : '<SHORT>')),
    );
    expect(turnsOf(replaceSpans(text, spans, () => ''))).toBeGreaterThan(20);
  });
});

describe('the prose of a text of fences alone', () => {
  it('is found with interruptions', () => {
    expect(turnsOf(findProse('```'.repeat(100_000)))).toBeGreaterThan(40);
  });

  it.each([
    ['a```b```c', 'a c '],
    ['```````', '` '],
    ['a``````b ```', 'a b  '],
    ['````a````b', '`b '],
  ])('leaves out what is between fences: %s', (text, prose) => {
    expect(runAtOnce(findProse(text))).toBe(prose);
  });
});
