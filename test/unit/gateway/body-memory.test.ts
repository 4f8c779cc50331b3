/** Verifies that the bytes of bodies in memory are bounded for the process and for each key. */
import { expect, it } from 'vitest';
import { BodyMemory } from '../../../src/gateway/transfer/body-memory.ts';

it('refuses a body beyond the share of its key with 503 and a time to retry, and others not', () => {
  const memory = new BodyMemory(100, 10);
  memory.hold('a').add(50);
  const refused = memory.hold('a');
  expect(() => refused.add(1)).toThrow(
    expect.objectContaining({ status: 503, retryAfterMs: 1_000, code: 'unavailable' }),
  );
  memory.hold('b').add(50);
  expect(() => memory.hold('c').add(1)).toThrow('all callers');
  expect(memory.bytes).toBe(100);
});

it('counts a body until it is released, once', () => {
  const memory = new BodyMemory(100, 10);
  const hold = memory.hold('a');
  hold.add(20);
  hold.add(30);
  hold.release();
  hold.release();
  hold.add(5);
  expect(memory.bytes).toBe(0);
  memory.hold('a').add(50);
});

it('always has room for one body of the largest size', () => {
  const memory = new BodyMemory(1, 10);
  memory.hold('a').add(10);
  expect(() => memory.hold('b').add(1)).toThrow('try again');
});
