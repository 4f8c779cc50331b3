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

it('writes every value like JSON.stringify, however large its parts are', () => {
  const part = fc.jsonValue({ maxDepth: 3 });
  const parts = fc.array(part, { minLength: 40, maxLength: 120 });
  const named = fc.dictionary(fc.string(), parts, { minKeys: 2, maxKeys: 4 });
  fc.assert(
    fc.property(fc.array(fc.oneof(parts, named), { minLength: 2, maxLength: 6 }), (value) => {
      expect(runAtOnce(writeJson(value))).toEqual(Buffer.from(JSON.stringify(value)));
    }),
    { numRuns: 50 },
  );
});

it('can be interrupted after a bounded number of values, be they many small ones or a deep one', () => {
  const items = Array.from({ length: 20_000 }, (_, at) => ({ at, texts: [`${at}`] }));
  let deep: unknown = items;
  for (let level = 0; level < 90; level += 1) deep = [deep];
  for (const value of [items, deep]) {
    const work = writeJson(value);
    let interruptions = 0;
    while (work.next().done !== true) interruptions += 1;
    expect(interruptions).toBeGreaterThan((20_000 * 4) / 1_000);
  }
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
