/**
 * Tests the short-lived cache of authentication: bounded, shared by concurrent callers, never used
 * beyond its lifetime.
 */
import { describe, expect, it } from 'vitest';
import { createFreshCache } from '../../../src/auth/fresh-cache.ts';

function counting() {
  const requested: string[] = [];
  const load = (answer: string | undefined) => async () => {
    requested.push(String(answer));
    return answer;
  };
  return { requested, load };
}

describe('a cached value', () => {
  it('is used for its lifetime and not a millisecond longer', async () => {
    const cache = createFreshCache<string>({ freshForMs: 100, entriesMax: 10 });
    const { requested, load } = counting();
    expect(await cache.get('a', 1000, load('first'))).toBe('first');
    expect(await cache.get('a', 1099, load('second'))).toBe('first');
    expect(await cache.get('a', 1100, load('third'))).toBe('third');
    expect(requested).toEqual(['first', 'third']);
  });

  it('is loaded again after the clock was set back', async () => {
    const cache = createFreshCache<string>({ freshForMs: 100, entriesMax: 10 });
    const { load } = counting();
    await cache.get('a', 1_000_000, load('first'));
    expect(await cache.get('a', 1000, load('second'))).toBe('second');
  });

  it('is shared by concurrent callers, and not stored when it was undefined or failed', async () => {
    const cache = createFreshCache<string>({ freshForMs: 100, entriesMax: 10 });
    const { requested, load } = counting();
    const both = [cache.get('a', 0, load('one')), cache.get('a', 0, load('two'))];
    expect(await Promise.all(both)).toEqual(['one', 'one']);
    expect(await cache.get('b', 0, load(undefined))).toBeUndefined();
    expect(await cache.get('b', 0, load('there'))).toBe('there');
    await expect(cache.get('c', 0, () => Promise.reject(new Error('away')))).rejects.toThrow(
      'away',
    );
    expect(await cache.get('c', 0, load('back'))).toBe('back');
    expect(requested).toEqual(['one', 'undefined', 'there', 'back']);
  });

  it('is evicted, the oldest first, beyond the bound', async () => {
    const cache = createFreshCache<string>({ freshForMs: 100, entriesMax: 2 });
    const { load } = counting();
    for (const key of ['a', 'b', 'c']) await cache.get(key, 0, load(key));
    expect(await cache.get('c', 1, load('other'))).toBe('c');
    expect(await cache.get('a', 1, load('other'))).toBe('other');
  });
});
