/**
 * Tests access tokens: valid for 900 seconds, only with our signature, and only for their claims.
 */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto';
import fc from 'fast-check';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createAccessTokens, type TokenGrant } from '../../../src/auth/access-token.ts';
import { ApiError } from '../../../src/model/wire/errors.ts';

const seed = Buffer.alloc(32, 1);
const tokens = createAccessTokens({ tokenSigningSeed: seed });
const grant: TokenGrant = {
  serviceAccountId: '5f0c2f3e-1d2b-4c3a-9e8f-7a6b5c4d3e2f',
  tsgId: '1234567890',
  workspaceId: null,
  roles: ['superuser'],
};
const ownKey = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
  format: 'der',
  type: 'pkcs8',
});
const now = Date.UTC(2027, 0, 1, 0, 0, 0, 900);

function refused(token: string, at = now): Promise<unknown> {
  return expect(tokens.verify(token, at)).rejects.toMatchObject({
    kind: 'unauthorized',
    message: 'Unauthorized access',
  });
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

async function partsOf(
  token: string,
): Promise<{ header: object; payload: object; rest: string[] }> {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const decode = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
  return { header: decode(header), payload: decode(payload), rest: [header, payload, signature] };
}

describe('an access token', () => {
  it('states its subject and audience, also when bound to a workspace', async () => {
    expect(await tokens.verify(await tokens.issue(grant, now), now)).toEqual(grant);
    const bound = {
      ...grant,
      workspaceId: '1d2b4c3a-5f0c-4f3e-9e8f-7a6b5c4d3e2f',
      roles: ['a', 'b'],
    };
    expect(await tokens.verify(await tokens.issue(bound, now), now)).toEqual(bound);
  });

  it.each([0, 899_000, 899_999, 900_000])(
    'accepts a token %i ms after it was issued',
    async (age) => {
      const token = await tokens.issue(grant, now);
      expect(await tokens.verify(token, now + age)).toEqual(grant);
    },
  );

  it.each([901_000, 3_600_000])('rejects a token %i ms after it was issued', async (age) => {
    await refused(await tokens.issue(grant, now), now + age);
  });

  it('is valid on every replica with the same master key, and on no other', async () => {
    const token = await tokens.issue(grant, now);
    expect(await createAccessTokens({ tokenSigningSeed: seed }).verify(token, now)).toEqual(grant);
    const other = createAccessTokens({ tokenSigningSeed: Buffer.alloc(32, 2) });
    await expect(other.verify(token, now)).rejects.toMatchObject({ kind: 'unauthorized' });
  });

  it('carries the claims that clients decode', async () => {
    const { payload } = await partsOf(await tokens.issue(grant, now));
    expect(payload).toMatchObject({
      tsg_id: '1234567890',
      access: ['superuser'],
      iss: 'gatewright',
      aud: 'gatewright-admin',
      jti: expect.any(String),
    });
  });

  it('rejects a token in which any byte was changed', async () => {
    const token = await tokens.issue(grant, now);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: token.length - 2 }), fc.nat({ max: 61 }), async (at, pick) => {
        const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
        fc.pre(token[at] !== alphabet[pick] && token[at] !== '.');
        await refused(token.slice(0, at) + alphabet[pick] + token.slice(at + 1));
      }),
      { numRuns: 100 },
    );
  });

  it.each(['none', 'None', 'HS256', 'ES256', 'RS256'])(
    'rejects a token of algorithm %s',
    async (alg) => {
      const { header, rest } = await partsOf(await tokens.issue(grant, now));
      const head = part({ ...header, alg });
      const publicKey = createPublicKey({
        key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), randomBytes(32)]),
        format: 'der',
        type: 'spki',
      }).export({ format: 'pem', type: 'spki' });
      const mac = createHmac('sha256', publicKey).update(`${head}.${rest[1]}`).digest('base64url');
      for (const signature of ['', rest[2], mac]) await refused(`${head}.${rest[1]}.${signature}`);
    },
  );

  it.each([
    { kid: '../../etc/passwd' },
    { kid: "' OR 1=1" },
    { kid: 'x'.repeat(4000) },
    { kid: undefined },
    { crit: ['b64'], b64: false },
    { crit: ['unknown'] },
    { typ: 'JWT' },
  ])('rejects header %j even when our own key signed the token', async (changes) => {
    const { header, payload } = await partsOf(await tokens.issue(grant, now));
    const text = `${part({ ...header, ...changes })}.${part(payload)}`;
    const signature = sign(null, Buffer.from(text), ownKey).toString('base64url');
    await refused(`${text}.${signature}`);
  });

  it.each([
    { iss: 'other' },
    { aud: 'gatewright-inference' },
    { exp: undefined },
    { sub: undefined },
    { tsg_id: undefined },
    { jti: undefined },
  ])('rejects claims %j even when our own key signed the token', async (changes) => {
    const { header, payload } = await partsOf(await tokens.issue(grant, now));
    const text = `${part(header)}.${part({ ...payload, ...changes })}`;
    const signature = sign(null, Buffer.from(text), ownKey).toString('base64url');
    await refused(`${text}.${signature}`);
  });

  it.each(['jku', 'x5u', 'jwk'])('rejects a token that brings its own key by %s', async (name) => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { header, payload } = await partsOf(await tokens.issue(grant, now));
    const value = name === 'jwk' ? publicKey.export({ format: 'jwk' }) : 'http://127.0.0.1:1/keys';
    const forged = await new SignJWT(payload as Record<string, string>)
      .setProtectedHeader({ ...header, alg: 'EdDSA', [name]: value })
      .sign(privateKey);
    await refused(forged);
  });

  it('rejects any text that is not a token', async () => {
    for (const text of ['', 'a', 'a.b.c', '..', 'x'.repeat(100_000)]) await refused(text);
    await fc.assert(fc.asyncProperty(fc.string(), (text) => refused(text).then(() => {})));
  });

  it('rejects with an error that callers can distinguish from an internal fault', async () => {
    await expect(tokens.verify('a.b.c', now)).rejects.toBeInstanceOf(ApiError);
  });
});
