/**
 * Checks that concurrent requests for the same work share one run, which starts after the last
 * request.
 */
import { expect, it } from 'vitest';
import { SharedWork } from '../../../../src/sync/sinks/shared-work.ts';

/** Work that ends on command; each run yields its number. */
function openWork() {
  const runs: { subject: string; end: (error?: Error) => void }[] = [];
  const work = new SharedWork<number>((subject) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const number = runs.length + 1;
    runs.push({ subject, end: (error) => (error ? reject(error) : resolve(number)) });
    return promise;
  });
  return { work, runs };
}

/** Requested work starts in a later turn of the event loop. */
const begun = () => new Promise((resolve) => setImmediate(resolve));

it('shares one run among callers while none is running', async () => {
  const { work, runs } = openWork();
  const requested = Array.from({ length: 100 }, () => work.run('a'));
  await begun();
  expect(runs).toHaveLength(1);
  runs[0]!.end();
  expect(new Set(await Promise.all(requested))).toEqual(new Set([1]));
});

it('shares the next run among callers during a run, which starts after that has ended', async () => {
  const { work, runs } = openWork();
  const first = work.run('a');
  await begun();
  const requested = [work.run('a'), work.run('a')];
  await begun();
  expect(runs).toHaveLength(1);
  runs[0]!.end();
  expect(await first).toBe(1);
  await begun();
  requested.push(work.run('a'));
  await begun();
  expect(runs).toHaveLength(2);
  runs[1]!.end();
  expect(await Promise.all(requested.slice(0, 2))).toEqual([2, 2]);
  await begun();
  runs[2]!.end();
  expect(await requested[2]).toBe(3);
  const later = work.run('a');
  await begun();
  runs[3]!.end();
  expect(await later).toBe(4);
});

it('fails for all callers of a failed run, and starts a new run afterwards', async () => {
  const { work, runs } = openWork();
  const failing = [work.run('a'), work.run('a')];
  await begun();
  const next = work.run('a');
  runs[0]!.end(new Error('it fails'));
  const outcomes = await Promise.allSettled(failing);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await begun();
  runs[1]!.end();
  expect(await next).toBe(2);
});

it('keeps the work of different subjects independent', async () => {
  const { work, runs } = openWork();
  const [one, two] = [work.run('a'), work.run('b')];
  await begun();
  expect(runs.map(({ subject }) => subject)).toEqual(['a', 'b']);
  runs[1]!.end();
  expect(await two).toBe(2);
  runs[0]!.end();
  expect(await one).toBe(1);
});
