/** Reads private keys: PEM, encrypted PEM, and the encrypted keys that cosign generates. */
import { createPrivateKey, type KeyObject, scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import { z } from 'zod';

const CosignKey = z.object({
  kdf: z.object({
    name: z.literal('scrypt'),
    params: z.object({ N: z.int().max(2 ** 20), r: z.int().max(64), p: z.int().max(64) }),
    salt: z.base64(),
  }),
  cipher: z.object({ name: z.literal('nacl/secretbox'), nonce: z.base64() }),
  ciphertext: z.base64(),
});

const cosignLabel = /^-----BEGIN ENCRYPTED (?:SIGSTORE|COSIGN) PRIVATE KEY-----$/m;
const scryptBytesMax = 2 ** 30;
const keyBytes = 32;

/**
 * Reads an ECDSA key on the curve P-256. `password` decrypts it and may be empty.
 *
 * @throws Error that names the file and the reason, never its content
 */
export function readSigningKey(path: string, password: string): KeyObject {
  const text = readFileSync(path, 'utf8');
  let key: KeyObject;
  try {
    key = cosignLabel.test(text)
      ? createPrivateKey({ key: openCosignKey(text, password), format: 'der', type: 'pkcs8' })
      : createPrivateKey({ key: text, passphrase: password });
  } catch {
    throw new Error(
      `${path} is not a private key in PEM, or COSIGN_PASSWORD does not decrypt it; create one with openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`,
    );
  }
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve === 'prime256v1') return key;
  throw new Error(`${path} is a key of another kind than ECDSA on the curve P-256`);
}

function openCosignKey(text: string, password: string): Buffer {
  const body = text.replaceAll(/^-----.*-----$/gm, '').replaceAll(/\s/g, '');
  const { kdf, cipher, ciphertext } = CosignKey.parse(
    JSON.parse(Buffer.from(body, 'base64').toString()),
  );
  const { N, r, p } = kdf.params;
  const salt = Buffer.from(kdf.salt, 'base64');
  const secret = scryptSync(password, salt, keyBytes, { N, r, p, maxmem: scryptBytesMax });
  const box = xsalsa20poly1305(secret, Buffer.from(cipher.nonce, 'base64'));
  return Buffer.from(box.decrypt(Buffer.from(ciphertext, 'base64')));
}
