/** Verifies that sync sets secrets of configs by origin, compares them by fingerprint, and never shows them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configSecretsOf } from '../../../../src/auth/secret-documents.ts';
import { Secret } from '../../../../src/secret.ts';
import type { CycleOptions, CycleResult } from '../../../../src/sync/cycle/cycle-options.ts';
import { exportManifests } from '../../../../src/sync/export/export.ts';
import { resultDocument } from '../../../../src/sync/report/document.ts';
import { markdownReport } from '../../../../src/sync/report/markdown.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import { readSnapshot, toLiveSet } from '../../../../src/sync/server/live.ts';
import { dumpDatabase } from '../../../support/database/dump.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { addServiceAccount } from '../../../support/server/tenant.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

const values = {
  GW_VAR_ROOT: 'canary-root-1',
  GW_VAR_TARGET: 'canary-target-1',
  GW_VAR_HOOK: 'canary-hook-1',
  GW_VAR_TOOL: 'canary-tool-1',
};
type Values = Readonly<Record<string, string>>;

const routing = (host = 'https://one.example/v1', attempts = 1, metadata = ''): string => `
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing${metadata}}
spec:
  config:
    retry: {attempts: ${attempts}}
    provider: openai
    custom_host: ${host}
    api_key: {valueFrom: {env: GW_VAR_ROOT}}
    strategy: {mode: fallback}
    override_params:
      tools: [{type: mcp, headers: {Authorization: {valueFrom: {env: GW_VAR_TOOL, prefix: 'Bearer '}}}}]
    before_request_hooks:
      - checks:
          - id: default.webhook
            parameters:
              webhookURL: https://hooks.example/a
              headers: {x-token: {valueFrom: {env: GW_VAR_HOOK}}, accept: application/json}
    targets:
      - {weight: 1}
      - {provider: anthropic, api_key: {valueFrom: {env: GW_VAR_TARGET}}}
`;

let server: TestServer;
let sync: SyncSetup;
/** Everything that was printed or could be. */
const outputs: string[] = [];

beforeAll(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function cycle(
  text: string,
  environment: Values = values,
  options: Partial<CycleOptions> = {},
): Promise<CycleResult> {
  const result = await sync.cycle(await desiredFrom(text, environment), options);
  outputs.push(textReport(result, { wide: true }), markdownReport(result));
  outputs.push(JSON.stringify([result.plan, resultDocument(result)]));
  return result;
}

const changesOf = ({ plan }: CycleResult) =>
  plan.changes.map(({ id, action, fields }) => [id, action, fields.map(({ path }) => path)]);
const statusesOf = ({ report }: CycleResult) => report?.items.map(({ status }) => status);

async function stored(): Promise<{ id: string; config: string }> {
  const { body } = await server.request('GET', '/v2/configs');
  const { id } = body.data.find((one: { name: string }) => one.name === 'routing');
  return (await server.request('GET', `/v2/configs/${id}`)).body;
}

/** The documents as the gateway reads them. */
async function openedText(): Promise<string> {
  const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
  const rows = await server.database.db.selectFrom('configs').select(['id', 'config']).execute();
  const opened = rows.map(({ id, config }) =>
    configSecretsOf.open(unsealer, id, JSON.parse(config)),
  );
  return JSON.stringify(opened);
}

describe('a manifest of a config with secrets', () => {
  it('creates it, and then plans nothing', async () => {
    expect(statusesOf(await cycle(routing()))).toEqual(['done']);
    expect(await openedText()).toContain('Bearer canary-tool-1');
    expect(changesOf(await cycle(routing()))).toEqual([]);
    const { config } = await stored();
    expect(JSON.parse(config)).toMatchObject({
      api_key: '********',
      targets: [{ weight: 1 }, { provider: 'anthropic', api_key: '********' }],
    });
  });

  it('updates exactly the value that its origin has rotated', async () => {
    const rotated = { ...values, GW_VAR_TARGET: 'canary-target-2' };
    const applied = await cycle(routing(), rotated);
    expect(changesOf(applied)).toEqual([
      ['Config/routing', 'update', ['/config/targets/1/api_key']],
    ]);
    expect(applied.plan.changes[0]!.fields[0]).toMatchObject({ secret: true });
    expect(await openedText()).toContain('canary-target-2');
    expect(changesOf(await cycle(routing(), rotated))).toEqual([]);
    expect(statusesOf(await cycle(routing()))).toEqual(['done']);
  });

  it('restores a value that another tool has changed, and shows the drift without values', async () => {
    const { id, config } = await stored();
    const document = { ...JSON.parse(config), api_key: 'canary-of-another-tool' };
    const changed = await server.request('PUT', `/v2/configs/${id}`, {
      body: { config: document },
    });
    expect(changed.status).toBe(200);
    const planned = await cycle(routing(), values, { act: false });
    expect(changesOf(planned)).toEqual([['Config/routing', 'update', ['/config/api_key']]]);
    expect(planned.plan.changes[0]!.fields[0]).toMatchObject({ reason: 'drift', secret: true });
    expect(textReport(planned)).toContain('(secret env:GW_VAR_ROOT)');
    expect(statusesOf(await cycle(routing()))).toEqual(['done']);
    expect(changesOf(await cycle(routing()))).toEqual([]);
  });

  it('moves the host together with its secrets', async () => {
    const moved = routing('https://two.example/v1');
    expect(changesOf(await cycle(moved))).toEqual([
      ['Config/routing', 'update', ['/config/custom_host']],
    ]);
    expect(changesOf(await cycle(moved))).toEqual([]);
    expect(statusesOf(await cycle(routing()))).toEqual(['done']);
  });

  it('leaves a value that is unset and optional, and is blocked when it must be sent', async () => {
    const optional = routing().replaceAll(/env: (\w+)/g, 'env: $1, optional: true');
    const idle = await cycle(optional, {});
    expect([changesOf(idle), idle.plan.blocked]).toEqual([[], []]);
    const blocked = await cycle(optional.replace('one.example', 'two.example'), {});
    expect(blocked.plan.blocked).toMatchObject([
      { reason: 'missing-secret', message: expect.stringContaining('env GW_VAR_ROOT') },
    ]);
  });

  it('is planned without secrets by credentials that may not write them', async () => {
    const { clientId, clientSecret } = await addServiceAccount(server, 'view_only_admin');
    const client = sync.openClient({ clientId, clientSecret: new Secret(clientSecret, 'test') });
    const rotated = { ...values, GW_VAR_ROOT: 'canary-root-2' };
    const result = await cycle(routing(), rotated, { client, act: false });
    expect(changesOf(result)).toEqual([]);
    expect(result.warnings.join()).toContain(
      'the secret values of Config/routing cannot be compared',
    );
  });
});

describe('an export of a config with secrets', () => {
  it('names the origins, and plans to nothing with and without the values', async () => {
    const live = toLiveSet(await readSnapshot(sync.client, null), 'platform', []);
    const terms = { owner: 'platform', kinds: [], scope: null, unmanaged: false };
    const { files, stubs } = exportManifests(live, terms);
    const text = files.map((file) => file.text).join('\n');
    outputs.push(text, stubs.join('\n'));
    expect(text).toContain('accept: application/json');
    expect(text.match(/env: GW_VAR_\w+/g)?.toSorted()).toEqual(
      Object.keys(values)
        .map((name) => `env: ${name}`)
        .toSorted(),
    );
    const filled = { ...values, GW_VAR_TOOL: `Bearer ${values.GW_VAR_TOOL}` };
    expect(changesOf(await cycle(text, filled, { act: false }))).toEqual([]);
    expect(changesOf(await cycle(text, {}, { act: false }))).toEqual([]);
  });

  it('gives each value of an unmanaged config a variable of its own', async () => {
    const config = {
      api_key: 'canary-a',
      override_params: { api_key: 'canary-b' },
      targets: [
        { provider: 'openai', api_key: 'canary-c' },
        { provider: 'groq', api_key: 'canary-d' },
      ],
    };
    await server.request('POST', '/v2/configs', { body: { name: 'by hand', config } });
    const live = toLiveSet(await readSnapshot(sync.client, null), 'nobody', []);
    const terms = { owner: 'nobody', kinds: [], scope: null, unmanaged: true };
    const { files } = exportManifests(live, terms);
    const text = files.map((file) => file.text).join('\n');
    outputs.push(text);
    const named = text.match(/GW_VAR_BY_HAND\w*/g) ?? [];
    expect(new Set(named).size).toBe(4);
  });
});

describe('an ignored parent of secrets', () => {
  const ignoring = (host?: string, attempts?: number) =>
    routing(host, attempts, ', ignoreFields: [spec.config.targets]');

  it('keeps the values that another tool has set, when the document around them is written', async () => {
    const { id, config } = await stored();
    const document = JSON.parse(config);
    document.targets = [{ provider: 'anthropic', api_key: 'canary-of-the-other-tool', weight: 2 }];
    const changed = await server.request('PUT', `/v2/configs/${id}`, {
      body: { config: document },
    });
    expect(changed.status).toBe(200);
    expect(changesOf(await cycle(ignoring()))).toEqual([]);
    expect(statusesOf(await cycle(ignoring(undefined, 4)))).toEqual(['done']);
    expect(await openedText()).toContain('canary-of-the-other-tool');
    expect(await openedText()).not.toContain('canary-target');
    expect(JSON.parse((await stored()).config)).toMatchObject({
      retry: { attempts: 4 },
      targets: [{ weight: 2 }],
    });
    expect(changesOf(await cycle(ignoring(undefined, 4)))).toEqual([]);
  });

  it('is refused by the server when the document moves them to another host', async () => {
    const moved = await cycle(ignoring('https://three.example/v1', 4));
    expect(statusesOf(moved)).toEqual(['failed']);
    expect(JSON.stringify(moved.report)).toContain('config.targets[0].api_key: must be sent again');
  });
});

it('shows no value in plans, reports, exports, log lines, audit rows or tables', async () => {
  const audit = await server.request('GET', '/v1/audit-logs');
  const snapshot = await server.request('GET', '/admin/v2/gatewright/snapshot?owner=platform');
  const text = [...outputs, JSON.stringify([audit.body, snapshot.body, server.logLines])];
  const dump = await dumpDatabase(server.database.db);
  expect([...text, dump].join('\n').match(/.{0,60}canary-.{0,60}/)).toBeNull();
});
