/** Checks which private keys of OAuth clients are accepted, and with which algorithm they sign. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readSigningKey } from '../../../../src/model/services/signing-key.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ecOf = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const ed = generateKeyPairSync('ed25519').privateKey;
const pemOf = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') =>
  String(key.export({ type, format: 'pem' }));
const jwkOf = (key: KeyObject, more: object = {}) =>
  JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });

describe('a private key', () => {
  it.each([
    ['RS256', rsa],
    ['ES256', ecOf('P-256')],
    ['ES384', ecOf('P-384')],
    ['ES512', ecOf('P-521')],
    ['EdDSA', ed],
  ])('signs with %s, as PEM and as a JWK', (algorithm, key) => {
    expect(readSigningKey(pemOf(key))).toMatchObject({ algorithm, keyId: null });
    expect(readSigningKey(jwkOf(key, { kid: 'a' }))).toMatchObject({ algorithm, keyId: 'a' });
    expect(readSigningKey(jwkOf(key))).toMatchObject({ algorithm, keyId: null });
  });

  it('is read in the older forms of PEM', () => {
    expect(readSigningKey(pemOf(rsa, 'pkcs1'))).toMatchObject({
      algorithm: 'RS256',
    });
    expect(readSigningKey(pemOf(ecOf('P-256'), 'sec1'))).toMatchObject({ algorithm: 'ES256' });
  });

  it.each([
    ['no key', 'canary'],
    ['no JWK', '{"kty":"canary"}'],
    ['broken JSON', '{canary'],
    ['a symmetric key', '{"kty":"oct","k":"canary"}'],
    [
      'a public key',
      generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }),
    ],
    [
      'encrypted',
      rsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }),
    ],
    ['of a curve for signatures of coins', pemOf(ecOf('secp256k1'))],
    ['too short', pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)],
  ])('is refused with a fault that quotes nothing when it is %s', (_, text) => {
    expect(readSigningKey(String(text))).toEqual({ fault: expect.stringMatching(/^must be /) });
    expect(JSON.stringify(readSigningKey(String(text)))).not.toContain('canary');
  });
});
