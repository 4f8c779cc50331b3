/** Verifies that JSON written in slices equals what JSON.stringify writes. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writeJson } from '../../../../src/model/json/json-bytes.ts';
import { runAtOnce, runInTurns } from '../../../../src/slices.ts';

it('writes every value like JSON.stringify', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
      expect(runAtOnce(writeJson(value))).toEqual(Buffer.from(JSON.stringify(value)));
    }),
    { numRuns: 500 },
  );
});

it.each([
  ['a long text', 'a"\n\u00e9'.repeat(100_000)],
  ['pairs across pieces', `x${'\u{1f600}'.repeat(200_000)}`],
  ['many values', Array.from({ length: 50_000 }, (_, at) => ({ at, text: `${at}` }))],
  ['undefined members', { a: undefined, b: [undefined], c: 1 }],
  ['exact numbers', { id: JSON.rawJSON('12345678901234567890') }],
])('writes %s like JSON.stringify', async (_, value) => {
  expect(await runInTurns(writeJson(value))).toEqual(Buffer.from(JSON.stringify(value)));
});
