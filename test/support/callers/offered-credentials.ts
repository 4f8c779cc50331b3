/**
 * Provides one credential of every kind, valid and invalid, of two organisations and two
 * workspaces.
 */
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import { scopesOfMember } from '../../../src/model/people/scopes.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { addUser, ownerOf } from '../server/people.ts';
import { fetchToken, type TestServer } from '../server/server.ts';
import { addSession } from '../server/sessions.ts';
import {
  asBearer,
  asKey,
  type Grants,
  type OfferedCredential,
  wholeOrganisation,
} from './offered-credential.ts';
import { offeredKeys } from './offered-keys.ts';
import { offeredTokens } from './offered-tokens.ts';

/** Requires a server with sign-in enabled. */
export async function offeredCredentials(server: TestServer): Promise<OfferedCredential[]> {
  const workspaceIds = [await addWorkspace(server), await addWorkspace(server)] as const;
  const memberId = await addUser(server);
  const joined = await server.request('POST', `/v1/admin/workspaces/${workspaceIds[0]}/users`, {
    body: { users: [{ id: memberId, role: 'member' }] },
  });
  if (joined.status !== 200) throw new Error(`no member: ${JSON.stringify(joined.body)}`);
  return [
    ...malformed(),
    ...(await offeredTokens(server, workspaceIds)),
    ...(await offeredKeys(server, workspaceIds, memberId)),
    ...(await sessionsOf(server, workspaceIds, memberId)),
    ...(await foreignOnes(server)),
  ];
}

async function addWorkspace(server: TestServer): Promise<string> {
  const made = await server.request('POST', '/admin/v2/workspaces', { body: { name: 'one' } });
  return made.body.id;
}

function malformed(): OfferedCredential[] {
  const basic = Buffer.from('nobody:nothing').toString('base64');
  return [
    'Bearer garbage',
    'Bearer',
    'Bearer a b',
    'bearer\ta',
    'Negotiate abc',
    `Basic ${basic}`,
  ].map((authorization) => ({
    name: `authorization: ${authorization}`,
    headers: { authorization },
    kind: 'access-token',
    grants: null,
  }));
}

async function sessionsOf(
  server: TestServer,
  [one, two]: readonly [string, string],
  memberId: string,
): Promise<OfferedCredential[]> {
  const session = async (name: string, userId: string, grants: Partial<Grants> | null) => {
    const { id, headers } = await addSession(server, userId);
    const all = grants && { ...wholeOrganisation, ...grants };
    return { id, name: `session ${name}`, headers, kind: 'session' as const, grants: all };
  };
  const ended = async (
    name: string,
    columns: { expires_at: number } | { last_used_at: number },
  ) => {
    const made = await session(name, await ownerOf(server), null);
    const { db } = server.database;
    await db.updateTable('user_sessions').set(columns).where('id', '=', made.id).execute();
    return made;
  };
  const owner = await session('of the owner', await ownerOf(server), {});
  const named = { ...owner.headers, 'gatewright-workspace': two };
  const member = { scopes: scopesOfMember('member'), workspaceId: one, isOfMember: true };
  const cookie = owner.headers.cookie!;
  return [
    owner,
    {
      ...owner,
      name: 'session of the owner in workspace 2',
      headers: named,
      grants: { ...wholeOrganisation, workspaceId: two },
    },
    await session('of a member of workspace 1', memberId, member),
    await session('of somebody in no workspace', await addUser(server), {
      scopes: [],
      isOfMember: true,
    }),
    await ended('that is over', { expires_at: server.clock.now() }),
    await ended('that was idle', { last_used_at: 0 }),
    ...[`${cookie}x`, `${cookie}; ${cookie}`, cookie.replace(/[^.]+$/, ''), '=;;='].map((text) => ({
      name: 'session by a wrong cookie',
      headers: { ...owner.headers, cookie: text },
      kind: 'session' as const,
      grants: null,
    })),
  ];
}

/** Credentials of the superuser, the key and the owner of another organisation. */
async function foreignOnes(server: TestServer): Promise<OfferedCredential[]> {
  const { app, url, clock, database } = server;
  const { keyring } = app;
  const tenant = await bootstrapTenant(database, {
    keyring,
    name: 'other',
    apiKeyPrefix: '',
    now: clock.now(),
  });
  const token = await fetchToken(url, { ...tenant, clientSecret: tenant.clientSecret.reveal() });
  const { organisationId } = tenant;
  const owner = await addSession(
    { app, clock, organisationId },
    await ownerOf({ database, organisationId }),
  );
  const grants = { ...wholeOrganisation, organisation: 'other' } as const;
  const key = tenant.organisationApiKey.reveal();
  return [
    {
      name: 'token of another organisation',
      headers: asBearer(token),
      kind: 'access-token',
      grants,
    },
    { name: 'key of another organisation', headers: asKey(key), kind: 'api-key', grants },
    { name: 'session of another organisation', headers: owner.headers, kind: 'session', grants },
  ];
}

/** Headers with two credentials, which is ambiguous. */
export function doubled(server: TestServer, token: string): Readonly<Record<string, string>>[] {
  const key = asKey(server.organisationApiKey);
  return [
    { ...asBearer(token), ...key },
    { ...asBearer('garbage'), ...asKey('garbage') },
    { ...asBearer(server.organisationApiKey), ...key },
    { ...key, 'x-portkey-api-key': makeApiKey('') },
    { authorization: 'Basic YTpi', 'x-portkey-api-key': server.organisationApiKey },
  ];
}
