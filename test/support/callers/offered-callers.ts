/**
 * Provides one credential of every kind for the gateway, valid and invalid, of two organisations,
 * and every way to send it.
 */
import { createHmac } from 'node:crypto';
import { exportSPKI, importJWK } from 'jose';
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';
import type { Settings } from '../../../src/settings.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { addUser } from '../server/people.ts';
import type { TestServer } from '../server/server.ts';
import { addKeyCaller } from '../server/tenant.ts';
import { offeredKeys } from './offered-keys.ts';
import type { TokenIssuer } from './token-issuer.ts';

export interface OfferedCaller {
  readonly name: string;
  readonly value: string;
  readonly isToken: boolean;
  /** The error code with which it is rejected, or its scopes. */
  readonly worth: string | { readonly scopes: readonly string[] };
}

const offeredIssuer = 'https://issuer.example.com';
const offeredAudience = 'gatewright';

/** Trusts the issuer for all organisations, and the other one for an unknown organisation. */
export function tokenSettings(
  issuer: TokenIssuer,
  stranger: TokenIssuer,
): NonNullable<Settings['inference']['tokens']> {
  return {
    keySets: [
      { url: issuer.url, tsgId: null },
      { url: stranger.url, tsgId: '9999999999' },
    ],
    issuer: offeredIssuer,
    audience: offeredAudience,
    clockToleranceSeconds: 5,
    defaultScopes: [],
  };
}

/** Error codes for ended keys. */
const codesOfEnded: Readonly<Record<string, string>> = {
  'key that is past its end': 'api_key_expired',
  'key that is marked as expired': 'api_key_expired',
  'key that is exhausted': 'usage_limit_exceeded',
};

export async function offeredCallers(
  server: TestServer,
  issuers: readonly [TokenIssuer, TokenIssuer],
): Promise<OfferedCaller[]> {
  const add = async (name: string): Promise<string> => {
    const made = await server.request('POST', '/v1/admin/workspaces', { body: { name } });
    return made.body.id;
  };
  const [one, two, gone] = [await add('one'), await add('two'), await add('gone')];
  const ofGone = (await addKeyCaller(server, allScopes, gone)).key;
  const body = { force_delete: true };
  await server.request('DELETE', `/v1/admin/workspaces/${gone}`, { body });
  const memberId = await addUser(server);
  await server.request('POST', `/v1/admin/workspaces/${one}/users`, {
    body: { users: [{ id: memberId, role: 'member' }] },
  });
  const keys = await offeredKeys(server, [one, two], memberId);
  const ours = keys.flatMap(({ name, headers, kind, grants }): OfferedCaller[] => {
    const value = headers['x-gateway-api-key'];
    if (value === undefined || kind !== 'api-key' || name === 'key by both names') return [];
    const worth = grants ?? codesOfEnded[name] ?? 'invalid_api_key';
    return [{ name, value, isToken: false, worth }];
  });
  const other = await bootstrapTenant(server.database, {
    keyring: server.app.keyring,
    name: 'other',
    apiKeyPrefix: '',
    now: server.clock.now(),
  });
  const key = (name: string, value: string, worth: OfferedCaller['worth'] = 'invalid_api_key') => ({
    name,
    value,
    worth,
    isToken: false,
  });
  return [
    ...ours,
    key('key of another organisation', other.organisationApiKey.reveal(), { scopes: allScopes }),
    key('key of a workspace that is archived', ofGone),
    key('key with another end', `${makeApiKey('').slice(0, -1)}!`),
    key('key of 8 KiB', 'a'.repeat(8192)),
    key('key beyond ASCII', 'cl\u00e9'.repeat(8)),
    key('token of the Admin API', await server.token(), 'invalid_token'),
    ...(await offeredJwts(server, issuers, { other: other.tsgId, one, gone })),
  ];
}

/** Ids of an organisation and its workspaces. */
interface Places {
  readonly other: string;
  readonly one: string;
  readonly gone: string;
}

async function offeredJwts(
  server: TestServer,
  [issuer, stranger]: readonly [TokenIssuer, TokenIssuer],
  { other, one, gone }: Places,
): Promise<OfferedCaller[]> {
  const [mine, theirs] = [await issuer.addKey('main'), await stranger.addKey('theirs')];
  const seconds = Math.floor(server.clock.now() / 1000);
  const scopes = ['completions.write'];
  const claims = (more: object = {}) => ({
    tsg_id: server.tsgId,
    workspace_id: one,
    aud: offeredAudience,
    iss: offeredIssuer,
    sub: 'alice',
    scopes,
    exp: seconds + 3_600,
    ...more,
  });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const open = await importJWK(mine.jwk, 'RS256', { extractable: true });
  if (open instanceof Uint8Array) throw new Error('the key of the issuer is no pair');
  const pem = await exportSPKI(open);
  const forged = (alg: string, secret: string | null) => {
    const text = `${part({ alg, typ: 'JWT', kid: 'main' })}.${part(claims())}`;
    const mac = secret && createHmac('sha256', secret).update(text).digest('base64url');
    return `${text}.${mac ?? ''}`;
  };
  const refused = {
    'of another issuer': await mine.sign(claims({ iss: 'https://other.example.com' })),
    'of no issuer': await mine.sign(claims({ iss: undefined })),
    'for another audience': await mine.sign(claims({ aud: 'other' })),
    'that is not good yet': await mine.sign(claims({ nbf: seconds + 600 })),
    'without an end': await mine.sign(claims({ exp: undefined })),
    'of another type': await mine.sign(claims(), { typ: 'secevent+jwt' }),
    'of an issuer for others': await theirs.sign(claims()),
    'of an organisation that is not there': await mine.sign(claims({ tsg_id: '1000000001' })),
    'of a workspace that is archived': await mine.sign(claims({ workspace_id: gone })),
    "of another's workspace": await mine.sign(claims({ tsg_id: other })),
    'of nobody, unsigned': forged('none', null),
    'signed with what is public': forged('HS256', pem),
    'signed with nothing': forged('RS256', null),
    'of 9 KiB': await mine.sign(claims({ more: 'a'.repeat(9_000) })),
  };
  const token = (name: string, value: string, worth: OfferedCaller['worth']) => ({
    name: `token ${name}`,
    value,
    worth,
    isToken: true,
  });
  return [
    token('of a workspace', await mine.sign(claims()), { scopes }),
    token('of a directory', await mine.sign(claims({ scopes: ['logs.list'] })), {
      scopes: ['logs.list'],
    }),
    token('that is over', await mine.sign(claims({ exp: seconds - 60 })), 'token_expired'),
    ...Object.entries(refused).map(([name, value]) => token(name, value, 'invalid_token')),
  ];
}

/** A value as it is sent. */
export interface PresentedCredential {
  readonly headers: Readonly<Record<string, string>>;
  /** The query string behind the path. */
  readonly query: string;
}

/** Ways to send a value, beside another valid value where there are two. */
export const waysToShow: Readonly<
  Record<string, (value: string, other: string) => PresentedCredential>
> = {
  'as x-gateway-api-key': (value) => headersOf({ 'x-gateway-api-key': value }),
  'as a bearer': (value) => headersOf({ authorization: `Bearer ${value}` }),
  'as a bearer in small letters': (value) => headersOf({ authorization: `bearer ${value}` }),
  'as x-api-key': (value) => headersOf({ 'x-api-key': value }),
  'before a bearer': (value, other) =>
    headersOf({ 'x-gateway-api-key': value, authorization: `Bearer ${other}` }),
  'as a bearer before another': (value, other) =>
    headersOf({ authorization: `Bearer ${value}`, 'x-api-key': other }),
  'as a bearer behind two blanks': (value) => headersOf({ authorization: `Bearer  ${value}` }),
  'as a name for Basic': (value) => headersOf({ authorization: `Basic ${base64(`${value}:`)}` }),
  'as it is': (value) => headersOf({ authorization: value }),
  'as its older name': (value) => headersOf({ 'x-portkey-api-key': value }),
  'as a cookie': (value) => headersOf({ cookie: `api_key=${value}` }),
  'for a proxy': (value) => headersOf({ 'proxy-authorization': `Bearer ${value}` }),
  'in the query': (value) => ({ headers: {}, query: `?api_key=${encodeURIComponent(value)}` }),
};

const headersOf = (headers: Record<string, string>): PresentedCredential => ({
  headers,
  query: '',
});
const base64 = (text: string) => Buffer.from(text).toString('base64');

/**
 * Returns the effective credential of a request as defined in docs/reference/inference.md (Keys),
 * or null.
 */
export function presentedValue({ headers }: PresentedCredential): string | null {
  const bearer = /^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  const key = headers['x-gateway-api-key'] ?? headers['x-portkey-api-key'];
  return key ?? bearer ?? headers['x-api-key'] ?? null;
}
