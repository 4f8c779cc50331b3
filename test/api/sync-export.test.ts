/** Guarantees that what is exported plans to nothing, and that nothing secret is in it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Export, type ExportOptions, exportManifests } from '../../src/sync/export.ts';
import { readSnapshot, toLiveSet } from '../../src/sync/server/live.ts';
import type { TestServer } from '../server.ts';
import {
  canaries,
  desiredFrom,
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../sync-setup.ts';

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

async function exported(options: Partial<ExportOptions> = {}): Promise<Export> {
  const read = await readSnapshot(sync.client, null);
  return exportManifests(toLiveSet(read, 'platform', []), {
    owner: 'platform',
    kinds: [],
    workspace: null,
    unmanaged: false,
    ...options,
  });
}

function filesOf({ files }: Export): Record<string, string> {
  return Object.fromEntries(files.map(({ path, text }) => [path, text]));
}

describe('what this owner declared', () => {
  it('plans to nothing once the stubs are filled in', async () => {
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

  it('is a file for each kind in each workspace, with references by name', async () => {
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

  it('holds no secret', async () => {
    const text = JSON.stringify(await exported());
    for (const value of Object.values(canaries)) expect(text).not.toContain(value);
  });

  it('can be narrowed to a kind, with Externals for what is left out', async () => {
    const result = await exported({ kinds: ['ApiKey'] });
    const files = filesOf(result);
    expect(Object.keys(files).sort()).toEqual(['externals.yaml', 'support/api-keys.yaml']);
    const { plan } = await sync.cycle(await desiredFrom(files), { act: false, prune: false });
    expect(plan.blocked).toEqual([]);
  });

  it('is nothing for a workspace without declared resources', async () => {
    expect(await exported({ workspace: 'elsewhere' })).toEqual({ files: [], stubs: [] });
  });
});

describe('what nobody declared', () => {
  it('can be adopted as exported, without a change to it', async () => {
    const files = filesOf(await exported({ unmanaged: true }));
    // The key of the deployment itself is nobody's to adopt.
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
