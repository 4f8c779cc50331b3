/**
 * Verifies SCIM 2.0: users and groups of a directory take effect on workspaces, invites and keys.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const base = '/v1/scim/v2';
const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error';
let server: TestServer;
let token: string;
beforeAll(async () => {
  server = await startTestServer();
  token = (await addKeyCaller(server, ['organisation_users.update'])).key;
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends a request like a directory: with a fixed token and the SCIM media type. */
async function scim(method: string, path: string, body?: unknown): Promise<TestResponse> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
  };
  const text = body === undefined ? undefined : JSON.stringify(body);
  return exchange(method, server.url + base + path, text, headers);
}

const ask = (method: string, path: string, body?: unknown): Promise<TestResponse> =>
  server.request(method, path, { body });

const patch = (path: string, ...Operations: Record<string, unknown>[]): Promise<TestResponse> =>
  scim('PATCH', path, { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations });

async function bring(fields: Record<string, unknown> = {}): Promise<string> {
  const made = await scim('POST', '/Users', { userName: `${randomUUID()}@example.com`, ...fields });
  expect(made.status).toBe(201);
  return made.body.id;
}

async function bringGroup(members: readonly string[] = []): Promise<string> {
  const body = { displayName: randomUUID(), members: members.map((value) => ({ value })) };
  const made = await scim('POST', '/Groups', body);
  expect(made.status).toBe(201);
  return made.body.id;
}

async function makeWorkspace(body: Record<string, unknown> = {}): Promise<string> {
  return (await ask('POST', '/v1/admin/workspaces', { name: 'Provisioned', ...body })).body.id;
}

const map = (group: string, workspace: string, role: string): Promise<TestResponse> =>
  ask('POST', '/v1/scim/workspaces', { scim_group_id: group, workspace_id: workspace, role });

/** Roles of the members of a workspace, by user id. */
async function rolesIn(workspace: string): Promise<Record<string, string>> {
  const { body } = await ask('GET', `/v1/admin/workspaces/${workspace}/users`);
  return Object.fromEntries(
    body.data.map(({ id, role }: { id: string; role: string }) => [id, role]),
  );
}

describe('a user of a directory', () => {
  it('creates, returns, finds, replaces and deletes a user', async () => {
    const sent = {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'Ann@example.com',
      externalId: 'x-1',
      title: 'Pilot',
      active: true,
      name: { givenName: 'Ann', familyName: 'Ace', formatted: 'Ann Ace' },
    };
    const made = await scim('POST', '/Users', sent);
    const { id } = made.body;
    const at = '2027-01-04T08:00:00.000Z';
    const expected = {
      schemas: sent.schemas,
      id,
      externalId: 'x-1',
      userName: 'Ann@example.com',
      name: { givenName: 'Ann', familyName: 'Ace' },
      active: true,
      emails: [{ value: 'Ann@example.com', type: 'work', primary: true }],
      meta: {
        resourceType: 'User',
        created: at,
        lastModified: at,
        version: '"1"',
        location: `${base}/Users/${id}`,
      },
    };
    expect(made).toMatchObject({ status: 201, body: expected });
    expect((await scim('GET', `/Users/${id}`)).body).toEqual(expected);
    for (const filter of ['userName eq "ann@EXAMPLE.com"', 'externalId eq "x-1"']) {
      const { body } = await scim('GET', `/Users?filter=${encodeURIComponent(filter)}`);
      expect(body).toEqual({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
        totalResults: 1,
        startIndex: 1,
        itemsPerPage: 1,
        Resources: [expected],
      });
    }
    const user = (await ask('GET', `/v1/admin/users/${id}`)).body;
    expect(user).toMatchObject({ first_name: 'Ann', last_name: 'Ace', role: 'member' });
    const put = await scim('PUT', `/Users/${id}`, { userName: 'ann@b.example' });
    expect(put.body).toMatchObject({ userName: 'ann@b.example', name: {}, active: true });
    expect(put.body.externalId).toBeUndefined();
    expect(await scim('DELETE', `/Users/${id}`)).toMatchObject({ status: 204, body: '' });
    const gone = await scim('GET', `/Users/${id}`);
    expect(gone).toMatchObject({ status: 404, body: { schemas: [errorSchema], status: '404' } });
    const tooLong = await scim('GET', `/Users/${'x'.repeat(2_000)}`);
    expect(tooLong).toMatchObject({ status: 404, body: { schemas: [errorSchema], status: '404' } });
    const actions = (await listAudit(server, id)).map(({ action }) => action);
    expect(actions).toEqual(['create', 'update', 'delete']);
  });

  it('returns 409 when another user has the address, also under concurrent requests', async () => {
    const userName = 'one@example.com';
    const all = await Promise.all(
      Array.from({ length: 6 }, () => scim('POST', '/Users', { userName })),
    );
    expect(all.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
    const refused = all.find(({ status }) => status === 409)!;
    expect(refused.body).toMatchObject({ status: '409', scimType: 'uniqueness' });
    const other = await bring();
    expect((await scim('PUT', `/Users/${other}`, { userName: 'ONE@example.com' })).status).toBe(
      409,
    );
  });

  it('applies the patch operations that directories send, and rejects all others', async () => {
    const id = await bring({ name: { givenName: 'A', familyName: 'B' } });
    const path = `/Users/${id}`;
    const first = await patch(
      path,
      { op: 'Replace', path: 'name.familyName', value: 'C' },
      { op: 'add', value: { externalId: 'e', name: { givenName: 'D' }, title: 'none' } },
      { op: 'replace', path: 'active', value: 'False' },
      { op: 'add', path: 'urn:ietf:params:scim:schemas:core:2.0:User:nickName', value: 'x' },
    );
    expect(first.body).toMatchObject({
      externalId: 'e',
      name: { givenName: 'D', familyName: 'C' },
      active: false,
    });
    const second = await patch(path, { op: 'remove', path: 'externalId' });
    expect(second.body.externalId).toBeUndefined();
    for (const operation of [
      { op: 'replace', path: 'userName', value: 'nobody' },
      { op: 'replace', path: 'active', value: 'perhaps' },
      { op: 'grow', path: 'active', value: true },
      { op: 'replace', value: 'active' },
    ]) {
      const refused = await patch(path, operation);
      expect(refused).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    }
    expect((await scim('GET', '/Users?filter=title%20eq%20%22a%22')).status).toBe(400);
  });

  it('loses keys and groups when deactivated, and gets the groups back when reactivated', async () => {
    const id = await bring();
    const workspace = await makeWorkspace({ settings: { user_api_key_auto_create: true } });
    await map(await bringGroup([id]), workspace, 'member');
    const keys = async () =>
      (await ask('GET', `/v1/api-keys?workspace_id=${workspace}`)).body.data as unknown[];
    expect(await keys()).toHaveLength(1);
    await patch(`/Users/${id}`, { op: 'replace', value: { active: false } });
    expect([await rolesIn(workspace), await keys()]).toEqual([{}, []]);
    await patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true });
    expect(await rolesIn(workspace)).toEqual({ [id]: 'member' });
    expect(await keys()).toHaveLength(1);
    const owner = await ownerOf(server);
    const refused = await patch(`/Users/${owner}`, { op: 'replace', value: { active: false } });
    expect(refused.status).toBe(409);
    expect((await scim('DELETE', `/Users/${owner}`)).status).toBe(409);
  });

  it('loses the keys of an administrator in workspaces without a membership', async () => {
    const id = await bring();
    await ask('PUT', `/v1/admin/users/${id}`, { role: 'admin' });
    const workspace_id = await makeWorkspace();
    const key = await ask('POST', '/v1/api-keys/workspace/user', {
      name: 'mine',
      scopes: ['completions.write'],
      workspace_id,
      user_id: id,
    });
    expect(key.status).toBe(200);
    await scim('DELETE', `/Users/${id}`);
    expect((await ask('GET', `/v1/api-keys/${key.body.id}`)).status).toBe(404);
  });
});

describe('an invite', () => {
  const invites = '/v1/admin/users/invites';

  it('is accepted when a user with its address is created: the role, workspaces and keys take effect', async () => {
    const [workspace, archived] = [await makeWorkspace(), await makeWorkspace()];
    const email = 'Invited@example.com';
    const made = await ask('POST', invites, {
      email,
      role: 'admin',
      workspace_api_key_details: { scopes: ['logs.view'] },
      workspaces: [workspace, archived].map((id) => ({ id, role: 'manager' })),
    });
    await ask('DELETE', `/v1/admin/workspaces/${archived}`);
    const id = await bring({ userName: email.toLowerCase() });
    const got = await ask('GET', `${invites}/${made.body.id}`);
    expect(got.body).toMatchObject({
      status: 'accepted',
      accepted_at: '2027-01-04T08:00:00.000Z',
    });
    const user = (await ask('GET', `/v1/admin/users/${id}`)).body;
    expect(user).toMatchObject({ role: 'admin', workspace_ids: [workspace] });
    expect(await rolesIn(workspace)).toEqual({ [id]: 'manager' });
    const keys = (await ask('GET', `/v1/api-keys?workspace_id=${workspace}`)).body.data;
    expect(keys).toMatchObject([{ user_id: id, scopes: ['logs.view'], creation_mode: 'auto' }]);
    for (const [method, path] of [
      ['DELETE', ''],
      ['POST', '/resend'],
    ]) {
      expect((await ask(method!, `${invites}/${made.body.id}${path}`)).status).toBe(409);
    }
  });

  it('gives nothing when it is expired or cancelled', async () => {
    const [late, off] = ['late@example.com', 'off@example.com'];
    const made = [];
    for (const email of [late, off])
      made.push(await ask('POST', invites, { email, role: 'admin' }));
    await ask('DELETE', `${invites}/${made[1]!.body.id}`);
    server.clock.advance(7 * 86_400_000);
    for (const userName of [late, off]) {
      const id = await bring({ userName });
      expect((await ask('GET', `/v1/admin/users/${id}`)).body.role).toBe('member');
    }
  });
});

describe('a group of a directory', () => {
  it('creates, returns with and without members, replaces, patches and deletes a group', async () => {
    const [one, two, three] = [await bring(), await bring(), await bring()];
    const id = await bringGroup([one]);
    const path = `/Groups/${id}`;
    const members = async () =>
      (await scim('GET', path)).body.members.map(({ value }: { value: string }) => value);
    expect(await members()).toEqual([one]);
    expect((await scim('GET', `${path}?excludedAttributes=members`)).body.members).toBeUndefined();
    const { displayName } = (await scim('GET', path)).body;
    const filter = encodeURIComponent(`displayName eq "${displayName}"`);
    const found = (await scim('GET', `/Groups?filter=${filter}&count=1`)).body;
    expect(found).toMatchObject({
      totalResults: 1,
      Resources: [{ id, members: [{ value: one }] }],
    });
    await patch(path, { op: 'Add', path: 'members', value: [{ value: two }, { value: three }] });
    expect((await members()).toSorted()).toEqual([one, two, three].toSorted());
    await patch(path, { op: 'Remove', path: `members[value eq "${one}"]` });
    await patch(path, { op: 'remove', path: 'members', value: [{ value: two }] });
    expect(await members()).toEqual([three]);
    await patch(path, { op: 'replace', path: 'members', value: [{ value: one }] });
    expect(await members()).toEqual([one]);
    await patch(path, { op: 'remove', path: 'members' });
    expect(await members()).toEqual([]);
    const put = await scim('PUT', path, { displayName: 'Crew', members: [{ value: two }] });
    expect(put.body).toMatchObject({ displayName: 'Crew', members: [{ value: two }] });
    const unknown = await patch(path, {
      op: 'add',
      path: 'members',
      value: [{ value: randomUUID() }],
    });
    expect(unknown.status).toBe(400);
    expect((await scim('POST', '/Groups', { displayName: 'Crew' })).status).toBe(409);
    expect((await scim('DELETE', path)).status).toBe(204);
    expect((await scim('GET', path)).status).toBe(404);
  });

  it('adds its members to workspaces and removes them again, with the highest of their roles', async () => {
    const [one, two] = [await bring(), await bring()];
    const workspace = await makeWorkspace();
    const [members, admins] = [await bringGroup([one, two]), await bringGroup([two])];
    const mapping = (await map(members, workspace, 'member')).body;
    expect(await rolesIn(workspace)).toEqual({ [one]: 'member', [two]: 'member' });
    await map(admins, workspace, 'admin');
    expect(await rolesIn(workspace)).toEqual({ [one]: 'member', [two]: 'admin' });
    const addition = { op: 'add', path: 'members', value: [{ value: one }] };
    expect((await patch(`/Groups/${admins}`, addition)).status).toBe(403);
    await ask('PATCH', `${base}/Groups/${admins}`, { Operations: [addition] });
    await patch(`/Groups/${admins}`, { op: 'remove', path: `members[value eq "${two}"]` });
    expect(await rolesIn(workspace)).toEqual({ [one]: 'admin', [two]: 'member' });
    await ask('DELETE', `/v1/scim/workspaces/${mapping.id}`);
    expect(await rolesIn(workspace)).toEqual({ [one]: 'admin' });
    expect((await scim('DELETE', `/Groups/${admins}`)).status).toBe(403);
    await ask('DELETE', `${base}/Groups/${admins}`);
    expect(await rolesIn(workspace)).toEqual({});
    const left = await ask('GET', `/v1/scim/workspaces?workspace_id=${workspace}`);
    expect(left.body.total_count).toBe(0);
  });

  it('leaves manually added members and manually changed roles untouched', async () => {
    const [one, two] = [await bring(), await bring()];
    const workspace = await makeWorkspace({ users: [{ id: one, role: 'manager' }] });
    const group = await bringGroup([one, two]);
    await map(group, workspace, 'member');
    await ask('PUT', `/v1/admin/workspaces/${workspace}/users/${two}`, { role: 'admin' });
    expect(await rolesIn(workspace)).toEqual({ [one]: 'manager', [two]: 'admin' });
    await scim('DELETE', `/Groups/${group}`);
    expect(await rolesIn(workspace)).toEqual({ [one]: 'manager', [two]: 'admin' });
  });

  it('reaches one consistent state after many concurrent changes, whichever comes last', async () => {
    const people = await Promise.all(Array.from({ length: 4 }, () => bring()));
    const workspace = await makeWorkspace();
    const group = await bringGroup();
    const path = `/Groups/${group}`;
    const changes = people.flatMap((value) => [
      patch(path, { op: 'add', path: 'members', value: [{ value }] }),
      patch(path, { op: 'remove', path: `members[value eq "${value}"]` }),
    ]);
    const all = await Promise.all([map(group, workspace, 'member'), ...changes]);
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
    const { members } = (await scim('GET', path)).body;
    const ids = members.map(({ value }: { value: string }) => value);
    expect(Object.keys(await rolesIn(workspace)).toSorted()).toEqual(ids.toSorted());
  });
});

describe('a directory', () => {
  it('belongs to one organisation and requires the scope', async () => {
    const id = await bring();
    const other = await addTenant(server);
    expect((await other.send('GET', `${base}/Users/${id}`)).status).toBe(404);
    expect((await other.send('GET', `${base}/Users`)).body.totalResults).toBe(1);
    const { key } = await addKeyCaller(server, ['organisation_users.read']);
    const headers = { authorization: `Bearer ${key}` };
    const refused = await exchange('GET', `${server.url}${base}/Users`, undefined, headers);
    expect(refused).toMatchObject({ status: 403, body: { status: '403' } });
    const elsewhere = await exchange('GET', `${server.url}/v1/admin/users`, undefined, headers);
    expect(elsewhere.status).toBe(401);
  });
});

describe('the SCIM service provider endpoints', () => {
  it('returns the supported features and schemas', async () => {
    const { body } = await scim('GET', '/ServiceProviderConfig');
    expect(body).toMatchObject({ patch: { supported: true }, bulk: { supported: false } });
    expect(body.authenticationSchemes[0].type).toBe('oauthbearertoken');
    for (const [path, ids] of [
      ['/ResourceTypes', ['User', 'Group']],
      [
        '/Schemas',
        ['User', 'Group'].map((name) => `urn:ietf:params:scim:schemas:core:2.0:${name}`),
      ],
    ] as const) {
      const listed = await scim('GET', path);
      expect(listed.body.Resources.map(({ id }: { id: string }) => id)).toEqual(ids);
      expect((await scim('GET', `${path}/${ids[0]}`)).body).toEqual(listed.body.Resources[0]);
      expect((await scim('GET', `${path}/Nothing`)).status).toBe(404);
    }
  });
});
