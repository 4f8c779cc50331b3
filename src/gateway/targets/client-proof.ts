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
  const { ClientSecretBasic, ClientSecretPost } = await import('openid-client');
  const prove = authMethod === 'client_secret_post' ? ClientSecretPost : ClientSecretBasic;
  return { prove: prove(clientSecret) };
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
