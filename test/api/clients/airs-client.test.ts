/**
 * Verifies that an unmodified Prisma AIRS client, which validates every response, can create, list,
 * read, update and delete everything on v2 and admin.
 */
import { randomUUID } from 'node:crypto';
import { AIGatewayClient, AIGatewayModelPricingClient } from '@cdot65/prisma-airs-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CalledMethods } from '../../support/interface/called-methods.ts';
import { insertCounter } from '../../support/rows/usage-rows.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let server: TestServer;
let methods: CalledMethods<AIGatewayClient>;
let gateway: AIGatewayClient;
/** Contains the objects that the tests create. */
let workspaceId: string;

beforeAll(async () => {
  server = await startTestServer();
  const real = new AIGatewayClient({
    clientId: server.clientId,
    clientSecret: server.clientSecret,
    tsgId: server.tsgId,
    dataEndpoint: `${server.url}/v2`,
    adminEndpoint: `${server.url}/admin/v2`,
    iamEndpoint: `${server.url}/iam/v1`,
    tokenEndpoint: `${server.url}/oauth2/access_token`,
    numRetries: 0,
  });
  methods = new CalledMethods(real, (value) => value.constructor.name.endsWith('Client'));
  gateway = methods.client;
  const made = await gateway.workspaces.create({
    name: 'Team',
    scope_name: 'team',
    description: 'd',
    icon: '🚀',
    defaults: { metadata: { department: 'it' } },
    usage_limits: [{ credit_limit: 5, type: 'cost' }],
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 3 }],
  });
  workspaceId = made.id;
});

afterAll(() => server[Symbol.asyncDispose]());

/** The error of the client for a missing object. */
const absent = /AB08/;
const checks = [{ id: 'default.wordCount', parameters: { maxWords: 3 } }];
const feedback = { value: -5, weight: 1, metadata: '' };

it('manages workspaces', async () => {
  const made = await gateway.workspaces.create({ name: 'Other', scope_name: 'other' });
  const listed = await gateway.workspaces.list({ plane: 'admin' });
  expect(listed.data.map(({ id }) => id)).toContain(made.id);
  await gateway.workspaces.update(made.id, { name: 'Renamed', usage_limits: [], icon: '🚀' });
  const got = await gateway.workspaces.get(made.slug);
  expect(got).toMatchObject({ id: made.id, name: '🚀 Renamed', usage_limits: [] });
  await gateway.workspaces.delete(made.slug);
  await expect(gateway.workspaces.get(made.id)).rejects.toThrow(absent);
  const archived = await gateway.workspaces.list({ status: 'archived' });
  expect(archived.data.map(({ id }) => id)).toEqual([made.id]);
});

it('manages scopes of workspaces', async () => {
  const { iamScopes } = gateway;
  const made = await iamScopes.create({ name: 'ws_team', description: 'of the team' });
  expect((await iamScopes.list()).items).toContainEqual(made);
  await iamScopes.bindWorkspace('ws_team', 'ws-team');
  await iamScopes.update('ws_team', { description: 'of nobody' });
  expect(await iamScopes.get('ws_team')).toMatchObject({ description: 'of nobody', resources: [] });
  await iamScopes.delete('ws_team');
  await expect(iamScopes.get('ws_team')).rejects.toThrow();
  const { scope, workspace } = await gateway.workspaces.provision({ name: 'Provisioned' });
  expect(scope.resources).toMatchObject([{ resource_id: workspace.slug }]);
  expect(workspace.scope_name).toBe(scope.name);
});

it('manages configs', async () => {
  const { configs } = gateway;
  const made = await configs.create({
    name: 'routes',
    workspace_id: workspaceId,
    config: { retry: { attempts: 3 }, cache: { mode: 'simple' } },
  });
  expect((await configs.list({ workspaceId })).data).toMatchObject([{ id: made.id }]);
  const config = { retry: { attempts: 5 } };
  await configs.update(made.id, {
    name: 'others',
    workspace_id: workspaceId,
    config,
    status: 'active',
  });
  const got = await configs.get(made.id);
  expect(got.name).toBe('others');
  expect(JSON.parse(got.config)).toEqual(config);
  const versions = (await configs.listVersions(made.id)).data.map((one) => one.version_id);
  expect(versions).toEqual([got.version_id, made.version_id]);
  await configs.delete(made.id);
  await expect(configs.get(made.id)).rejects.toThrow(absent);
});

describe('guardrails', () => {
  it('manages guardrails of a workspace', async () => {
    const { guardrails } = gateway;
    const made = await guardrails.create({
      name: 'words',
      workspace_id: workspaceId,
      checks,
      actions: { deny: true },
    });
    expect((await guardrails.list({ workspaceId })).data).toMatchObject([{ id: made.id }]);
    const actions = { deny: false, on_fail: { feedback } };
    await guardrails.update(made.id, { name: 'few words', checks, actions });
    const got = await guardrails.get(made.id);
    expect(got).toMatchObject({ name: 'few words', actions, checks });
    expect(got.checks[0]!.is_enabled).toBe(true);
    await guardrails.delete(made.id);
    await expect(guardrails.get(made.id)).rejects.toThrow(absent);
  });

  it('manages guardrails of the organisation', async () => {
    const { adminGuardrails } = gateway;
    const { organisationId } = server;
    const made = await adminGuardrails.create({
      name: 'words',
      organisation_id: organisationId,
      checks,
      actions: { deny: true },
    });
    const listed = await adminGuardrails.list({ pageSize: 100, currentPage: 0 });
    expect(listed.data).toMatchObject([{ id: made.id, workspace_id: null }]);
    await adminGuardrails.update(made.id, { name: 'few words' });
    expect(await adminGuardrails.get(made.id)).toMatchObject({ name: 'few words', checks });
    await adminGuardrails.delete(made.id);
    await expect(adminGuardrails.get(made.id)).rejects.toThrow(absent);
  });
});

describe('MCP', () => {
  let integrationId: string;
  let serverId: string;

  it('manages integrations', async () => {
    const { mcpIntegrations } = gateway;
    const made = await mcpIntegrations.create({
      name: 'docs',
      slug: 'docs',
      organisation_id: server.tsgId,
      description: null,
      url: 'https://mcp.invalid/mcp',
      auth_type: 'none',
      transport: 'http',
      configurations: { custom_headers: { 'x-team': 'it' } },
    });
    integrationId = made.id!;
    expect((await mcpIntegrations.list()).data).toMatchObject([{ id: integrationId }]);
    await mcpIntegrations.update(integrationId, { name: 'Docs', auth_type: 'headers' });
    const got = await mcpIntegrations.get(integrationId);
    expect(got).toMatchObject({ name: 'Docs', auth_type: 'headers', description: null });
    const lookup = { name: 'lookup', type: 'tool' as const, enabled: true };
    await mcpIntegrations.setCapabilities(integrationId, { capabilities: [lookup] });
    const { data, counts } = await mcpIntegrations.getCapabilities(integrationId);
    expect({ data, tools: counts.tools }).toMatchObject({
      data: [lookup],
      tools: { total: 1, enabled: 1 },
    });
    expect((await mcpIntegrations.getMetadata(integrationId)).last_synced_at).toBeNull();
    const access = { workspaces: [{ id: workspaceId, enabled: true }] };
    expect(await mcpIntegrations.setWorkspaces(integrationId, access)).toEqual({});
    expect(await mcpIntegrations.getWorkspaces(integrationId)).toMatchObject(access);
  });

  it('manages servers', async () => {
    const { mcpServers } = gateway;
    const made = await mcpServers.create({
      name: 'docs',
      slug: 'docs-server',
      description: null,
      workspace_id: workspaceId,
      mcp_integration_id: integrationId,
    });
    serverId = made.id!;
    const page = { current_page: 0, page_size: 10, search: 'do' };
    const listed = await mcpServers.list({ workspace_id: workspaceId, id: serverId, ...page });
    expect(listed).toMatchObject({ total: 1, data: [{ id: serverId }] });
    await mcpServers.update(serverId, { name: 'Docs', description: 'what is written' });
    const expected = { name: 'Docs', description: 'what is written' };
    expect(await mcpServers.get(serverId)).toMatchObject(expected);
    const lookup = { name: 'lookup', type: 'tool', enabled: false };
    await mcpServers.updateCapabilities(serverId, { capabilities: [lookup] });
    const { data } = await mcpServers.getCapabilities(serverId, { page: 1, type: 'tool' });
    expect(data).toMatchObject([{ ...lookup, integration_enabled: true }]);
    await mcpServers.updateUserAccess(serverId, { default_user_access: 'deny' });
    const access = await mcpServers.getUserAccess(serverId, { page: 1, page_size: 10 });
    expect(access.default_user_access).toBe('deny');
    expect(await mcpServers.getConnections(serverId)).toMatchObject({ total: 0, data: [] });
    expect(await mcpServers.deleteConnections(serverId)).toEqual({ success: true });
    expect(await mcpServers.test(serverId)).toMatchObject({ success: false });
  });

  it('manages guardrail mappings of servers', async () => {
    const tools = { name: 'tools', target: 'mcp_tools' as const, checks };
    const ofTeam = await gateway.guardrails.create({ ...tools, workspace_id: workspaceId });
    const ofAll = await gateway.adminGuardrails.create(tools);
    for (const [{ id }, client] of [
      [ofTeam, gateway.guardrails],
      [ofAll, gateway.adminGuardrails],
    ] as const) {
      const synced = await client.syncMcpServers(id, {
        mcp_servers: { [serverId]: { run_on: ['input'] } },
      });
      expect(synced).toEqual({ changed: true, added: 1, updated: 0, removed: 0 });
      await client.upsertMcpServer(id, serverId, { run_on: ['output'] });
      const mappings = await client.getMcpServers(id);
      expect(mappings).toMatchObject([{ mcp_server_id: serverId, run_on: ['output'] }]);
    }
    expect((await gateway.guardrails.get(ofTeam.id)).mcp_server_mappings).toHaveLength(1);
    await gateway.guardrails.delete(ofTeam.id);
    await gateway.adminGuardrails.delete(ofAll.id);
  });

  it('deletes servers and integrations', async () => {
    await gateway.mcpServers.delete(serverId);
    await expect(gateway.mcpServers.get(serverId)).rejects.toThrow(absent);
    await gateway.mcpIntegrations.delete(integrationId);
    await expect(gateway.mcpIntegrations.get(integrationId)).rejects.toThrow(absent);
  });
});

describe('providers and integrations', () => {
  let aiProviderId: string;
  let integrationId: string;

  it('manages integrations', async () => {
    const { integrations } = gateway;
    aiProviderId = await integrations.resolveProviderId('openai');
    const made = await integrations.create({
      organisation_id: server.tsgId,
      ai_provider_id: aiProviderId,
      name: 'OpenAI',
      slug: 'openai-1',
      key: 'sk-1',
      create_default_provider: false,
      configurations: { provider_auth_type: 'apiKey', custom_host: 'https://api.example.com/v1' },
      pricing_adjustments: null,
    });
    integrationId = made.id!;
    expect((await integrations.list()).data).toMatchObject([{ id: integrationId }]);
    await integrations.update(integrationId, { name: 'Renamed', key: 'sk-2' });
    expect((await integrations.get(integrationId)).name).toBe('Renamed');
  });

  it('manages the models and workspaces of an integration', async () => {
    const { integrations } = gateway;
    const model = { slug: 'our-model', enabled: true, is_custom: true, base_model_slug: 'gpt-4o' };
    await integrations.setModels(integrationId, {
      models: [
        {
          ...model,
          configurations: { custom_headers: { 'x-team': 'it' } },
          pricing_config: {
            type: 'static',
            pay_as_you_go: { request_token: { price: 0.1 }, response_token: { price: 0.2 } },
          },
        },
      ],
      allow_all_models: false,
    });
    const reported = await integrations.getModels(integrationId);
    expect(reported.models.find(({ slug }) => slug === 'our-model')).toMatchObject(model);
    await integrations.deleteModels(integrationId, ['our-model']);
    const left = (await integrations.getModels(integrationId)).models.map(({ slug }) => slug);
    expect(left).not.toContain('our-model');

    const granted = {
      usage_limits: [{ credit_limit: 5, type: 'cost' as const }],
      rate_limits: [{ type: 'requests' as const, unit: 'rpm' as const, value: 3 }],
    };
    await integrations.setWorkspaces(integrationId, {
      workspaces: [{ id: workspaceId, enabled: true, reset_usage: true, ...granted }],
      global_workspace_access: { enabled: false },
      override_existing_workspace_access: false,
      create_default_provider: false,
    });
    const { workspaces } = await integrations.getWorkspaces(integrationId);
    expect(workspaces).toMatchObject([{ id: workspaceId, enabled: true, ...granted }]);
  });

  it('manages providers', async () => {
    const { providers } = gateway;
    const made = await providers.create({
      workspace_id: workspaceId,
      ai_provider_id: aiProviderId,
      integration_id: integrationId,
      name: 'P',
      slug: 'p-1',
      note: null,
      expires_at: null,
      usage_limits: { credit_limit: 5, type: 'cost', periodic_reset: 'weekly' },
      rate_limits: { type: 'requests', unit: 'rpm', value: 3 },
    });
    expect((await providers.list({ workspaceId })).data).toMatchObject([{ id: made.id }]);
    await providers.update(made.id, { name: 'Q', note: 'n', rate_limits: null, reset_usage: true });
    expect(await providers.get(made.id)).toMatchObject({ name: 'Q', note: 'n', rate_limits: [] });
    await providers.delete(made.id);
    await expect(providers.get(made.id)).rejects.toThrow(absent);
    await gateway.integrations.delete(integrationId, server.tsgId);
    await expect(gateway.integrations.get(integrationId)).rejects.toThrow(absent);
  });
});

describe('API keys', () => {
  const key = () => ({
    organisation_id: server.tsgId,
    workspace_id: workspaceId,
    type: 'workspace',
    name: 'k',
    scopes: ['completions.write' as const],
    alert_emails: ['a@example.com'],
    rate_limits: [{ type: 'requests' as const, unit: 'rpm' as const, value: 3 }],
    usage_limits: { credit_limit: 5, type: 'cost' as const },
    defaults: { metadata: { department: 'it' }, allow_config_override: true },
    expires_at: '2028-01-01T00:00:00Z',
    rotation_policy: { rotation_period: 'monthly' as const, key_transition_period_ms: 1_800_000 },
  });
  const withoutLimits = {
    name: 'm',
    usage_limits: null,
    rate_limits: null,
    rotation_policy: null,
    expires_at: null,
    defaults: null,
    reset_usage: true,
  };
  const expected = { name: 'm', usage_limits: null, rate_limits: [], expires_at: null };

  it('manages service keys', async () => {
    const { apiKeys } = gateway;
    const made = await apiKeys.createService(key());
    const id = made.id!;
    expect((await apiKeys.listService({ workspaceId })).data).toMatchObject([{ id }]);
    await apiKeys.updateService(id, withoutLimits);
    expect(await apiKeys.getService(id)).toMatchObject(expected);
    const rotated = await apiKeys.rotateService(id);
    expect([rotated.id, rotated.key === made.key]).toEqual([id, false]);
    await apiKeys.deleteService(id);
    await expect(apiKeys.getService(id)).rejects.toThrow(absent);
  });

  it('manages user keys', async () => {
    const { apiKeys } = gateway;
    const user = await addUser(server);
    const body = { users: [{ id: user, role: 'member' }] };
    await server.request('POST', `/v1/admin/workspaces/${workspaceId}/users`, { body });
    const made = await apiKeys.createUser({ ...key(), user_id: user });
    const id = made.id!;
    expect((await apiKeys.listUser({ workspaceId })).data).toMatchObject([{ id }]);
    await apiKeys.updateUser(id, withoutLimits);
    expect(await apiKeys.getUser(id)).toMatchObject({ ...expected, user_id: user });
    const rotated = await apiKeys.rotateUser(id, { key_transition_period_ms: 1_800_000 });
    expect([rotated.id, rotated.key === made.key]).toEqual([id, false]);
    await apiKeys.deleteUser(id);
    await expect(apiKeys.getUser(id)).rejects.toThrow(absent);
  });
});

describe('policies', () => {
  const shared = () => ({
    name: 'p',
    workspace_id: workspaceId,
    organisation_id: server.tsgId,
    conditions: [{ key: 'model', value: '*', excludes: 'gpt' }],
    group_by: [{ key: 'api_key' }],
  });
  const page = { page_size: 5, current_page: 0 };

  it('manages usage limits', async () => {
    const { usageLimits } = gateway;
    const made = await usageLimits.create({
      ...shared(),
      type: 'cost',
      credit_limit: 5,
      periodic_reset: 'weekly',
      alert_threshold: null,
    });
    const id = made.id!;
    const query = { workspace_id: workspaceId, status: 'active', type: 'cost', ...page };
    expect((await usageLimits.list(query)).data).toMatchObject([{ id }]);
    const subject = { organisationId: server.organisationId, kind: 'policy', id } as const;
    const windowStart = server.clock.now();
    const entity = await insertCounter(server.database.db, subject, {
      windowStart,
      used: 1_000_000,
      valueKey: 'a',
    });
    await usageLimits.update(id, { name: 'q', credit_limit: 9, periodic_reset: null });
    expect(await usageLimits.get(id, { status: 'active', include_usage: true })).toMatchObject({
      name: 'q',
      credit_limit: 9,
      periodic_reset: null,
      conditions: shared().conditions,
    });
    const entities = await usageLimits.listEntities(id, { status: 'active', ...page });
    expect(entities.data).toMatchObject([{ id: entity, value_key: 'a' }]);
    await usageLimits.resetEntity(id, entity);
    await usageLimits.update(id, { reset_usage_for_value: 'a' });
    await usageLimits.delete(id);
    await expect(usageLimits.get(id)).rejects.toThrow(absent);
  });

  it('manages rate limits', async () => {
    const { rateLimits } = gateway;
    const kind = { type: 'requests', unit: 'rpm', target: 'llm' };
    const made = await rateLimits.create({ ...shared(), ...kind, value: 5 });
    const id = made.id!;
    const query = { workspace_id: workspaceId, status: 'active', ...kind, ...page };
    expect((await rateLimits.list(query)).data).toMatchObject([{ id }]);
    const conditions = [{ key: 'model', value: ['a', 'b'] }];
    await rateLimits.update(id, { name: 'q', unit: 'rph', value: 4, conditions });
    const expected = { name: 'q', unit: 'rph', value: 4, conditions };
    expect(await rateLimits.get(id, { status: 'active' })).toMatchObject(expected);
    await rateLimits.delete(id);
    await expect(rateLimits.get(id)).rejects.toThrow(absent);
  });
});

it('manages secret references', async () => {
  const { secretReferences } = gateway;
  const made = await secretReferences.create({
    name: 's',
    manager_type: 'aws_sm',
    secret_path: 'prod',
    description: 'x',
    auth_config: {
      aws_auth_type: 'accessKey',
      aws_region: 'eu-west-1',
      aws_access_key_id: 'a',
      aws_secret_access_key: 'b',
    },
    tags: { env: 'prod' },
    allow_all_workspaces: true,
  });
  const id = made.id!;
  const query = { manager_type: 'aws_sm' as const, search: 's', current_page: 0, page_size: 10 };
  expect((await secretReferences.list(query)).data).toMatchObject([{ id }]);
  await secretReferences.update(id, { name: 't', secret_key: null });
  const got = await secretReferences.get(id);
  expect(got).toMatchObject({ name: 't', status: 'ACTIVE', tags: { env: 'prod' } });
  await secretReferences.delete(id);
  await expect(secretReferences.get(id)).rejects.toThrow(absent);
});

it('manages deployments', async () => {
  const { deployments } = gateway;
  const made = await deployments.create({
    name: 'EU',
    slug: 'gw-eu',
    type: 'production',
    organisation_id: server.tsgId,
    is_default: false,
    tags: { env: 'prod' },
    deployment_config: { replicas: 2 },
    auth_settings: {
      gateway_base_url: 'https://gw.example.com/v1',
      is_dataservice_hosted: 0,
      allow_all_workspaces: false,
      workspaces_allowed: [workspaceId],
      jwt_subs_allowed: ['a'],
      jwt_sub_workspace_mapping: { a: workspaceId },
    },
  });
  expect((await deployments.list()).data).toMatchObject([{ id: made.id, slug: 'gw-eu' }]);
  await deployments.update(made.id, {
    name: 'Europe',
    rotate_auth: true,
    override_existing: true,
    auth_settings: { remove_workspaces_allowed: [workspaceId], remove_subs_allowed: ['a'] },
  });
  const got = await deployments.get(made.id);
  expect(got).toMatchObject({ name: 'Europe', auth_settings: { workspaces_allowed: [] } });
  const nowhere = { auth_settings: { gateway_base_url: 'http://10.0.0.1/v1' } };
  await deployments.update(made.id, nowhere);
  const requested = await deployments.ping(made.id);
  expect(requested).toMatchObject({ status: 'unhealthy', inbound: { status: 'unknown' } });
  await deployments.delete(made.id, server.tsgId);
  expect((await deployments.get(made.id)).status).toBe('archived');
});

it('reads the audit log', async () => {
  const start = new Date(server.clock.now() - 3_600_000);
  const end = new Date(server.clock.now() + 3_600_000);
  const { records } = await gateway.auditLogs.list({ start, end });
  expect(records.map(({ resource_type }) => resource_type)).toContain('Deployment');
});

it('manages log exports', async () => {
  const { logExports } = gateway;
  const { slug } = await gateway.workspaces.get(workspaceId);
  const filters = {
    time_of_generation_min: '2027-01-01T00:00:00.000Z',
    time_of_generation_max: '2027-01-02T00:00:00.000Z',
    status_code: '200,4xx',
    ai_org_model: 'openai__gpt-4o',
    ai_model: 'gpt-4o,o3',
    workspace_slug: slug,
    prompt_slug: 'pp-none',
    trace_id: 't',
    virtual_keys: 'openai',
    weighted_feedback_min: -1,
    metadata: { team: 'a' },
    total_units_min: 1,
    cost_max: 1,
    page_size: 10,
    current_page: 0,
  };
  const query = { filters, requested_data: ['id'], description: 'for January' };
  const { id } = await logExports.create({ ...query, workspace_id: workspaceId });
  expect((await logExports.list({ workspace_id: workspaceId })).data).toMatchObject([{ id }]);
  await logExports.update(id, { ...query, description: 'for the month' });
  expect(await logExports.get(id)).toMatchObject({
    status: 'draft',
    description: 'for the month',
    filters,
  });
  await logExports.start(id);
  await logExports.cancel(id);
  expect((await logExports.get(id)).status).toBe('stopped');
  await logExports.start(id);
  await server.app.jobs.runNow('write-log-exports');
  const { signed_url } = await logExports.download(id);
  expect((await fetch(signed_url)).status).toBe(200);
});

it('reads the organisation', async () => {
  const { organisations, plugins } = gateway;
  expect((await organisations.getSelf()).data).toMatchObject({ id: server.organisationId });
  await organisations.updateSelf({ name: 'Acme Corp' });
  const info = await organisations.getInfo(server.tsgId);
  expect(info).toMatchObject({ name: 'Acme Corp', benefits: { featureFlags: { guardrails: 1 } } });
  const reported = await organisations.getAuthSettings(server.tsgId);
  expect(reported.data).toEqual({ auth_settings: {}, domains: [], scim_token: null });
  const domains = { domains: ['acme.com'] };
  await expect(organisations.updateAuthSettings(server.tsgId, domains)).rejects.toThrow(
    'domains: is not a known field',
  );
  const auth_settings = { disable_auto_provision_user: true };
  await organisations.updateAuthSettings(server.tsgId, { auth_settings });
  const changed = await organisations.getAuthSettings(server.tsgId);
  expect(changed.data).toMatchObject({ auth_settings });
  expect((await plugins.list()).data).toEqual([]);
  const plugin = { organisation_id: server.tsgId, integration_id: randomUUID() };
  const credentials = { AIRS_API_KEY: 'k' };
  await expect(plugins.create({ ...plugin, credentials })).rejects.toThrow(/405|method/i);
});

it('reads model prices without a credential', async () => {
  const pricing = new AIGatewayModelPricingClient({ endpoint: server.url });
  const { pay_as_you_go, currency } = await pricing.get('openai', 'gpt-4o');
  expect([currency, pay_as_you_go]).toEqual([
    'USD',
    {
      request_token: { price: 0.00025 },
      response_token: { price: 0.001 },
      cache_read_input_token: { price: 0.000125 },
      additional_units: {
        code_interpreter: { price: 3 },
        file_search: { price: 0.25 },
        web_search: { price: 1 },
      },
    },
  ]);
  const picture = (await pricing.get('openai', 'dall-e-3')).pay_as_you_go;
  expect(picture).toMatchObject({ image: { hd: { '1024x1024': { price: 8 } } } });
  const ranking = (await pricing.get('cohere', 'rerank-v3.5')).pay_as_you_go;
  expect(ranking).toMatchObject({ additional_units: { search_unit: { price: 0.2 } } });
  await expect(pricing.get('openai', 'nobody-has-it')).rejects.toThrow(absent);
});

it('reads the check catalogue', async () => {
  const { evals } = await gateway.guardrails.getCatalog();
  expect(evals.find(({ id }) => id === 'default.contains')).toMatchObject({
    targets: ['llm', 'mcp_tools'],
    parameters: { type: 'object', required: ['words'], properties: { words: { type: 'array' } } },
  });
});

it('covers every other method of the client', () => {
  // Methods that read the request log are tested where requests exist, in telemetry.test.ts.
  const other = /^telemetry\./;
  expect(methods.missed().filter((name) => !other.test(name))).toEqual([]);
});
