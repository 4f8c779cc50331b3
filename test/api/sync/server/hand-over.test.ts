/**
 * Verifies that single resources are adopted unchanged and released by the holder of the lease
 * only.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  adoptResources,
  type HandOverOutcome,
  releaseResources,
} from '../../../../src/sync/cycle/hand-over.ts';
import type { Identity } from '../../../../src/sync/resources/resource-set.ts';
import { createSuspension, readRevision } from '../../../../src/sync/server/sync-records.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { leaseHeaders } from '../../../support/sync/lease.ts';
import {
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeEach(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterEach(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const options = (identities: readonly Identity[], takeOver = false, client = sync.client) => ({
  client,
  identities,
  takeOver,
  holder: 'a test',
  takeOverCommand: 'gatewright adopt',
  evenIfSuspended: false,
  evenIfSuspendedCommand: 'gatewright adopt --even-if-suspended',
  onWarning: (message: string) => expect.fail(message),
});
const routing = (workspace: string | null = null): Identity => ({
  kind: 'Config',
  workspace,
  name: 'routing',
});
const changed = (done: readonly HandOverOutcome[]) => done.map((one) => [one.id, one.changed]);

async function makeByHand(name = 'routing'): Promise<string> {
  const body = { name, config: { retry: { attempts: 3 } } };
  return (await server.request('POST', '/v2/configs', { body })).body.id;
}
const manifest = (attempts: number): string => `
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing}
spec: {config: {retry: {attempts: ${attempts}}}}
`;
const audited = async (resourceId: string) =>
  (
    await server.database.db
      .selectFrom('audit_log')
      .select(['action', 'changes'])
      .where('resource_id', '=', resourceId)
      .execute()
  ).map(({ action, changes }) => [action, JSON.parse(String(changes))]);

it('adopts manually created resources, keeps them until a manifest declares them, and then compares', async () => {
  const id = await makeByHand();
  expect(await adoptResources(options([routing()]))).toEqual([
    { id: 'Config/routing', resourceId: id, changed: true },
  ]);
  expect(changed(await adoptResources(options([routing()])))).toEqual([['Config/routing', false]]);
  const { plan } = await sync.cycle('');
  expect(plan.changes).toMatchObject([{ id: 'Config/routing', action: 'retain' }]);
  const next = await sync.cycle(manifest(5));
  expect(next).toMatchObject({ ending: 'success', plan: { changes: [{ action: 'update' }] } });
  expect((await sync.cycle(manifest(5))).plan.changes).toEqual([]);
  const rows = await audited(id);
  expect(rows.map(([action]) => action)).toEqual(['create', 'update', 'update']);
  expect(rows[1]?.[1]).toMatchObject({ managed_by: { owner: 'platform', name: 'routing' } });
});

it('records a revision at the last applied commit, and only when something changed', async () => {
  await makeByHand();
  await adoptResources(options([routing()]));
  const first = await readRevision(sync.client, 1);
  expect(first).toMatchObject({
    commit: 'none',
    source: 'gatewright adopt',
    ending: 'success',
    change_count: 1,
    changes: [{ action: 'adopt', kind: 'Config', workspace: null, name: 'routing', fields: [] }],
  });
  await sync.cycle(manifest(5));
  await adoptResources(options([routing()]));
  const applied = (await readRevision(sync.client, 2))!;
  await releaseResources(options([routing()]));
  expect(await readRevision(sync.client, 3)).toMatchObject({
    commit: applied.commit,
    source: applied.source,
    changes: [{ action: 'release', kind: 'Config', name: 'routing' }],
  });
  expect(await readRevision(sync.client, 4)).toBeNull();
});

it('is blocked completely by a suspension, and reports its end and the command to resume', async () => {
  const id = await makeByHand();
  const workspace = 'apiVersion: gatewright.dev/v1\nkind: Workspace\nmetadata: {name: support}\n';
  await sync.cycle(workspace);
  const support: Identity = { kind: 'Workspace', workspace: null, name: 'support' };
  const paused = { owner: 'platform', reason: 'frozen' };
  await createSuspension(sync.client, { ...paused, workspace: 'support' });
  await expect(releaseResources(options([support]))).rejects.toMatchObject({
    kind: 'refusedByGuard',
    message: expect.stringMatching(
      /^Workspace\/support: workspace support is suspended until it is resumed: frozen\nIf it is meant: gatewright adopt --even-if-suspended$/,
    ),
  });
  expect(changed(await adoptResources(options([routing()])))).toEqual([['Config/routing', true]]);
  await createSuspension(sync.client, paused);
  await expect(releaseResources(options([routing()]))).rejects.toThrow('its owner is suspended');
  expect(
    changed(await releaseResources({ ...options([routing()]), evenIfSuspended: true })),
  ).toEqual([['Config/routing', true]]);
  expect((await audited(id)).map(([action]) => action)).toEqual(['create', 'update', 'release']);
});

it('releases every kind unchanged, and adopts it again without changes', async () => {
  expect((await sync.cycle(everyKind)).ending).toBe('success');
  const { plan } = await sync.cycle(everyKind);
  const identities = plan.wanted.map(({ identity }) => identity);
  expect(identities).toHaveLength(9);
  expect((await releaseResources(options(identities))).every((one) => one.changed)).toBe(true);
  const after = await sync.cycle(everyKind);
  expect(after.plan.blocked.length).toBeGreaterThan(0);
  expect(
    after.plan.blocked.every(
      ({ reason }) => reason === 'unmanaged-twin' || reason === 'dependency',
    ),
  ).toBe(true);
  expect((await sync.cycle('', { allowDeletes: 99 })).plan.changes).toEqual([]);
  const again = identities.filter(({ kind }) => kind !== 'GuardrailMcpBinding');
  expect((await adoptResources(options(again))).every((one) => one.changed)).toBe(true);
  const same = await sync.cycle(everyKind, { act: false, takeOwnership: true });
  expect(
    same.plan.changes.flatMap(({ fields }) => fields.filter((f) => f.difference !== 'recorded')),
  ).toEqual([]);
});

it('resolves all names before it writes, and reports the fault of each', async () => {
  const id = await makeByHand();
  await makeByHand('twice');
  await makeByHand('twice');
  const wrong = [routing(), routing('nowhere'), { ...routing(), name: 'twice' }];
  await expect(adoptResources(options(wrong))).rejects.toMatchObject({
    kind: 'invalidInput',
    message: expect.stringMatching(/^Config\/nowhere\/routing: no such.*\nConfig\/twice: several/),
  });
  await expect(releaseResources(options([routing()]))).rejects.toMatchObject({
    kind: 'invalidInput',
    message: 'Config/routing is not owned by "platform"',
  });
  expect((await audited(id)).map(([action]) => action)).toEqual(['create']);
});

it('takes over from another owner only on request, and releases nothing of another owner', async () => {
  await sync.cycle(manifest(3));
  const other = sync.openClient({ owner: 'other' });
  await expect(adoptResources(options([routing()], false, other))).rejects.toMatchObject({
    message: expect.stringContaining('belongs to owner "platform"'),
  });
  await expect(releaseResources(options([routing()], false, other))).rejects.toThrow(
    'not owned by "other"',
  );
  const { body: listed } = await server.request('GET', '/v2/configs');
  const resources = [{ kind: 'Config', id: listed.data[0].id }];
  const headers = await leaseHeaders(server.request, 'other');
  const path = '/admin/v2/gatewright/sync/releases';
  const refused = await server.request('POST', path, { body: { resources }, headers });
  expect(refused).toMatchObject({ status: 409 });
  expect((await sync.cycle(manifest(3))).plan.unchanged).toBe(1);
  const old = { ...headers, 'gatewright-fence': '0' };
  expect(await server.request('POST', path, { body: { resources }, headers: old })).toMatchObject({
    status: 409,
  });
});

it('releases once in concurrent runs, all or none', async () => {
  await sync.cycle(manifest(3));
  const { body: listed } = await server.request('GET', '/v2/configs');
  const ours = { kind: 'Config', id: listed.data[0].id };
  const headers = await leaseHeaders(server.request, 'platform');
  const path = '/admin/v2/gatewright/sync/releases';
  const send = () => server.request('POST', path, { body: { resources: [ours] }, headers });
  const answers = await Promise.all(Array.from({ length: 50 }, send));
  expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
  expect(answers.filter(({ body }) => body.data[0].released)).toHaveLength(1);
  expect((await audited(ours.id)).filter(([action]) => action === 'release')).toEqual([
    ['release', { owner: 'platform', workspace: null, name: 'routing' }],
  ]);
});
