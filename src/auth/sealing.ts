/** Knows how a text is sealed: under a key of its own, and bound to the place that it is made for. */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/** A key that seals, and the name that stands in what it has sealed; the name tells nothing of the key. */
export interface SealingKey {
  readonly id: string;
  readonly key: KeyObject;
}

const idBytes = 8;
const saltBytes = 12;
const nonceBytes = 12;
const tagBytes = 16;

/** 32 bytes for one purpose, by HKDF-SHA256. */
export function deriveKey(from: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', from, '', `gatewright/${purpose}/v1`, 32));
}

/** The key for a purpose, which keys for others tell nothing of. */
export function sealingKey(from: Buffer, purpose: string): SealingKey {
  const id = deriveKey(from, `${purpose}-id`).toString('hex', 0, idBytes);
  return { id, key: createSecretKey(deriveKey(from, purpose)) };
}

/**
 * AES-256-GCM, text form `v1.<key id>.<salt+nonce>.<ciphertext+tag>`; `place` is authenticated. Each
 * text is sealed under a key of its own, made of the salt, so that no number of texts wears a key out.
 */
export function seal({ id, key }: SealingKey, plaintext: string, place: string): string {
  const salted = randomBytes(saltBytes + nonceBytes);
  const nonce = salted.subarray(saltBytes);
  const cipher = createCipheriv('aes-256-gcm', ownKey(key, salted), nonce);
  cipher.setAAD(Buffer.from(place));
  const body = Buffer.concat([
    cipher.update(plaintext, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `v1.${id}.${salted.toString('base64url')}.${body.toString('base64url')}`;
}

/** Reverses {@link seal}; throws when the text was altered, moved or sealed under another key. */
export function unseal({ id, key }: SealingKey, sealed: string, place: string): string {
  const { keyId, salted, body } = partsOf(sealed);
  if (keyId !== id) throw new TypeError(`a value was sealed under the key ${keyId}, not ${id}`);
  // Without its length a tag cut to four bytes would be taken, and four bytes can be guessed.
  const decipher = createDecipheriv(
    'aes-256-gcm',
    ownKey(key, salted),
    salted.subarray(saltBytes),
    { authTagLength: tagBytes },
  );
  decipher.setAAD(Buffer.from(place)).setAuthTag(body.subarray(-tagBytes));
  const opened = [decipher.update(body.subarray(0, -tagBytes)), decipher.final()];
  return Buffer.concat(opened).toString('utf8');
}

/** Which key a text was sealed under. */
export function keyIdOf(sealed: string): string {
  return partsOf(sealed).keyId;
}

function partsOf(sealed: string): { keyId: string; salted: Buffer; body: Buffer } {
  const [version, keyId, salted, body, ...more] = sealed.split('.');
  if (version !== 'v1' || keyId === undefined || salted === undefined || body === undefined) {
    throw new TypeError('a sealed value has an unknown form');
  }
  if (more.length > 0) throw new TypeError('a sealed value has an unknown form');
  return {
    keyId,
    salted: Buffer.from(salted, 'base64url'),
    body: Buffer.from(body, 'base64url'),
  };
}

function ownKey(key: KeyObject, salted: Buffer): Buffer {
  const salt = salted.subarray(0, saltBytes);
  return Buffer.from(hkdfSync('sha256', key, salt, 'gatewright/value/v1', 32));
}
