/**
 * Verifies that no change of a directory passes on rights that its own key does not hold: every route of
 * SCIM that changes something, for every role above the key.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allScopes, scopesOfMember } from '../../../src/model/people/scopes.ts';
import { everyRoute } from '../../support/interface/every-route.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, type Send } from '../../support/server/tenant.ts';

let server: TestServer;
let workspace: string;

beforeAll(async () => {
  server = await startTestServer();
  const made = await server.request('POST', '/v2/workspaces', { body: { name: 'Team' } });
  workspace = made.body.id;
});
afterAll(() => server[Symbol.asyncDispose]());

const users = '/v1/scim/v2/Users';
const groups = '/v1/scim/v2/Groups';
const address = () => `${randomUUID()}@example.com`;
const operations = (...Operations: Record<string, unknown>[]) => ({ body: { Operations } });

/** Scopes of a key that may write to the directory, with those of the role. */
const writers = {
  none: ['organisation_users.update'],
  manager: ['organisation_users.update', ...scopesOfMember('manager')],
  admin: ['organisation_users.update', ...scopesOfMember('admin')],
  all: allScopes,
};
type Writer = keyof typeof writers;

/** Creates a user with the role, by each way to have one. */
const makers: Readonly<Record<string, (status: 'active' | 'inactive') => Promise<string>>> = {
  'member of a workspace': (status) => memberOf('member', status),
  'manager of a workspace': (status) => memberOf('manager', status),
  'administrator of a workspace': (status) => memberOf('admin', status),
  'administrator by a group': async (status) => {
    const id = await addUser(server, { status });
    await mappedGroup('admin', [id]);
    return id;
  },
  'administrator of the organisation': (status) => addUser(server, { role: 'admin', status }),
};

async function memberOf(role: string, status: 'active' | 'inactive'): Promise<string> {
  const id = await addUser(server);
  const body = { users: [{ id, role }] };
  const path = `/v1/admin/workspaces/${workspace}/users`;
  expect((await server.request('POST', path, { body })).status).toBe(200);
  if (status === 'inactive') {
    const change = operations({ op: 'replace', path: 'active', value: false });
    expect((await server.request('PATCH', `${users}/${id}`, change)).status).toBe(200);
  }
  return id;
}

async function mappedGroup(role: string | null, members: readonly string[]): Promise<string> {
  const body = { displayName: randomUUID(), members: members.map((value) => ({ value })) };
  const { id } = (await server.request('POST', groups, { body })).body;
  const mapping = { scim_group_id: id, workspace_id: workspace, role };
  if (role !== null) {
    const made = await server.request('POST', '/v1/scim/workspaces', { body: mapping });
    expect(made.status).toBe(200);
  }
  return id;
}

/** Changes that pass on the rights of a user; a state of the user before, and the request. */
const passing: Readonly<
  Record<string, readonly ['active' | 'inactive', (send: Send, id: string) => ReturnType<Send>]>
> = {
  'PUT of another userName': [
    'active',
    (send, id) => send('PUT', `${users}/${id}`, { body: { userName: address() } }),
  ],
  'PATCH of another userName': [
    'active',
    (send, id) =>
      send(
        'PATCH',
        `${users}/${id}`,
        operations({ op: 'replace', value: { UserName: address() } }),
      ),
  ],
  'PUT of an inactive user': [
    'inactive',
    async (send, id) => {
      const { userName } = (await server.request('GET', `${users}/${id}`)).body;
      return send('PUT', `${users}/${id}`, { body: { userName } });
    },
  ],
  'PATCH of active': [
    'inactive',
    (send, id) =>
      send('PATCH', `${users}/${id}`, operations({ op: 'add', path: 'active', value: 'True' })),
  ],
  'DELETE of the identity': [
    'active',
    (send, id) => send('DELETE', `/v1/admin/users/${id}/identity`),
  ],
};

/** Changes that add a member to a group, or select another group for the names in claims. */
const lifting: Readonly<
  Record<string, (send: Send, group: string, user: string) => ReturnType<Send>>
> = {
  'PUT of members': async (send, group, user) => {
    const { displayName } = (await server.request('GET', `${groups}/${group}`)).body;
    return send('PUT', `${groups}/${group}`, {
      body: { displayName, members: [{ value: user }] },
    });
  },
  'PATCH of members': (send, group, user) =>
    send(
      'PATCH',
      `${groups}/${group}`,
      operations({ op: 'add', path: 'members', value: [{ value: user }] }),
    ),
  'PATCH of the name': (send, group) =>
    send(
      'PATCH',
      `${groups}/${group}`,
      operations({ op: 'replace', path: 'displayName', value: randomUUID() }),
    ),
  DELETE: (send, group) => send('DELETE', `${groups}/${group}`),
};

async function senderOf(writer: Writer): Promise<Send> {
  return (await addKeyCaller(server, [...new Set(writers[writer])])).send;
}

describe('a change of a directory', () => {
  it('is tried on every route that changes an existing user or group', () => {
    const changing = everyRoute()
      .filter(({ pattern }) => /\/scim\/v2\/|\/identity$/.test(pattern))
      .filter(({ route, mount }) => route.method !== 'GET' && mount === 'v1')
      .map(({ route, pattern }) => `${route.method} ${pattern.replace('/v1', '')}`);
    expect(changing.toSorted()).toEqual([
      'DELETE /admin/users/:id/identity',
      'DELETE /scim/v2/Groups/:id',
      'DELETE /scim/v2/Users/:id',
      'PATCH /scim/v2/Groups/:id',
      'PATCH /scim/v2/Users/:id',
      // A created user is a member, or what an invite says; a created group is not mapped.
      'POST /scim/v2/Groups',
      'POST /scim/v2/Users',
      'PUT /scim/v2/Groups/:id',
      'PUT /scim/v2/Users/:id',
    ]);
  });

  it.each([
    ['none', 'member of a workspace', true],
    ['none', 'manager of a workspace', false],
    ['manager', 'manager of a workspace', true],
    ['manager', 'administrator of a workspace', false],
    ['manager', 'administrator by a group', false],
    ['admin', 'administrator of a workspace', true],
    ['admin', 'administrator by a group', true],
    ['admin', 'administrator of the organisation', false],
    ['all', 'administrator of the organisation', true],
  ] as const)(
    'is decided by the scopes of the key: %s, rights of a %s, accepted: %s',
    async (writer, target, succeeds) => {
      const send = await senderOf(writer);
      const outcomes = Object.entries(passing).map(async ([name, [status, change]]) => {
        const id = await makers[target]!(status);
        const before = (await server.request('GET', `${users}/${id}`)).body;
        const answer = await change(send, id);
        const after = (await server.request('GET', `${users}/${id}`)).body;
        if (!succeeds) expect(after).toEqual(before);
        return [name, answer.status];
      });
      const expected = Object.keys(passing).map((name) => [name, succeeds ? 200 : 403]);
      expect(await Promise.all(outcomes)).toEqual(expected);
    },
  );

  it.each([
    ['none', null, true],
    ['none', 'member', true],
    ['none', 'manager', false],
    ['none', 'admin', false],
    ['manager', 'manager', true],
    ['manager', 'admin', false],
    ['admin', 'admin', true],
  ] as const)(
    'is decided by the scopes of the key: %s, group of the role %s, accepted: %s',
    async (writer, role, succeeds) => {
      const send = await senderOf(writer);
      const outcomes = Object.entries(lifting).map(async ([name, change]) => {
        const answer = await change(send, await mappedGroup(role, []), await addUser(server));
        return [name, answer.status < 300];
      });
      const expected = Object.keys(lifting).map((name) => [name, succeeds]);
      expect(await Promise.all(outcomes)).toEqual(expected);
    },
  );

  it('takes rights away with the scope alone', async () => {
    const send = await senderOf('none');
    const [first, second] = [await memberOf('admin', 'active'), await memberOf('admin', 'active')];
    const change = operations({ op: 'replace', path: 'active', value: false });
    expect((await send('PATCH', `${users}/${first}`, change)).status).toBe(200);
    expect((await send('DELETE', `${users}/${second}`)).status).toBe(204);
    const group = await mappedGroup('admin', [await addUser(server)]);
    const removal = operations({ op: 'remove', path: 'members' });
    expect((await send('PATCH', `${groups}/${group}`, removal)).status).toBe(200);
  });
});

describe('the identity of the owner', () => {
  it('is changed by nobody else, whatever scopes the key holds', async () => {
    const owner = await ownerOf(server);
    const { userName } = (await server.request('GET', `${users}/${owner}`)).body;
    const send = await senderOf('all');
    for (const [name, [status, change]] of Object.entries(passing)) {
      if (status === 'active')
        expect([name, (await change(send, owner)).status]).toEqual([name, 403]);
    }
    const change = operations({ op: 'add', path: 'externalId', value: 'x' });
    expect((await send('PATCH', `${users}/${owner}`, change)).status).toBe(403);
    expect((await server.request('GET', `${users}/${owner}`)).body.userName).toBe(userName);
  });

  it('keeps a request without a change, and names are open to a directory', async () => {
    const owner = await ownerOf(server);
    const { userName } = (await server.request('GET', `${users}/${owner}`)).body;
    const send = await senderOf('none');
    const body = { userName, name: { givenName: 'Olga' } };
    const answer = await send('PUT', `${users}/${owner}`, { body });
    expect([answer.status, answer.body.name]).toMatchObject([200, { givenName: 'Olga' }]);
  });

  it('is changed by a key of the owner', async () => {
    const owner = await ownerOf(server);
    const body = { name: 'own', scopes: allScopes, user_id: owner };
    const made = await server.request('POST', '/v1/api-keys/organisation/user', { body });
    const headers = { 'x-gateway-api-key': made.body.key };
    const userName = address();
    const change = operations({ op: 'replace', path: 'userName', value: userName });
    const patched = await server.request('PATCH', `${users}/${owner}`, {
      ...change,
      headers,
      auth: 'none',
    });
    expect([patched.status, patched.body.userName]).toEqual([200, userName]);
    const unbound = await server.request('DELETE', `/v1/admin/users/${owner}/identity`, {
      headers,
      auth: 'none',
    });
    expect(unbound.status).toBe(200);
  });
});
