/** Tests chunks that cover a text within their bounds, nearest rows, and filters. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesFilter } from '../../../src/model/objects/vector-store.ts';
import { readVectors, vectorBytes } from '../../../src/objects/ingestion/embeddings.ts';
import { splitText } from '../../../src/objects/ingestion/text-chunks.ts';
import { NearestRowCollector } from '../../../src/objects/search/nearest.ts';

describe('chunks of a text', () => {
  it('contains every word once and in order when there is no overlap', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 2_000 }), (text) => {
        const chunks = splitText(text, { tokensMax: 100, overlapTokens: 0 });
        expect(chunks.join('').replace(/\s/gu, '')).toBe(text.replace(/\s/gu, ''));
      }),
      { numRuns: 50 },
    );
  });

  it('terminates when a piece has more tokens than a chunk may have', () => {
    const text = `${'\u2003'.repeat(24)}${'\u{1f9ff}'.repeat(24)}`.repeat(20);
    const chunks = splitText(text, { tokensMax: 100, overlapTokens: 50 });
    expect(new Set(chunks.join('').replace(/\s/gu, ''))).toEqual(new Set(['\u{1f9ff}']));
  });

  it('repeats the configured overlap of the previous chunk', () => {
    const words = Array.from({ length: 1_000 }, (_, n) => `w${n}`);
    const chunks = splitText(words.join(' '), { tokensMax: 100, overlapTokens: 50 });
    for (const [n, chunk] of chunks.slice(1).entries()) {
      const start = chunk.split(' ').slice(0, 10).join(' ');
      expect(chunks[n]).toContain(start);
      expect(chunks[n]!.startsWith(start)).toBe(false);
    }
    expect(chunks.at(-1)!.endsWith('w999')).toBe(true);
  });
});

describe('the nearest rows', () => {
  it('equals the result of sorting all rows', () => {
    const number = fc.integer({ min: -100, max: 100 });
    const row = fc.array(number, { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), row, fc.nat(5), (rows, query, more) => {
        const limit = more + 1;
        const nearest = new NearestRowCollector(limit, 0);
        nearest.add(0, Float32Array.from(rows.flat()), Float32Array.from(query));
        const scores = rows
          .map((one) => one.reduce((sum, value, n) => sum + value * query[n]!, 0))
          .filter((score) => score >= 0)
          .sort((a, b) => b - a);
        expect(nearest.rows.map(({ score }) => score + 0)).toEqual(scores.slice(0, limit));
      }),
    );
  });

  it('compares the numbers as they were written', () => {
    const numbers = Float32Array.of(0.5, -1, 3.25);
    expect(readVectors(Buffer.concat([vectorBytes(numbers), vectorBytes(numbers)]))).toEqual(
      Float32Array.of(...numbers, ...numbers),
    );
  });
});

describe('a filter', () => {
  it.each([
    [{ type: 'eq', key: 'a', value: 1 }, true],
    [{ type: 'eq', key: 'a', value: '1' }, false],
    [{ type: 'ne', key: 'b', value: 1 }, true],
    [{ type: 'gt', key: 'b', value: 0 }, false],
    [{ type: 'lte', key: 'a', value: 1 }, true],
    [{ type: 'in', key: 'a', value: [2, 1] }, true],
    [{ type: 'nin', key: 'toString', value: [1] }, true],
    [{ type: 'and', filters: [] }, true],
    [{ type: 'or', filters: [] }, false],
  ] as const)('evaluates %j on {a: 1} as %s', (filter, expected) => {
    expect(matchesFilter({ a: 1 }, filter)).toBe(expected);
  });
});
