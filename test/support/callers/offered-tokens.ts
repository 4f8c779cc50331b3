/** Provides one access token of every kind, valid and invalid. */
import { createPrivateKey, randomUUID } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose';
import { createAccessTokens } from '../../../src/auth/access-token.ts';
import {
  formatResource,
  serviceAccountPrincipal,
} from '../../../src/model/people/access-policy.ts';
import { scopesOfRole } from '../../../src/model/people/scopes.ts';
import * as accessPolicies from '../../../src/store/people/access-policies.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import type { TestServer } from '../server/server.ts';
import {
  asBearer,
  type Grants,
  type OfferedCredential,
  wholeOrganisation,
} from './offered-credential.ts';

const lifetimeMs = 901_000;
const reader = 'view_only_admin';
const scopeless = 'auditor:1234567890';

export async function offeredTokens(
  server: TestServer,
  workspaceIds: readonly [string, string],
): Promise<OfferedCredential[]> {
  const account = (await serviceAccounts.findByClientId(server.database.db, server.clientId))!;
  await grantRoles(server, account.name, workspaceIds);
  const [tsgId, now] = [server.tsgId, server.clock.now()];
  const whole = { serviceAccountId: account.id, tsgId, workspaceId: null, roles: ['superuser'] };
  const tokens = createAccessTokens(server.app.keyring);
  const token = async (name: string, more: object, grants: Partial<Grants> | null, at = now) => ({
    name: `token ${name}`,
    kind: 'access-token' as const,
    headers: asBearer(await tokens.issue({ ...whole, ...more }, at)),
    grants: grants && { ...wholeOrganisation, ...grants },
  });
  const good = await token('of a superuser', {}, {});
  const bound = workspaceIds.map((workspaceId, at) =>
    token(`bound to workspace ${at + 1}`, { workspaceId }, { workspaceId }),
  );
  const stranger = createAccessTokens({ tokenSigningSeed: Buffer.alloc(32) });
  const signedElsewhere = asBearer(await stranger.issue(whole, now));
  return [
    good,
    await token('of who only reads', { roles: [reader] }, { scopes: scopesOfRole(reader) }),
    await token('of a role without scopes', { roles: [scopeless] }, { scopes: [] }),
    ...(await Promise.all(bound)),
    await token('that has expired', {}, null, now - lifetimeMs),
    await token('of an account that is gone', { serviceAccountId: randomUUID() }, null),
    await token('of an organisation that is not there', { tsgId: '0000000000' }, null),
    await token('of a workspace without a role', { workspaceId: randomUUID() }, null),
    await token('of a role that was taken away', { roles: ['gone:1234567890'] }, null),
    { ...good, name: 'token signed elsewhere', headers: signedElsewhere, grants: null },
    ...(await forgedTokens(server, good.headers.authorization.slice('Bearer '.length))),
  ];
}

/** Assigns the roles against which tokens are checked at each request. */
async function grantRoles(
  { database, tsgId, clock }: TestServer,
  name: string,
  workspaceIds: readonly string[],
): Promise<void> {
  const principal = serviceAccountPrincipal(name, tsgId);
  const grant = (role: string, workspaceId: string | null) =>
    accessPolicies.insert(database.db, {
      id: randomUUID(),
      tsg_id: tsgId,
      principal,
      role,
      created_at: 0,
      resource: formatResource(tsgId, workspaceId),
    });
  await grant(reader, null);
  await grant(scopeless, null);
  for (const id of workspaceIds) await grant('superuser', id);
  // The server cached the account earlier.
  clock.advance(2_000);
}

/** Tokens with a valid or forged signature that differ from issued tokens. */
async function forgedTokens(
  { app: { keyring } }: TestServer,
  good: string,
): Promise<OfferedCredential[]> {
  const header = { ...decodeProtectedHeader(good), alg: 'EdDSA' };
  const { exp, ...endless } = decodeJwt(good);
  const claims = { ...endless, exp: exp! };
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const der = Buffer.concat([prefix, keyring.tokenSigningSeed]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const signed = (others: object, otherHeader: object = {}) =>
    new SignJWT({ ...endless, ...others })
      .setProtectedHeader({ ...header, ...otherHeader })
      .sign(key);
  const [head, payload, signature] = good.split('.') as [string, string, string];
  const others = Buffer.from(JSON.stringify({ ...claims, access: ['root'] })).toString('base64url');
  const forged = {
    'for another audience': await signed({ exp, aud: 'another' }),
    'of another issuer': await signed({ exp, iss: 'another' }),
    'of another type': await signed({ exp }, { typ: 'JWT' }),
    'under a key of another name': await signed({ exp }, { kid: 'another' }),
    'without an end': await signed({}),
    'without a signature': new UnsecuredJWT(claims).encode(),
    'with its signature cut off': `${head}.${payload}.`,
    'with other claims under its signature': `${head}.${others}.${signature}`,
  };
  return Object.entries(forged).map(([name, text]) => ({
    name: `token ${name}`,
    headers: asBearer(text),
    kind: 'access-token',
    grants: null,
  }));
}
