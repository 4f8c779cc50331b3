/**
 * Tests the number of concurrent requests: plus one after a good round, halved by overload, never
 * above the limit.
 */
import { describe, expect, it } from 'vitest';
import { RequestPace } from '../../../../src/sync/server/request-pace.ts';

function gate(): { wait: () => Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}

describe('Pace', () => {
  it('runs no more than its limit at once, in order', async () => {
    const pace = new RequestPace({ start: 2, max: 2 });
    const gates = [gate(), gate(), gate()];
    const started: number[] = [];
    const all = gates.map(({ wait }, at) =>
      pace.take(async () => {
        started.push(at);
        await wait();
      }),
    );
    expect(started).toEqual([0, 1]);
    gates[0]!.open();
    await all[0];
    await Promise.resolve();
    expect(started).toEqual([0, 1, 2]);
    for (const { open } of gates) open();
    await Promise.all(all);
  });

  it('grows by one after a full round of good responses, up to its maximum', () => {
    const pace = new RequestPace({ start: 4, max: 6 });
    for (let good = 0; good < 4; good += 1) pace.report(false);
    expect(pace.limit).toBe(5);
    for (let good = 0; good < 100; good += 1) pace.report(false);
    expect(pace.limit).toBe(6);
  });

  it('halves at any sign of overload, down to one', () => {
    const pace = new RequestPace({ start: 8, max: 16 });
    pace.report(true);
    expect(pace.limit).toBe(4);
    for (let bad = 0; bad < 5; bad += 1) pace.report(true);
    expect(pace.limit).toBe(1);
  });

  it('removes waiting work when the signal is aborted, and keeps its slots', async () => {
    const pace = new RequestPace({ start: 1, max: 1 });
    const first = gate();
    const running = pace.take(first.wait);
    const controller = new AbortController();
    const waiting = pace.take(async () => 'ran', controller.signal);
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    first.open();
    await running;
    expect(await pace.take(async () => 'ran')).toBe('ran');
    await expect(pace.take(async () => 'ran', controller.signal)).rejects.toThrow('stop');
  });

  it('frees the slot when the work fails', async () => {
    const pace = new RequestPace({ start: 1, max: 1 });
    await expect(pace.take(() => Promise.reject(new Error('x')))).rejects.toThrow('x');
    expect(await pace.take(async () => 1)).toBe(1);
  });
});
