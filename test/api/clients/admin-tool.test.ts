/**
 * Verifies every tool of an unmodified admin tool, which offers the Admin API to models over MCP
 * and uses only an API key.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AdminTool, startAdminTool } from '../../support/interface/admin-tool.ts';
import { insertCounter } from '../../support/rows/usage-rows.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { addUser } from '../../support/server/people.ts';
import type { TestServer } from '../../support/server/server.ts';

let inference: Inference;
let server: TestServer;
let tool: AdminTool;
let use: AdminTool['use'];
/** Contains the objects that the tests create. */
let workspaceId: string;
let workspaceSlug: string;
const page = { page_size: 10, current_page: 0 };
const stretch = {
  time_of_generation_min: '2027-01-01T00:00:00Z',
  time_of_generation_max: '2027-01-04T09:00:00Z',
};

beforeAll(async () => {
  inference = await startInference();
  ({ server } = inference);
  // Some tools call v2, which refuses API keys.
  tool = await startAdminTool(server.url, await server.token());
  ({ use } = tool);
  const { workspace } = await use('create_workspace', { name: 'Team', description: 'd' });
  ({ id: workspaceId, slug: workspaceSlug } = workspace);
});

afterAll(async () => {
  await tool[Symbol.asyncDispose]();
  await inference[Symbol.asyncDispose]();
});

const gone = (name: string, given: Record<string, unknown>) =>
  expect(use(name, given)).rejects.toThrow('not found');

it('manages workspaces', async () => {
  const { workspace } = await use('create_workspace', { name: 'Other', metadata: { a: 'b' } });
  const at = { workspace_id: workspace.id };
  expect(await use('list_workspaces', { ...page, exact_name: 'Other' })).toMatchObject({
    total: 1,
    workspaces: [{ id: workspace.id }],
  });
  await use('update_workspace', { ...at, name: 'Renamed', description: 'e' });
  expect(await use('get_workspace', at)).toMatchObject({
    name: 'Renamed',
    description: 'e',
    defaults: { metadata: { a: 'b' } },
  });
  await use('delete_workspace', at);
  await gone('get_workspace', at);
});

it('manages people', async () => {
  const user_id = await addUser(server, { email: 'anna@example.com' });
  const found = await use('list_all_users', { ...page, email: 'anna@example.com' });
  expect(found).toMatchObject({ total: 1, users: [{ id: user_id, role: 'member' }] });
  await use('update_user', { user_id, first_name: 'Anna', last_name: 'Berg' });
  await use('update_user', { user_id, role: 'admin' });
  expect(await use('get_user', { user_id })).toMatchObject({ name: 'Anna Berg', role: 'admin' });

  const member = { workspace_id: workspaceId, user_id };
  await use('add_workspace_member', { ...member, role: 'member' });
  const listed = await use('list_workspace_members', { workspace_id: workspaceId, ...page });
  expect(listed.members).toMatchObject([{ id: user_id, workspace_role: 'member' }]);
  await use('update_workspace_member', { ...member, role: 'manager' });
  expect((await use('get_workspace_member', member)).workspace_role).toBe('manager');
  await use('remove_workspace_member', member);
  await gone('get_workspace_member', member);
  expect(await use('get_user_stats', stretch)).toMatchObject({ total_users: 0 });
  await use('delete_user', { user_id });
  await gone('get_user', { user_id });
});

it('manages invites and SCIM groups', async () => {
  const { invite_id } = await use('invite_user', {
    email: 'ben@example.com',
    role: 'member',
    first_name: 'Ben',
    workspaces: [{ id: workspaceId, role: 'member' }],
    workspace_api_key_details: { name: 'k', scopes: ['completions.write'] },
  });
  const listed = await use('list_user_invites', { ...page, status: 'pending' });
  expect(listed.invites).toMatchObject([{ id: invite_id, email: 'ben@example.com' }]);
  await use('resend_user_invite', { invite_id });
  await use('delete_user_invite', { invite_id });
  expect((await use('get_user_invite', { invite_id })).status).toBe('cancelled');

  const place = { workspace_id: workspaceId };
  const named = { ...place, role: 'member', scim_group_name: 'devs' };
  const { id, scim_group_id } = await use('create_scim_workspace_mapping', named);
  const groups = await use('list_scim_groups', { search: 'dev', page: 0, page_size: 5 });
  expect(groups).toMatchObject({ groups: [{ id: scim_group_id }] });
  expect((await use('list_scim_workspace_mappings', place)).mappings).toMatchObject([{ id }]);
  await use('delete_scim_workspace_mapping', { mapping_id: id });
  expect((await use('list_scim_workspace_mappings', place)).mappings).toEqual([]);
});

it('manages secret references', async () => {
  const { id } = await use('create_secret_reference', {
    name: 's',
    manager_type: 'aws_sm',
    secret_path: 'a/b',
    tags: { a: 'b' },
    auth_config: { aws_auth_type: 'serviceRole', aws_region: 'eu-west-1' },
  });
  const listed = await use('list_secret_references', { manager_type: 'aws_sm', tags: { a: 'b' } });
  expect(listed.secret_references).toMatchObject([{ id }]);
  await use('update_secret_reference', { id, name: 't', tags: null });
  expect(await use('get_secret_reference', { id })).toMatchObject({ name: 't', tags: null });
  await use('delete_secret_reference', { id });
  await gone('get_secret_reference', { id });
});

it('manages integrations and providers', async () => {
  const at = { slug: 'openai-1' };
  const { id } = await use('create_integration', {
    name: 'OpenAI',
    ai_provider_id: 'openai',
    key: 'k',
    ...at,
    pricing_adjustments: { multiplier: { default: 0.9 } },
  });
  expect((await use('list_integrations', { ...page, type: 'all' })).integrations).toMatchObject([
    { id },
  ]);
  await use('update_integration', { ...at, description: 'd' });
  expect(await use('get_integration', at)).toMatchObject({ id, description: 'd' });
  const price = { price: 0.1 };
  const ours = {
    slug: 'our-model',
    enabled: true,
    is_custom: true,
    model_name: 'Ours',
    configurations: { custom_headers: { 'x-team': 'a' } },
    pricing_config: {
      type: 'static',
      pay_as_you_go: { request_token: price, response_token: price },
    },
  };
  await use('update_integration_models', { ...at, allow_all_models: true, models: [ours] });
  const slugs = async () =>
    (await use('list_integration_models', { ...at, page_size: 100 })).models.map(
      (one: { slug: string }) => one.slug,
    );
  expect(await slugs()).toContain('our-model');
  await use('delete_integration_model', { ...at, model_slug: 'our-model' });
  expect(await slugs()).not.toContain('our-model');
  const grant = { id: workspaceId, enabled: true, credit_limit: 5, rate_limit_rpm: 4 };
  await use('update_integration_workspaces', { ...at, workspaces: [grant] });
  expect((await use('list_integration_workspaces', at)).workspaces).toMatchObject([
    { id: workspaceId, usage_limits: [{ credit_limit: 5 }], rate_limits: [{ value: 4 }] },
  ]);

  const one = { slug: 'p1', workspace_id: workspaceId };
  await use('create_provider', { ...one, name: 'p', integration_id: at.slug, credit_limit: 5 });
  const { providers } = await use('list_providers', { workspace_id: workspaceId });
  expect(providers.map(({ slug }: { slug: string }) => slug)).toContain('p1');
  await use('update_provider', { ...one, name: 'q', reset_usage: true });
  expect(await use('get_provider', one)).toMatchObject({ name: 'q' });
  await use('delete_provider', one);
  await gone('get_provider', one);
  await use('delete_integration', at);
  await gone('get_integration', at);
});

it('manages virtual keys, configs and API keys', async () => {
  const place = { workspace_id: workspaceId };
  const account = { name: 'v', provider: 'openai', key: 'k', credit_limit: 5, rate_limit_rpm: 5 };
  const { slug } = await use('create_virtual_key', { ...account, ...place });
  expect((await use('list_virtual_keys', page)).virtual_keys).toMatchObject([{ slug }]);
  await use('update_virtual_key', { slug, name: 'w', credit_limit: 6 });
  expect(await use('get_virtual_key', { slug })).toMatchObject({
    name: 'w',
    usage_limits: { credit_limit: 6 },
  });

  const { id } = await use('create_config', {
    name: 'c',
    ...place,
    cache_mode: 'simple',
    retry_attempts: 2,
    strategy_mode: 'fallback',
    targets: [{ virtual_key: slug }],
  });
  expect((await use('list_configs', page)).configurations).toMatchObject([{ id }]);
  const at = { slug: id };
  await use('update_config', { ...at, name: 'd', retry_attempts: 3 });
  expect(await use('get_config', at)).toMatchObject({
    name: 'd',
    config: { retry: { attempts: 3 } },
  });
  expect(await use('list_config_versions', at)).toMatchObject({ total: 2 });

  const key = await use('create_api_key', {
    type: 'workspace',
    sub_type: 'service',
    name: 'k',
    scopes: ['completions.write'],
    ...place,
    credit_limit: 5,
    rate_limit_rpm: 4,
    default_config_id: id,
    default_metadata: { a: 'b' },
    rotation_policy: { rotation_period: 'weekly', key_transition_period_ms: 1_800_000 },
  });
  expect((await use('list_api_keys', place)).api_keys).toMatchObject([{ id: key.id }]);
  const named = { id: key.id };
  await use('update_api_key', { ...named, name: 'm', reset_usage: 1, rotation_policy: null });
  expect(await use('get_api_key', named)).toMatchObject({
    name: 'm',
    defaults: { config_id: id, metadata: { a: 'b' } },
  });
  const rotated = await use('rotate_api_key', named);
  expect(rotated.key).not.toBe(key.key);
  await use('delete_api_key', named);
  await gone('get_api_key', named);
  await use('delete_config', at);
  await gone('get_config', at);
  await use('delete_virtual_key', { slug });
  await gone('get_virtual_key', { slug });
});

it('manages collections, labels and partials', async () => {
  const place = { workspace_id: workspaceId };
  const { id } = await use('create_collection', { name: 'Mails', ...place });
  expect((await use('list_collections', { ...place, search: 'Mail' })).collections).toMatchObject([
    { id },
  ]);
  await use('update_collection', { collection_id: id, name: 'Letters' });
  expect((await use('get_collection', { collection_id: id })).name).toBe('Letters');
  await use('delete_collection', { collection_id: id });
  await gone('get_collection', { collection_id: id });

  const label = await use('create_prompt_label', { name: 'best', ...place, color_code: '#00ff00' });
  const at = { label_id: label.id };
  expect((await use('list_prompt_labels', { ...place, search: 'be' })).labels).toMatchObject([
    { id: label.id },
  ]);
  await use('update_prompt_label', { ...at, name: 'better' });
  expect((await use('get_prompt_label', { ...at, ...place })).name).toBe('better');
  await use('delete_prompt_label', at);
  await gone('get_prompt_label', at);

  const { slug } = await use('create_prompt_partial', { name: 'hi', string: 'Hi', ...place });
  const partial = { prompt_partial_id: slug };
  expect((await use('list_prompt_partials')).partials).toMatchObject([{ slug }]);
  await use('update_prompt_partial', { ...partial, string: 'Ho', description: 'x' });
  expect(await use('list_partial_versions', partial)).toMatchObject({ total_versions: 2 });
  await use('publish_partial', { ...partial, version: 2 });
  expect((await use('get_prompt_partial', partial)).string).toBe('Ho');
  await use('delete_prompt_partial', partial);
  await gone('get_prompt_partial', partial);
});

it('manages prompts', async () => {
  const place = { workspace_id: workspaceId };
  const { id: collection_id } = await use('create_collection', { name: 'Chats', ...place });
  const account = { name: 'for prompts', provider: 'openai', key: 'k', ...place };
  const { slug: virtual_key } = await use('create_virtual_key', account);
  const filled = { collection_id, parameters: { temperature: 0.5 }, virtual_key, model: 'gpt-4o' };
  const content = [{ type: 'text', text: 'Hello {{name}}' }];
  const { slug: prompt_id } = await use('create_prompt', {
    name: 'hi-dev',
    ...filled,
    messages: [{ role: 'user', content }],
  });
  const listed = await use('list_prompts', { ...place, collection_id, search: 'hi' });
  expect(listed.prompts).toMatchObject([{ slug: prompt_id, name: 'hi-dev' }]);
  const string = JSON.stringify([{ role: 'user', content: 'Good day {{name}}' }]);
  await use('update_prompt', { prompt_id, string, template_metadata: { c: 'd' } });
  const { versions } = await use('list_prompt_versions', { prompt_id });
  expect(versions).toHaveLength(2);
  const at = { prompt_id, version_id: versions[0].id };
  const label = await use('create_prompt_label', { name: 'stable', ...place });
  await use('update_prompt_version', { ...at, label_id: label.id });
  expect((await use('get_prompt_version', at)).version.number).toBe(2);
  await use('publish_prompt', { prompt_id, version: 2 });
  expect((await use('get_prompt', { prompt_id })).current_version.version_number).toBe(2);
  const rendered = await use('render_prompt', { prompt_id, variables: { name: 'Anna' } });
  expect(rendered.rendered_messages).toMatchObject([{ content: 'Good day Anna' }]);

  const app = { app: 'a', env: 'dev' };
  const migrated = await use('migrate_prompt', { name: 'm', ...app, ...filled, string });
  expect(migrated.action).toBe('created');
  const target = { target_collection_id: collection_id, target_env: 'prod' };
  const promoted = await use('promote_prompt', { source_prompt_id: prompt_id, ...target });
  expect(promoted.target.action).toBe('created');
  const billed = await use('validate_completion_metadata', { client_id: 'c', ...app });
  expect(billed.valid).toBe(true);
  await use('delete_prompt', { prompt_id });
  await gone('get_prompt', { prompt_id });
});

it('runs a prompt with a model', async () => {
  const place = { workspace_id: workspaceId };
  await use('create_integration', {
    name: 'Mock',
    slug: 'mock',
    ai_provider_id: 'mock-upstream',
    key: 'k',
    ...place,
    custom_host: inference.upstream.url,
  });
  const { id: collection_id } = await use('create_collection', { name: 'Asked', ...place });
  const { slug: prompt_id } = await use('create_prompt', {
    name: 'asked',
    collection_id,
    string: 'Hello {{name}}',
    parameters: {},
    virtual_key: 'mock',
    model: 'm',
  });
  // Inference takes an API key.
  await using caller = await startAdminTool(server.url, server.organisationApiKey);
  const answered = await caller.use('run_prompt_completion', {
    prompt_id,
    variables: { name: 'Anna' },
    hyperparameters: { temperature: 0.1 },
    metadata: { client_id: 'c', app: 'a', env: 'dev' },
  });
  expect(answered).toMatchObject({ response: 'hi', usage: { total_tokens: 7 } });
  const requested = JSON.parse(inference.upstream.reached.at(-1)!.body.toString());
  const messages = [{ role: 'user', content: 'Hello Anna' }];
  expect(requested).toEqual({ messages, model: 'm', temperature: 0.1, stream: false });
});

it('manages guardrails and organisation defaults', async () => {
  const place = { workspace_id: workspaceId };
  const checks = [{ id: 'default.wordCount', parameters: { minWords: 1, maxWords: 20 } }];
  const actions = { deny: true, on_fail: { value: -5, weight: 1, metadata: { a: 'b' } } };
  const { id } = await use('create_guardrail', { name: 'words', checks, actions, ...place });
  expect((await use('list_guardrails', place)).guardrails).toMatchObject([{ id }]);
  await use('update_guardrail', { guardrail_id: id, name: 'few words' });
  const got = await use('get_guardrail', { guardrail_id: id });
  expect(got).toMatchObject({ name: 'few words', checks, actions });
  await use('delete_guardrail', { guardrail_id: id });
  await gone('get_guardrail', { guardrail_id: id });

  const { organisationId: organisation_id } = server;
  const everywhere = { name: 'all', checks, actions, organisation_id };
  const { id: ofAll, slug } = await use('create_guardrail', everywhere);
  await use('update_organisation_defaults', { input_guardrails: [slug] });
  const defaults = await use('get_organisation_defaults');
  expect(defaults.input_guardrails).toMatchObject([{ id: ofAll, slug }]);
  await use('update_organisation_defaults', { input_guardrails: [] });
  const workspaces = [{ workspace_id: workspaceId, excluded: true }];
  for (const side of ['input', 'output']) {
    const exclusions = `${side}_guardrail_workspace_exclusions`;
    await use(`update_${exclusions}`, { organisation_id, workspaces });
    expect(await use(`list_${exclusions}`, { organisation_id })).toMatchObject({ workspaces });
  }
});

it('manages MCP integrations, MCP servers and their guardrails', async () => {
  const place = { workspace_id: workspaceId };
  const url = 'https://mcp.invalid/mcp';
  const { id } = await use('create_mcp_integration', {
    name: 'docs',
    url,
    auth_type: 'headers',
    transport: 'http',
    custom_headers: { 'x-a': 'b' },
  });
  expect((await use('list_mcp_integrations', { type: 'all' })).integrations).toMatchObject([
    { id },
  ]);
  await use('update_mcp_integration', { id, name: 'Docs' });
  expect((await use('get_mcp_integration', { id })).name).toBe('Docs');
  const lookup = { name: 'lookup', type: 'tool', enabled: true };
  await use('update_mcp_integration_capabilities', { id, capabilities: [lookup] });
  const offered = await use('list_mcp_integration_capabilities', { id });
  expect(offered.capabilities).toMatchObject([lookup]);
  expect((await use('get_mcp_integration_metadata', { id })).last_synced_at).toBeNull();
  const workspaces = [{ id: workspaceId, enabled: true }];
  await use('update_mcp_integration_workspaces', { id, workspaces });
  expect((await use('list_mcp_integration_workspaces', { id })).workspaces).toMatchObject(
    workspaces,
  );

  const one = { id: (await use('create_mcp_server', { name: 'd', mcp_integration_id: id })).id };
  expect((await use('list_mcp_servers', place)).servers).toMatchObject([one]);
  await use('update_mcp_server', { ...one, name: 'e' });
  expect((await use('get_mcp_server', one)).name).toBe('e');
  expect((await use('test_mcp_server', one)).success).toBe(false);
  await use('update_mcp_server_capabilities', {
    ...one,
    capabilities: [{ ...lookup, enabled: false }],
  });
  const served = await use('list_mcp_server_capabilities', { ...one, ...page });
  expect(served.capabilities).toMatchObject([{ name: 'lookup', enabled: false }]);
  const user_id = await addUser(server);
  await use('update_mcp_server_user_access', { ...one, users: [{ user_id, enabled: true }] });
  const access = await use('list_mcp_server_user_access', { ...one, ...page });
  expect(JSON.stringify(access)).toContain(user_id);
  expect(await use('list_mcp_server_connections', { ...one, ...place })).toMatchObject({
    total: 0,
  });
  await use('disconnect_mcp_server_connection', { ...one, ...place, user_id });

  const checks = [{ id: 'default.wordCount', parameters: { minWords: 1, maxWords: 20 } }];
  const judged = { name: 'tools', target: 'mcp_tools', checks, actions: { deny: true } };
  const guardrail = { guardrail_id: (await use('create_guardrail', { ...judged, ...place })).id };
  const mcp_servers = { [one.id]: { run_on: ['input'] } };
  const replaced = await use('replace_guardrail_mcp_servers', { ...guardrail, mcp_servers });
  expect(replaced).toMatchObject({ added: 1 });
  const mapped = { ...guardrail, mcp_server_id: one.id };
  await use('upsert_guardrail_mcp_server', { ...mapped, run_on: ['output'] });
  const { mappings } = await use('list_guardrail_mcp_servers', guardrail);
  expect(mappings).toMatchObject([{ mcp_server_id: one.id, run_on: ['output'] }]);
  await use('delete_mcp_server', one);
  await gone('get_mcp_server', one);
  await use('delete_mcp_integration', { id });
  await gone('get_mcp_integration', { id });
});

it('manages policies', async () => {
  const place = { workspace_id: workspaceId };
  const shared = { conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'api_key' }] };
  const rate = { type: 'requests', unit: 'rpm', value: 5 };
  const { id } = await use('create_rate_limit', { ...shared, ...rate, ...place });
  expect((await use('list_rate_limits', place)).rate_limits).toMatchObject([{ id, ...shared }]);
  await use('update_rate_limit', { id, value: 6 });
  expect((await use('get_rate_limit', { id })).value).toBe(6);
  await use('delete_rate_limit', { id });
  await gone('get_rate_limit', { id });

  const usage = { type: 'cost', credit_limit: 5, periodic_reset: 'monthly' };
  const limit = { id: (await use('create_usage_limit', { ...shared, ...usage, ...place })).id };
  expect((await use('list_usage_limits', place)).usage_limits).toMatchObject([limit]);
  await use('update_usage_limit', { ...limit, credit_limit: 6 });
  const subject = { organisationId: server.organisationId, kind: 'policy' as const, ...limit };
  const { window_start: windowStart } = await server.database.db
    .selectFrom('usage_limit_policies')
    .select('window_start')
    .where('id', '=', limit.id)
    .executeTakeFirstOrThrow();
  const entity_id = await insertCounter(server.database.db, subject, {
    windowStart,
    used: 9_000_000,
    valueKey: 'a',
  });
  const at = { limit_id: limit.id };
  const counted = await use('list_usage_limit_entities', { ...at, status: 'exhausted' });
  expect(counted.entities).toMatchObject([{ id: entity_id, current_usage: 9 }]);
  await use('reset_usage_limit_entity', { ...at, entity_id });
  const after = await use('get_usage_limit', { ...limit, include_usage: true });
  expect(after).toMatchObject({ credit_limit: 6 });
  expect((await use('list_usage_limit_entities', at)).entities).toMatchObject([
    { id: entity_id, current_usage: 0 },
  ]);
  await use('delete_usage_limit', limit);
  await gone('get_usage_limit', limit);
});

it('manages deployments', async () => {
  const tags = { region: 'eu' };
  const { id } = await use('register_deployment', {
    name: 'd',
    type: 'production',
    tags,
    gateway_base_url: 'https://gateway.example.com',
    workspaces_allowed: [workspaceId],
  });
  const listed = await use('list_deployments', { tags, workspace_slug: [workspaceSlug] });
  expect(listed.deployments).toMatchObject([{ id }]);
  await use('update_deployment', { id, name: 'e', rotate_auth: true });
  expect(await use('get_deployment', { id })).toMatchObject({ name: 'e', tags });
  await use('archive_deployment', { id });
  const archived = await use('list_deployments', { status: 'archived' });
  expect(archived.deployments).toMatchObject([{ id }]);
});

it('manages log exports', async () => {
  const place = { workspace_id: workspaceId };
  const { time_of_generation_min: time_min, time_of_generation_max: time_max } = stretch;
  const { id: export_id } = await use('create_log_export', {
    ...place,
    time_min,
    time_max,
    cost_max: 4,
    requested_fields: ['id', 'cost'],
  });
  expect((await use('list_log_exports', place)).exports).toMatchObject([{ id: export_id }]);
  const earlier = '2027-01-04T07:00:00.000Z';
  await use('update_log_export', { export_id, ...place, time_of_generation_max: earlier });
  expect((await use('get_log_export', { export_id })).filters).toEqual({
    time_of_generation_min: '2027-01-01T00:00:00.000Z',
    time_of_generation_max: earlier,
    cost_max: 4,
  });
  expect((await use('get_log_export_field_restrictions', place)).deniedFields).toEqual([]);
  await use('start_log_export', { export_id });
  await use('cancel_log_export', { export_id });
  await use('start_log_export', { export_id });
  await server.app.jobs.runNow('write-log-exports');
  const { signed_url } = await use('download_log_export', { export_id });
  expect((await fetch(signed_url)).status).toBe(200);
});

it('reads the audit log', async () => {
  const query = {
    action: 'create',
    resource_type: 'Deployment',
    start_time: '2027-01-01T00:00:00Z',
  };
  const { audit_logs, page_size } = await use('list_audit_logs', { ...query, ...page });
  expect(audit_logs).toMatchObject([
    { action: 'create', resource_type: 'Deployment', created_at: '2027-01-04T08:00:00.000Z' },
  ]);
  expect(page_size).toBe(10);
});

const graphs = [
  'cost',
  'request',
  'token',
  'latency',
  'error',
  'error_rate',
  'users',
  'error_stacks',
  'error_status_codes',
  'user_requests',
  'rescued_requests',
];

it('reads analytics', async () => {
  const query = { ...stretch, workspace_slug: workspaceSlug };
  for (const graph of graphs) {
    const { summary, data_points } = await use(`get_${graph}_analytics`, query);
    expect([graph, typeof summary]).toEqual([graph, 'object']);
    expect(data_points).toHaveLength(graph === 'error_status_codes' ? 0 : 4);
  }
  for (const cache of ['latency', 'rate']) {
    expect((await use(`get_cache_hit_${cache}`, query)).point_count).toBe(4);
  }
  const hits = await use('get_cache_summary', query);
  expect(hits).toEqual({ hits: 0, avg_latency: null, total_requests: 0, cache_speedup: 0 });
  for (const [group, more] of [
    ['users', {}],
    ['models', {}],
    ['providers', { columns: ['requests', 'cost'], include_total: true }],
    ['metadata', { metadata_key: 'team' }],
  ] as const) {
    const found = await use(`get_analytics_group_${group}`, { ...query, ...more });
    expect([group, found.total ?? found.total_groups]).toEqual([group, 0]);
  }
});

it('creates and updates feedback', async () => {
  const query = { ...stretch, workspace_slug: workspaceSlug };
  const given = { trace_id: 'trace-1', value: 5, weight: 0.5, metadata: { by: 'anna' } };
  const { status, feedback_ids } = await use('create_feedback', given);
  expect(status).toBe('success');
  const [id] = feedback_ids;
  expect(await use('update_feedback', { id, value: 3 })).toMatchObject({ feedback_ids: [id] });
  for (const [graph, points] of [
    ['feedback', 4] as const,
    ['feedback_weighted', 4] as const,
    ['feedback_models', 0] as const,
    ['feedback_scores', 0] as const,
  ]) {
    const { summary, data_points } = await use(`get_${graph}_analytics`, query);
    expect([graph, summary.total, data_points.length]).toEqual([graph, 0, points]);
  }
});

it('writes and reads the request log', async () => {
  const reported = await use('insert_log', {
    request_provider: 'openai',
    request_url: 'https://api.openai.com/v1/chat/completions',
    request_body: { model: 'gpt-4o' },
    response_time: 321,
    metadata_user: 'anna',
    response_body: { usage: { prompt_tokens: 1000, completion_tokens: 500 } },
    metadata_trace_id: 'elsewhere-1',
    metadata_custom: { team: 'blue' },
  });
  expect(reported.success).toBe(true);
  const { body } = await server.request('GET', '/v1/logs?trace_id=elsewhere-1');
  expect(await use('get_log', { log_id: body.data[0].id })).toMatchObject({
    model: 'gpt-4o',
    endpoint: 'chat_completions',
    duration_ms: 321,
    input_tokens: 1000,
    is_reported: true,
    metadata: { _user: 'anna', team: 'blue' },
  });
  await gone('get_log', { log_id: server.organisationId });
});

/** Tools that cannot work here, each with the reason. */
const useless = {
  get_model_pricing: 'asks a public price list at an address that is written into the program',
};

it('uses every tool that the server offers', () => {
  const used = tool.used.union(new Set(['run_prompt_completion']));
  const unused = tool.offered.filter((name) => !used.has(name));
  expect(unused).toEqual(Object.keys(useless));
});
