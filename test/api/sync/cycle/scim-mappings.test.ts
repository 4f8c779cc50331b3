/**
 * Verifies updated and declared SCIM group mappings: versions, role changes, drift, and recreation.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestResponse } from '../../../support/network/exchange.ts';
import { addUser } from '../../../support/server/people.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { addKeyCaller, addTenant } from '../../../support/server/tenant.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;
let asDirectory: Awaited<ReturnType<typeof addKeyCaller>>['send'];
beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
  asDirectory = (await addKeyCaller(server, ['organisation_users.update'])).send;
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const path = '/v1/scim/workspaces';
const ask = (method: string, at: string, body?: unknown, tag?: string): Promise<TestResponse> =>
  server.request(method, at, { body, headers: tag === undefined ? {} : { 'if-match': tag } });

const team = 'apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: team}\n';
const declared = (role: string, group: string) => `${team}---
apiVersion: gatewright.dev/v1
kind: ScimMapping
metadata: {name: crew, workspace: team}
spec: {scimGroupName: ${group}, role: ${role}}
`;
const apply = async (text: string) => expect((await sync.cycle(text)).ending).toBe('success');
const planned = async (text: string) => {
  const { plan } = await sync.cycle(text, { act: false });
  return plan.changes.map(({ action, id }) => [action, id]);
};
const mappings = async () => (await ask('GET', path)).body.mappings;

async function rolesIn(workspace: string): Promise<Record<string, string>> {
  const { body } = await ask('GET', `/v1/admin/workspaces/${workspace}/users`);
  return Object.fromEntries(
    body.data.map(({ id, role }: { id: string; role: string }) => [id, role]),
  );
}

it('changes the role of a mapping and its people under a version, and no other mapping of the group', async () => {
  const [one, two] = await Promise.all(
    ['A', 'B'].map(async (name) => (await ask('POST', '/v1/admin/workspaces', { name })).body.id),
  );
  const user = await addUser(server);
  const group = { displayName: randomUUID(), members: [{ value: user }] };
  expect((await asDirectory('POST', '/v1/scim/v2/Groups', { body: group })).status).toBe(201);
  const body = { scim_group_name: group.displayName, role: 'member' };
  const { id } = (await ask('POST', path, { ...body, workspace_id: one })).body;
  const got = await ask('GET', `${path}/${id}`);
  expect(got).toMatchObject({ status: 200, body: { id, role: 'member' } });
  expect(got.headers.etag).toBe('"1"');
  expect((await ask('PUT', `${path}/${id}`, { role: 'Admin' }, '"1"')).status).toBe(200);
  expect(await rolesIn(one)).toEqual({ [user]: 'admin' });
  for (const [method, sent] of [['PUT', { role: 'member' }], ['DELETE']] as const) {
    expect((await ask(method, `${path}/${id}`, sent, '"1"')).status).toBe(412);
  }
  await ask('POST', path, { ...body, role: 'admin', workspace_id: two });
  const refused = await ask('PUT', `${path}/${id}`, { role: 'member' });
  expect(refused).toMatchObject({ status: 400 });
  expect(refused.body.error.message).toContain('role: must be admin, as in the other mappings');
  const { send } = await addTenant(server);
  for (const [method, sent] of [['GET'], ['PUT', { role: 'admin' }], ['DELETE']] as const) {
    expect((await send(method, `${path}/${id}`, { body: sent })).status).toBe(404);
  }
  expect((await ask('DELETE', `${path}/${id}`, undefined, '"2"')).status).toBe(200);
  expect(await rolesIn(one)).toEqual({});
});

it('applies a declared mapping, reports drift, and rejects a second mapping of the same group', async () => {
  await apply(declared('member', 'Crew'));
  expect(await planned(declared('member', 'Crew'))).toEqual([]);
  const crew = async () =>
    (await mappings()).find(({ scim_group: name }: { scim_group: string }) => name === 'Crew');
  const { id } = await crew();
  await apply(declared('manager', 'Crew'));
  expect(await crew()).toMatchObject({ id, role: 'manager' });
  await apply(declared('manager', 'Crew'));
  await apply(declared('manager', 'Pilots'));
  expect(await crew()).toBeUndefined();
  await apply(team);
  const { body } = await ask('GET', '/v2/workspaces?name=team');
  const workspace_id = body.data[0].id;
  await ask('POST', path, { workspace_id, scim_group_name: 'Crew', role: 'member' });
  const { plan } = await sync.cycle(declared('member', 'Crew'), { act: false });
  expect(plan.blocked.map(({ reason }) => reason)).toEqual(['unmanaged-twin']);
  expect(await planned(declared('member', 'Pilots'))).toEqual([
    ['create', 'ScimMapping/team/crew'],
  ]);
});

it('recreates a mapping in the next run after its group or workspace was deleted', async () => {
  const text = declared('member', 'Lost');
  await apply(text);
  const groups = (await ask('GET', '/v1/scim/groups?search=Lost')).body.groups;
  const gone = await asDirectory('DELETE', `/v1/scim/v2/Groups/${groups[0].id}`);
  expect(gone.status).toBe(204);
  expect(await planned(text)).toEqual([['create', 'ScimMapping/team/crew']]);
  await apply(text);
  expect(await planned(text)).toEqual([]);
  const { body } = await ask('GET', '/v2/workspaces?name=team');
  const away = await ask('DELETE', `/v2/workspaces/${body.data[0].id}`);
  expect(away.status).toBe(200);
  expect((await planned(text)).toSorted()).toEqual([
    ['create', 'ScimMapping/team/crew'],
    ['create', 'Workspace/team'],
  ]);
  await apply(text);
  expect(await planned(text)).toEqual([]);
});
