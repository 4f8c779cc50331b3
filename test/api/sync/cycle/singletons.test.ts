/**
 * Verifies kinds with one instance per organisation or workspace: created, drifted, taken over,
 * exported, and reset to defaults.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exportManifests } from '../../../../src/sync/export/export.ts';
import { readSnapshot, toLiveSet } from '../../../../src/sync/server/live.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { readTexts } from '../../../support/sync/manifests.ts';
import {
  canaries,
  desiredFrom,
  everyKind,
  onlyOnes,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;
const defaults = '/v2/admin/organisation/defaults';
const sides = ['input', 'output'] as const;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
  expect((await sync.cycle(everyKind)).ending).toBe('success');
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const planned = async (text: string, more: object = {}) => {
  const { plan } = await sync.cycle(text, { act: false, ...more });
  return [
    ...plan.changes.map(({ action, id }) => `${action} ${id}`),
    ...plan.blocked.map(({ id, reason }) => `${reason} ${id}`),
  ].toSorted();
};
const put = async (path: string, body: object) =>
  expect((await server.request('PUT', path, { body })).status).toBe(200);
const readReported = async () => (await server.request('GET', defaults)).body;

/** Number of workspaces that are excluded from the guardrails of each side. */
async function excluded(): Promise<number[]> {
  const lists = sides.map((side) =>
    server.request('GET', `/v1/workspace-exclusions/${side}-guardrails`),
  );
  return (await Promise.all(lists)).map(
    ({ body }) => body.workspaces.filter((one: { excluded: boolean }) => one.excluded).length,
  );
}

it('rejects another name', async () => {
  const text = everyKind + onlyOnes.replaceAll('name: default', 'name: ours');
  const { faults = [] } = await readTexts(
    { 'a.yaml': text },
    { environment: { GW_VAR_CRM_TOKEN: 'a' } },
  );
  expect(faults.map(({ message, fix }) => `${message}: ${fix}`)).toEqual([
    'an organisation has one OrganisationDefaults, which is called "default": write name: default',
    'a workspace has one GuardrailExclusion, which is called "default": write name: default',
    'a workspace has one WorkspaceGuardrails, which is called "default": write name: default',
  ]);
});

it('creates singletons once, reports drift, and resets them when they leave the source', async () => {
  const whole = everyKind + onlyOnes;
  expect((await sync.cycle(whole)).ending).toBe('success');
  expect(await planned(whole)).toEqual([]);
  expect([(await readReported()).export_settings.deniedFields, await excluded()]).toEqual([
    ['response', 'request'],
    [1, 0],
  ]);
  const live = toLiveSet(await readSnapshot(sync.client, null), 'platform', []);
  const of = { owner: 'platform', kinds: [], scope: null, unmanaged: false };
  const files = exportManifests(live, of).files.map(({ path, text }) => [path, text]);
  const exported = await desiredFrom(Object.fromEntries(files), {
    GW_VAR_CRM_TOKEN: `Bearer ${canaries.GW_VAR_CRM_TOKEN}`,
  });
  expect((await sync.cycle(exported, { act: false })).plan.changes).toEqual([]);

  await put(defaults, { input_guardrails: null });
  const slug = (await server.request('GET', '/v1/admin/workspaces')).body.data.find(
    ({ name }: { name: string }) => name === 'support',
  ).id;
  await put('/v1/workspace-exclusions/input-guardrails', {
    workspaces: [{ workspace_id: slug, excluded: false }],
  });
  await put('/v1/workspace-exclusions/output-guardrails', {
    workspaces: [{ workspace_id: slug, excluded: true }],
  });
  expect(await planned(whole)).toEqual([
    'unmanaged-twin GuardrailExclusion/support/default',
    'update OrganisationDefaults/default',
  ]);
  expect((await sync.cycle(whole, { takeOwnership: true })).ending).toBe('success');
  expect([(await readReported()).input_guardrails.length, await excluded()]).toEqual([1, [1, 1]]);

  expect((await sync.cycle(everyKind)).ending).toBe('success');
  expect([await readReported(), await excluded()]).toEqual([
    {
      input_guardrails: [],
      output_guardrails: [],
      mcp_input_guardrails: [],
      mcp_output_guardrails: [],
      export_settings: { deniedFields: [] },
      api_key_max_ttl_days: null,
    },
    [0, 0],
  ]);
  expect(await planned(everyKind)).toEqual([]);
});

it('is unmanaged when others have changed it, and created when all was reset', async () => {
  const whole = everyKind + onlyOnes;
  await put(defaults, { export_settings: { deniedFields: ['cost'] } });
  expect(await planned(whole)).toEqual([
    'create Guardrail/everywhere',
    'create GuardrailExclusion/support/default',
    'create WorkspaceGuardrails/support/default',
    'unmanaged-twin OrganisationDefaults/default',
  ]);
  await put(defaults, { export_settings: null });
  expect(await planned(whole)).toContain('create OrganisationDefaults/default');
});

it('names the owner to a second owner', async () => {
  expect((await sync.cycle(everyKind + onlyOnes)).ending).toBe('success');
  const client = sync.openClient({ owner: 'other' });
  const [, ofDefaults] = onlyOnes.split('---\n').filter((text) => text !== '');
  const own = `---\n${ofDefaults!.replace('inputGuardrails: [{guardrailRef: everywhere}]', '')}`;
  expect(await planned(own, { client })).toEqual(['other-owner OrganisationDefaults/default']);
});

it('deletes an exclusion with its workspace, declared or not, without force', async () => {
  const { body: made } = await server.request('POST', '/v2/workspaces', { body: { name: 'gone' } });
  const body = { workspace_id: made.id, output_guardrails: true };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => server.request('POST', '/v2/guardrail-exclusions', { body })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
  const { id } = answers.find(({ status }) => status === 200)!.body;
  expect((await server.request('DELETE', `/v2/workspaces/${made.id}`)).status).toBe(200);
  expect((await server.request('GET', `/v2/guardrail-exclusions/${id}`)).status).toBe(404);
});

const guarded = `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: clinic}
spec: {defaults: {metadata: {team: a}}}
---
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: own, workspace: clinic}
spec:
  checks: [{id: default.wordCount, parameters: {maxWords: 200}}]
  actions: {deny: true}
---
apiVersion: gatewright.dev/v1
kind: WorkspaceGuardrails
metadata: {name: default, workspace: clinic}
spec: {inputGuardrails: [{guardrailRef: own}]}
`;

it('manages the guardrail lists of a workspace together with the guardrails, in one run', async () => {
  const client = sync.openClient({ owner: 'clinic' });
  const cycle = (text: string, more: object = {}) => sync.cycle(text, { client, ...more });
  expect((await cycle(guarded)).ending).toBe('success');
  expect(await planned(guarded, { client })).toEqual([]);
  const { body: list } = await server.request('GET', '/v2/workspaces?name=clinic');
  const path = `/v2/workspaces/${list.data[0].id}`;
  expect((await server.request('GET', path)).body.defaults).toEqual({
    metadata: { team: 'a' },
    input_guardrails: [expect.stringMatching(/^pg-own-/)],
  });

  await put(path, { defaults: { input_guardrails: null } });
  const { plan } = await cycle(guarded);
  expect(plan.changes).toMatchObject([
    { action: 'update', id: 'WorkspaceGuardrails/clinic/default', loosens: false },
  ]);
  expect((await server.request('GET', `${path}/guardrails`)).body.input_guardrails).toHaveLength(1);

  const without = guarded.slice(0, guarded.lastIndexOf('---'));
  expect((await cycle(without)).plan.changes).toMatchObject([{ action: 'delete', loosens: true }]);
  expect((await server.request('GET', path)).body.defaults).toEqual({ metadata: { team: 'a' } });
  expect((await cycle(guarded)).ending).toBe('success');
  const stays = `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: other}
spec: {}
`;
  expect((await cycle(stays)).ending).toBe('success');
  expect(await planned(stays, { client })).toEqual([]);
  expect((await server.request('GET', '/v2/workspaces?name=clinic')).body.data).toEqual([]);
});
