/**
 * Verifies that nobody can grant a role that permits more than the granter holds, to another or to
 * oneself.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allScopes, scopesOfMember } from '../../../src/model/people/scopes.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, type Send } from '../../support/server/tenant.ts';

let server: TestServer;
let workspace: string;
const people = allScopes.filter((scope) => /^(?:organisation|workspace)_users\./.test(scope));
const { admin, manager } = { admin: scopesOfMember('admin'), manager: scopesOfMember('manager') };

beforeAll(async () => {
  server = await startTestServer();
  const made = await server.request('POST', '/v2/workspaces', { body: { name: 'Team' } });
  workspace = made.body.id;
});
afterAll(() => server[Symbol.asyncDispose]());

/** Every way to assign a role of the organisation or of a workspace. */
const ways = {
  organisation: {
    invite: async (send: Send, role: string) =>
      send('POST', '/v1/admin/users/invites', {
        body: { email: `${randomUUID()}@example.com`, role },
      }),
    'change of a user': async (send: Send, role: string) => {
      const id = await addUser(server, { role: role === 'member' ? 'admin' : 'member' });
      return send('PUT', `/v1/admin/users/${id}`, { body: { role } });
    },
  },
  workspace: {
    invite: async (send: Send, role: string) =>
      send('POST', '/v1/admin/users/invites', {
        body: {
          email: `${randomUUID()}@example.com`,
          role: 'member',
          workspaces: [{ id: workspace, role }],
        },
      }),
    membership: async (send: Send, role: string) => {
      const users = [{ id: await addUser(server), role }];
      return send('POST', `/v1/admin/workspaces/${workspace}/users`, { body: { users } });
    },
    'change of a member': async (send: Send, role: string) => {
      const id = await addUser(server);
      const users = [{ id, role: role === 'manager' ? 'member' : 'manager' }];
      const path = `/v1/admin/workspaces/${workspace}/users`;
      await server.request('POST', path, { body: { users } });
      return send('PUT', `${path}/${id}`, { body: { role } });
    },
    'change of a group of a directory': async (send: Send, role: string) => {
      const made = await server.request('POST', '/v1/scim/workspaces', {
        body: { workspace_id: workspace, role: 'member', scim_group_name: randomUUID() },
      });
      return send('PUT', `/v1/scim/workspaces/${made.body.id}`, { body: { role } });
    },
    'group of a directory': async (send: Send, role: string) =>
      send('POST', '/v1/scim/workspaces', {
        body: { workspace_id: workspace, role, scim_group_name: randomUUID() },
      }),
  },
};

const statuses = async (of: keyof typeof ways, scopes: readonly string[], role: string) => {
  const { send } = await addKeyCaller(server, [...new Set(scopes)]);
  const requests = Object.entries(ways[of]).map(async ([way, go]) => [
    way,
    (await go(send, role)).status,
  ]);
  return new Set((await Promise.all(requests)).map(([, status]) => status));
};

it.each([
  ['organisation', 'admin', people, 403],
  ['organisation', 'admin', allScopes.filter((one) => one !== 'audit_logs.list'), 403],
  ['organisation', 'admin', allScopes, 200],
  ['organisation', 'member', people, 200],
  ['workspace', 'admin', people, 403],
  ['workspace', 'admin', [...people, ...manager], 403],
  ['workspace', 'admin', [...people, ...admin], 200],
  ['workspace', 'manager', people, 403],
  ['workspace', 'manager', [...people, ...manager], 200],
  ['workspace', 'member', people, 200],
] as const)(
  'checks a grant in the %s of the role %s alike on every route, for these scopes',
  async (...given) => {
    const [of, role, scopes, status] = given;
    expect(await statuses(of, scopes, role)).toEqual(new Set([status]));
  },
);

it('returns 403 with the missing scope, and creates no workspace when a member would have more rights than the author', async () => {
  const scopes = [...people, 'workspaces.create', 'workspaces.list'];
  const { send } = await addKeyCaller(server, [...new Set(scopes)]);
  const users = [{ id: await addUser(server), role: 'admin' }];
  const { status, body } = await send('POST', '/v1/admin/workspaces', {
    body: { name: 'Mine', users },
  });
  expect([status, body.error.param]).toEqual([403, 'users.0.role']);
  expect(body.error.message).toMatch(
    /somebody admin of the workspace: completions\.write, .* more$/,
  );
  const { total } = (await send('GET', '/v1/admin/workspaces?exact_name=Mine')).body;
  expect(total).toBe(0);
});
