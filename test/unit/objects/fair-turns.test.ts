/**
 * Checks that a caller with little work waits for at most one turn of another, within the
 * concurrency limit.
 */
import { expect, it } from 'vitest';
import { FairQueue } from '../../../src/objects/ingestion/fair-queue.ts';

it('takes callers in rotation, two at once, and continues after work that fails', async () => {
  const turns = new FairQueue(2);
  const begun: string[] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  const work = (whose: string, name: string) =>
    turns.run(whose, () => {
      begun.push(name);
      const end = Promise.withResolvers<void>();
      ends.push(end);
      return end.promise;
    });
  const names = ['much 1', 'much 2', 'much 3', 'much 4', 'little', 'other'];
  const all = new Map(names.map((name) => [name, work(name.split(' ')[0]!, name)]));
  const order = ['much 1', 'much 2', 'much 3', 'little', 'other', 'much 4'];
  for (let n = 0; n < order.length; n += 1) {
    expect(begun).toEqual(order.slice(0, n + 2));
    if (n === 1) ends[n]!.reject(new Error('broken'));
    else ends[n]!.resolve();
    await Promise.allSettled([all.get(begun[n]!)]);
    await new Promise(setImmediate);
  }
  expect(
    (await Promise.allSettled(all.values())).filter(({ status }) => status === 'rejected'),
  ).toHaveLength(1);
});

it('gives the same caller turns again when nobody waits', async () => {
  const turns = new FairQueue(1);
  expect(await turns.run('a', async () => 1)).toBe(1);
  expect(await turns.run('b', async () => 2)).toBe(2);
});
