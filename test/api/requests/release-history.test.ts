/**
 * Verifies what each release of the interface introduced: filters, defaults and validations, by
 * version.
 * The list of a version is open; add new behaviours to it.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import type { TestResponse } from '../../support/network/exchange.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { insertCounter } from '../../support/rows/usage-rows.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, type Send } from '../../support/server/tenant.ts';

let server: TestServer;
let workspaceId: string;

beforeAll(async () => {
  server = await startTestServer();
  workspaceId = (await made('/admin/workspaces', { name: 'Team' })).id;
});
afterAll(() => server[Symbol.asyncDispose]());

type Body = TestResponse['body'];
type Behaviour = readonly [what: string, holds: () => Promise<void>];

const put = (path: string, body: unknown) => server.request('PUT', `/v1${path}`, { body });
const get = async (path: string): Promise<Body> => (await server.request('GET', `/v1${path}`)).body;
async function made(path: string, body: Record<string, unknown>): Promise<Body> {
  const answer = await server.request('POST', `/v1${path}`, { body });
  expect([path, answer.status, answer.body.error]).toEqual([path, 200, undefined]);
  return answer.body;
}
/** Returns why a create is rejected, or undefined. */
async function refusal(path: string, body: Record<string, unknown>): Promise<string | undefined> {
  const answer = await server.request('POST', `/v1${path}`, { body });
  return answer.status === 400 ? answer.body.error.message : undefined;
}
const idsOf = ({ data }: Body): string[] => data.map(({ id }: { id: string }) => id);

const key = (more: object = {}) =>
  made('/api-keys/workspace/service', {
    name: 'k',
    scopes: ['completions.write'],
    workspace_id: workspaceId,
    ...more,
  });
const guardrail = (check: object, more: object = {}) => ({
  name: 'g',
  workspace_id: workspaceId,
  checks: [check],
  actions: { deny: true },
  ...more,
});
const policy = (more: object) => ({
  conditions: [{ key: 'model', value: '*' }],
  group_by: [{ key: 'api_key' }],
  workspace_id: workspaceId,
  ...more,
});
const integration = (more: object = {}) =>
  made('/integrations', { name: randomUUID(), ai_provider_id: 'openai', key: 'sk-1', ...more });
const deployment = (more: object = {}) =>
  made('/deployments', { name: randomUUID(), type: 'production', deployment_config: {}, ...more });
async function logRequests(...records: readonly Parameters<typeof requestRecord>[1][]) {
  const log = new RequestLog({ database: server.database, onLoss: () => {} });
  const startedAt = server.clock.now() - 1_000;
  for (const record of records) {
    log.record(requestRecord(server.organisationId, { startedAt, durationMs: 20, ...record }));
  }
  await log.close(60_000);
}
/** Returns a user with a key in a workspace with these settings. */
async function member(
  security_settings: object,
  scopes: readonly string[],
): Promise<{
  place: string;
  keyId: string;
  as: Send;
  allow: (more: object) => Promise<unknown>;
}> {
  const { id: place } = await made('/admin/workspaces', { name: 'Seen', security_settings });
  const user_id = await addUser(server);
  await made(`/admin/workspaces/${place}/users`, { users: [{ id: user_id, role: 'member' }] });
  const own = { name: 'own', workspace_id: place, user_id, scopes };
  const { id: keyId, key: value } = await made('/api-keys/workspace/user', own);
  const headers = { 'x-gateway-api-key': value };
  return {
    place,
    keyId,
    as: (method, path, more = {}) =>
      server.request(method, `/v1${path}`, { auth: 'none', headers, ...more }),
    allow: (more) => put(`/admin/workspaces/${place}`, { security_settings: more }),
  };
}
const ofCents = (credit_limit: number) => ({ type: 'cost', credit_limit });

const releases: Readonly<Record<string, readonly Behaviour[]>> = {
  '1.28.0': [
    [
      'deployments are listed by workspace',
      async () => {
        const auth_settings = { allow_all_workspaces: false, workspaces_allowed: [workspaceId] };
        const { id } = await deployment({ auth_settings });
        const elsewhere = await deployment({
          auth_settings: { allow_all_workspaces: false, workspaces_allowed: [] },
        });
        const ids = idsOf(await get(`/deployments?workspace_id=${workspaceId}`));
        expect([ids.includes(id), ids.includes(elsewhere.id)]).toEqual([true, false]);
      },
    ],
    [
      'a list of exports tells less of each than a read of one',
      async () => {
        const time_of_generation_min = '2027-01-01';
        const filters = { time_of_generation_min, time_of_generation_max: '2027-01-02' };
        const { id } = await made('/logs/exports', { filters });
        const { data } = await get('/logs/exports');
        const listed = data.find((one: Body) => one.id === id);
        const read = await get(`/logs/exports/${id}`);
        expect(read).toMatchObject(listed);
        const more = Object.keys(read).filter((name) => !(name in listed));
        expect(more).toEqual(expect.arrayContaining(['exported_records', 'finished_at']));
      },
    ],
  ],
  '1.27.0': [
    [
      'what is not there is 404 to a GET, whatever it would be',
      async () => {
        for (const path of [
          '/configs',
          '/virtual-keys',
          '/providers',
          '/api-keys',
          '/guardrails',
          '/integrations',
          '/policies/usage-limits',
          '/policies/rate-limits',
          '/deployments',
        ]) {
          const answer = await server.request('GET', `/v1${path}/${randomUUID()}`);
          expect([path, answer.status, answer.body.error.code]).toEqual([path, 404, 'AB08']);
        }
      },
    ],
    [
      'API keys are listed by workspace and by ids',
      async () => {
        const [one, other] = [await key(), await key()];
        const both = await get(`/api-keys?ids=${one.id},${other.id}&page_size=1`);
        expect([both.total, both.data.length]).toEqual([2, 1]);
        expect(idsOf(await get(`/api-keys?workspace_id=${workspaceId}`))).toContain(other.id);
      },
    ],
    [
      'an integration has a factor on the prices of its models',
      async () => {
        const pricing_adjustments = {
          multiplier: { default: 2 },
        };
        const { slug } = await integration({ pricing_adjustments });
        expect((await get(`/integrations/${slug}`)).pricing_adjustments).toEqual(
          pricing_adjustments,
        );
      },
    ],
    [
      'a model has factors on its price of its own',
      async () => {
        const { slug } = await integration();
        const pricing_adjustments = { multiplier: { response_token: 1.5 } };
        const model = { slug: 'ours', enabled: true, is_custom: true, pricing_adjustments };
        expect((await put(`/integrations/${slug}/models`, { models: [model] })).status).toBe(200);
        const { models } = await get(`/integrations/${slug}/models`);
        expect(models).toContainEqual(
          expect.objectContaining({ slug: 'ours', pricing_adjustments }),
        );
      },
    ],
    [
      'requests are grouped by MCP servers, tools and agents, of which there are none while none is called',
      async () => {
        await logRequests({});
        for (const group of ['mcp_server', 'mcp_tool', 'a2a_agent']) {
          for (const name of [group, `${group.replace('_', '-')}s`]) {
            const empty = { object: 'list', is_quota_exceeded: false, total: 0, data: [] };
            const path = `/analytics/groups/${name}`;
            expect([name, await get(`${path}?order_by=${group}`)]).toEqual([name, empty]);
            const wrong = await server.request('GET', `/v1${path}?order_by=mood`);
            expect(wrong.status).toBe(400);
            const place = `workspaceSlug=${workspaceId}`;
            const onV2 = await server.request('GET', `/v2/logs/groups/${name}?${place}`);
            expect(onV2.body).toEqual(empty);
          }
        }
      },
    ],
    [
      'several values of one key of the metadata are alternatives, between commas or in a list',
      async () => {
        const teams = ['red', 'green', 'blue'];
        await logRequests(...teams.map((team) => ({ metadata: { release: 'a', team } })));
        for (const [requested, count] of [
          [{ team: 'red,green' }, 2],
          [{ team: ['red', 'blue'] }, 2],
          [{ team: ['red', 'blue'], release: 'b' }, 0],
        ] as const) {
          const metadata = encodeURIComponent(JSON.stringify(requested));
          const { summary } = await get(`/analytics/graphs/requests?metadata=${metadata}`);
          expect([requested, summary.total]).toEqual([requested, count]);
        }
      },
    ],
  ],
  '1.26.0': [
    [
      'a JWT check takes several sets of keys between commas',
      async () => {
        const jwksUri = 'https://a.example.com/jwks, https://b.example.com/jwks';
        const check = { id: 'default.jwt', parameters: { jwksUri, headerKey: 'authorization' } };
        const { id } = await made('/guardrails', guardrail(check));
        expect((await get(`/guardrails/${id}`)).checks).toEqual([check]);
        const wrong = { ...check, parameters: { ...check.parameters, jwksUri: 'https://a,b' } };
        expect(await refusal('/guardrails', guardrail(wrong))).toContain('jwksUri');
      },
    ],
    [
      'a webhook may opt in to requests that are only passed on',
      async () => {
        const parameters = { webhookURL: 'https://hooks.example.com', executeOnProxy: true };
        const check = { id: 'default.webhook', parameters };
        const { id } = await made('/guardrails', guardrail(check));
        expect((await get(`/guardrails/${id}`)).checks).toEqual([check]);
      },
    ],
  ],
  '1.25.0': [
    [
      'a created guardrail tells when and by whom',
      async () => {
        const check = { id: 'default.contains', parameters: { words: ['a'] } };
        const created = await made('/guardrails', guardrail(check));
        expect(created).toMatchObject({
          created_at: '2027-01-04T08:00:00.000Z',
          created_by: expect.stringMatching(/^[0-9a-f-]{36}$/),
        });
      },
    ],
    [
      'an integration may be told apart by workload identity',
      async () => {
        const configurations = { provider_auth_type: 'wif' };
        const { slug } = await integration({ configurations });
        expect((await get(`/integrations/${slug}`)).configurations).toMatchObject(configurations);
      },
    ],
    [
      'deployments have tags and the kind of their source',
      async () => {
        const more = { tags: { region: 'eu' }, source_type: 'helm' };
        expect(await get(`/deployments/${(await deployment(more)).id}`)).toMatchObject(more);
      },
    ],
    [
      'a guardrail is on MCP servers, at the times and for the capabilities that are said',
      async () => {
        const url = 'https://mcp.example.com/mcp';
        const account = { name: 'm', url, auth_type: 'none', transport: 'http' };
        const { id: mcp_integration_id } = await made('/mcp-integrations', account);
        const at = `/mcp-integrations/${mcp_integration_id}/capabilities`;
        await put(at, { capabilities: [{ name: 'find', type: 'tool', enabled: true }] });
        const [capability] = idsOf(await get(at));
        const place = { name: 'm', mcp_integration_id, workspace_id: workspaceId };
        const { id: mcp_server_id } = await made('/mcp-servers', place);
        const tools = { name: 'g', target: 'mcp_tools', workspace_id: workspaceId };
        const { id: guardrail_id } = await made('/guardrails', tools);
        const mapping = {
          run_on: ['beforeToolCall'],
          mcp_integration_capability_ids: [capability],
        };
        const on = `/guardrails/${guardrail_id}/mcp-servers`;
        const answer = await put(on, { mcp_servers: { [mcp_server_id]: mapping } });
        expect(answer.body).toEqual({ changed: true, added: 1, updated: 0, removed: 0 });
        expect(await get(on)).toMatchObject([
          { guardrail_id, mcp_server_id, run_on: ['beforeToolCall'], capability_ids: [capability] },
        ]);
      },
    ],
  ],
  '1.24.2': [
    [
      'a workspace says which scopes keys of its people begin with',
      async () => {
        const settings = { user_api_key_auto_create_scopes: ['completions.write'] };
        const { id } = await made('/admin/workspaces', { name: 'Scoped', settings });
        expect((await get(`/admin/workspaces/${id}`)).settings).toMatchObject(settings);
      },
    ],
  ],
  '1.24.1': [
    [
      'an integration may log in as a client of OAuth, whose secret is masked',
      async () => {
        const plain = {
          provider_auth_type: 'oauthClientCredentials',
          oauth_token_endpoint: 'https://login.example.com/token',
          oauth_client_id: 'gateway',
          oauth_scope: 'models',
        };
        const { slug } = await integration({
          configurations: { ...plain, oauth_client_secret: 'canary-of-oauth' },
        });
        const reported = await get(`/integrations/${slug}`);
        expect(reported.configurations).toMatchObject(plain);
        expect(JSON.stringify(reported)).not.toContain('canary-of-oauth');
      },
    ],
  ],
  '1.24.0': [
    [
      'rate-limit policies have a target, and are listed by it',
      async () => {
        const limit = { type: 'requests', unit: 'rpm', value: 1 };
        const llm = await made('/policies/rate-limits', policy(limit));
        const tools = await made('/policies/rate-limits', {
          ...policy({ ...limit, target: 'mcp_tools' }),
          conditions: [{ key: 'mcp_tool', value: '*' }],
          group_by: [{ key: 'api_key' }],
        });
        const ids = idsOf(await get('/policies/rate-limits?target=mcp_tools'));
        expect([ids.includes(tools.id), ids.includes(llm.id)]).toEqual([true, false]);
        expect((await get(`/policies/rate-limits/${llm.id}`)).target).toBe('llm');
      },
    ],
    [
      'counters of requests, errors and tokens are split into those for models, for MCP and for agents',
      async () => {
        const { id, slug } = await made('/admin/workspaces', { name: 'Split' });
        await logRequests({ workspaceId: id }, { workspaceId: id, status: 500 });
        const counts = { llm_count: 2, mcp_count: 0, a2a_count: 0 };
        const errors = { llm_error_count: 1, mcp_error_count: 0, a2a_error_count: 0 };
        const at = `workspace_id=${id}`;
        expect(await get(`/analytics/summary?${at}`)).toMatchObject({ ...counts, ...errors });
        const graph = async (name: string) =>
          (await get(`/analytics/graphs/${name}?${at}`)).summary;
        expect(await graph('requests')).toMatchObject({ total: 2, ...counts });
        expect(await graph('errors')).toEqual({ total: 1, ...errors });
        expect(await graph('tokens')).toMatchObject({
          llm_request_units: 20,
          llm_response_units: 10,
          mcp_request_units: 0,
          mcp_response_units: 0,
          a2a_request_units: 0,
          a2a_response_units: 0,
        });
        const chart = async (name: string) =>
          (await server.request('GET', `/v2/logs/charts/${name}?workspaceSlug=${slug}`)).body.data;
        expect(await chart('requests')).toMatchObject({
          total_llm_count: 2,
          total_mcp_count: 0,
          total_a2a_count: 0,
          records: expect.arrayContaining([expect.objectContaining(counts)]),
        });
        expect(await chart('errors')).toMatchObject({
          total_llm_error_count: 1,
          total_mcp_error_count: 0,
          total_a2a_error_count: 0,
        });
        expect(await chart('tokens')).toMatchObject({
          total_llm_request_units: 20,
          total_mcp_request_units: 0,
        });
      },
    ],
    [
      'no webhook is sent credentials, hop-by-hop headers or malformed names',
      async () => {
        for (const name of [
          'Authorization',
          'x-gateway-api-key',
          'connection',
          'metadata-flavor',
          'a b',
        ]) {
          const parameters = { webhookURL: 'https://hooks.example.com', forwardHeaders: [name] };
          const body = guardrail({ id: 'default.webhook', parameters });
          expect([name, await refusal('/guardrails', body)]).toEqual([
            name,
            expect.stringContaining('forwardHeaders'),
          ]);
        }
      },
    ],
  ],
  '1.23.0': [
    [
      'addresses of gateways are judged',
      async () => {
        for (const gateway_base_url of [
          'http://169.254.169.254/v1',
          'ftp://gw.example.com',
          'https://a:b@gw.example.com',
          'gw.example.com',
        ]) {
          const body = { name: 'd', deployment_config: {}, auth_settings: { gateway_base_url } };
          expect([gateway_base_url, await refusal('/deployments', body)]).toEqual([
            gateway_base_url,
            expect.stringContaining('gateway_base_url'),
          ]);
        }
      },
    ],
  ],
  '1.22.0': [
    [
      'guardrails of the organisation hold everywhere but in workspaces left out',
      async () => {
        const check = { id: 'default.contains', parameters: { words: ['a'] } };
        const ofAll = { name: 'g', checks: [check], actions: { deny: true } };
        const { id, slug } = await made('/guardrails', ofAll);
        const defaults = '/admin/organisation/defaults';
        expect((await put(defaults, { input_guardrails: [slug] })).status).toBe(200);
        expect((await get(defaults)).input_guardrails).toEqual([{ id, slug }]);
        const exclusions = '/workspace-exclusions/input-guardrails';
        const workspaces = [{ workspace_id: workspaceId, excluded: true }];
        expect((await put(exclusions, { workspaces })).status).toBe(200);
        expect((await get(exclusions)).workspaces).toContainEqual(workspaces[0]);
        await put(exclusions, { workspaces: [], override_existing: true });
        expect((await get(exclusions)).workspaces).not.toContainEqual(workspaces[0]);
        await put(defaults, { input_guardrails: [] });
      },
    ],
    [
      'what is of the organisation has scopes of its own',
      async () => {
        const requested = [
          ['organisation_settings.read', '/admin/organisation/defaults'],
          ['organisation_exclusions.list', '/workspace-exclusions/input-guardrails'],
          ['organisation_guardrails.list', '/guardrails'],
        ] as const;
        for (const [scope, path] of requested) {
          const { send } = await addKeyCaller(server, [scope]);
          const statuses = requested.map(async (one) => (await send('GET', `/v1${one[1]}`)).status);
          const wanted = requested.map((one) => (one[1] === path ? 200 : 403));
          expect([scope, await Promise.all(statuses)]).toEqual([scope, wanted]);
        }
      },
    ],
  ],
  '1.21.0': [
    [
      'a model has headers of its own',
      async () => {
        const { slug } = await integration();
        const configurations = { custom_headers: { 'x-team': 'it' } };
        const model = { slug: 'ours', enabled: true, is_custom: true, configurations };
        const answer = await put(`/integrations/${slug}/integration-models`, { models: [model] });
        expect(answer.status).toBe(200);
        const { models } = await get(`/integrations/${slug}/models`);
        expect(models).toContainEqual(
          expect.objectContaining({
            slug: 'ours',
            configurations: { custom_headers: { 'x-team': '********' } },
          }),
        );
      },
    ],
  ],
  '1.20.0': [
    [
      'a raised credit limit makes an exhausted key active',
      async () => {
        const { id } = await key({ usage_limits: ofCents(1) });
        const subject = { organisationId: server.organisationId, kind: 'api_key', id } as const;
        const windowStart = server.clock.now();
        await insertCounter(server.database.db, subject, { windowStart, used: 2_000_000 });
        expect((await get(`/api-keys/${id}`)).status).toBe('exhausted');
        await put(`/api-keys/${id}`, { usage_limits: ofCents(3) });
        expect((await get(`/api-keys/${id}`)).status).toBe('active');
      },
    ],
    [
      'members see the requests of all keys of their workspace, or of their own where it says so',
      async () => {
        const { place, keyId, as, allow } = await member({}, ['logs.list']);
        await logRequests(
          ...[keyId, randomUUID()].map((apiKeyId) => ({ apiKeyId, workspaceId: place })),
        );
        const count = async () => (await as('GET', '/logs')).body.data.length;
        expect(await count()).toBe(2);
        await allow({ membersViewAllData: false });
        expect(await count()).toBe(1);
      },
    ],
  ],
  '1.10.0': [
    [
      'members read prompts and write none, unless their workspace says otherwise',
      async () => {
        const { place, as, allow } = await member({}, ['prompts.list', 'prompts.create']);
        const body = { name: 'folder', workspace_id: place };
        const statuses = async () => [
          (await as('GET', '/collections')).status,
          (await as('POST', '/collections', { body })).status,
        ];
        expect(await statuses()).toEqual([200, 403]);
        await allow({ membersViewPrompts: false, membersWritePrompts: true });
        expect(await statuses()).toEqual([403, 200]);
      },
    ],
    [
      'budgets start again every so many days, or by the calendar, never both',
      async () => {
        const first = { periodic_reset_days: 10, next_usage_reset_at: '2027-02-01T00:00:00Z' };
        const usage_limits = [{ ...ofCents(5), ...first }];
        const { id } = await made('/admin/workspaces', { name: 'Budget', usage_limits });
        const [reported] = (await get(`/admin/workspaces/${id}`)).usage_limits;
        expect(reported).toMatchObject({
          periodic_reset_days: 10,
          next_usage_reset_at: '2027-02-01T00:00:00.000Z',
        });
        for (const wrong of [
          { periodic_reset_days: 366 },
          { ...first, periodic_reset: 'weekly' },
        ]) {
          const body = { name: 'b', usage_limits: [{ ...ofCents(5), ...wrong }] };
          expect(await refusal('/admin/workspaces', body)).toContain('usage_limits');
        }
      },
    ],
    [
      'a workspace that is let in gets a provider, by the slug it is to have, or none',
      async () => {
        const { slug } = await integration();
        const grant = (more: object) =>
          put(`/integrations/${slug}/workspaces`, {
            workspaces: [{ id: workspaceId, enabled: true, ...more }],
          });
        const provider = () => server.request('GET', '/v1/providers/by-default');
        await grant({ create_default_provider: false, default_provider_slug: 'by-default' });
        expect((await provider()).status).toBe(404);
        const other = await integration();
        await put(`/integrations/${other.slug}/workspaces`, {
          workspaces: [{ id: workspaceId, enabled: true, default_provider_slug: 'by-default' }],
        });
        expect((await provider()).body).toMatchObject({ integration_id: other.id });
      },
    ],
  ],
  '1.9.0': [
    [
      'members see sums over requests, unless their workspace says otherwise',
      async () => {
        const { as, allow } = await member({}, ['analytics.view']);
        expect((await as('GET', '/analytics/summary')).status).toBe(200);
        await allow({ membersViewAnalytics: false });
        expect((await as('GET', '/analytics/summary')).status).toBe(403);
      },
    ],
    [
      'lists of MCP integrations and servers tell what is known of each',
      async () => {
        const url = 'https://mcp.example.com/mcp';
        const account = { name: 'm', url, auth_type: 'headers', transport: 'sse' };
        const { id } = await made('/mcp-integrations', account);
        const server_info = { name: 'crm', version: '1.2' };
        await made(`/mcp-integrations/${id}/sync`, { server_info, capabilities: [] });
        const known = { server_name: 'crm', server_version: '1.2', sync_status: 'synced' };
        const place = { name: 'm', mcp_integration_id: id, workspace_id: workspaceId };
        const { id: server_id } = await made('/mcp-servers', place);
        const [listed] = (await get(`/mcp-servers?id=${server_id}`)).data;
        expect(listed.metadata).toMatchObject(known);
        const all = (await get('/mcp-integrations?page_size=1000')).data;
        expect(all.find((one: Body) => one.id === id).metadata).toMatchObject(known);
      },
    ],
  ],
  '1.8.0': [
    [
      'deployments are for production or not, have slugs, and are listed by type',
      async () => {
        const real = await deployment({ slug: 'gw-real' });
        const trial = await deployment({ type: 'non_production' });
        const ids = idsOf(await get('/deployments?type=non_production'));
        expect([ids.includes(trial.id), ids.includes(real.id)]).toEqual([true, false]);
        expect((await get('/deployments/gw-real')).id).toBe(real.id);
      },
    ],
  ],
  '1.7.0': [
    [
      'integrations and providers have tags; a provider without any shows those of its integration',
      async () => {
        const { id, slug } = await integration({ tags: { team: 'it' } });
        expect((await get(`/integrations/${slug}`)).tags).toEqual({ team: 'it' });
        const use = { name: 'p', integration_id: id, workspace_id: workspaceId };
        const provider = await made('/providers', use);
        expect((await get(`/providers/${provider.id}`)).tags).toEqual({ team: 'it' });
        const tagged = await made('/providers', { ...use, name: 'q', tags: { team: 'hr' } });
        expect((await get(`/providers/${tagged.id}`)).tags).toEqual({ team: 'hr' });
      },
    ],
    [
      'entities of a usage-limit policy are listed by status',
      async () => {
        const body = policy({ ...ofCents(1) });
        const { id } = await made('/policies/usage-limits', body);
        const subject = { organisationId: server.organisationId, kind: 'policy', id } as const;
        const windowStart = server.clock.now();
        for (const [valueKey, used] of [
          ['little', 1],
          ['much', 2_000_000],
        ] as const) {
          await insertCounter(server.database.db, subject, { windowStart, used, valueKey });
        }
        const path = `/policies/usage-limits/${id}/entities`;
        expect((await get(`${path}?status=exhausted`)).data).toMatchObject([{ value_key: 'much' }]);
        expect((await get(`${path}?search=litt`)).data).toMatchObject([{ value_key: 'little' }]);
      },
    ],
  ],
  '1.6.0': [
    [
      'people of a group of a directory are led into a workspace',
      async () => {
        const body = { workspace_id: workspaceId, role: 'Manager', scim_group_name: 'staff' };
        const { id, scim_group_id } = await made('/scim/workspaces', body);
        const { mappings, total_count } = await get(`/scim/workspaces?workspace_id=${workspaceId}`);
        expect([total_count, mappings]).toEqual([
          1,
          [{ id, workspace_id: workspaceId, role: 'manager', scim_group: 'staff', scim_group_id }],
        ]);
      },
    ],
    [
      'a key whose time has come is expired, whether or not a job has been there',
      async () => {
        const { id } = await key({ expires_at: '2027-01-04T08:00:01Z' });
        server.clock.advance(1_000);
        expect((await get(`/api-keys/${id}`)).status).toBe('expired');
        await server.app.jobs.runNow('expire-keys');
        expect((await get(`/api-keys/${id}`)).status).toBe('expired');
      },
    ],
  ],
  '1.5.0': [
    [
      'policies limit usage and rates',
      async () => {
        const usage = await made('/policies/usage-limits', policy(ofCents(5)));
        const rate = { type: 'tokens', unit: 'rpd', value: 1000 };
        const rates = await made('/policies/rate-limits', policy(rate));
        expect((await get(`/policies/usage-limits/${usage.id}`)).credit_limit).toBe(5);
        expect(await get(`/policies/rate-limits/${rates.id}`)).toMatchObject(rate);
      },
    ],
  ],
  '1.4.0': [
    [
      'deployments are made, listed, read and changed',
      async () => {
        const { id } = await deployment();
        expect(idsOf(await get('/deployments'))).toContain(id);
        expect((await put(`/deployments/${id}`, { name: 'east' })).status).toBe(200);
        expect(await get(`/deployments/${id}`)).toMatchObject({ id, name: 'east' });
      },
    ],
  ],
  '1.3.0': [
    [
      'MCP servers are looked after, with the tokens by which people sign in to them',
      async () => {
        const url = 'https://mcp.example.com/mcp';
        const account = { name: 'm', url, auth_type: 'oauth_auto', transport: 'http' };
        const { id } = await made('/mcp-integrations', account);
        const place = { name: 'm', mcp_integration_id: id, workspace_id: workspaceId };
        const { slug } = await made('/mcp-servers', place);
        const stored = await put(`/mcp-servers/${slug}/tokens`, { access_token: 'canary-token' });
        expect(stored.status).toBe(200);
        expect(await get(`/mcp-servers/${slug}/tokens`)).toMatchObject({
          connected: true,
          access_token: '********',
        });
        expect((await get(`/mcp-servers/${slug}`)).mcp_integration_details.auth_type).toBe(
          'oauth_auto',
        );
      },
    ],
    [
      'a workspace bounds the number of keys of its people, and how long they live',
      async () => {
        const settings = { user_api_keys_max: 1, api_key_max_ttl_days: 10 };
        const { id } = await made('/admin/workspaces', { name: 'Bounded', settings });
        const user_id = await addUser(server);
        const users = [{ id: user_id, role: 'member' }];
        await made(`/admin/workspaces/${id}/users`, { users });
        const wanted = { name: 'k', scopes: ['completions.write'], workspace_id: id, user_id };
        const path = '/api-keys/workspace/user';
        expect(await refusal(path, { ...wanted, expires_at: '2027-03-01T00:00:00Z' })).toContain(
          'expires_at',
        );
        await made(path, { ...wanted, expires_at: '2027-01-10T00:00:00Z' });
        const body = { ...wanted, expires_at: '2027-01-10T00:00:00Z' };
        expect((await server.request('POST', `/v1${path}`, { body })).status).toBe(409);
      },
    ],
  ],
};

describe.each(Object.entries(releases))('%s', (_, behaviours) => {
  it.each(behaviours)('%s', async (_what, holds) => holds());
});
