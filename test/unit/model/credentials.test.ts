/** Tests API key values: alphabet, checksum and mask. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isWellFormedApiKey,
  makeApiKey,
  maskApiKey,
  timeOfApiKey,
} from '../../../src/model/people/credentials.ts';

const alphanumeric = fc.stringMatching(/^[0-9A-Za-z]{0,32}$/);

describe('an API key value', () => {
  it('is alphanumeric, keeps the prefix, and is recognised', () => {
    fc.assert(
      fc.property(alphanumeric, (prefix) => {
        const key = makeApiKey(prefix);
        expect(key).toMatch(/^[0-9A-Za-z]+$/);
        expect(key).toHaveLength(prefix.length + 38);
        expect(key.startsWith(prefix)).toBe(true);
        expect(isWellFormedApiKey(key)).toBe(true);
      }),
    );
  });

  it('uses every character of the alphabet about equally often', () => {
    const counts = new Map<string, number>();
    const keys = Array.from({ length: 4000 }, () => makeApiKey('').slice(0, 26));
    for (const character of keys.join('')) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    const expected = (4000 * 26) / 62;
    // Eight standard deviations: a modulo bias of 25 % would be ten times as far off.
    const bound = 8 * Math.sqrt(expected);
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(bound);
  });

  it('tells the second in which it was made', () => {
    const time = fc.integer({ min: 0, max: 2 ** 41 });
    fc.assert(
      fc.property(alphanumeric, time, (prefix, ms) => {
        expect(timeOfApiKey(makeApiKey(prefix, ms))).toBe(ms - (ms % 1000));
      }),
    );
  });

  it('differs from a value with any single character changed', () => {
    const key = makeApiKey('gw');
    const at = fc.nat(key.length - 1);
    const to = fc.stringMatching(/^[0-9A-Za-z]$/);
    fc.assert(
      fc.property(at, to, (index, character) => {
        const changed = key.slice(0, index) + character + key.slice(index + 1);
        expect(isWellFormedApiKey(changed)).toBe(changed === key);
      }),
    );
  });

  it('matches nothing else', () => {
    fc.assert(fc.property(fc.string(), (text) => !isWellFormedApiKey(text)));
    const key = makeApiKey('');
    const others = ['', `${key} `, `${key}\n`, key.slice(1), `${key}a`, `x${key}`, key.repeat(2)];
    expect(others.filter(isWellFormedApiKey)).toEqual([]);
  });

  it('shows its first two and last three characters in the mask', () => {
    expect(maskApiKey('abcdefghijklmnop')).toBe('ab*****nop');
  });
});
