/** Parses the private key with which this deployment authenticates to an identity provider (RFC 7523). */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Form } from './forms.ts';

export interface ClientKey {
  readonly jwk: JsonWebKey;
  /** JWS algorithm name: `RS256`. */
  readonly algorithm: string;
  /** Key ID; null when the key has none. */
  readonly kid: string | null;
}

/** The public part as a JWK (RFC 7517), to be registered at the identity provider. */
export type PublicKey = Readonly<Record<string, string>>;

const bitsMin = 2048;
const ofCurves: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
};

/** A JWK (RFC 7517), or the first key of a JWK set. */
export const clientKey: Form<ClientKey> = {
  schema: z.string().transform((text, context) => {
    const key = readKey(text);
    if (key !== null) return key;
    context.addIssue({ code: 'custom', message: 'no private key' });
    return z.NEVER;
  }),
  expected: `a JSON Web Key Set that begins with a private key of EC or of RSA with ${bitsMin} bits, or a path to a file of it`,
  example: '/run/secrets/sign-in-jwks.json',
};

function readKey(text: string): ClientKey | null {
  try {
    const parsed = JSON.parse(text) as { readonly keys?: readonly JsonWebKey[] } & JsonWebKey;
    const jwk = parsed.keys === undefined ? parsed : parsed.keys[0]!;
    const algorithm = algorithmOf(createPrivateKey({ key: jwk, format: 'jwk' }), jwk);
    const { kid } = jwk;
    return algorithm === null
      ? null
      : { jwk, algorithm, kid: typeof kid === 'string' ? kid : null };
  } catch {
    return null;
  }
}

export function publicKeyOf({ jwk, algorithm, kid }: ClientKey): PublicKey {
  const exported = createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'jwk' });
  const plain = { ...(exported as PublicKey), alg: algorithm, use: 'sig' };
  return kid === null ? plain : { ...plain, kid };
}

/** Null for an unsupported key. */
function algorithmOf(key: KeyObject, { alg, crv }: JsonWebKey): string | null {
  if (key.asymmetricKeyType === 'ec') return ofCurves[String(crv)] ?? null;
  const isRsa = key.asymmetricKeyType === 'rsa';
  if (!isRsa || (key.asymmetricKeyDetails?.modulusLength ?? 0) < bitsMin) return null;
  return /^[RP]S(?:256|384|512)$/.test(String(alg)) ? String(alg) : 'RS256';
}
