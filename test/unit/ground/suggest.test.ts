/**
 * Tests suggestions: similar words are found regardless of case and separators, others and the word
 * itself never.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from '../../../src/suggest.ts';

describe('a hint', () => {
  it.each([
    ['plna', ['plan', 'apply'], 'plan'],
    ['workspace-id', ['workspace_id', 'workspaces'], 'workspace_id'],
    ['Name', ['names', 'name'], 'name'],
    ['ab', ['yz'], undefined],
    ['description', ['name', 'slug'], undefined],
  ])('suggests for %j among %j: %j', (word, candidates, meant) => {
    expect(nearest(word, candidates)).toBe(meant);
  });

  it('is the same for any order of candidates', () => {
    const candidates = fc.shuffledSubarray(['cat', 'car', 'can', 'cap'], { minLength: 4 });
    fc.assert(
      fc.property(candidates, (some) => {
        expect(nearest('cax', some)).toBe('can');
      }),
    );
  });

  it('never suggests the rejected word itself', () => {
    const word = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(word, fc.array(word), (refused, others) => {
        expect(nearest(refused, [refused, ...others])).not.toBe(refused);
      }),
    );
    expect(didYouMean('plan', ['plan'])).toBeUndefined();
  });

  it('stays within the number of edits that the caller allows', () => {
    expect(nearest('DB_PASSS', ['DB_PASS'], 1)).toBe('DB_PASS');
    expect(nearest('DB_PASSSS', ['DB_PASS'], 1)).toBeUndefined();
    expect(nearest('db-pass', ['DB_PASS'], 0)).toBe('DB_PASS');
  });
});
