/**
 * Verifies declared deployments: complete as declared, drift reported, archived when removed, and
 * recreated under their slug.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportManifests } from '../../../../src/sync/export/export.ts';
import { readSnapshot, toLiveSet } from '../../../../src/sync/server/live.ts';
import type { TestServer } from '../../../support/server/server.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;
beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const workspaces = ['support', 'research']
  .map((name) => `apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: ${name}}\n`)
  .join('---\n');
const deployment = (spec: string) => `${workspaces}---
apiVersion: gatewright.dev/v1
kind: Deployment
metadata: {name: east}
spec:
  slug: east
${spec.replaceAll(/^(?=.)/gm, '  ')}`;

const first = deployment(`tags: {Region: eu}
isDefault: true
authSettings:
  gatewayBaseUrl: https://east.example.com
  workspacesAllowed: [{workspaceRef: support}]
  jwtSubsAllowed: [bob]
  jwtSubWorkspaceMapping: {Anna_B: {workspaceRef: research}}
`);

const planned = async (text: string) => {
  const { plan } = await sync.cycle(text, { act: false });
  return plan.changes.map(({ action, id, fields }) => [
    action,
    id,
    ...fields.map(({ path, difference }) => `${difference} ${path}`),
  ]);
};
const apply = async (text: string) => expect((await sync.cycle(text)).ending).toBe('success');
const read = async (name = 'east') => (await server.request('GET', `/v2/deployments/${name}`)).body;
const put = async (body: object) =>
  expect((await server.request('PUT', '/v2/deployments/east', { body })).status).toBe(200);

async function served(): Promise<unknown> {
  const { auth_settings: settings, workspaces: named } = await read();
  const slugs = named.map(({ slug }: { slug: string }) => slug.split('-')[1]).toSorted();
  return [settings.allow_all_workspaces, slugs, settings.jwt_subs_allowed.toSorted()];
}

it('is complete as its manifest declares, and a second plan is empty', async () => {
  await apply(first);
  expect(await planned(first)).toEqual([]);
  expect(await served()).toEqual([0, ['resear', 'suppor'], ['Anna_B', 'bob']]);
  expect(await read()).toMatchObject({ tags: { Region: 'eu' }, is_default: 1 });
  const read1 = await readSnapshot(sync.client, null);
  const live = toLiveSet(read1, 'platform', []);
  const of = { owner: 'platform', kinds: [], scope: null, unmanaged: false };
  const files = exportManifests(live, of).files.map(({ path, text }) => [path, text] as const);
  expect(Object.fromEntries(files)['deployments.yaml']).toContain('Anna_B:\n        workspaceRef');
  const exported = await desiredFrom(Object.fromEntries(files));
  expect((await sync.cycle(exported, { act: false })).plan.changes).toEqual([]);
});

it('reports additions to its lists as drift, and restores exactly the declared state', async () => {
  const { body: other } = await server.request('POST', '/v2/workspaces', { body: { name: 'Lab' } });
  await put({ auth_settings: { workspaces_allowed: [other.id], jwt_subs_allowed: ['eve'] } });
  const [changed] = await planned(first);
  expect(changed?.slice(0, 2)).toEqual(['update', 'Deployment/east']);
  await apply(first);
  expect(await served()).toEqual([0, ['resear', 'suppor'], ['Anna_B', 'bob']]);
  // A change of undeclared fields is no drift.
  await put({ auth_settings: { jwt_subs_allowed: ['bob'] }, rotate_auth: true });
  expect(await planned(first)).toEqual([]);
  await put({ auth_settings: { allow_all_workspaces: true } });
  await apply(first);
  expect(await served()).toEqual([0, ['resear', 'suppor'], ['Anna_B', 'bob']]);
});

it('loses fields that its manifest no longer declares, and keeps those it never declared', async () => {
  await put({ auth_settings: { mcp_gateway_base_url: 'https://mcp.example.com' } });
  expect(await planned(first)).toEqual([]);
  const second = deployment('authSettings: {workspacesAllowed: [{workspaceRef: research}]}\n');
  await apply(second);
  expect(await planned(second)).toEqual([]);
  expect(await served()).toEqual([0, ['resear'], []]);
  expect(await read()).toMatchObject({
    tags: null,
    is_default: 0,
    auth_settings: { mcp_gateway_base_url: 'https://mcp.example.com' },
  });
  const open = deployment('type: non_production\n');
  await apply(open);
  expect(await served()).toEqual([1, [], []]);
  await apply(deployment(''));
  expect((await read()).type).toBe('production');
});

it('is archived when it leaves the source, and created anew under its slug when it returns', async () => {
  await apply(first);
  const { id } = await read();
  await apply(workspaces);
  expect(await read(id)).toMatchObject({ status: 'archived', slug: 'east', is_default: 0 });
  expect(await planned(workspaces)).toEqual([]);
  await apply(first);
  expect(await planned(first)).toEqual([]);
  const again = await read();
  expect(again).toMatchObject({ status: 'active', slug: 'east' });
  expect(again.id).not.toBe(id);
  expect(await read(id)).toMatchObject({ status: 'archived', slug: `east-${id.slice(-12)}` });
  // Through the API alone the slug of an archived deployment remains taken.
  expect((await server.request('DELETE', '/v2/deployments/east')).status).toBe(200);
  const body = { name: 'east', slug: 'east' };
  expect((await server.request('POST', '/v2/deployments', { body })).status).toBe(409);
});

it('transfers the default, also of configs, in one run without drift', async () => {
  const one = (kind: string, name: string, spec: string) =>
    `---\napiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
  const config = (name: string, more: string) =>
    one('Config', name, `{config: {retry: {attempts: 1}}${more}}`);
  const gateway = (name: string, more: string) =>
    one('Deployment', name, `{slug: ${name}, tags: {a: b}${more}}`);
  // Either one is first by name, so that both orders are covered.
  const a = 'isDefault: 1';
  const before = [
    config('a', `, ${a}`) + config('b', '') + config('c', ''),
    gateway('ga', ', isDefault: true') + gateway('gb', ''),
  ].join('');
  const after = [
    config('a', ', isDefault: 0').replace('attempts: 1', 'attempts: 2'),
    config('b', `, ${a}`) + config('c', ''),
    gateway('ga', ', isDefault: false').replace('a: b', 'a: c') +
      gateway('gb', ', isDefault: true'),
  ].join('');
  for (const text of [before, after, before.replace('attempts: 1', 'attempts: 3'), after]) {
    await apply(workspaces + text);
    expect(await planned(workspaces + text)).toEqual([]);
  }
  // The previous default leaves the source in the run in which another resource becomes default or
  // is created.
  const left = workspaces + config('c', `, ${a}`) + gateway('gc', ', isDefault: true');
  await apply(left);
  expect(await planned(left)).toEqual([]);
  const all = workspaces + before + gateway('gd', '');
  await apply(all);
  expect(await planned(all)).toEqual([]);
});

it('transfers the default from an adopted resource in the same run, whatever the order by name', async () => {
  const made = async (path: string, body: object) =>
    expect((await server.request('POST', path, { body })).status).toBe(200);
  const manifest = (kind: string, name: string, spec: string) =>
    `---\napiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
  const config = (name: string, more = '') =>
    manifest('Config', name, `{config: {retry: {attempts: 1}}${more}}`);
  const gateway = (name: string, more = '') =>
    manifest('Deployment', name, `{slug: ${name}${more}}`);
  const taking = (names: readonly string[], taker: string) =>
    workspaces +
    names
      .map((name) => {
        const isTaker = name === taker;
        return (
          config(name, isTaker ? ', isDefault: 1' : '') +
          gateway(`g${name}`, isTaker ? ', isDefault: true' : '')
        );
      })
      .join('');
  for (const [old, taker, isThere] of [
    ['m', 'n', false],
    ['p', 'o', false],
    ['q', 'r', true],
    ['t', 's', true],
  ] as const) {
    if (isThere) await apply(taking([taker], 'nobody'));
    await made('/v2/configs', { name: old, config: { retry: { attempts: 2 } }, isDefault: 1 });
    const auth_settings = { gateway_base_url: 'https://gateway.invalid' };
    const settings = { deployment_config: {}, auth_settings };
    await made('/v2/deployments', {
      name: `g${old}`,
      slug: `g${old}`,
      ...settings,
      is_default: true,
    });
    const both = taking([old, taker], taker);
    const { report, ending } = await sync.cycle(both, { takeOwnership: true });
    expect(report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect([ending, await planned(both)]).toEqual(['success', []]);
    expect((await read(`g${taker}`)).is_default).toBe(1);
    await apply(workspaces);
  }
});

it('rejects a second default, and serving all and some workspaces, with the position', async () => {
  const two = (kind: string, name: string, spec: string) =>
    `---\napiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec:\n  ${spec}\n`;
  const config = 'config: {retry: {attempts: 1}}\n  isDefault: 1';
  await expect(
    desiredFrom(workspaces + two('Config', 'a', config) + two('Config', 'b', config)),
  ).rejects.toThrow(/"line":21,.*the default is used twice, first at all.yaml:14:/);
  const other = `---\napiVersion: gatewright.dev/v1\nkind: Config\nmetadata: {name: b, workspace: support}\nspec:\n  ${config}\n`;
  await desiredFrom(workspaces + two('Config', 'a', config) + other);
  const open = 'allowAllWorkspaces: true\n    workspacesAllowed: [{workspaceRef: support}]';
  await expect(
    desiredFrom(workspaces + two('Deployment', 'a', `authSettings:\n    ${open}`)),
  ).rejects.toThrow(/must be omitted if allow_all_workspaces is true/);
});

it('is created anew after it was archived manually', async () => {
  await apply(first);
  await put({ status: 'archived' });
  expect((await planned(first)).map((change) => change.slice(0, 2))).toEqual([
    ['create', 'Deployment/east'],
  ]);
  await apply(first);
  expect(await planned(first)).toEqual([]);
});

it('is deleted before the workspaces that it serves, in one run', async () => {
  await apply(first);
  await apply('apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: other}\n');
  const { body } = await server.request('GET', '/v2/workspaces?name=support');
  expect(body.data).toEqual([]);
});
