/** Knows the keys derived from the master key, one a purpose, and everything done with them. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { Secret } from '../secret.ts';

const masterKeyBytesMin = 32;
const tsgIdMin = 1_000_000_000n;

export interface Keyring {
  /** HMAC-SHA256 of an API key or client secret under the pepper; what the database stores. */
  hashCredential(credential: string): Buffer;
  /** Which pepper that was, kept beside each hash, so that hashes of several can be told apart. */
  readonly pepperId: string;
  /** Key of the HMAC that proves a write-only value unchanged without showing it; another for each organisation and owner. */
  fingerprintKey(organisationId: string, owner: string): Buffer;
  /** AES-256-GCM, text form `v1.<key id>.<nonce>.<ciphertext+tag>`; `context` (table|row|field) is authenticated. */
  seal(plaintext: string, context: string): string;
  /** Reverses {@link seal}; throws when the value was altered, moved or sealed under another master key. */
  unseal(sealed: string, context: string): string;
  /** 32 bytes for the token signer. */
  readonly tokenSigningSeed: Buffer;
  /** Ten digits: the tenant that a deployment has before anybody names one. */
  readonly derivedTsgId: string;
  /** Secret of the service account that every replica can make anew from the master key. */
  deriveClientSecret(clientId: string): Secret;
  /** Proves at boot that this master key is the one the database was made with; not secret. */
  readonly check: string;
}

/** Derives every key by HKDF-SHA256 with a label a purpose (docs/database.md, Master key). */
export function createKeyring(masterKey: Secret<Buffer>): Keyring {
  const master = masterKey.reveal();
  if (master.length < masterKeyBytesMin) {
    throw new RangeError(
      `the master key has ${master.length} bytes; it needs ${masterKeyBytesMin}`,
    );
  }
  const derive = (label: string): Buffer =>
    Buffer.from(hkdfSync('sha256', master, '', `gatewright/${label}/v1`, 32));
  // Read once: a raw key would be taken in anew for every credential.
  const pepper = createSecretKey(derive('pepper'));
  const sealing = { id: shortId(derive('kek-id')), key: derive('kek') };
  const fingerprint = derive('fingerprint');
  const clientSecrets = derive('client-secrets');
  return {
    hashCredential: (credential) => createHmac('sha256', pepper).update(credential).digest(),
    pepperId: shortId(derive('pepper-id')),
    fingerprintKey: (organisationId, owner) =>
      createHmac('sha256', fingerprint).update(`${organisationId}\n${owner}`).digest(),
    seal: (plaintext, context) => seal(sealing, plaintext, context),
    unseal: (sealed, context) => unseal(sealing, sealed, context),
    tokenSigningSeed: derive('token-sign'),
    derivedTsgId: String(tsgIdMin + (derive('tsg-id').readBigUInt64BE() % (9n * tsgIdMin))),
    deriveClientSecret: (clientId) =>
      new Secret(
        createHmac('sha256', clientSecrets).update(clientId).digest('base64url'),
        'derived from the master key',
      ),
    check: derive('kek-check').toString('hex'),
  };
}

const nonceBytes = 12;
const tagBytes = 16;

/** Eight hex digits: enough to tell the few keys of a deployment apart. */
function shortId(derived: Buffer): string {
  return derived.toString('hex', 0, 4);
}

/** A key of one master key; its id stands in what it sealed, so that keys can be changed one day. */
interface SealingKey {
  readonly id: string;
  readonly key: Buffer;
}

function seal({ id, key }: SealingKey, plaintext: string, context: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const body = Buffer.concat([
    cipher.update(plaintext, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return `v1.${id}.${nonce.toString('base64url')}.${body.toString('base64url')}`;
}

function unseal({ id, key }: SealingKey, sealed: string, context: string): string {
  const [version, keyId, nonce, body] = sealed.split('.');
  if (version !== 'v1' || nonce === undefined || body === undefined) {
    throw new TypeError('a sealed value has an unknown form');
  }
  if (keyId !== id) throw new TypeError('a value was sealed under another master key');
  const bytes = Buffer.from(body, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
    // Without it a tag cut to four bytes would be taken, and four bytes can be guessed.
    authTagLength: tagBytes,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]).toString(
    'utf8',
  );
}
