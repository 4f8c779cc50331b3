/**
 * Verifies the people routes over HTTP: users, workspace members, user keys, invites and SCIM
 * groups.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import {
  addKeyCaller,
  addTenant,
  bindToWorkspace,
  listAudit,
} from '../../support/server/tenant.ts';

let server: TestServer;
let owner: string;
beforeAll(async () => {
  server = await startTestServer();
  owner = await ownerOf(server);
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
  server.request(method, path, { body });

async function makeWorkspace(body: Record<string, unknown> = {}): Promise<string> {
  const made = await ask('POST', '/v1/admin/workspaces', { name: 'People', ...body });
  expect(made.status).toBe(200);
  return made.body.id;
}

const membersOf = (workspace: string): string => `/v1/admin/workspaces/${workspace}/users`;

async function makeUserKey(workspace: string, user: string): Promise<TestResponse> {
  return ask('POST', '/v1/api-keys/workspace/user', {
    name: 'mine',
    scopes: ['completions.write'],
    workspace_id: workspace,
    user_id: user,
  });
}

async function keysOf(workspace: string): Promise<Record<string, unknown>[]> {
  return (await ask('GET', `/v1/api-keys?workspace_id=${workspace}`)).body.data;
}

describe('user keys while the owner is the only user', () => {
  it('accepts any user id, because people may be managed elsewhere', async () => {
    const workspace = await makeWorkspace();
    expect((await makeUserKey(workspace, randomUUID())).status).toBe(200);
    expect((await makeUserKey(workspace, owner)).status).toBe(200);
  });
});

describe('users', () => {
  it('lists users newest first with both spellings of paging, and a total that counts all of them', async () => {
    const ids = [await addUser(server), await addUser(server, { role: 'admin' })];
    const first = await ask('GET', '/v1/admin/users');
    const { total } = first.body;
    expect(first.body.object).toBe('list');
    for (const names of [
      ['pageSize', 'currentPage'],
      ['page_size', 'current_page'],
    ]) {
      const seen: string[] = [];
      for (let page = 0; page < total + 1; page += 1) {
        const query = `?${names[0]}=1&${names[1]}=${page}`;
        const { body } = await ask('GET', `/v1/admin/users${query}`);
        expect(body.total).toBe(total);
        seen.push(...body.data.map(({ id }: { id: string }) => id));
      }
      expect(seen.toSorted()).toEqual(
        first.body.data.map(({ id }: { id: string }) => id).toSorted(),
      );
      expect(seen).toEqual(expect.arrayContaining([owner, ...ids]));
    }
    const twice = await ask('GET', '/v1/admin/users?pageSize=1&page_size=2');
    expect(twice).toMatchObject({ status: 400, body: { error: { param: 'page_size' } } });
  });

  it('finds users by role, by full address in any case, and by part of a name (1.28.0)', async () => {
    const id = await addUser(server, {
      email: 'Zoë.Quick@example.com'.replace('ë', 'e'),
      first_name: 'Zoë',
      last_name: 'Quick_100%',
    });
    const found = async (query: string) => (await ask('GET', `/v1/admin/users?${query}`)).body;
    for (const query of [
      'email=zoe.quick@EXAMPLE.com',
      'first_name=zoë',
      'last_name=k_100%25',
      'search=o%C3%AB%20quick',
    ]) {
      expect([query, await found(query)]).toMatchObject([
        query,
        { total: 1, data: [{ id, email: 'Zoe.Quick@example.com', object: 'user' }] },
      ]);
    }
    for (const query of ['email=zoe.quick@example.co', 'first_name=quick', 'last_name=k%25']) {
      expect([query, (await found(query)).total]).toEqual([query, 0]);
    }
    const owners = await found('role=owner');
    expect(owners).toMatchObject({ total: 1, data: [{ id: owner, role: 'owner' }] });
    expect((await ask('GET', '/v1/admin/users?role=king')).status).toBe(400);
  });

  it('updates names, clears them with null, and writes only when a value differs', async () => {
    const path = `/v2/admin/users/${await addUser(server)}`;
    const put = async (body: object) => (await ask('PUT', path, body)).status;
    const named = { first_name: 'Anna', last_name: 'Berg' };
    expect([await put(named), await put(named)]).toEqual([200, 200]);
    const { body, headers } = await ask('GET', path);
    expect([body, headers.etag]).toEqual([expect.objectContaining(named), '"2"']);
    expect(await put({ last_name: null })).toBe(200);
    expect((await ask('GET', path)).body).toMatchObject({ first_name: 'Anna', last_name: null });
    expect([await put({}), await put({ first_name: '' })]).toEqual([400, 400]);
  });

  it('changes a role, rejects the current role, and never assigns the owner role', async () => {
    const id = await addUser(server);
    const path = `/v2/admin/users/${id}`;
    expect(await ask('PUT', path, { role: 'admin' })).toMatchObject({ status: 200, body: {} });
    expect((await ask('GET', path)).body.role).toBe('admin');
    const again = await ask('PUT', path, { role: 'admin' });
    expect(again).toMatchObject({ status: 400, body: { error: { code: 'AB01', param: 'role' } } });
    expect((await ask('PUT', path, { role: 'owner' })).status).toBe(400);
    for (const method of ['PUT', 'DELETE']) {
      const body = method === 'PUT' ? { role: 'member' } : undefined;
      const refused = await ask(method, `/v1/admin/users/${owner}`, body);
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    }
    const { etag } = (await ask('GET', path)).headers;
    const headers = { 'if-match': String(etag) };
    const body = { role: 'member' };
    expect((await server.request('PUT', path, { body, headers })).status).toBe(200);
    expect((await server.request('PUT', path, { body, headers })).status).toBe(412);
    expect((await listAudit(server, id)).map(({ action }) => action)).toEqual(['update', 'update']);
  });

  it('deletes memberships and keys together with a user, each with its audit row', async () => {
    const id = await addUser(server);
    const workspace = await makeWorkspace({ users: [{ id, role: 'manager' }] });
    const inside = (await makeUserKey(workspace, id)).body;
    const outside = await ask('POST', '/v1/api-keys/organisation/user', {
      name: 'mine',
      scopes: ['completions.write'],
      user_id: id,
    });
    expect((await ask('GET', `/v1/admin/users/${id}`)).body.workspace_ids).toEqual([workspace]);
    expect(await ask('DELETE', `/v1/admin/users/${id}`)).toMatchObject({ status: 200, body: {} });
    for (const path of [
      `/v1/admin/users/${id}`,
      `${membersOf(workspace)}/${id}`,
      `/v1/api-keys/${inside.id}`,
      `/v1/api-keys/${outside.body.id}`,
    ]) {
      expect([path, (await ask('GET', path)).status]).toEqual([path, 404]);
    }
    const reported = (await listAudit(server, id)).map(
      (row) => `${row.action} ${row.resource_kind}`,
    );
    expect(reported).toEqual(['create WorkspaceMember', 'delete WorkspaceMember', 'delete User']);
    const keys = await listAudit(server, inside.id);
    expect(keys.at(-1)).toMatchObject({ action: 'delete', changes: { with_user: id } });
  });

  it('hides users from other organisations and from credentials bound to one workspace', async () => {
    const id = await addUser(server);
    const other = await addTenant(server);
    const workspace = await makeWorkspace();
    const bound = await bindToWorkspace(server, workspace);
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { role: 'admin' }],
      ['DELETE', undefined],
    ] as const) {
      expect((await other.send(method, `/v2/admin/users/${id}`, { body })).status).toBe(404);
      expect((await bound(method, `/v2/admin/users/${id}`, { body })).status).toBe(403);
    }
    expect((await bound('GET', '/v2/admin/users')).status).toBe(403);
    const { body } = await other.send('GET', '/v2/admin/users');
    expect(body).toMatchObject({ total: 1, data: [{ role: 'owner' }] });
  });
});

describe('members of a workspace', () => {
  it('adds, lists, reads, updates and removes members by id and by slug of the workspace', async () => {
    const [one, two] = [
      await addUser(server, { email: 'One@example.com', first_name: 'One', last_name: 'First' }),
      await addUser(server),
    ];
    const made = await ask('POST', '/v1/admin/workspaces', { name: 'Joint', users: [two] });
    const { id: workspace, slug } = made.body;
    expect(made.body.users).toMatchObject([{ id: two, role: 'member', workspace_id: workspace }]);
    // Clients expect a map of strings there, so a missing name is omitted.
    expect(Object.values(made.body.users[0]).filter((value) => typeof value !== 'string')).toEqual(
      [],
    );
    const body = { users: [{ id: one.toUpperCase(), role: 'manager' }] };
    expect(await ask('POST', membersOf(slug), body)).toMatchObject({ status: 200, body: {} });
    const list = (await ask('GET', membersOf(workspace))).body;
    expect(list.total).toBe(2);
    const path = `${membersOf(workspace)}/${one}`;
    const got = await ask('GET', path);
    expect(got.body).toEqual({
      id: one,
      first_name: 'One',
      last_name: 'First',
      email: 'One@example.com',
      org_role: 'member',
      role: 'manager',
      status: 'active',
      workspace_id: workspace,
      created_at: '2027-01-04T08:00:00.000Z',
      last_updated_at: '2027-01-04T08:00:00.000Z',
      scopes: [],
      settings: {},
      object: 'workspace-user',
    });
    const found = async (query: string) =>
      (await ask('GET', `${membersOf(slug)}?${query}`)).body.data.map(
        (row: { id: string }) => row.id,
      );
    expect(await found('role=manager')).toEqual([one]);
    expect(await found('email=one@example.com')).toEqual([one]);
    expect(await found('role=admin')).toEqual([]);
    expect((await found('page_size=1&current_page=1')).length).toBe(1);
    const headers = { 'if-match': String(got.headers.etag) };
    const role = { body: { role: 'admin' }, headers };
    expect((await server.request('PUT', path, role)).body).toEqual({});
    expect((await server.request('PUT', path, role)).status).toBe(412);
    expect((await ask('PUT', path, { role: 'admin' })).status).toBe(200);
    expect((await ask('GET', path)).body.role).toBe('admin');
    expect(await ask('DELETE', path)).toMatchObject({ status: 200, body: {} });
    expect((await ask('DELETE', path)).status).toBe(404);
    expect((await ask('GET', `/v1/admin/workspaces/${slug}`)).body.users).toMatchObject([
      { id: two },
    ]);
  });

  it('keeps one membership when a user is added repeatedly, and makes the owner an admin', async () => {
    const user = await addUser(server);
    const workspace = await makeWorkspace();
    const add = (role: string) =>
      ask('POST', membersOf(workspace), { users: [owner, user].map((id) => ({ id, role })) });
    const all = await Promise.all(Array.from({ length: 8 }, () => add('member')));
    expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await add('manager')).status).toBe(200);
    const roleOf = async (id: string) => (await ask('GET', `${membersOf(workspace)}/${id}`)).body;
    expect(await roleOf(owner)).toMatchObject({ role: 'admin', org_role: 'owner' });
    expect(await roleOf(user)).toMatchObject({ role: 'manager', org_role: 'member' });
  });

  it('accepts only users of the organisation, each once per request', async () => {
    const workspace = await makeWorkspace();
    const other = await addTenant(server);
    const foreign = await ownerOf({ ...server, organisationId: other.organisationId });
    for (const id of [randomUUID(), foreign]) {
      const users = [
        { id: owner, role: 'member' },
        { id, role: 'member' },
      ];
      const refused = await ask('POST', membersOf(workspace), { users });
      expect(refused).toMatchObject({ status: 400, body: { error: { param: 'users[1].id' } } });
    }
    const twice = [owner, owner].map((id) => ({ id, role: 'member' }));
    expect((await ask('POST', membersOf(workspace), { users: twice })).status).toBe(400);
    expect((await ask('GET', membersOf(workspace))).body.total).toBe(0);
    expect((await other.send('GET', `/v2/admin/workspaces/${workspace}/users`)).status).toBe(404);
  });

  it('shows members to a credential of their workspace and to no other workspace', async () => {
    const [own, other] = [await makeWorkspace({ users: [owner] }), await makeWorkspace()];
    const { send } = await addKeyCaller(server, ['workspace_users.list'], own);
    expect((await send('GET', membersOf(own))).body.total).toBe(1);
    expect((await send('GET', membersOf(other))).status).toBe(404);
  });

  it('removes memberships together with their workspace', async () => {
    const id = await addUser(server);
    const workspace = await makeWorkspace({ users: [id] });
    expect((await ask('DELETE', `/v1/admin/workspaces/${workspace}`)).status).toBe(200);
    expect((await ask('GET', `/v1/admin/users/${id}`)).body.workspace_ids).toEqual([]);
    expect((await ask('GET', membersOf(workspace))).status).toBe(404);
  });
});

describe('user keys', () => {
  it('accepts members of the workspace and users who act in all workspaces', async () => {
    const [member, stranger, admin, gone] = [
      await addUser(server),
      await addUser(server),
      await addUser(server, { role: 'admin' }),
      await addUser(server, { status: 'inactive' }),
    ];
    const workspace = await makeWorkspace({ users: [member, gone] });
    const statuses: number[] = [];
    for (const user of [member, admin, owner, stranger, gone, randomUUID()]) {
      const made = await makeUserKey(workspace, user);
      statuses.push(made.status);
      if (made.status !== 200) expect(made.body.error.param).toBe('user_id');
    }
    expect(statuses).toEqual([200, 200, 200, 400, 400, 400]);
  });

  it('returns 403 when a key would hold more scopes than its creator, also for another user', async () => {
    const member = await addUser(server);
    const workspace = await makeWorkspace({ users: [member] });
    const scopes = ['workspace_user_api_keys.create', 'logs.view'];
    const { send } = await addKeyCaller(server, scopes, workspace);
    const make = (wanted: string[]) =>
      send('POST', '/v1/api-keys/workspace/user', {
        body: { name: 'theirs', scopes: wanted, user_id: member },
      });
    expect((await make(['logs.view'])).status).toBe(200);
    expect(await make(['logs.view', 'logs.export'])).toMatchObject({
      status: 403,
      body: { error: { code: 'AB03', param: 'scopes' } },
    });
  });

  it('returns 403 when a key would hold scopes that the workspace withholds from the role', async () => {
    const [manager, admin] = [await addUser(server), await addUser(server)];
    const workspace = await makeWorkspace({
      security_settings: { managersWritePrompts: false, managersViewAllData: false },
    });
    const users = [
      { id: manager, role: 'manager' },
      { id: admin, role: 'admin' },
    ];
    await ask('POST', membersOf(workspace), { users });
    const deeds = ['create', 'update', 'rotate'];
    const ofKeys = deeds.flatMap((deed) =>
      ['service', 'user'].map((type) => `workspace_${type}_api_keys.${deed}`),
    );
    const [own, withheld] = [['configs.read'], ['prompts.update', 'logs.list']];
    const scopes = [...ofKeys, ...own, ...withheld];
    const { body: made } = await ask('POST', '/v1/api-keys/workspace/user', {
      name: 'own',
      scopes,
      user_id: manager,
      workspace_id: workspace,
    });
    const as = (method: string, path: string, body: object = {}) =>
      exchange(method, `${server.url}/v1/api-keys${path}`, body, { 'x-gateway-api-key': made.key });
    const make = (type: string, wanted: readonly string[], user_id = manager) =>
      as('POST', `/workspace/${type}`, { name: 'k', scopes: wanted, user_id });
    for (const scope of withheld) {
      expect([scope, (await make('service', [scope])).status]).toEqual([scope, 403]);
      expect([scope, (await make('user', [scope], admin)).status]).toEqual([scope, 403]);
      expect([scope, (await make('user', [scope])).status]).toEqual([scope, 200]);
    }
    const { status, body: bot } = await make('service', own);
    expect(status).toBe(200);
    const widened = await as('PUT', `/${bot.id}`, { scopes: [...own, 'logs.list'] });
    expect(widened).toMatchObject({ status: 403, body: { error: { param: 'scopes' } } });
    expect((await as('POST', `/${bot.id}/rotate`)).status).toBe(200);
    const { body: theirs } = await ask('POST', '/v1/api-keys/workspace/service', {
      name: 'of all',
      scopes: withheld,
      user_id: manager,
      workspace_id: workspace,
    });
    expect((await as('POST', `/${theirs.id}/rotate`)).status).toBe(403);
    await ask('PUT', `/v1/admin/workspaces/${workspace}`, {
      security_settings: { managersWritePrompts: true, managersViewAllData: true },
    });
    expect((await as('POST', `/${theirs.id}/rotate`)).status).toBe(200);
  });

  it('never exceeds the number of keys that the workspace allows, also under concurrent requests', async () => {
    const settings = { user_api_keys_max: 2 };
    const workspace = await makeWorkspace({ settings });
    const all = await Promise.all(Array.from({ length: 6 }, () => makeUserKey(workspace, owner)));
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 200, 409, 409, 409, 409]);
    expect(await keysOf(workspace)).toHaveLength(2);
    const service = await ask('POST', '/v1/api-keys/workspace/service', {
      name: 'bot',
      scopes: ['completions.write'],
      workspace_id: workspace,
    });
    expect(service.status).toBe(200);
    await ask('PUT', `/v1/admin/workspaces/${workspace}`, {
      settings: { user_api_keys_max: null },
    });
    expect((await makeUserKey(workspace, owner)).status).toBe(200);
  });

  it('creates a key automatically for a new member when the workspace setting says so (1.24.2)', async () => {
    const [one, two] = [await addUser(server), await addUser(server)];
    const workspace = await makeWorkspace({
      settings: { user_api_key_auto_create: true, api_key_max_ttl_days: 10 },
      users: [one],
    });
    const [first] = await keysOf(workspace);
    expect(first).toMatchObject({
      type: 'workspace-user',
      user_id: one,
      creation_mode: 'auto',
      scopes: ['completions.write'],
      expires_at: '2027-01-14T08:00:00.000Z',
    });
    const scopes = ['completions.write', 'logs.view'];
    const path = `/v1/admin/workspaces/${workspace}`;
    const settings = { user_api_key_auto_create_scopes: scopes };
    expect((await ask('PUT', path, { settings })).status).toBe(200);
    expect((await ask('GET', path)).body.settings).toEqual({
      user_api_key_auto_create: true,
      user_api_key_auto_create_scopes: scopes,
      api_key_max_ttl_days: 10,
    });
    const users = [one, two].map((id) => ({ id, role: 'member' }));
    await ask('POST', membersOf(workspace), { users });
    await ask('POST', membersOf(workspace), { users });
    const keys = await keysOf(workspace);
    expect(keys.map(({ user_id }) => user_id)).toEqual([two, one]);
    expect(keys[0]).toMatchObject({ scopes });
    expect((await ask('POST', `/v1/api-keys/${keys[0]!.id}/rotate`)).status).toBe(200);
    await ask('DELETE', `${membersOf(workspace)}/${two}`);
    expect((await keysOf(workspace)).map(({ user_id }) => user_id)).toEqual([one]);
  });

  it('returns 403 when the setting for automatic keys grants more than its author may do', async () => {
    const workspace = await makeWorkspace();
    const { send } = await addKeyCaller(server, ['workspaces.update']);
    const put = (wanted: string[]) =>
      send('PUT', `/v1/admin/workspaces/${workspace}`, {
        body: { settings: { user_api_key_auto_create_scopes: wanted } },
      });
    expect((await put(['logs.burn'])).status).toBe(400);
    expect(await put(['logs.view'])).toMatchObject({
      status: 403,
      body: { error: { param: 'settings.user_api_key_auto_create_scopes' } },
    });
    expect((await put(['workspaces.update'])).status).toBe(200);
  });
});

describe('invites', () => {
  const base = '/v1/admin/users/invites';
  const weekMs = 7 * 86_400_000;
  const invite = (body: Record<string, unknown> = {}): Promise<TestResponse> =>
    ask('POST', base, { email: `${randomUUID()}@example.com`, role: 'member', ...body });
  const statusOf = async (id: string) => (await ask('GET', `${base}/${id}`)).body.status;

  it('returns the invited person and workspaces, and never the scopes of the keys', async () => {
    const workspace = await makeWorkspace();
    const { slug } = (await ask('GET', `/v1/admin/workspaces/${workspace}`)).body;
    const email = 'New.One@example.com';
    const made = await invite({
      email,
      role: 'admin',
      workspaces: [{ id: slug, role: 'manager' }],
      workspace_api_key_details: { scopes: ['logs.view'] },
    });
    const { id } = made.body;
    const record = {
      id,
      email,
      role: 'admin',
      status: 'pending',
      object: 'invite',
      accepted_at: null,
      workspaces: [{ id: slug, role: 'manager' }],
      created_at: new Date(server.clock.now()).toISOString(),
      expires_at: new Date(server.clock.now() + weekMs).toISOString(),
      invited_by: expect.stringMatching(/^[0-9a-f-]{36}$/),
    };
    expect(made).toMatchObject({ status: 200, body: { ...record, invite_link: `/invites/${id}` } });
    const got = await ask('GET', `${base}/${id}`);
    expect(got.body).toEqual(record);
    expect(JSON.stringify([made.body, got.body])).not.toContain('logs.view');
    const found = await ask('GET', `${base}?email=new.one@EXAMPLE.com&role=admin&pageSize=1`);
    expect(found.body).toEqual({ object: 'list', total: 1, data: [record] });
  });

  it('allows one pending invite per address under concurrent requests, and returns 409 for an existing user', async () => {
    const email = 'Once@example.com';
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, at) => invite({ email: at % 2 ? email : email.toLowerCase() })),
    );
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
    await addUser(server, { email: 'Known@example.com' });
    expect(await invite({ email: 'known@example.com' })).toMatchObject({
      status: 409,
      body: { error: { code: 'AB07', param: 'email' } },
    });
  });

  it('cancels an invite permanently, and allows reading it and inviting the address again', async () => {
    const email = 'again@example.com';
    const { id } = (await invite({ email })).body;
    const path = `${base}/${id}`;
    const { etag } = (await ask('GET', path)).headers;
    for (const status of [200, 200]) {
      expect(await ask('DELETE', path)).toMatchObject({ status, body: {} });
    }
    const headers = { 'if-match': String(etag) };
    expect((await server.request('DELETE', path, { headers })).status).toBe(412);
    expect(await statusOf(id)).toBe('cancelled');
    expect((await ask('POST', `${path}/resend`)).status).toBe(409);
    expect((await invite({ email })).status).toBe(200);
    const actions = (await listAudit(server, id)).map(({ action }) => action);
    expect(actions).toEqual(['create', 'delete']);
  });

  it('expires at its time, and can be resent or replaced by a new invite', async () => {
    const [first, second] = ['late@example.com', 'later@example.com'];
    const late = (await invite({ email: first })).body.id;
    const later = (await invite({ email: second })).body.id;
    server.clock.advance(weekMs - 1);
    expect(await statusOf(late)).toBe('pending');
    server.clock.advance(1);
    expect([await statusOf(late), await statusOf(later)]).toEqual(['expired', 'expired']);
    const list = async (status: string) =>
      (await ask('GET', `${base}?status=${status}`)).body.data.map((row: { id: string }) => row.id);
    expect(await list('expired')).toEqual(expect.arrayContaining([late, later]));
    expect(await list('pending')).toEqual([]);
    expect(await ask('POST', `${base}/${late}/resend`)).toMatchObject({
      status: 200,
      body: { inviteLink: `/invites/${late}` },
    });
    expect(await list('pending')).toEqual([late]);
    expect((await invite({ email: second })).status).toBe(200);
    expect((await ask('POST', `${base}/${later}/resend`)).status).toBe(409);
    expect((await ask('DELETE', `${base}/${later}`)).status).toBe(200);
  });

  it('requires active workspaces and scopes that the inviter holds', async () => {
    const workspace = await makeWorkspace();
    const into = (...ids: string[]) =>
      invite({ workspaces: ids.map((id) => ({ id, role: 'member' })) });
    const { slug } = (await ask('GET', `/v1/admin/workspaces/${workspace}`)).body;
    for (const ids of [
      [workspace, slug],
      [workspace, randomUUID()],
    ]) {
      const refused = await into(...ids);
      expect(refused).toMatchObject({
        status: 400,
        body: { error: { param: 'workspaces[1].id' } },
      });
    }
    const { send } = await addKeyCaller(server, ['organisation_users.create']);
    const body = { email: 'x@example.com', role: 'member' };
    const wanted = { workspace_api_key_details: { scopes: ['logs.view'] } };
    expect((await send('POST', base, { body: { ...body, ...wanted } })).status).toBe(403);
    expect((await send('POST', base, { body })).status).toBe(200);
    const bound = await bindToWorkspace(server, workspace);
    expect((await bound('POST', '/v2/admin/users/invites', { body })).status).toBe(403);
  });
});

describe('groups of a directory', () => {
  const base = '/v1/scim/workspaces';
  const map = (body: Record<string, unknown>): Promise<TestResponse> => ask('POST', base, body);

  it('creates a mapping with a group name, finds it by workspace, group and role, and deletes it', async () => {
    const workspace = await makeWorkspace();
    const { slug } = (await ask('GET', `/v1/admin/workspaces/${workspace}`)).body;
    const made = await map({ workspace_id: slug, role: 'MANAGER', scim_group_name: 'Pilots' });
    const { id, scim_group_id } = made.body;
    const mapping = {
      id,
      workspace_id: workspace,
      scim_group: 'Pilots',
      scim_group_id,
      role: 'manager',
    };
    expect(made).toMatchObject({ status: 200, body: mapping });
    for (const query of [`workspace_id=${workspace}`, `workspace_id=${slug}&role=Manager`]) {
      const { body } = await ask('GET', `${base}?${query}`);
      expect(body).toEqual({ mappings: [mapping], total_count: 1, page: 0, page_size: 100 });
    }
    const groups = await ask('GET', '/v1/scim/groups?search=pILO&page_size=1');
    expect(groups.body).toMatchObject({
      total_count: 1,
      groups: [{ id: scim_group_id, name: 'Pilots' }],
    });
    expect(await ask('DELETE', `${base}/${id}`)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect((await ask('DELETE', `${base}/${id}`)).status).toBe(404);
    const again = await map({ workspace_id: workspace, role: 'admin', scim_group_id });
    expect(again.body).toMatchObject({ scim_group: 'Pilots', role: 'admin' });
    expect(again.body.id).not.toBe(id);
    const pages = await Promise.all(
      [0, 1].map((page) => ask('GET', `${base}?workspace_id=${slug}&page=${page}&page_size=1`)),
    );
    expect(pages.map(({ body }) => body.mappings.length)).toEqual([1, 0]);
  });

  it('creates each group and each mapping to a workspace once under concurrent requests, with one role', async () => {
    const [workspace, second] = [await makeWorkspace(), await makeWorkspace()];
    const body = { workspace_id: workspace, role: 'member', scim_group_name: 'Once' };
    const all = await Promise.all(Array.from({ length: 6 }, () => map(body)));
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
    expect((await ask('GET', '/v1/scim/groups?search=Once')).body.total_count).toBe(1);
    const other = await map({ ...body, workspace_id: second, role: 'admin' });
    expect(other).toMatchObject({ status: 400, body: { error: { param: 'role' } } });
    expect((await map({ ...body, workspace_id: second })).status).toBe(200);
  });

  it('rejects a mapping that names a group twice, an unknown group or one of another organisation', async () => {
    const workspace_id = await makeWorkspace();
    const role = 'member';
    for (const named of [{}, { scim_group_id: randomUUID(), scim_group_name: 'a' }]) {
      expect((await map({ workspace_id, role, ...named })).status).toBe(400);
    }
    const unknown = await map({ workspace_id, role, scim_group_id: randomUUID() });
    expect(unknown).toMatchObject({ status: 400, body: { error: { param: 'scim_group_id' } } });
    expect((await map({ workspace_id: 'ws-none', role, scim_group_name: 'a' })).status).toBe(404);
    const { body } = await map({ workspace_id, role, scim_group_name: 'Ours' });
    const other = await addTenant(server);
    expect((await other.send('DELETE', `/v2/scim/workspaces/${body.id}`)).status).toBe(404);
    expect((await other.send('GET', '/v2/scim/groups')).body.total_count).toBe(0);
    await ask('DELETE', `/v1/admin/workspaces/${workspace_id}`);
    const left = await ask('GET', `${base}?scim_group_id=${body.scim_group_id}`);
    expect(left.body.total_count).toBe(0);
  });
});
