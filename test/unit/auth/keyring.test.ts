/** Tests the keyring: one key per purpose, and sealed values that cannot be altered or moved. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealer, deriveKeys, type Sealer } from '../../../src/auth/keyring.ts';
import { createMasterKeys } from '../../../src/auth/master-keys.ts';
import { sealingKey } from '../../../src/auth/sealing.ts';
import { Secret } from '../../../src/secret.ts';
import { masterKeysOf } from '../../support/server/server.ts';

function sealerOf(fill: number, organisationId = 'a'): Sealer {
  return createSealer(sealingKey(Buffer.alloc(32, fill), 'seal'), organisationId);
}

const place = 'table|row|column';

describe('a sealed value', () => {
  it('opens with the key that sealed it', () => {
    const sealer = sealerOf(1);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, anywhere) => {
        expect(sealer.unseal(sealer.seal(text, anywhere), anywhere)).toBe(text);
      }),
    );
  });

  it('rejects a value with any altered bit, and a value of another form', () => {
    const sealer = sealerOf(1);
    const parts = sealer.seal('a secret', place).split('.');
    for (const at of [2, 3]) {
      const bytes = Buffer.from(parts[at]!, 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const altered = Buffer.from(bytes);
        altered[bit >> 3]! ^= 1 << (bit & 7);
        const text = parts.with(at, altered.toString('base64url')).join('.');
        expect(() => sealer.unseal(text, place)).toThrow();
      }
    }
    for (const text of [
      '',
      'v1',
      'v1.a.b',
      parts.with(0, 'v2').join('.'),
      [...parts, ''].join('.'),
    ]) {
      expect(() => sealer.unseal(text, place)).toThrow('unknown form');
    }
  });

  it('rejects a value in another location, of another organisation, or under another key', () => {
    const sealed = sealerOf(1).seal('a secret', place);
    expect(() => sealerOf(1).unseal(sealed, 'table|other|column')).toThrow();
    expect(() => sealerOf(1, 'b').unseal(sealed, place)).toThrow();
    expect(() => sealerOf(2).unseal(sealed, place)).toThrow('under the key');
  });

  it('rejects a value with a truncated tag, at every length', () => {
    const sealer = sealerOf(1);
    const parts = sealer.seal('a secret', place).split('.');
    const body = Buffer.from(parts[3]!, 'base64url');
    for (let length = 0; length < body.length; length += 1) {
      const cut = parts.with(3, body.toString('base64url', 0, length)).join('.');
      expect(() => sealer.unseal(cut, place)).toThrow();
    }
  });

  it('never repeats, and never contains the plaintext', () => {
    const sealer = sealerOf(1);
    const all = Array.from({ length: 300 }, () => sealer.seal('canary', place));
    expect(new Set(all.flatMap((one) => one.split('.').slice(2))).size).toBe(600);
    expect(all.join()).not.toContain('canary');
  });
});

describe('the keys of a deployment', () => {
  it('derives one key per purpose', () => {
    const keys = deriveKeys(Buffer.alloc(32, 1));
    const derived = [
      keys.hashCredential('x'),
      keys.fingerprintKey('org', 'owner'),
      keys.fingerprintKey('org', 'other'),
      keys.fingerprintKey('other', 'owner'),
      keys.tokenSigningSeed,
    ].map((bytes) => bytes.toString('hex'));
    expect(new Set(derived).size).toBe(derived.length);
  });

  it('derives the same keys on every replica, and different keys in another deployment', () => {
    const tell = (fill: number) => {
      const keys = deriveKeys(Buffer.alloc(32, fill));
      const secretOf = (client: string) => keys.deriveClientSecret(client).reveal();
      return [
        keys.hashCredential('x').toString('hex'),
        keys.derivedTsgId,
        secretOf('a'),
        secretOf('b'),
      ];
    };
    expect(tell(1)).toEqual(tell(1));
    expect(new Set([...tell(1), ...tell(2)]).size).toBe(8);
    expect(tell(1)[1]).toMatch(/^[1-9]\d{9}$/);
    expect(tell(1)[2]).toHaveLength(43);
  });
});

describe('master keys', () => {
  const key = randomBytes(32);
  const idOf = (fill: number) => createMasterKeys(masterKeysOf(fill)).currentId;

  it('wraps and unwraps under each available master key, for one organisation only', () => {
    const keys = createMasterKeys(masterKeysOf(1, 2));
    for (const id of [idOf(1), idOf(2)]) {
      const wrapped = keys.wrap(id, key, 'a');
      expect(keys.unwrap(wrapped, 'a')).toEqual(key);
      expect(() => keys.unwrap(wrapped, 'b')).toThrow();
    }
  });

  it('names the missing master key, the available ones and the settings, and shows no key', () => {
    const keys = createMasterKeys(masterKeysOf(1, 2));
    const wrapped = createMasterKeys(masterKeysOf(3)).wrap(idOf(3), key, 'a');
    const message = `master key ${idOf(3)}, but this process has ${idOf(1)} and ${idOf(2)}`;
    expect(() => keys.unwrap(wrapped, 'a')).toThrow(message);
    expect(() => keys.wrap(idOf(3), key, 'a')).toThrow('GATEWRIGHT_MASTER_KEY_PREVIOUS');
    expect(keys.faultOf(idOf(2))).toBeNull();
    expect(keys.faultOf(idOf(3))?.message).not.toContain(Buffer.alloc(32, 1).toString('base64'));
  });

  it('reads the keys again when one is missing, and keeps the old ones when that fails', () => {
    let now = masterKeysOf(1);
    const keys = createMasterKeys({ ...now, refresh: () => now });
    expect(keys.faultOf(idOf(2))).not.toBeNull();
    now = masterKeysOf(2, 1);
    expect(keys.faultOf(idOf(2))).toBeNull();
    now = masterKeysOf(3);
    expect(keys.faultOf(idOf(3))).toBeNull();
    expect(keys.faultOf(idOf(1))).toBeNull();
    expect(keys.currentId).toBe(idOf(1));
  });

  it('rejects a key that is too short', () => {
    const short = { ...masterKeysOf(1), current: new Secret(randomBytes(31), 'test') };
    expect(() => createMasterKeys(short)).toThrow('31 bytes');
  });
});
