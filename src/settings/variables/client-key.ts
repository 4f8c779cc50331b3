/** Knows the form of the private key by which this deployment shows an identity provider who it is (RFC 7523). */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { Form } from './forms.ts';

export interface ClientKey {
  readonly jwk: JsonWebKey;
  /** As JWS calls it: `RS256`. */
  readonly algorithm: string;
  /** Null where the key has no name. */
  readonly kid: string | null;
}

/** What everybody may know of the key, as RFC 7517 writes it: the identity provider has to be told it. */
export type PublicKey = Readonly<Record<string, string>>;

const bitsMin = 2048;
const ofCurves: Readonly<Record<string, string>> = {
  ...{ 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' },
};

/** A key as RFC 7517 writes it, alone or as the first of a set. */
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
    const told = JSON.parse(text) as { readonly keys?: readonly JsonWebKey[] } & JsonWebKey;
    const jwk = told.keys === undefined ? told : told.keys[0]!;
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
  const told = createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'jwk' });
  const plain = { ...(told as PublicKey), alg: algorithm, use: 'sig' };
  return kid === null ? plain : { ...plain, kid };
}

/** Null for a key that is none of these. */
function algorithmOf(key: KeyObject, { alg, crv }: JsonWebKey): string | null {
  if (key.asymmetricKeyType === 'ec') return ofCurves[String(crv)] ?? null;
  const isRsa = key.asymmetricKeyType === 'rsa';
  if (!isRsa || (key.asymmetricKeyDetails?.modulusLength ?? 0) < bitsMin) return null;
  return /^[RP]S(?:256|384|512)$/.test(String(alg)) ? String(alg) : 'RS256';
}
