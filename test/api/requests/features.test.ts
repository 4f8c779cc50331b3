/**
 * Verifies the feature switches: each one disables the routes, jobs and kinds of its feature, at
 * the gateway too, and no others.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resources } from '../../../src/admin/resources.ts';
import { createApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { type Feature, featureSettings, readSettings } from '../../../src/settings.ts';
import { everyRoute, pathOf } from '../../support/interface/every-route.ts';
import { startInference } from '../../support/server/inference.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { openSync } from '../../support/sync/sync-setup.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

/**
 * Features of each route by the prefix of its path, first match; a new route must be added here.
 */
const families: readonly (readonly [RegExp, readonly Feature[]])[] = [
  [/^\/scim\//, ['scim']],
  [
    /^\/(guardrails|guardrail-exclusions|admin\/organisation\/defaults|workspace-exclusions)/,
    ['guardrails'],
  ],
  [/^\/(?:mcp|v0\.1)/, ['mcp']],
  [/^\/audit-logs/, ['auditLogs']],
  [/^\/logs\/exports/, ['dataExports']],
  [/^\/api-keys/, ['apiAccess']],
  [/^\/policies\/usage-limits/, ['policy', 'usageLimits']],
  [/^\/policies\/rate-limits/, ['policy']],
  [/^\/workspaces\/:id\/guardrails/, ['guardrails']],
  [/^\/(admin\/)?workspaces\b|^\/(configs|deployments|secret-references|admin\/users)\b/, []],
  [/^\/plugins/, ['guardrails']],
  [/^\/(organisations|service-accounts|tsgs|model-configs)\b/, []],
  [/^\/(integrations|providers|virtual-keys|prompts|collections|labels)\b/, []],
  [/^\/(logs|feedback|analytics|utils\/static-resources|session|oauth2|iam\/v1)\b/, []],
  // Sync itself; its behaviour for disabled kinds is tested below.
  [/^\/gatewright\//, []],
];

/**
 * Jobs that are idle while their feature is disabled, as `jobs list` shows; every other job runs.
 */
const jobsOf: Readonly<Partial<Record<Feature, readonly string[]>>> = {
  usageLimits: ['reset-usage', 'send-alerts'],
  auditLogs: ['seal-audit-log'],
  dataExports: ['write-log-exports'],
};

const kindsOf: Readonly<Partial<Record<Feature, readonly string[]>>> = {
  apiAccess: ['ApiKey'],
  guardrails: [
    'Guardrail',
    'GuardrailMcpBinding',
    'OrganisationDefaults',
    'GuardrailExclusion',
    'WorkspaceGuardrails',
  ],
  mcp: ['McpIntegration', 'McpServer'],
  policy: ['UsageLimitPolicy', 'RateLimitPolicy'],
  scim: ['ScimMapping'],
  usageLimits: ['UsageLimitPolicy'],
};

const features = Object.keys(featureSettings) as Feature[];
const off = (name: Feature) =>
  readSettings({ [featureSettings[name]]: 'OFF' }, { cwd: '/nonexistent' }).features;
const refusal = 'This feature is switched off on this deployment';

/** One server for each switch, by the disabled feature. */
const servers = new Map<Feature, TestServer>();
beforeAll(async () => {
  for (const name of features) {
    servers.set(name, await startTestServer({ settings: { features: off(name) } }));
  }
});
afterAll(async () => {
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
});

it('assigns every route, job and kind to its features', () => {
  for (const { route } of everyRoute()) {
    const own = families.find(([pattern]) => pattern.test(route.path))?.[1];
    expect([route.path, route.features ?? []]).toEqual([route.path, own]);
  }
  for (const { kind, features: own } of resources) {
    const stated = features.filter((name) => kindsOf[name]?.includes(kind));
    expect([kind, own.toSorted()]).toEqual([kind, stated.toSorted()]);
  }
});

describe.each(features)('%s, disabled,', (name) => {
  it('closes its routes with one error, and no other route', async () => {
    const server = servers.get(name)!;
    for (const one of everyRoute()) {
      const { route, mount } = one;
      // Each operation once; this caller cannot use the ones that take no token.
      const isFirst = mount === Object.keys(route.mounts)[0];
      if (!isFirst || !one.accepts.includes('access-token')) continue;
      const { status, body } = await server.request(route.method, pathOf(one));
      const stated = body.error?.message ?? body.message ?? body.detail;
      const isClosed = route.features?.includes(name) === true;
      expect([route.method, route.path, stated === refusal]).toEqual([
        route.method,
        route.path,
        isClosed,
      ]);
      if (!isClosed) continue;
      expect(status).toBe(403);
      if (route.errors !== 'scim') expect(body.error.code).toBe('AB03');
    }
  });

  it('makes its jobs idle, and no other job', async () => {
    const listed = await servers.get(name)!.app.jobs.list();
    const idle = listed.filter(({ idleBecause }) => idleBecause?.endsWith(' is OFF'));
    const stated = `${featureSettings[name]} is OFF`;
    expect(idle.map((job) => [job.name, job.idleBecause])).toEqual(
      (jobsOf[name] ?? []).map((job) => [job, stated]),
    );
  });

  it('reports its kinds to sync', async () => {
    const path = '/admin/v2/gatewright/snapshot?owner=platform';
    const { body } = await servers.get(name)!.request('GET', path);
    const setting = featureSettings[name];
    expect(body.switched_off).toEqual((kindsOf[name] ?? []).map((kind) => ({ kind, setting })));
  });
});

it('leaves existing keys working', async () => {
  const server = servers.get('apiAccess')!;
  expect((await server.request('GET', '/v1/configs', { auth: 'key' })).status).toBe(200);
});

it('blocks sync changes of its kinds with the reason, and applies the rest', async () => {
  const server = servers.get('guardrails')!;
  await using sync = openSync(server);
  const files = `apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: short}
spec: {checks: [{id: default.wordCount, parameters: {maxWords: 9}}], actions: {deny: true}}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: guarded}
spec: {config: {input_guardrails: [{guardrailRef: short}]}}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: plain}
spec: {config: {retry: {attempts: 2}}}
`;
  const { plan, report } = await sync.cycle(files);
  expect(plan.blocked.map(({ id, reason, message }) => [id, reason, message])).toEqual([
    ['Config/guarded', 'dependency', expect.stringContaining('Guardrail/short')],
    ['Guardrail/short', 'switched-off', expect.stringContaining('GUARDRAILS_ENABLED is OFF')],
  ]);
  expect(report!.items.map(({ id, status }) => [id, status])).toEqual([['Config/plain', 'done']]);
});

it('stops the gateway from enforcing budgets, or policies', async () => {
  await using inference = await startInference();
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
  const { server } = inference;
  const made = await server.request('POST', '/v2/workspaces', { body: { name: 'support' } });
  const body = {
    conditions: [{ key: 'model', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpw',
    value: 1,
    workspace_id: made.body.id,
  };
  expect((await server.request('POST', '/v2/policies/rate-limits', { body })).status).toBe(200);
  const limited = await inference.addKey({ workspace_id: made.body.id });
  const poor = await inference.addKey({ usage_limits: { type: 'tokens', credit_limit: 1 } });
  const statuses = async (url?: string) => {
    const requests = [limited, limited, poor].map(({ key }) => key);
    const answers: number[] = [];
    for (const key of requests) {
      answers.push((await inference.chat(key, { ...(url === undefined ? {} : { url }) })).status);
    }
    return answers;
  };
  expect(await statuses()).toEqual([200, 429, 412]);
  for (const [name, due] of [
    ['policy', [200, 200, 412]],
    ['usageLimits', [429, 429, 200]],
  ] as const) {
    const settings = { ...server.settings, features: off(name) };
    await using app = await createApp(settings, {
      clock: server.clock,
      readSharedTime: async () => server.clock.now(),
      log: createLog({ level: 'silent' }),
      components: ['gateway'] as const,
    });
    const { inferenceUrl } = await app.listen();
    expect([name, await statuses(inferenceUrl!)]).toEqual([name, due]);
  }
});
