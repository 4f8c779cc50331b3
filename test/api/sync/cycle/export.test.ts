/** Verifies that an export plans to nothing and contains no secret. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Export,
  exportManifests,
  type ManifestExportOptions,
} from '../../../../src/sync/export/export.ts';
import type { DesiredSet, LiveResource } from '../../../../src/sync/resources/resource-set.ts';
import { readSnapshot, toLiveSet } from '../../../../src/sync/server/live.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { manifest } from '../../../support/sync/manifests.ts';
import {
  canaries,
  desiredFrom,
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
  await sync.cycle(everyKind);
  const lab = await server.request('POST', '/admin/v2/workspaces', { body: { name: 'Lab & Co' } });
  const config = await server.request('POST', '/v2/configs', {
    body: {
      name: `by hand $\{X}`,
      config: { retry: { attempts: 2 }, note: `$\{HOME}` },
      workspace_id: lab.body.id,
    },
  });
  await server.request('POST', '/v2/api-keys/workspace/service', {
    body: {
      name: 'by hand',
      scopes: ['logs.view'],
      workspace_id: lab.body.id,
      defaults: { config_id: config.body.id },
    },
  });
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function exported(options: Partial<ManifestExportOptions> = {}): Promise<Export> {
  const read = await readSnapshot(sync.client, null);
  return exportManifests(toLiveSet(read, 'platform', []), {
    owner: 'platform',
    kinds: [],
    scope: null,
    unmanaged: false,
    ...options,
  });
}

function filesOf({ files }: Export): Record<string, string> {
  return Object.fromEntries(files.map(({ path, text }) => [path, text]));
}

describe("the export of an owner's resources", () => {
  it('plans to nothing once the placeholders are filled in', async () => {
    const result = await exported();
    expect(result.stubs).toEqual([
      'McpIntegration/support/crm configurations.custom_headers.Authorization: env GW_VAR_CRM_TOKEN',
    ]);
    const set = await desiredFrom(filesOf(result), {
      GW_VAR_CRM_TOKEN: `Bearer ${canaries.GW_VAR_CRM_TOKEN}`,
    });
    const { plan } = await sync.cycle(set, { act: false });
    expect(plan.changes.map(({ id, fields }) => [id, fields])).toEqual([]);
    expect(plan).toMatchObject({ unchanged: 9, blocked: [] });
  });

  it('plans to nothing without values, because optional secrets stay unchanged', async () => {
    const files = filesOf(await exported());
    expect(files['support/mcp-integrations.yaml']).toContain('optional: true');
    const set = await desiredFrom(files, {});
    const { plan, ending } = await sync.cycle(set, { act: false });
    expect([plan.changes, plan.blocked, ending]).toEqual([[], [], 'success']);
  });

  it('is blocked when an optional secret must be written, and names the variable', async () => {
    const files = filesOf(await exported());
    const text = files['support/mcp-integrations.yaml'] ?? '';
    const moved = {
      ...files,
      'support/mcp-integrations.yaml': text.replace('crm.example', 'crm2.example'),
    };
    const { plan } = await sync.cycle(await desiredFrom(moved, {}), { act: false });
    expect(plan.changes).toEqual([]);
    expect(plan.blocked).toMatchObject([
      {
        id: 'McpIntegration/support/crm',
        reason: 'missing-secret',
        message: expect.stringContaining('set env GW_VAR_CRM_TOKEN'),
      },
    ]);
    const renamed = { all: text.replaceAll('crm', 'other') };
    const made = await sync.cycle(
      await desiredFrom({ ...files, 'support/other.yaml': renamed.all }, {}),
      { act: false },
    );
    expect(made.plan.changes).toEqual([]);
    expect(made.plan.blocked).toMatchObject([
      { id: 'McpIntegration/support/other', reason: 'missing-secret' },
    ]);
  });

  it('is one file for each kind in each workspace, with references by name', async () => {
    const files = filesOf(await exported());
    expect(Object.keys(files).sort()).toEqual([
      'support/api-keys.yaml',
      'support/configs.yaml',
      'support/guardrail-mcp-bindings.yaml',
      'support/guardrails.yaml',
      'support/mcp-integrations.yaml',
      'support/mcp-servers.yaml',
      'support/usage-limit-policies.yaml',
      'workspaces.yaml',
    ]);
    expect(files['support/api-keys.yaml']).toContain('configRef: routing');
    expect(files['support/configs.yaml']).toContain('guardrailRef: short');
    expect(files['support/api-keys.yaml']).toContain(
      '# secretOutput: {file: {path: support/bot.key}}',
    );
  });

  it('contains no secret', async () => {
    const text = JSON.stringify(await exported());
    for (const value of Object.values(canaries)) expect(text).not.toContain(value);
  });

  it('can be limited to a kind, with Externals for omitted references', async () => {
    const result = await exported({ kinds: ['ApiKey'] });
    const files = filesOf(result);
    expect(Object.keys(files).sort()).toEqual(['externals.yaml', 'support/api-keys.yaml']);
    const { plan } = await sync.cycle(await desiredFrom(files), { act: false, prune: false });
    expect(plan.blocked).toEqual([]);
  });

  it('is empty for a workspace without declared resources', async () => {
    expect(await exported({ scope: new Set(['elsewhere']) })).toEqual({
      files: [],
      moved: [],
      stubs: [],
      tooLarge: [],
    });
  });
});

describe('the export of undeclared resources', () => {
  it('can be adopted without a change', async () => {
    const files = filesOf(await exported({ unmanaged: true }));
    // The key of the deployment itself cannot be adopted.
    expect(Object.keys(files).some((path) => path === 'api-keys.yaml')).toBe(false);
    const set = await desiredFrom(files);
    const { plan, ending, report } = await sync.cycle(set, {
      client: sync.openClient({ owner: 'adopter' }),
      takeOwnership: true,
    });
    expect(report?.items.filter(({ status }) => status !== 'done')).toEqual([]);
    expect(ending).toBe('success');
    expect(plan.changes.map(({ action, fields }) => [action, fields.length])).toEqual(
      plan.changes.map(() => ['adopt', 0]),
    );
    const again = await sync.cycle(set, {
      client: sync.openClient({ owner: 'adopter' }),
      act: false,
    });
    expect(again.plan.changes).toEqual([]);
  });
});

describe('plain header values', () => {
  const integration = (value: string): string =>
    manifest(
      'McpIntegration',
      'plain',
      `url: https://plain.example.com/mcp
authType: headers
transport: http
configurations: {custom_headers: {X-Team: ${JSON.stringify(value)}, X-Id: {valueFrom: {env: GW_VAR_ID}}}}`,
    );

  it('is exported as it was written, and all others as placeholders', async () => {
    const client = sync.openClient({ owner: 'headers' });
    const value = 'a: "b" #c ${X}';
    const set = await desiredFrom(integration(value.replace('${', () => '$${')), {
      GW_VAR_ID: 'canary-7',
    });
    expect((await sync.cycle(set, { client })).ending).toBe('success');
    const read = await readSnapshot(client, null);
    const options = { owner: 'headers', kinds: [], scope: null, unmanaged: false };
    const result = exportManifests(toLiveSet(read, 'headers', []), options);
    expect(result.stubs).toEqual([
      'McpIntegration/plain configurations.custom_headers.X-Id: env GW_VAR_ID',
    ]);
    const files = filesOf(result);
    expect(files['mcp-integrations.yaml']).toContain(`X-Team: 'a: "b" #c \${X}'`);
    expect(files['mcp-integrations.yaml']).not.toContain('canary');
    const { plan } = await sync.cycle(await desiredFrom(files, {}), { client, act: false });
    expect([plan.changes, plan.blocked]).toEqual([[], []]);
  });
});

describe('exported files', () => {
  const live = (workspace: string | null, name: string, text: string): LiveResource => ({
    identity: { kind: 'Config', workspace, name },
    id: name,
    slug: null,
    version: 1,
    owner: 'o',
    isOfDeployment: false,
    rotation: null,
    isRecordedHere: true,
    declared: null,
    source: null,
    spec: { config: { extensions: { text } } },
    base: { config: { extensions: { text } } },
    title: name,
  });
  const options = { owner: 'o', kinds: [], scope: null, unmanaged: false };
  const write = (resources: LiveResource[]): Export =>
    exportManifests({ resources, etag: '', unknown: [], fingerprintKey: null }, options);

  it('stays below the limits of a source, also with one huge record', async () => {
    const many = Array.from({ length: 3000 }, (_, at) => live(null, `n${at}`, 'x'.repeat(500)));
    const huge = live(null, 'huge', `- ${'"\n'.repeat(200_000)}`);
    const { files, tooLarge } = write([
      ...many,
      huge,
      live(null, 'monster', 'x'.repeat(1_100_000)),
    ]);
    expect(tooLarge).toEqual(['Config/monster']);
    expect(files.reduce((sum, { resources }) => sum + resources, 0)).toBe(3001);
    expect(files.map(({ path }) => path)).toContain('configs-2.yaml');
    expect(files.every(({ text }) => Buffer.byteLength(text) <= 1024 * 1024)).toBe(true);
    const checked = await desiredFrom(
      Object.fromEntries(files.map(({ path, text }) => [path, text])),
    );
    expect(checked.resources).toHaveLength(3001);
  });

  it('is in folders that are read, with names that differ on every file system', () => {
    const names = ['Team', 'team', 'configs.yaml', 'node_modules'];
    const { files } = write(names.map((name) => live(name, 'c', 'x')));
    const paths = files.map(({ path }) => path.toLowerCase());
    expect(new Set(paths).size).toBe(4);
    expect(paths.sort()).toEqual([
      'configs.yaml-2/configs.yaml',
      'node_modules-2/configs.yaml',
      'team-2/configs.yaml',
      'team/configs.yaml',
    ]);
  });
});

describe('the export of arbitrary server states', () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      '1e3',
      '0x1f',
      'yes',
      'null',
      '~',
      'true',
      '.inf',
      '2027-01-01',
      '12:30:45',
      '- a',
      ': b',
      '# c',
      'a: b',
      'a #b',
      'trailing  ',
      '  leading',
      'two\nlines\n',
      '\n\n',
      'tab\tx',
      '---',
      '...',
      '${HOME}',
      '$${X}',
      '${X:-y}',
      'é漢字🙂',
      '"q"',
      "it's",
      '%TAG',
      '&a',
      '*a',
      '!tag',
      '<<',
      '|',
      '>',
      '@x',
      '`x',
      '\u2028',
      '\u0085',
      '\uFEFFx',
      'x'.repeat(400),
      'a\\b',
      '{}',
      '[a]',
      '\r\n',
      '?',
      ',',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  );
  const values = fc.record({ name: hostile, text: hostile, key: hostile, word: hostile });
  let run = 0;

  it('is valid, adopted without a change, exported again, and planned to nothing', async () => {
    await fc.assert(
      fc.asyncProperty(values, async ({ name, text, key, word }) => {
        run += 1;
        const owner = `round-${run}`;
        const make = async (path: string, body: object): Promise<string> =>
          (await server.request('POST', path, { body })).body.id;
        const own = `${name.slice(0, 30)} ${run}`;
        const w =
          (await make('/admin/v2/workspaces', {
            name: own,
            description: text,
            defaults: { metadata: { [key]: word } },
          })) ?? (await make('/admin/v2/workspaces', { name: owner }));
        const place = { workspace_id: w };
        await make('/v2/configs', {
          name: own,
          config: { extensions: { note: text, [key]: { deep: [word, text] } } },
          ...place,
        });
        await make('/v2/configs', {
          name: `c${run}`,
          config: { extensions: { note: text, [`k${key}`]: word } },
          ...place,
        });
        await make('/v1/api-keys/workspace/service', {
          name: own,
          description: text,
          scopes: ['logs.view'],
          defaults: { metadata: { k: word } },
          ...place,
        });
        const guardrail = await make('/v2/guardrails', {
          name: own,
          target: 'mcp_tools',
          checks: [
            {
              id: 'default.contains',
              name: text,
              parameters: { words: [word, text], operator: 'none' },
            },
          ],
          actions: {},
          ...place,
        });
        const integration = await make('/admin/v2/mcp-integrations', {
          name: own,
          description: text,
          url: 'https://a.example.com/mcp',
          auth_type: 'headers',
          transport: 'http',
          configurations: { custom_headers: { 'X-A': 'a', Authorization: 'Bearer canary' } },
          ...place,
        });
        const mcp = await make('/v2/mcp-servers', {
          name: own,
          description: text,
          mcp_integration_id: integration,
          ...place,
        });
        if (guardrail && mcp)
          await server.request('PUT', `/admin/v2/guardrails/${guardrail}/mcp-servers/${mcp}`, {
            body: {},
          });
        await make('/v2/policies/usage-limits', {
          name: own,
          description: text,
          type: 'cost',
          credit_limit: 1.5,
          conditions: [{ key: 'model', value: word }],
          group_by: [{ key: 'api_key' }],
          ...place,
        });

        const client = sync.openClient({ owner });
        const write = async (unmanaged: boolean): Promise<DesiredSet> => {
          const live = toLiveSet(await readSnapshot(client, null), owner, []);
          return await desiredFrom(
            filesOf(exportManifests(live, { owner, kinds: [], scope: null, unmanaged })),
            {},
          );
        };
        const adopted = await sync.cycle(await write(true), { client, takeOwnership: true });
        expect(adopted.report?.items.filter(({ status }) => status !== 'done') ?? []).toEqual([]);
        expect(adopted.plan.changes.filter(({ fields }) => fields.length > 0)).toEqual([]);
        const again = await sync.cycle(await write(false), { client, act: false });
        expect([again.plan.changes, again.plan.blocked]).toEqual([[], []]);
      }),
      { numRuns: 25 },
    );
  });
});

it('writes unknown fields of stored documents under extensions, so that the export is valid', async () => {
  const body = { name: 'old config', config: { targets: [{ provider: 'openai' }] } };
  const made = await server.request('POST', '/v2/configs', { body });
  // Such a document comes from a version that accepted unknown fields.
  const stored = { inputGuardrails: ['pii'], targets: [{ provider: 'openai', wieght: 0.5 }] };
  await server.database.db
    .updateTable('configs')
    .set({ config: JSON.stringify(stored) })
    .where('id', '=', made.body.id)
    .execute();
  // Changes by hand have no mark, so another change makes the snapshot new.
  await server.request('PUT', `/v2/configs/${made.body.id}`, { body: { name: 'older config' } });
  const { files, moved } = await exported({ unmanaged: true, kinds: ['Config'] });
  expect(moved.filter((path) => path.includes('older-config'))).toEqual([
    'Config/older-config config.inputGuardrails',
    'Config/older-config config.targets.0.wieght',
  ]);
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  const { resources } = await desiredFrom(texts);
  const found = resources.find(({ identity }) => identity.name === 'older-config');
  expect(found?.spec.config).toEqual({
    extensions: { inputGuardrails: ['pii'] },
    targets: [{ provider: 'openai', extensions: { wieght: 0.5 } }],
  });
});

it('names the guardrails of hooks by guardrailRef', async () => {
  const checks = [{ id: 'default.notNull' }];
  const body = { name: 'Named by a hook', checks, actions: {} };
  const { slug } = (await server.request('POST', '/v2/guardrails', { body })).body;
  const config = { before_request_hooks: [{ id: slug }, { id: 'own', checks }] };
  await server.request('POST', '/v2/configs', { body: { name: 'hooked', config } });
  const { files } = await exported({ unmanaged: true, kinds: ['Config', 'Guardrail'] });
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  expect(Object.values(texts).join('')).toContain('guardrailRef: ');
  const { resources } = await desiredFrom(texts);
  const found = resources.find(({ identity }) => identity.name === 'hooked');
  expect(found?.spec.config).toEqual({
    before_request_hooks: [
      { id: { $ref: expect.stringMatching(/^Guardrail\//) } },
      { id: 'own', checks },
    ],
  });
});

it('names the providers of configs by providerRef, or as an External for other fields', async () => {
  const post = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  const { id: workspace_id } = await post('/admin/v2/workspaces', { name: 'Named providers' });
  const { id } = await post('/v2/integrations', { name: 'ai', ai_provider_id: 'openai' });
  for (const slug of ['one', 'two']) {
    const named = { name: slug, slug, workspace_id, integration_id: id };
    await post('/v2/providers', named);
  }
  const config = { targets: [{ provider: '@one' }, { virtual_key: 'two' }] };
  await post('/v2/configs', { name: 'naming', workspace_id, config });
  const { files } = await exported({ unmanaged: true, kinds: ['Workspace', 'Config'] });
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  const { resources, externals } = await desiredFrom(texts);
  const found = resources.find(({ identity }) => identity.name === 'naming');
  expect(found?.spec.config).toEqual({
    targets: [
      { provider: { $ref: expect.stringMatching(/^Provider\/.*\/one$/) } },
      { virtual_key: 'two' },
    ],
  });
  const lookups = externals.filter(({ identity }) => identity.kind === 'Provider');
  expect(lookups.map(({ lookup }) => lookup)).toEqual(['one', 'two']);
});
