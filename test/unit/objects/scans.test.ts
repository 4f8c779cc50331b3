/**
 * Checks that a small search never waits for a large one, and that neither evicts the data that the
 * other reads.
 */
import { expect, it } from 'vitest';
import { Scans } from '../../../src/objects/search/scans.ts';

const mebibyte = 1024 * 1024;
/** The length of one row that makes a large search. */
const width = (20 * mebibyte) / Float32Array.BYTES_PER_ELEMENT;

it('completes a small search during a large one, and evicts no data before it was searched', async () => {
  using scans = new Scans(mebibyte);
  const rows = (length: number): Float32Array<ArrayBuffer> => {
    const one = new Float32Array(length);
    one[0] = 1;
    return one;
  };
  const requested = (key: string, length: number) => ({
    matrices: [{ key, bytes: length * 4 }],
    queries: [rows(length)],
    limit: 1,
    scoreMin: 0,
  });
  const fetching = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const much = scans.scan(requested('much', width), async function* ([matrix]) {
    fetching.resolve();
    await goOn.promise;
    yield [matrix!, rows(width)];
  });
  await fetching.promise;
  const fetched: string[] = [];
  const little = (key: string) =>
    scans.scan(requested(key, mebibyte / 8), async function* (some) {
      for (const one of some) {
        fetched.push(one.key);
        yield [one, rows(mebibyte / 8)];
      }
    });
  const found = [[{ matrix: 0, row: 0, score: 1 }]];
  expect(await Promise.all(['a', 'b', 'c', 'a'].map(little))).toEqual([found, found, found, found]);
  expect(fetched.slice(0, 3)).toEqual(['a', 'b', 'c']);
  goOn.resolve();
  expect(await much).toEqual(found);
  expect(await little('d')).toEqual(found);
});
