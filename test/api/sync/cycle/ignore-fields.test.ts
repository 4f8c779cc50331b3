/** Verifies that ignored fields are written on create and never again by any sync. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../../../support/server/server.ts';
import { readTexts } from '../../../support/sync/manifests.ts';
import { openSync, type SyncSetup, startSyncServer } from '../../../support/sync/sync-setup.ts';

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

const key = (description: string, ignored: string, config = 'one'): string => `
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot, ignoreFields: ${ignored}}
spec:
  description: ${description}
  scopes: [logs.list]
  rateLimits: [{type: requests, unit: rpm, value: 60}]
  usageLimits: {creditLimit: 500, alertThreshold: 400, periodicReset: monthly}
  defaults: {configRef: ${config}, metadata: {app: bot, x-team: one}}
`;
const config = (name: string, weight = 1): string => `
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: ${name}, ignoreFields: [spec.config.targets]}
spec: {config: {retry: {attempts: 3}, targets: [{provider: openai, weight: ${weight}}]}}
`;
const configs = config('one') + config('two');
const all =
  '[spec.rateLimits, usageLimits.creditLimit, spec.defaults.configRef, \'spec.defaults.metadata["x-team"]\']';

/** Resources of one kind on the server, by name. */
async function listed(path: string, name: string) {
  const { body } = await server.request('GET', path);
  const { id } = body.data.find((one: { name: string }) => one.name === name);
  return (await server.request('GET', `${path}/${id}`)).body;
}
const theKey = () => listed('/v2/api-keys', 'bot');

/** A change by another tool. */
async function change(path: string, body: Record<string, unknown>): Promise<void> {
  const answer = await server.request('PUT', path, { body });
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([200, expect.anything()]);
}

it('writes ignored fields on create, and leaves them to other tools afterwards', async () => {
  expect((await sync.cycle(key('first', all) + configs)).ending).toBe('success');
  const made = await theKey();
  expect(made).toMatchObject({ rate_limits: [{ value: 60 }], usage_limits: { credit_limit: 500 } });
  const two = await listed('/v2/configs', 'two');
  await change(`/v2/api-keys/${made.id}`, {
    rate_limits: [{ type: 'tokens', unit: 'rpd', value: 7 }],
    usage_limits: { credit_limit: 900, alert_threshold: 400, periodic_reset: 'monthly' },
    defaults: { config_id: two.id, metadata: { app: 'bot', 'x-team': 'other' } },
  });

  const idle = await sync.cycle(key('first', all) + configs);
  expect(idle).toMatchObject({ ending: 'success', report: null, plan: { changes: [] } });
  expect(idle.plan.ignored.map(({ path, differs }) => [path.join('.'), differs])).toEqual([
    ['rate_limits', true],
    ['usage_limits.credit_limit', true],
    ['defaults.config_id', true],
    ['defaults.metadata.x-team', true],
    ['config.targets', false],
    ['config.targets', false],
  ]);

  const next = key('second', all).replace('alertThreshold: 400', 'alertThreshold: 300');
  const applied = await sync.cycle(next.replace('app: bot', 'app: bots') + configs);
  expect(applied.report?.items.map(({ status }) => status)).toEqual(['done']);
  expect(await theKey()).toMatchObject({
    description: 'second',
    rate_limits: [{ type: 'tokens', unit: 'rpd', value: 7 }],
    usage_limits: { credit_limit: 900, alert_threshold: 300 },
    defaults: { config_id: two.id, metadata: { app: 'bots', 'x-team': 'other' } },
  });
  expect((await sync.cycle(next.replace('app: bot', 'app: bots') + configs)).report).toBeNull();
});

it('keeps references in ignored fields', async () => {
  const gone = await sync.cycle(key('third', all) + config('one'), { allowDeletes: 9 });
  expect(gone.plan.blocked).toMatchObject([{ id: 'Config/two', reason: 'in-use' }]);
  expect((await sync.cycle(key('third', all) + configs)).ending).toBe('success');
});

it('restores the declared fields when they are no longer ignored', async () => {
  const { plan } = await sync.cycle(key('third', '[]') + configs);
  expect(plan.changes.map(({ id }) => id)).toEqual(['ApiKey/bot']);
  expect(await theKey()).toMatchObject({
    rate_limits: [{ value: 60 }],
    usage_limits: { credit_limit: 500 },
    defaults: { metadata: { 'x-team': 'one' } },
  });
});

it('supports paths within a document', async () => {
  const { id } = await listed('/v2/configs', 'one');
  await change(`/v2/configs/${id}`, {
    config: { retry: { attempts: 5 }, targets: [{ provider: 'other' }] },
  });
  const { plan } = await sync.cycle(key('third', '[]') + configs);
  expect(plan.changes).toMatchObject([
    { id: 'Config/one', fields: [{ path: '/config/retry/attempts' }] },
  ]);
  const { config: document } = await listed('/v2/configs', 'one');
  expect(typeof document === 'string' ? JSON.parse(document) : document).toMatchObject({
    retry: { attempts: 3 },
    targets: [{ provider: 'other' }],
  });
});

it('keeps secrets below an ignored parent when the field around them is written', async () => {
  const crm = (scope: string) => `
apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm, ignoreFields: [spec.configurations.custom_headers]}
spec:
  url: https://crm.example.com/mcp
  authType: none
  transport: http
  configurations:
    oauth_scope: ${scope}
    custom_headers: {authorization: {valueFrom: {env: GW_VAR_CRM_TOKEN}}}
`;
  const made = await sync.cycle(crm('one'));
  expect(made.report?.items.map(({ status }) => status)).toContain('done');
  const row = () =>
    server.database.db
      .selectFrom('mcp_integrations')
      .select(['id', 'configurations'])
      .executeTakeFirstOrThrow();
  const { id } = await row();
  const custom_headers = { authorization: 'of another tool' };
  await change(`/admin/v2/mcp-integrations/${id}`, {
    configurations: { oauth_scope: 'one', custom_headers },
  });
  const applied = await sync.cycle(crm('two'));
  expect(applied.report?.items.map(({ status }) => status)).toEqual(['done']);
  const sealed = JSON.parse((await row()).configurations!);
  const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
  const place = `mcp_integrations|${id}|configurations.custom_headers.authorization`;
  expect(sealed.oauth_scope).toBe('two');
  expect(unsealer.unseal(sealed.custom_headers.authorization, place)).toBe('of another tool');
  expect((await sync.cycle(crm('two'))).report).toBeNull();
});

describe('an ignored path', () => {
  it.each([
    ['spec.rateLimit', 'did you mean "rateLimits"?'],
    ['spec.usageLimits.creditLimt', 'did you mean "creditLimit"?'],
    ['spec.rateLimits[0].value', 'name the list'],
    ['spec', 'is not a path'],
    ['""', 'is not a path'],
    ['spec.defaults.__proto__', 'is not a path'],
  ])('is rejected with its position when it is %s', async (path, words) => {
    const { faults } = await readTexts({
      'a.yaml': key('d', path === '""' ? '[""]' : `['${path}']`) + configs,
    });
    expect(faults).toMatchObject([
      { code: 'ignore-fields', position: { file: 'a.yaml', line: 4 } },
    ]);
    expect(`${faults?.[0]?.message} ${faults?.[0]?.fix}`).toContain(words);
  });

  it.each(['configurations.oauth_client_secret', 'configurations.headers.A'])(
    'is rejected when it is a write-only value: %s',
    async (path) => {
      const text = `
apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm, ignoreFields: [${path}]}
spec: {url: https://crm.example.com/mcp, authType: none, transport: http}
`;
      const { faults } = await readTexts({ 'a.yaml': text });
      expect(faults).toMatchObject([
        { code: 'ignore-fields', message: expect.stringContaining('write-only') },
      ]);
    },
  );
});
