/**
 * Tests the write check: it reports read-only from a refusal until a write succeeds, without
 * flapping.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createWriteCheck } from '../../../src/app/outages/write-check.ts';

let refusedAtMs: number | null;
let takes: boolean;
let tried: number;
let check: () => Promise<boolean>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  refusedAtMs = null;
  takes = true;
  tried = 0;
  check = createWriteCheck({
    writeRefusedAtMs: () => refusedAtMs,
    tryWrite: async () => {
      tried += 1;
      if (!takes) throw new Error('full');
    },
  });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Seconds until the check reports writable again, polled each second. */
async function secondsOfNo(): Promise<number> {
  for (let seconds = 0; ; seconds += 1) {
    if (await check()) return seconds;
    vi.advanceTimersByTime(1000);
  }
}

it('writes nothing while nothing is refused', async () => {
  expect(await check()).toBe(true);
  expect(tried).toBe(0);
});

it('reports read-only from a refusal until a write succeeds, and does not probe at once', async () => {
  refusedAtMs = performance.now();
  takes = false;
  expect([await check(), tried]).toEqual([false, 0]);
  vi.advanceTimersByTime(10_000);
  expect([await check(), tried]).toEqual([false, 1]);
  takes = true;
  expect([await check(), await check(), tried]).toEqual([true, true, 2]);
});

it('doubles the read-only time after each relapse, up to a minute, and resets it after a long success', async () => {
  const held: number[] = [];
  for (let relapse = 0; relapse < 8; relapse += 1) {
    vi.advanceTimersByTime(1000);
    refusedAtMs = performance.now();
    held.push(await secondsOfNo());
  }
  expect(held).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
  vi.advanceTimersByTime(120_000);
  refusedAtMs = performance.now();
  expect(await secondsOfNo()).toBe(2);
});

it('counts a refusal that arrives during a probe', async () => {
  refusedAtMs = performance.now();
  vi.advanceTimersByTime(5000);
  const asking = check();
  vi.advanceTimersByTime(1);
  refusedAtMs = performance.now();
  expect(await asking).toBe(false);
  expect(await check()).toBe(false);
});
