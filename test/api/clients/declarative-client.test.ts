/**
 * Verifies what declarative clients rely on for each resource: reads return what was sent, in the
 * expected types, stable, without additions; a deleted resource is 404.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

type Fields = Record<string, unknown>;

interface Case {
  readonly path: string;
  /** The query of reads and of the delete. */
  readonly query?: string;
  readonly sent: Fields;
  /** Fields that are read back in another form than they were sent. */
  readonly readBack?: Fields;
  /** Fields that were not sent and must be empty. */
  readonly empty?: readonly string[];
  readonly update: Fields;
  readonly updated?: Fields;
  /** Fields that change on update beside the sent ones and `last_updated_at`. */
  readonly moved?: readonly string[];
  readonly types: z.ZodType;
  readonly farewell?: Fields;
}

const text = z.string().nullish();
const count = z.int().nullish();
const amount = z.number().nullish();
const flag = z.union([z.literal(0), z.literal(1)]).nullish();
const time = z.iso.datetime({ offset: false }).nullish();
const times = { created_at: time, last_updated_at: time };
const named = { id: z.uuid(), name: z.string(), status: text, ...times };
const sluggish = { ...named, slug: z.string() };
const rates = z.array(z.object({ type: z.string(), unit: z.string(), value: z.int() }));
const budget = z.object({ type: text, credit_limit: amount, alert_threshold: amount });
const budgets = z.array(budget.extend({ credit_limit: count, alert_threshold: count }));
const conditions = z.array(z.object({ key: z.string() }));
const policy = z.object({ ...named, workspace_id: z.uuid(), conditions, group_by: conditions });
const rate = { type: 'requests', unit: 'rpm', value: 100 };

let server: TestServer;
const known = { workspace: '', workspaceSlug: '', integration: '', collection: '', mcp: '' };
beforeAll(async () => {
  server = await startTestServer();
  const workspace = await post('/admin/workspaces', { name: 'Planned' });
  Object.assign(known, { workspace: workspace.id, workspaceSlug: workspace.slug });
  const workspace_id = known.workspace;
  const account = { name: 'Account', ai_provider_id: 'openai', key: 'sk-none' };
  known.integration = (await post('/integrations', account)).slug;
  known.collection = (await post('/collections', { name: 'Kept', workspace_id })).id;
  const place = { url: 'https://example.com/mcp', auth_type: 'none', transport: 'sse' };
  known.mcp = (await post('/mcp-integrations', { name: 'Tools', ...place })).id;
  await post('/providers', { name: 'vk', integration_id: known.integration, workspace_id });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Like such clients, every request declares a JSON body, also when it has none. */
async function ask(method: string, path: string, body?: Fields) {
  const headers = { 'content-type': 'application/json' };
  const answer = await server.request(method, `/v1${path}`, { auth: 'key', headers, body });
  return { status: answer.status, body: answer.body };
}

async function post(path: string, body: Fields) {
  const made = await ask('POST', path, body);
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

const cases: Record<string, () => Case> = {
  workspace: () => ({
    path: '/admin/workspaces',
    sent: {
      name: 'Team',
      icon: '🧪',
      description: 'd',
      rate_limits: [rate],
      defaults: { metadata: { _user: 'a', team: 'b' } },
      usage_limits: [{ type: 'cost', credit_limit: 500, alert_threshold: 400 }],
    },
    readBack: { name: '🧪 Team' },
    update: { name: 'Crew', icon: '', usage_limits: null, rate_limits: null },
    updated: { icon: null, usage_limits: [], rate_limits: [] },
    types: z.object({
      ...sluggish,
      description: text,
      usage_limits: budgets,
      rate_limits: rates,
      security_settings: z.record(z.string(), z.boolean()),
    }),
    farewell: { name: 'Crew' },
  }),
  config: () => ({
    path: '/configs',
    sent: { name: 'c', config: { retry: { attempts: 3 } }, workspace_id: known.workspaceSlug },
    readBack: { config: '{"retry":{"attempts":3}}', workspace_id: known.workspace, is_default: 0 },
    update: { config: { retry: { attempts: 5 }, cache: { mode: 'simple' } } },
    updated: { config: '{"retry":{"attempts":5},"cache":{"mode":"simple"}}' },
    moved: ['version_id'],
    types: z.object({ ...sluggish, version_id: z.string(), is_default: z.int() }),
  }),
  'guardrail of a workspace': () => ({
    path: '/guardrails',
    sent: {
      name: 'g',
      workspace_id: known.workspace,
      checks: [{ id: 'default.wordCount', parameters: { minWords: 1, maxWords: 9 } }],
      actions: { onFail: 'log', message: 'm' },
    },
    update: { name: 'h', checks: [{ id: 'default.sentenceCount', is_enabled: true }] },
    moved: ['version_id'],
    types: z.object({ ...sluggish, version_id: z.string() }),
  }),
  'guardrail of the organisation': () => ({
    path: '/guardrails',
    sent: {
      name: 'g',
      actions: { deny: true },
      checks: [{ id: 'default.contains', parameters: { words: ['a'] } }],
    },
    empty: ['workspace_id'],
    update: { name: 'h' },
    types: z.object(sluggish),
  }),
  integration: () => ({
    path: '/integrations',
    sent: { name: 'i', ai_provider_id: 'azure-openai', description: 'd', slug: 'i-planned' },
    readBack: { type: 'organisation', status: 'active', secret_mappings: [] },
    empty: ['workspace_id'],
    update: { name: 'j', description: 'e', secret_mappings: [] },
    types: z.object({ ...sluggish, ai_provider_id: z.string(), description: text }),
  }),
  provider: () => ({
    path: '/providers',
    query: `?workspace_id=${known.workspace}`,
    sent: { name: 'p', integration_id: known.integration, workspace_id: known.workspace },
    readBack: { integration_id: expect.stringMatching(/^[0-9a-f-]{36}$/), status: 'active' },
    empty: ['note', 'usage_limits', 'expires_at'],
    update: { name: 'q', note: 'n', workspace_id: known.workspace },
    types: z.object({ ...sluggish, note: text, rate_limits: rates }),
  }),
  'API key': () => ({
    path: '/api-keys/organisation/service',
    sent: {
      name: 'k',
      scopes: ['providers.list', 'logs.view', 'logs.list'],
      usage_limits: { credit_limit: 500, periodic_reset: 'monthly' },
      rate_limits: [rate],
      alert_emails: ['b@example.com', 'a@example.com'],
      expires_at: '2030-01-01T00:00:00Z',
      rotation_policy: { rotation_period: 'monthly', key_transition_period_ms: 3_600_000 },
    },
    readBack: {
      expires_at: '2030-01-01T00:00:00.000Z',
      rotation_policy: {
        rotation_period: 'monthly',
        key_transition_period_ms: 3_600_000,
        next_rotation_at: expect.any(String),
      },
    },
    empty: ['user_id', 'workspace_id', 'description', 'last_reset_at', 'allow_config_override'],
    update: {
      name: 'l',
      usage_limits: null,
      rate_limits: null,
      alert_emails: null,
      expires_at: null,
      defaults: { metadata: { _user: 'u' } },
    },
    updated: { rate_limits: [], defaults: expect.objectContaining({ metadata: { _user: 'u' } }) },
    moved: ['next_usage_reset_at', 'api_key_defaults_id', 'current_usage'],
    types: z.object({
      ...named,
      scopes: z.array(z.string()),
      rate_limits: rates,
      expires_at: time,
      usage_limits: budget.nullable(),
      allow_config_override: flag,
    }),
  }),
  'usage limit policy': () => ({
    path: '/policies/usage-limits',
    sent: {
      name: 'u',
      workspace_id: known.workspace,
      type: 'cost',
      credit_limit: 1000.5,
      alert_threshold: 800,
      periodic_reset: 'monthly',
      group_by: [{ key: 'api_key' }],
      conditions: [{ key: 'model', value: ['a', 'b'], excludes: ['c'] }],
    },
    empty: ['periodic_reset_days'],
    update: {
      alert_threshold: null,
      periodic_reset: null,
      periodic_reset_days: 45,
      conditions: [{ key: 'workspace_id', value: known.workspace }],
    },
    moved: ['next_usage_reset_at'],
    types: policy.extend({ credit_limit: z.number(), periodic_reset_days: count }),
  }),
  'rate limit policy': () => ({
    path: '/policies/rate-limits',
    sent: {
      name: 'r',
      workspace_id: known.workspace,
      ...rate,
      group_by: [{ key: 'api_key' }],
      conditions: [{ key: 'workspace_id', value: known.workspace }],
    },
    update: { value: 200, unit: 'rph' },
    types: policy.extend({ unit: z.string(), value: z.number() }),
  }),
  prompt: () => ({
    path: '/prompts',
    sent: {
      name: 'p',
      collection_id: known.collection,
      virtual_key: 'vk',
      model: 'gpt-4o',
      string: 'Hello {{name}}',
      parameters: {},
    },
    readBack: { parameters: { model: 'gpt-4o' }, prompt_version: 1, is_raw_template: 0 },
    update: { name: 'q', parameters: null },
    updated: { parameters: { model: 'gpt-4o' }, prompt_version: 1 },
    types: z.object({ ...sluggish, prompt_version: z.int(), prompt_version_id: z.string() }),
  }),
  'prompt partial': () => ({
    path: '/prompts/partials',
    sent: { name: 'p', string: 'Hello', workspace_id: known.workspaceSlug },
    readBack: { workspace_id: known.workspace, version: 1 },
    update: { name: 'q' },
    types: z.object({ ...sluggish, version: z.int() }),
  }),
  'prompt collection': () => ({
    path: '/collections',
    sent: { name: 'l', workspace_id: known.workspace, parent_collection_id: known.collection },
    readBack: { is_default: 0 },
    update: { name: 'm' },
    types: z.object({ ...sluggish, is_default: z.int(), workspace_id: z.uuid() }),
  }),
  'MCP integration': () => ({
    path: '/mcp-integrations',
    sent: { name: 'm', url: 'https://example.com/m', auth_type: 'oauth_auto', transport: 'http' },
    empty: ['description', 'workspace_id'],
    update: { name: 'n', description: 'd', transport: 'sse' },
    types: z.object({ ...sluggish, url: z.string(), description: text }),
  }),
  'MCP server': () => ({
    path: '/mcp-servers',
    sent: { name: 's', mcp_integration_id: known.mcp, workspace_id: known.workspace },
    empty: ['description'],
    update: { name: 't', description: 'd' },
    types: z.object({ ...sluggish, mcp_integration_id: z.uuid() }),
  }),
  'secret reference': () => ({
    path: '/secret-references',
    sent: {
      name: 's',
      manager_type: 'aws_sm',
      secret_path: 'a/b',
      allow_all_workspaces: true,
      tags: { env: 'prod' },
      auth_config: {
        aws_auth_type: 'accessKey',
        aws_access_key_id: 'AKIA',
        aws_region: 'us-east-1',
        aws_secret_access_key: 'hidden',
      },
    },
    readBack: {
      auth_config: expect.objectContaining({ aws_region: 'us-east-1' }),
      allow_all_workspaces: true,
    },
    empty: ['description', 'secret_key'],
    update: { secret_path: 'c/d', description: 'e', auth_config: { aws_region: 'eu-west-1' } },
    updated: { auth_config: expect.objectContaining({ aws_region: 'eu-west-1' }) },
    types: z.object({ ...sluggish, tags: z.record(z.string(), z.string()) }),
  }),
};

describe('a resource that is read back', () => {
  it.each(Object.keys(cases))('%s', async (name) => {
    const {
      path,
      query = '',
      sent,
      readBack,
      empty = [],
      update,
      updated,
      moved = [],
      types,
      farewell,
    } = cases[name]!();
    const collection = path.replace(/\/organisation\/service$/, '');
    const { id, slug = id } = await post(path, sent);
    const read = () => ask('GET', `${collection}/${id}${query}`);

    const { status, body: first } = await read();
    expect(status).toBe(200);
    expect(types.safeParse(first).error).toBeUndefined();
    expect(first).toMatchObject({ ...sent, ...readBack });
    for (const field of empty) expect([field, first[field] ?? null]).toEqual([field, null]);
    expect((await ask('GET', `${collection}/${slug}${query}`)).body).toEqual(first);
    const { body: list } = await ask('GET', `${collection}${query}`);
    expect(list.data).toContainEqual(expect.objectContaining({ id }));

    server.clock.advance(1000);
    expect(await ask('PUT', `${collection}/${slug}`, update)).toMatchObject({ status: 200 });
    const { body: second } = await read();
    expect(types.safeParse(second).error).toBeUndefined();
    expect(second).toMatchObject({ ...update, ...updated });
    const others = Object.keys({ ...update, ...updated, last_updated_at: null });
    const rest = (body: Fields) =>
      Object.entries(body).filter(([key]) => !others.includes(key) && !moved.includes(key));
    expect(rest(second)).toEqual(rest(first));
    expect((await read()).body).toEqual(second);

    expect(await ask('DELETE', `${collection}/${slug}${query}`, farewell)).toEqual({
      status: 200,
      body: {},
    });
    expect((await read()).status).toBe(404);
  });
});

describe('a resource without a route of its own', () => {
  it('appears in the list of its owner: a group mapping, workspace access and a model', async () => {
    const workspace_id = known.workspace;
    const mapped = await post('/scim/workspaces', {
      workspace_id,
      role: 'member',
      scim_group_name: 'planned',
    });
    const { body } = await ask('GET', `/scim/workspaces?workspace_id=${workspace_id}`);
    expect(body).toMatchObject({ mappings: [{ id: mapped.id, workspace_id }], total_count: 1 });
    const of = `/integrations/${known.integration}`;
    await ask('PUT', `${of}/workspaces`, { workspaces: [{ id: workspace_id, enabled: true }] });
    const granted = await ask('GET', `${of}/workspaces`);
    const unlimited = { usage_limits: null, rate_limits: null };
    const readBack = { id: workspace_id, ...unlimited };
    expect(granted.body).toMatchObject({ total: 1, workspaces: [readBack] });
    const providers = await ask('GET', `/providers?workspace_id=${workspace_id}`);
    expect(providers.body.data).toContainEqual(expect.objectContaining(unlimited));
    const price = { request_token: { price: 0.03 }, response_token: { price: 0.06 } };
    const pricing_config = { type: 'static', pay_as_you_go: price };
    const model = { slug: 'ft:gpt:own', enabled: true, is_custom: true, pricing_config };
    await ask('PUT', `${of}/models`, { models: [model] });
    const isOwn = ({ slug }: Fields) => slug === model.slug;
    expect((await ask('GET', `${of}/models`)).body.models.filter(isOwn)).toMatchObject([model]);
    expect((await ask('DELETE', `${of}/models`, { models: [model.slug] })).status).toBe(200);
    expect((await ask('GET', `${of}/models`)).body.models.filter(isOwn)).toEqual([]);
  });

  it('returns all providers of a workspace to a client that reads the one with an empty name', async () => {
    const { status, body } = await ask('GET', `/providers/?workspace_id=${known.workspace}`);
    expect(status).toBe(200);
    expect(body).toEqual((await ask('GET', `/providers?workspace_id=${known.workspace}`)).body);
    expect((await ask('DELETE', `/providers/?workspace_id=${known.workspace}`)).status).toBe(405);
  });
});
