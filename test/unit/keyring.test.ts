/** Guarantees of the keyring: a key for each purpose, and sealed values that cannot be altered or moved. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyring } from '../../src/auth/keyring.ts';
import { Secret } from '../../src/secret.ts';

function keyring(fill: number) {
  return createKeyring(new Secret(Buffer.alloc(32, fill), 'test'));
}

const context = fc.string();

describe('the keyring', () => {
  it('opens what it sealed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), context, (text, place) => {
        expect(keyring(1).unseal(keyring(1).seal(text, place), place)).toBe(text);
      }),
    );
  });

  it('refuses a value that was altered, moved or sealed under another key', () => {
    const ring = keyring(1);
    const sealed = ring.seal('a secret', 'table|row|field');
    const bytes = Buffer.from(sealed.split('.')[2]!, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const altered = Buffer.from(bytes);
      altered[bit >> 3]! ^= 1 << (bit & 7);
      const text = `${sealed.split('.').slice(0, 2).join('.')}.${altered.toString('base64url')}`;
      expect(() => ring.unseal(text, 'table|row|field')).toThrow();
    }
    expect(() => ring.unseal(sealed, 'table|other|field')).toThrow();
    expect(() => keyring(2).unseal(sealed, 'table|row|field')).toThrow();
    expect(() => ring.unseal('v2.a.b', 'table|row|field')).toThrow('unknown form');
  });

  it('refuses a value whose tag was cut short', () => {
    const ring = keyring(1);
    const [version, nonce, body] = ring.seal('a secret', 'x').split('.') as [
      string,
      string,
      string,
    ];
    const cut = Buffer.from(body, 'base64url').subarray(0, 12).toString('base64url');
    expect(() => ring.unseal(`${version}.${nonce}.${cut}`, 'x')).toThrow();
  });

  it('never seals the same text the same way twice', () => {
    const ring = keyring(1);
    const all = Array.from({ length: 1000 }, () => ring.seal('a', 'x'));
    expect(new Set(all.map((one) => one.split('.')[2])).size).toBe(1000);
  });

  it('keeps its purposes apart', () => {
    const ring = keyring(1);
    const derived = [
      ring.hashCredential('x'),
      ring.fingerprintKey('org', 'owner'),
      ring.fingerprintKey('org', 'other'),
      ring.fingerprintKey('other', 'owner'),
      ring.tokenSigningSeed,
      Buffer.from(ring.check, 'hex'),
    ].map((bytes) => bytes.toString('hex'));
    expect(new Set(derived).size).toBe(derived.length);
  });

  it('has the same keys for the same master key and none in common with another', () => {
    expect(keyring(1).hashCredential('x')).toEqual(keyring(1).hashCredential('x'));
    expect(keyring(1).hashCredential('x')).not.toEqual(keyring(2).hashCredential('x'));
    expect(keyring(1).check).not.toBe(keyring(2).check);
  });

  it('derives a tenant and secrets of service accounts that are the same for the same master key only', () => {
    const secretOf = (fill: number, client: string) =>
      keyring(fill).deriveClientSecret(client).reveal();
    expect(keyring(1).derivedTsgId).toMatch(/^[1-9]\d{9}$/);
    expect(keyring(1).derivedTsgId).toBe(keyring(1).derivedTsgId);
    expect(keyring(2).derivedTsgId).not.toBe(keyring(1).derivedTsgId);
    expect(secretOf(1, 'a')).toBe(secretOf(1, 'a'));
    expect(new Set([secretOf(1, 'a'), secretOf(1, 'b'), secretOf(2, 'a')]).size).toBe(3);
    expect(secretOf(1, 'a')).toHaveLength(43);
  });

  it('does not take a short master key', () => {
    expect(() => createKeyring(new Secret(randomBytes(31), 'test'))).toThrow('31 bytes');
  });
});
