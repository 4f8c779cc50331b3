/**
 * Tests cached secret values: one read for all, no wait for a known value, and a grace period while
 * the manager is away.
 */
import { describe, expect, it } from 'vitest';
import { SecretValueCache } from '../../../src/gateway/targets/secret-value-cache.ts';
import { Secret } from '../../../src/secret.ts';
import { SecretUnreadable } from '../../../src/secret-managers/managed-secret.ts';
import type { SecretLocation } from '../../../src/secret-managers/secret-managers.ts';

const minute = 60_000;
const place: SecretLocation = {
  id: 'r',
  organisationId: 'o',
  mark: 'm',
  managerType: 'hashicorp_vault',
  path: 'p',
  auth: new Secret({}, 'test'),
};

/** Values whose manager returns `answer()` each time, with an adjustable clock. */
function keeping(answer: () => string) {
  let reads = 0;
  const state = { now: 0, failures: [] as string[] };
  const values = new SecretValueCache({
    clock: { now: () => state.now },
    managers: {
      read: async () => {
        reads += 1;
        return answer();
      },
    },
    onFailure: ({ message }) => state.failures.push(message),
  });
  return { values, state, reads: () => reads };
}

const silence = (): never => {
  throw new SecretUnreadable('silence', true);
};

describe('a value', () => {
  it('is read once for concurrent callers, and not again for five minutes', async () => {
    const { values, state, reads } = keeping(() => 'one');
    expect(values.peek(place)).toBeUndefined();
    const got = await Promise.all(Array.from({ length: 100 }, () => values.get(place)));
    expect(new Set(got)).toEqual(new Set(['one']));
    state.now = 5 * minute - 1;
    expect(values.peek(place)).toBe('one');
    expect(reads()).toBe(1);
    expect(values.peek({ ...place, mark: 'other' })).toBeUndefined();
  });

  it('is refreshed in the background when stale, and awaited once it is too old', async () => {
    let value = 'one';
    const { values, state, reads } = keeping(() => value);
    await values.get(place);
    value = 'two';
    state.now = 6 * minute;
    expect(values.peek(place)).toBe('one');
    await values.get(place);
    expect([values.peek(place), reads()]).toEqual(['two', 2]);
    state.now = 17 * minute;
    expect(values.peek(place)).toBeUndefined();
  });

  it('stays valid for an hour without an answer, with a retry every five seconds at most', async () => {
    let answer: () => string = () => 'one';
    const { values, state, reads } = keeping(() => answer());
    await values.get(place);
    answer = silence;
    state.now = 20 * minute;
    expect(await values.get(place)).toBe('one');
    expect([values.peek(place), await values.get(place), reads()]).toEqual(['one', 'one', 2]);
    state.now += 5_000;
    expect(values.peek(place)).toBeUndefined();
    expect([await values.get(place), reads()]).toEqual(['one', 3]);
    state.now = 60 * minute;
    await expect(values.get(place)).rejects.toThrow('silence');
    await expect(values.get(place)).rejects.toThrow('silence');
    expect(reads()).toBe(4);
    answer = () => 'two';
    state.now += 5_000;
    expect(await values.get(place)).toBe('two');
    expect(state.failures).toEqual(['silence', 'silence', 'silence']);
  });

  it('ends when the manager denies it', async () => {
    let answer: () => string = () => 'one';
    const { values, state } = keeping(() => answer());
    await values.get(place);
    answer = () => {
      throw new SecretUnreadable('denied', false);
    };
    state.now = 11 * minute;
    await expect(values.get(place)).rejects.toThrow('denied');
    expect(values.peek(place)).toBeUndefined();
  });
});
