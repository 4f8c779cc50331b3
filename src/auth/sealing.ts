/** Seals texts with AES-256-GCM under derived keys, bound to the place where they are stored. */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/** A sealing key and its id. The id is part of every sealed text and reveals nothing of the key. */
export interface SealingKey {
  readonly id: string;
  readonly key: KeyObject;
}

const idBytes = 8;
const saltBytes = 12;
const nonceBytes = 12;
const tagBytes = 16;

/** Derives 32 bytes for one purpose by HKDF-SHA256. */
export function deriveKey(from: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', from, '', `gatewright/${purpose}/v1`, 32));
}

/** Derives the sealing key for one purpose; keys of different purposes reveal nothing of each other. */
export function sealingKey(from: Buffer, purpose: string): SealingKey {
  const id = deriveKey(from, `${purpose}-id`).toString('hex', 0, idBytes);
  return { id, key: createSecretKey(deriveKey(from, purpose)) };
}

/**
 * AES-256-GCM, text form `v1.<key id>.<salt+nonce>.<ciphertext+tag>`; `place` is authenticated. Each
 * text is sealed under its own key, derived with the salt, so that the number of texts is not limited.
 */
export function sealText({ id, key }: SealingKey, plaintext: string, place: string): string {
  const salted = randomBytes(saltBytes + nonceBytes);
  const nonce = salted.subarray(saltBytes);
  const cipher = createCipheriv('aes-256-gcm', valueKey(key, salted), nonce);
  cipher.setAAD(Buffer.from(place));
  const body = Buffer.concat([
    cipher.update(plaintext, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `v1.${id}.${salted.toString('base64url')}.${body.toString('base64url')}`;
}

/** Reverses {@link sealText}; throws when the text was altered, moved or sealed under another key. */
export function unsealText({ id, key }: SealingKey, sealed: string, place: string): string {
  const { keyId, salted, body } = partsOf(sealed);
  if (keyId !== id) throw new TypeError(`a value was sealed under the key ${keyId}, not ${id}`);
  // Without `authTagLength` a tag cut to four bytes would be accepted, and four bytes can be guessed.
  const decipher = createDecipheriv(
    'aes-256-gcm',
    valueKey(key, salted),
    salted.subarray(saltBytes),
    { authTagLength: tagBytes },
  );
  decipher.setAAD(Buffer.from(place)).setAuthTag(body.subarray(-tagBytes));
  const opened = [decipher.update(body.subarray(0, -tagBytes)), decipher.final()];
  return Buffer.concat(opened).toString('utf8');
}

interface TextSealerOptions {
  /** Called once, when the first text is sealed or opened. */
  readonly readKey: () => Buffer;
  /** Texts of one purpose cannot be opened for another. */
  readonly purpose: string;
  /** Longer texts are refused unread. */
  readonly sealedCharsMax: number;
}

/** Seals texts that callers hold for the gateway, such as session ids, so that any replica can open them. */
export class TextSealer {
  readonly #options: TextSealerOptions;
  #key: SealingKey | null = null;

  constructor(options: TextSealerOptions) {
    this.#options = options;
  }

  /** `place` says whose text it is; no other place opens it. */
  seal(text: string, place: string): string {
    return sealText(this.#sealingKey(), text, place);
  }

  /** Null for a text that was altered, belongs to another place, or was never sealed: callers cannot tell these apart. */
  open(sealed: string, place: string): string | null {
    if (sealed.length > this.#options.sealedCharsMax) return null;
    try {
      return unsealText(this.#sealingKey(), sealed, place);
    } catch {
      return null;
    }
  }

  #sealingKey(): SealingKey {
    const { readKey, purpose } = this.#options;
    this.#key ??= sealingKey(readKey(), purpose);
    return this.#key;
  }
}

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

function valueKey(key: KeyObject, salted: Buffer): Buffer {
  const salt = salted.subarray(0, saltBytes);
  return Buffer.from(hkdfSync('sha256', key, salt, 'gatewright/value/v1', 32));
}
