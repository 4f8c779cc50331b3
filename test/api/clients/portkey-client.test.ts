/**
 * Verifies that an unmodified Portkey client can create, list, read, update and delete everything
 * on v1 with an API key alone.
 */
import { Portkey } from 'portkey-ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CalledMethods } from '../../support/interface/called-methods.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let server: TestServer;
let methods: CalledMethods<Portkey>;
let portkey: Portkey;
/** Contains the objects that the tests create. */
let workspaceId: string;

beforeAll(async () => {
  server = await startTestServer();
  const real = new Portkey({ apiKey: server.organisationApiKey, baseURL: `${server.url}/v1` });
  const base = Object.getPrototypeOf(Object.getPrototypeOf(real.configs)).constructor;
  methods = new CalledMethods(real, (value) => value instanceof base);
  portkey = methods.client;
  const made = await portkey.admin.workspaces.create({ name: 'Team', users: [] });
  workspaceId = made.id!;
});

afterAll(() => server[Symbol.asyncDispose]());

/** The error of the client for a missing object. */
const absent = { status: 404 };
const page = { page_size: 5, current_page: 0 };

it('manages workspaces', async () => {
  const { workspaces } = portkey.admin;
  const defaults = { metadata: { department: 'it' } };
  const made = await workspaces.create({ name: 'Other', description: 'd', defaults });
  const named = await workspaces.list({ ...page, exact_name: 'Other' });
  expect(named).toMatchObject({ total: 1, data: [{ id: made.id }] });
  await workspaces.update({ workspaceId: made.slug!, name: 'Renamed' });
  const got = await workspaces.retrieve({ workspaceId: made.id! });
  expect(got).toMatchObject({ name: 'Renamed', description: 'd', defaults });
  await workspaces.delete({ workspaceId: made.id!, name: 'Renamed' });
  await expect(workspaces.retrieve({ workspaceId: made.id! })).rejects.toMatchObject(absent);
});

describe('people', () => {
  it('manages users and workspace members', async () => {
    const { users, workspaces } = portkey.admin;
    const userId = await addUser(server, { email: 'anna@example.com' });
    const found = await users.list({ pageSize: 5, currentPage: 0, email: 'anna@example.com' });
    expect(found).toMatchObject({ total: 1, data: [{ id: userId, role: 'member' }] });
    await users.update({ userId, role: 'admin' });
    expect((await users.retrieve({ userId })).role).toBe('admin');

    const member = { workspaceId, userId };
    await workspaces.users.create({ workspaceId, users: [{ id: userId, role: 'member' }] });
    const listed = await workspaces.users.list({ workspaceId, ...page });
    expect(listed.data).toMatchObject([{ id: userId, role: 'member' }]);
    await workspaces.users.update({ ...member, role: 'manager' });
    expect((await workspaces.users.retrieve(member)).role).toBe('manager');
    await workspaces.users.delete(member);
    await expect(workspaces.users.retrieve(member)).rejects.toMatchObject(absent);
    await users.delete({ userId });
    await expect(users.retrieve({ userId })).rejects.toMatchObject(absent);
  });

  it('manages invites', async () => {
    const { invites } = portkey.admin.users;
    const { id } = await invites.create({
      email: 'ben@example.com',
      role: 'member',
      workspaces: [{ id: workspaceId, role: 'member' }],
      workspace_api_key_details: { scopes: ['completions.write'] },
    });
    const listed = await invites.list({ status: 'pending', pageSize: 5, currentPage: 0 });
    expect(listed.data).toMatchObject([{ id, email: 'ben@example.com' }]);
    expect((await invites.resend({ inviteId: id! })).inviteLink).toContain(id);
    await invites.delete({ inviteId: id! });
    expect((await invites.retrieve({ inviteId: id! })).status).toBe('cancelled');
  });
});

it('manages configs', async () => {
  const { configs } = portkey;
  const { slug, id } = await configs.create({
    name: 'routes',
    workspace_id: workspaceId,
    isDefault: 0,
    config: { retry: { attempts: 1 } },
  });
  expect((await configs.list({ workspace_id: workspaceId })).data).toMatchObject([{ id }]);
  const config = { retry: { attempts: 2 } };
  await configs.update({ slug: slug!, name: 'others', config });
  const got = await configs.retrieve({ slug: slug! });
  expect([got.name, JSON.parse(String(got.config))]).toEqual(['others', config]);
  await configs.delete({ slug: slug! });
  await expect(configs.retrieve({ slug: slug! })).rejects.toMatchObject(absent);
});

it('manages API keys', async () => {
  const { apiKeys } = portkey;
  const { id, key } = await apiKeys.create({
    type: 'workspace',
    'sub-type': 'service',
    name: 'k',
    workspace_id: workspaceId,
    scopes: ['completions.write'],
    usage_limits: { credit_limit: 5 },
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 4 }],
  });
  const listed = await apiKeys.list({ ...page, workspace_id: workspaceId });
  expect(listed.data).toMatchObject([{ id }]);
  await apiKeys.update({ id: id!, name: 'm' });
  const got = await apiKeys.retrieve({ id: id! });
  expect(got).toMatchObject({ name: 'm', key: `${key!.slice(0, 2)}*****${key!.slice(-3)}` });
  await apiKeys.delete({ id: id! });
  await expect(apiKeys.retrieve({ id: id! })).rejects.toMatchObject(absent);
});

it('manages guardrails', async () => {
  const { guardrails } = portkey;
  const feedback = { value: 5, weight: 1, metadata: '' };
  const checks = [{ id: 'default.wordCount', parameters: { maxWords: 2 } }];
  const { id: guardrail_id } = await guardrails.create({
    name: 'words',
    workspace_id: workspaceId,
    checks,
    actions: { deny: true, async: false, on_success: { feedback }, on_fail: { feedback } },
  });
  const listed = await guardrails.list({ workspace_id: workspaceId, ...page });
  expect(listed.data).toMatchObject([{ id: guardrail_id }]);
  await guardrails.update({ guardrail_id, name: 'few words' });
  expect(await guardrails.retrieve({ guardrail_id })).toMatchObject({ name: 'few words', checks });
  await guardrails.delete({ guardrail_id });
  await expect(guardrails.retrieve({ guardrail_id })).rejects.toMatchObject(absent);
});

describe('providers and integrations', () => {
  const slug = 'openai-1';

  it('manages integrations with their models and workspaces', async () => {
    const { integrations } = portkey;
    const { id } = await integrations.create({
      name: 'OpenAI',
      ai_provider_id: 'openai',
      key: 'k',
      slug,
      configurations: {},
    });
    expect((await integrations.list({ type: 'all', ...page })).data).toMatchObject([{ id }]);
    await integrations.update({ slug, name: 'Renamed' });
    expect((await integrations.retrieve({ slug })).name).toBe('Renamed');

    const model = { slug: 'our-model', enabled: true, is_custom: true };
    await integrations.models.update({ slug, allow_all_models: true, models: [model] });
    const slugs = async () =>
      (await integrations.models.list({ slug })).models.map((one: { slug: string }) => one.slug);
    expect(await slugs()).toContain('our-model');
    await integrations.models.delete({ slug, slugs: 'our-model' });
    expect(await slugs()).not.toContain('our-model');
    await integrations.workspaces.update({
      slug,
      workspaces: [{ id: workspaceId, enabled: true }],
    });
    const granted = await integrations.workspaces.list({ slug });
    expect(granted.workspaces).toMatchObject([{ id: workspaceId, enabled: true }]);
  });

  it('manages providers', async () => {
    const { providers } = portkey;
    const place = { workspace_id: workspaceId };
    const made = await providers.create({
      name: 'p',
      integration_id: slug,
      note: 'n',
      usage_limits: { credit_limit: 4 },
      ...place,
    });
    const at = { slug: made.slug!, ...place };
    const ids = (await providers.list({ ...place, ...page })).data!.map(({ id }) => id);
    expect(ids).toContain(made.id);
    await providers.update({ ...at, name: 'q' });
    expect(await providers.retrieve(at)).toMatchObject({ name: 'q', note: 'n' });
    await providers.delete(at);
    await expect(providers.retrieve(at)).rejects.toMatchObject(absent);
    await portkey.integrations.delete({ slug });
    await expect(portkey.integrations.retrieve({ slug })).rejects.toMatchObject(absent);
  });

  it('manages virtual keys', async () => {
    const { virtualKeys } = portkey;
    const made = await virtualKeys.create({
      name: 'v',
      provider: 'openai',
      key: 'k',
      note: null,
      workspace_id: workspaceId,
      apiVersion: null,
      resourceName: null,
      deploymentName: null,
    });
    const at = { slug: (made as unknown as { data: { slug: string } }).data.slug };
    expect((await virtualKeys.list({ workspace_id: workspaceId })).data).toMatchObject([at]);
    await virtualKeys.update({ ...at, name: 'w' });
    expect((await virtualKeys.retrieve(at)).name).toBe('w');
    await virtualKeys.delete(at);
    await expect(virtualKeys.retrieve(at)).rejects.toMatchObject(absent);
  });
});

it('manages MCP integrations and servers', async () => {
  const { mcpIntegrations, mcpServers } = portkey;
  const { id } = await mcpIntegrations.create({
    name: 'docs',
    url: 'https://mcp.invalid',
    auth_type: 'none',
    transport: 'http',
  });
  const at = { id: id! };
  expect((await mcpIntegrations.list({ type: 'all', ...page })).data).toMatchObject([at]);
  await mcpIntegrations.update({ ...at, name: 'Docs' });
  expect((await mcpIntegrations.retrieve(at)).name).toBe('Docs');
  const lookup = { name: 'lookup', type: 'tool' as const, enabled: true };
  await mcpIntegrations.capabilities.update({ ...at, capabilities: [lookup] });
  const reported = await mcpIntegrations.capabilities.list(at);
  expect(reported).toMatchObject({ data: [lookup], total: 1 });
  expect(await mcpIntegrations.metadata.get(at)).toMatchObject({ last_synced_at: null });

  const made = await mcpServers.create({
    name: 'docs',
    mcp_integration_id: id!,
    workspace_id: workspaceId,
  });
  const one = { id: made.id! };
  expect((await mcpServers.list({ workspace_id: workspaceId })).data).toMatchObject([one]);
  await mcpServers.update({ ...one, name: 'Docs' });
  expect((await mcpServers.retrieve(one)).name).toBe('Docs');
  expect(await mcpServers.metadata.get(one)).toMatchObject({ last_synced_at: null });
  const access = [{ id: workspaceId, enabled: true }];
  await mcpIntegrations.workspaces.update({ ...at, workspaces: access });
  expect(await mcpIntegrations.workspaces.list(at)).toMatchObject({ workspaces: access });
  await mcpServers.capabilities.update({ ...one, capabilities: [{ ...lookup, enabled: false }] });
  const served = { data: [{ name: 'lookup', enabled: false, integration_enabled: true }] };
  expect(await mcpServers.capabilities.list(one)).toMatchObject(served);
  await mcpServers.userAccess.update({ ...one, default_user_access: 'deny' });
  expect(await mcpServers.userAccess.list(one)).toMatchObject({ default_user_access: 'deny' });
  expect(await mcpServers.userAccess.check(one)).toMatchObject({ enabled: true });
  await mcpServers.setTokens({ ...one, access_token: 'a', refresh_token: 'b' });
  expect(await mcpServers.getTokens(one)).toMatchObject({ connected: true });
  expect(await mcpServers.connections.list({ ...one, page_size: 1 })).toMatchObject({ total: 1 });
  await mcpServers.deleteTokens(one);
  await mcpServers.connections.delete(one);
  expect(await mcpServers.getClientInfo(one)).toMatchObject({ client_id: null });
  expect(await mcpIntegrations.test(at)).toMatchObject({ success: false });
  const known = { server_info: { name: 'docs' }, capabilities: [{ ...lookup, title: 'Look up' }] };
  expect(await mcpIntegrations.sync({ ...at, ...known })).toMatchObject({ success: true });
  expect(await mcpServers.test(one)).toMatchObject({ success: false });
  const offered = [{ name: 'lookup', type: 'tool' as const, schema: {} }];
  const synced = await mcpServers.capabilities.sync({ ...one, capabilities: offered });
  expect(synced).toMatchObject({ success: true, counts: { tools: { total: 1 } } });
  await mcpServers.metadata.sync({ ...one, server_name: 'Docs' });
  expect(await mcpServers.metadata.get(one)).toMatchObject({ server_name: 'Docs' });
  await mcpServers.delete(one);
  await expect(mcpServers.retrieve(one)).rejects.toMatchObject(absent);
  await mcpIntegrations.delete(at);
  await expect(mcpIntegrations.retrieve(at)).rejects.toMatchObject(absent);
});

describe('prompts', () => {
  it('manages collections and labels', async () => {
    const { collections, labels } = portkey;
    const place = { workspace_id: workspaceId };
    const made = await collections.create({ name: 'Mails', ...place });
    const ids = (await collections.list(place)).data.map(({ id }: { id: string }) => id);
    expect(ids).toContain(made.id);
    await collections.update(made.id, { name: 'Letters' });
    expect((await collections.retrieve(made.slug)).name).toBe('Letters');
    await collections.delete(made.id);
    await expect(collections.retrieve(made.id)).rejects.toMatchObject(absent);

    const label = await labels.create({ name: 'production', ...place, color_code: '#00ff00' });
    const listed = await labels.list({ ...place, search: 'prod' });
    expect(listed.data).toMatchObject([{ id: label.id }]);
    await labels.update(label.id, { name: 'staging' });
    expect((await labels.retrieve(label.id)).name).toBe('staging');
    await labels.delete(label.id);
    await expect(labels.retrieve(label.id)).rejects.toMatchObject(absent);
  });

  it('manages partials with versions', async () => {
    const { partials } = portkey.prompts;
    const { slug } = await partials.create({
      name: 'greeting',
      string: 'Hello {{name}}',
      workspace_id: workspaceId,
    });
    expect((await partials.list()).data).toMatchObject([{ slug }]);
    await partials.update(slug, { string: 'Good day {{name}}' });
    const { data } = await partials.versions.list(slug);
    expect(data).toHaveLength(2);
    expect((await partials.retrieve(slug)).string).toBe('Hello {{name}}');
    await partials.publish(slug, { version: 2 });
    expect((await partials.retrieve(slug)).string).toBe('Good day {{name}}');
    await partials.delete(slug);
    await expect(partials.retrieve(slug)).rejects.toMatchObject(absent);
  });

  it('manages prompts with versions, labels and rendering', async () => {
    const { prompts } = portkey;
    const place = { workspace_id: workspaceId };
    const collection = await portkey.collections.create({ name: 'Chats', ...place });
    const account = await portkey.virtualKeys.create({
      name: 'for prompts',
      provider: 'openai',
      key: 'k',
      workspace_id: workspaceId,
    });
    const string = JSON.stringify([{ role: 'user', content: 'Hello {{name}}' }]);
    const { slug } = await prompts.create({
      name: 'greeting',
      collection_id: collection.id,
      string,
      parameters: {},
      virtual_key: (account as unknown as { data: { slug: string } }).data.slug,
      model: 'gpt-4o',
    });
    expect((await prompts.list({ collection_id: collection.id })).data).toMatchObject([{ slug }]);
    await prompts.update(slug, { string: string.replace('Hello', 'Good day'), parameters: {} });
    const [first] = (await prompts.versions.list(slug)).data.filter(
      (one: { prompt_version: number }) => one.prompt_version === 1,
    );
    expect((await prompts.retrieve(slug)).string).toBe(string);
    expect((await prompts.versions.retrieve(slug, first.id)).prompt_version).toBe(1);
    const label = await portkey.labels.create({ name: 'best', ...place });
    await prompts.versions.update(slug, first.id, { label_id: label.id });
    await prompts.publish(slug, { version: 2 });
    const rendered = await prompts.render({ promptID: slug, variables: { name: 'Anna' } });
    expect(rendered.data.messages).toMatchObject([{ content: 'Good day Anna' }]);
    await prompts.delete(slug);
    await expect(prompts.retrieve(slug)).rejects.toMatchObject(absent);
  });
});

it('manages log exports', async () => {
  const { exports } = portkey.logs;
  const filters = {
    time_of_generation_min: '2027-01-01',
    time_of_generation_max: '2027-01-04',
    ai_org_model: 'openai__gpt-4o, anthropic__claude',
    metadata: { team: ['a', 'b'] },
  };
  const expected = { ai_org_model: 'openai__gpt-4o,anthropic__claude', metadata: { team: 'a,b' } };
  const query = { workspaceId, filters, description: 'd', requestedData: ['id', 'cost'] };
  const { id } = await exports.create(query);
  expect((await exports.list({ workspaceId })).data).toMatchObject([{ id, filters: expected }]);
  const at = { exportId: id! };
  await exports.update({ ...at, workspaceId, filters: { cost_max: 5 }, requestedData: ['id'] });
  expect(await exports.retrieve(at)).toMatchObject({
    status: 'draft',
    description: 'd',
    workspace_id: workspaceId,
    requested_data: ['id'],
    filters: { ...expected, cost_max: 5, time_of_generation_max: '2027-01-04T23:59:59.999Z' },
  });
  await exports.start(at);
  await exports.cancel(at);
  expect((await exports.retrieve(at)).status).toBe('stopped');
  await exports.start(at);
  await server.app.jobs.runNow('write-log-exports');
  expect((await exports.retrieve(at)).status).toBe('success');
  const { signed_url } = await exports.download(at);
  expect((await fetch(signed_url!)).status).toBe(200);
});

/** Methods of the inference API, tested in portkey-inference.test.ts. */
const inference = new RegExp(
  `^(?:${[
    'audio',
    'batches',
    'beta',
    'chat',
    'completions',
    'containers',
    'conversations',
    'embeddings',
    'evals',
    'files',
    'fineTuning',
    'generations',
    'images',
    'models',
    'moderations',
    'realtime',
    'responses',
    'uploads',
    'vectorStores',
    'videos',
    'webhooks',
  ].join('|')})\\.`,
);

/** Methods tested in telemetry.test.ts, and in one-address.test.ts for clients with one address. */
const elsewhere = /^(?:analytics|feedback|prompts\.completions)\.|^logs\.create$/;

it('covers every other method of the client', () => {
  const missed = methods.missed().filter((name) => !inference.test(name) && !elsewhere.test(name));
  expect(missed).toEqual([]);
});
