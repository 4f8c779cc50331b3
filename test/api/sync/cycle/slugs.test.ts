/** Verifies slugs and provider references of manifests on a real server. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TestServer } from '../../../support/server/server.ts';
import {
  openSync,
  type SyncSetup,
  startSyncServer,
  withoutSets,
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

const manifest = (kind: string, name: string, spec: string, workspace = 'support'): string => `
apiVersion: gatewright.dev/v1
kind: ${kind}
metadata: {name: ${name}${workspace === '' ? '' : `, workspace: ${workspace}`}}
spec: {${spec}}
---`;
const workspace = manifest('Workspace', 'support', '', '');
const integration = (slug = '') =>
  manifest('Integration', 'models', `aiProviderId: openai${slug}`, '');
const provider = (more = '', of = 'models') =>
  manifest('Provider', 'small', `integrationRef: ${of}${more}`);
const config = (body: string, more = '') => manifest('Config', 'routing', `config: ${body}${more}`);
const routing = '{targets: [{providerRef: small}, {provider: "@small", weight: 2}]}';

async function find(path: string) {
  const { status, body } = await server.request('GET', `/v2/${path}`);
  return status === 200 ? body : status;
}

describe.each([
  ['in one change set', (): SyncSetup['client'] => sync.client],
  ['by single requests', (): SyncSetup['client'] => withoutSets(sync.openClient())],
])('a sync %s', (_, clientOf) => {
  const apply = async (files: string) => {
    const client = clientOf();
    const made = await sync.cycle(files, { client });
    expect([made.ending, made.plan.blocked]).toEqual(['success', []]);
    expect((await sync.cycle(files, { client, act: false })).plan.changes).toEqual([]);
    return made;
  };

  it('uses the names of manifests as slugs, and writes the slugs of providers into configs', async () => {
    await apply([workspace, integration(), provider(), config(routing)].join(''));
    expect(await find('integrations/models')).toMatchObject({ name: 'models' });
    const stored = await find('configs/routing');
    expect(JSON.parse(stored.config)).toEqual({
      targets: [{ provider: '@small' }, { provider: '@small', weight: 2 }],
    });
  });

  it('changes slugs in place, together with the configs that refer to a changed provider', async () => {
    await apply([workspace, integration(), provider(), config('{providerRef: small}')].join(''));
    const before = [await find('integrations/models'), await find('configs/routing')];
    const named = await find('providers/small');
    const texts = [
      workspace,
      integration(', slug: ai'),
      provider(', slug: tiny'),
      config('{providerRef: small}', ', slug: main'),
    ];
    const { plan } = await apply(texts.join(''));
    expect(new Set(plan.changes.map(({ action }) => action))).toEqual(new Set(['update']));
    const after = [await find('integrations/ai'), await find('configs/main')];
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect((await find('providers/tiny')).id).toBe(named.id);
    expect(JSON.parse(after[1].config)).toEqual({ provider: '@tiny' });
    expect(await find('configs/routing')).toBe(404);
  });

  it('keeps the slug of a replaced provider', async () => {
    const other = manifest('Integration', 'other', 'aiProviderId: anthropic', '');
    const base = [workspace, integration(), other, config('{providerRef: small}')].join('');
    await apply(base + provider());
    const before = await find('providers/small');
    await apply(base + provider('', 'other'));
    const after = await find('providers/small');
    expect(after.slug).toBe('small');
    expect(after.id).not.toBe(before.id);
  });
});

it('leaves the slugs of resources that an earlier version created as they are', async () => {
  const made = await server.request('POST', '/v2/configs', {
    body: { name: 'routing', config: {} },
  });
  const file = manifest('Config', 'routing', 'config: {}', '');
  expect((await sync.cycle(file, { takeOwnership: true })).ending).toBe('success');
  expect((await sync.cycle(file, { act: false })).plan.changes).toEqual([]);
  expect(await find(`configs/${made.body.slug}`)).toMatchObject({ id: made.body.id });
});

it('blocks a config that names an unknown provider, and applies the rest', async () => {
  const { slug } = (await server.request('POST', '/v2/workspaces', { body: { name: 'S' } })).body;
  const external = `
apiVersion: gatewright.dev/v1
kind: External
metadata: {name: support}
spec: {kind: Workspace, slug: ${slug}}
---`;
  const files = [external, integration(), provider(), config('{provider: "@smal"}')].join('');
  const { ending, plan } = await sync.cycle(files);
  expect(ending).toBe('refusedByGuard');
  expect(plan.blocked).toMatchObject([
    { id: 'Config/support/routing', reason: 'unknown-provider', position: { line: 20 } },
  ]);
  expect(await find(`providers/small?workspace_id=${slug}`)).toMatchObject({ slug: 'small' });
  expect(await find('configs/routing')).toBe(404);
});

it('knows the providers that another owner declares in the workspace', async () => {
  const theirs = sync.openClient({ owner: 'team' });
  const own = [workspace, integration(), provider()].join('');
  expect((await sync.cycle(own)).ending).toBe('success');
  const { slug } = (await server.request('GET', '/v2/workspaces?name=support')).body.data[0];
  const external = `
apiVersion: gatewright.dev/v1
kind: External
metadata: {name: support}
spec: {kind: Workspace, slug: ${slug}}
---`;
  const files = [external, config('{provider: "@small"}')].join('');
  expect((await sync.cycle(files, { client: theirs })).ending).toBe('success');
  const again = await sync.cycle(files, { client: theirs, looksAtOwnFirst: true, act: false });
  expect([again.plan.changes, again.plan.blocked]).toEqual([[], []]);
});
