/** Provides one API key of every kind, valid and ended, and every way to send it. */
import { makeApiKey } from '../../../src/model/people/credentials.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';
import { insertCounter } from '../rows/usage-rows.ts';
import { addUser, ownerOf } from '../server/people.ts';
import type { TestServer } from '../server/server.ts';
import {
  asBearer,
  asKey,
  type Grants,
  type OfferedCredential,
  wholeOrganisation,
} from './offered-credential.ts';

interface NewKey {
  readonly id: string;
  readonly key: string;
}

/** `memberId` is a member of the first workspace. */
export async function offeredKeys(
  server: TestServer,
  workspaceIds: readonly [string, string],
  memberId: string,
): Promise<OfferedCredential[]> {
  const good = await goodKeys(server, workspaceIds, memberId);
  const ended = Object.entries(await endedKeys(server)).map(([name, value]) => ({
    name: `key that is ${name}`,
    value,
    grants: null,
  }));
  const [{ value }] = good as [(typeof good)[number]];
  const whole = { kind: 'api-key', grants: wholeOrganisation } as const;
  const everywhere = { ...asKey(value), 'x-portkey-api-key': value };
  return [
    ...[...good, ...ended].flatMap(({ name, value: own, grants }): OfferedCredential[] => [
      { name, headers: asKey(own), kind: 'api-key', grants },
      { name: `${name}, as bearer`, headers: asBearer(own), kind: 'bearer-key', grants },
    ]),
    { ...whole, name: 'key by its older name', headers: { 'x-portkey-api-key': value } },
    { ...whole, name: 'key by both names', headers: everywhere },
    { ...whole, name: 'key as to a provider', headers: { 'x-api-key': value }, grants: null },
  ];
}

async function goodKeys(
  server: TestServer,
  [one, two]: readonly [string, string],
  memberId: string,
) {
  const make = async (name: string, type: string, more: object, grants: Partial<Grants> = {}) => ({
    name,
    grants: { ...wholeOrganisation, ...grants },
    value: (await addKey(server, type, more)).key,
  });
  const scoped = (name: string, ...scopes: string[]) =>
    make(name, 'organisation/service', { scopes }, { scopes });
  const inWorkspace = (name: string, workspaceId: string) =>
    make(name, 'workspace/service', { workspace_id: workspaceId }, { workspaceId });
  const ofMember = { workspace_id: one, user_id: memberId };
  const held = { workspaceId: one, isOfMember: true };
  return [
    await make('service key', 'organisation/service', {}),
    await make('user key of the owner', 'organisation/user', { user_id: await ownerOf(server) }),
    await inWorkspace('service key of workspace 1', one),
    await inWorkspace('service key of workspace 2', two),
    await make('user key of a member of workspace 1', 'workspace/user', ofMember, held),
    await scoped('key of a caller of the gateway', 'completions.write'),
    await scoped('token of a directory', 'organisation_users.update'),
    await scoped('token of a client of MCP', 'mcp.invoke', 'mcp_servers.list'),
  ];
}

async function addKey(server: TestServer, type: string, more: object = {}): Promise<NewKey> {
  const body = { name: 'a key', scopes: allScopes, ...more };
  const { status, body: made } = await server.request('POST', `/v1/api-keys/${type}`, { body });
  if (status !== 200) throw new Error(`no key: ${JSON.stringify(made)}`);
  return made;
}

/** Formerly valid values, by the reason why they ended. */
async function endedKeys(server: TestServer): Promise<Record<string, string>> {
  const { database, clock } = server;
  const now = clock.now();
  const add = (more: object = {}) => addKey(server, 'organisation/service', more);
  const change = ({ id }: NewKey, columns: { expires_at: number } | { status: 'expired' }) =>
    database.db.updateTable('api_keys').set(columns).where('id', '=', id).execute();
  const over = await add({ expires_at: new Date(now + 60_000).toISOString() });
  await change(over, { expires_at: now });
  const marked = await add();
  await change(marked, { status: 'expired' });
  const revoked = await add();
  await server.request('DELETE', `/v1/api-keys/${revoked.id}`);
  const rotated = await add();
  await server.request('POST', `/v1/api-keys/${rotated.id}/rotate`, { body: {} });
  await database.db
    .updateTable('api_key_hashes')
    .set({ valid_until: now })
    .where('api_key_id', '=', rotated.id)
    .where('valid_until', 'is not', null)
    .execute();
  return {
    'past its end': over.key,
    'marked as expired': marked.key,
    revoked: revoked.key,
    'rotated out': rotated.key,
    exhausted: (await exhaustedKey(server)).key,
    'of somebody inactive': (await keyOfInactive(server)).key,
    "nobody's": makeApiKey(''),
    malformed: 'garbage',
  };
}

export async function exhaustedKey(server: TestServer): Promise<NewKey> {
  const { database, organisationId } = server;
  const usage_limits = { type: 'cost', credit_limit: 1 };
  const made = await addKey(server, 'organisation/service', { usage_limits });
  const { window_start: windowStart } = await database.db
    .selectFrom('usage_budgets')
    .select('window_start')
    .where('subject_id', '=', made.id)
    .executeTakeFirstOrThrow();
  const subject = { organisationId, kind: 'api_key', id: made.id } as const;
  await insertCounter(database.db, subject, { windowStart, used: 1_000_000 });
  return made;
}

async function keyOfInactive(server: TestServer): Promise<NewKey> {
  const email = 'inactive@example.com';
  const user_id = await addUser(server, { email });
  const made = await addKey(server, 'organisation/user', { user_id });
  const body = { userName: email, active: false };
  await server.request('PUT', `/v1/scim/v2/Users/${user_id}`, { body });
  return made;
}
