/**
 * Tests long JSON lists: the bytes of plain JSON, in slices of bounded size, with turns of the
 * event loop between.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listReply, pageReply } from '../../../../src/model/wire/paging.ts';
import { type ListItems, StreamedList } from '../../../../src/model/wire/streamed-list.ts';

async function slicesOf(list: StreamedList<unknown>): Promise<string[]> {
  return Array.fromAsync(list.slices());
}

async function* asRead<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const members = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });
const item = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }).map((text) => ({ text: text.repeat(5_000) })),
);

describe('a list that may be long', () => {
  it('equals JSON.stringify byte for byte, whatever it contains and whatever surrounds it', async () => {
    await fc.assert(
      fc.asyncProperty(
        members,
        fc.string(),
        fc.array(item),
        members,
        async (before, name, items, after) => {
          const taken = Object.hasOwn(before, name) || Object.hasOwn(after, name);
          const twice = Object.keys(after).some((key) => Object.hasOwn(before, key));
          const isIndex = (key: string): boolean => /^\d+$/.test(key);
          // A JavaScript object has no other order of such keys, and no duplicate key.
          fc.pre(!taken && !twice && ![name, ...Object.keys(after)].some(isIndex));
          fc.pre(name !== '__proto__');
          const whole = JSON.stringify({ ...before, [name]: items, ...after });
          for (const given of [items, items.values(), asRead(items)] as ListItems<unknown>[]) {
            const slices = await slicesOf(new StreamedList(before, name, given, after));
            expect(slices.join('')).toBe(whole);
          }
          const bare = await slicesOf(new StreamedList({}, null, items));
          expect(bare.join('')).toBe(JSON.stringify(items));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('has the two wrappers of lists', async () => {
    const rows = [{ id: 1 }, { id: 2 }];
    const data = () => rows.values().map(({ id }) => ({ id: `${id}` }));
    expect(await slicesOf(listReply(data(), 7))).toEqual([
      '{"object":"list","total":7,"data":[{"id":"1"},{"id":"2"}]}',
    ]);
    const page = { limit: 2, offset: 2 };
    expect(await slicesOf(pageReply(data(), page, { rows, total: 7 }))).toEqual([
      '{"object":"list","total":7,"data":[{"id":"1"},{"id":"2"}],"has_more":true}',
    ]);
    expect(await slicesOf(listReply([], 0))).toEqual(['{"object":"list","total":0,"data":[]}']);
  });

  it('is written in slices, with a turn of the event loop between any two', async () => {
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const text = 'a'.repeat(10_000);
    const list = listReply(new Array(1_000).fill(text), 1_000);
    const slices = await slicesOf(list);
    isDone = true;
    expect(slices.length).toBeGreaterThan(100);
    for (const slice of slices) expect(slice.length).toBeLessThan(64 * 1024 + 2 * text.length);
    expect(turns).toBeGreaterThanOrEqual(slices.length - 1);
  });

  it('produces no item before it is requested, and closes its source when the rest is not needed', async () => {
    let made = 0;
    let isLetGo = false;
    const items = function* (): Generator<string> {
      try {
        for (; made < 1_000; made += 1) yield 'a'.repeat(100_000);
      } finally {
        isLetGo = true;
      }
    };
    const slices = listReply(items(), 1_000).slices();
    expect(made).toBe(0);
    await slices.next();
    expect(made).toBeLessThanOrEqual(1);
    await slices.return();
    expect([made <= 1, isLetGo]).toEqual([true, true]);
  });

  it('is never serialised as a plain value by mistake', () => {
    expect(() => JSON.stringify(listReply([], 0))).toThrow('slice by slice');
  });
});
