/** Reads the private key with which an OAuth client signs its assertions (RFC 7523). */
import { createPrivateKey, type KeyObject } from 'node:crypto';

export interface SigningKey {
  readonly key: KeyObject;
  /** Name of the signature algorithm (RFC 7518). */
  readonly algorithm: string;
  /** The `kid` of a JWK; null for none. */
  readonly keyId: string | null;
}

const rsaBitsMin = 2048;
const curves: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** Returns a fault that completes "oauth_private_key …" and contains nothing of the text. */
export function readSigningKey(text: string): SigningKey | { readonly fault: string } {
  try {
    const jwk = text.trimStart().startsWith('{')
      ? (JSON.parse(text) as Record<string, unknown>)
      : null;
    const key =
      jwk === null ? createPrivateKey(text) : createPrivateKey({ key: jwk, format: 'jwk' });
    const algorithm = algorithmOf(key);
    if (algorithm === null) {
      return { fault: `must be RSA of ${rsaBitsMin} bits or more, P-256, P-384, P-521 or Ed25519` };
    }
    return { key, algorithm, keyId: typeof jwk?.kid === 'string' ? jwk.kid : null };
  } catch {
    return { fault: 'must be a private key in PEM without a passphrase, or a JWK' };
  }
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject) {
  if (type === 'rsa' && (details?.modulusLength ?? 0) >= rsaBitsMin) return 'RS256';
  if (type === 'ec') return curves[details?.namedCurve ?? ''] ?? null;
  return type === 'ed25519' ? 'EdDSA' : null;
}
