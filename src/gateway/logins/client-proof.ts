/** Proves the identity of an OAuth client to its token endpoint: by its secret, or by a signed assertion. */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { ClientAuth } from 'openid-client';
import { readSigningKey } from '../../model/services/signing-key.ts';
import type { ClientLogin } from './client-login.ts';

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const assertionSeconds = 60;

/** `fault` contains no secret. */
export async function clientProof(
  login: ClientLogin,
  now: number,
): Promise<{ readonly prove: ClientAuth } | { readonly fault: string }> {
  const { clientId, clientSecret, authMethod } = login;
  if (authMethod === 'private_key_jwt') {
    const assertion = await signAssertion(login, now);
    if ('fault' in assertion) return assertion;
    return {
      prove: (_, __, body) => {
        body.set('client_id', clientId);
        body.set('client_assertion_type', assertionType);
        body.set('client_assertion', assertion.text);
      },
    };
  }
  if (authMethod === 'client_secret_post') {
    const { ClientSecretPost } = await import('openid-client');
    return { prove: ClientSecretPost(clientSecret) };
  }
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  const basic = `Basic ${Buffer.from(pair).toString('base64')}`;
  return { prove: (_, __, ___, headers) => headers.set('authorization', basic) };
}

/**
 * The form of RFC 6749 2.3.1. Dashes and dots stay as they are, other than in ClientSecretBasic of
 * openid-client, because some servers decode nothing.
 */
function formEncoded(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length);
}

async function signAssertion(
  { clientId, endpoint, issuer, privateKey, privateKeyId }: ClientLogin,
  now: number,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  const read = readSigningKey(privateKey);
  if ('fault' in read) return { fault: `its oauth_private_key ${read.fault}` };
  const keyId = privateKeyId === '' ? read.keyId : privateKeyId;
  const seconds = Math.floor(now / 1000);
  const text = await new SignJWT()
    .setProtectedHeader({ alg: read.algorithm, ...(keyId !== null && { kid: keyId }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer === '' ? endpoint : issuer)
    .setJti(randomUUID())
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + assertionSeconds)
    .sign(read.key);
  return { text };
}
