/**
 * Verifies every resource: a repeated update changes nothing, and an update from a stale version is
 * rejected.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { listAudit } from '../../support/server/tenant.ts';
import { createLeases } from '../../support/sync/lease.ts';

interface Case {
  /** The path as the OpenAPI document writes it. */
  readonly pattern: string;
  /**
   * Creates one and returns its path, and its id in the audit log where the path does not end in
   * it.
   */
  readonly make: () => Promise<{ path: string; id?: string; whole?: string }>;
  readonly update: Record<string, unknown>;
  /**
   * An equivalent update with keys, ids and defaults in another form; the update itself by default.
   */
  readonly alike?: Record<string, unknown>;
  /** Whether manifests can declare it. */
  readonly isDeclared?: boolean;
  /**
   * Whether it is an update of a part, which shares the version of its `whole` and cannot be
   * deleted.
   */
  readonly isPart?: boolean;
}

let server: TestServer;
let workspaceId: string;
let serverId: string;
beforeAll(async () => {
  server = await startTestServer();
  for (const slug of ['vault', 'r']) await makeReference({ slug });
  workspaceId = await post('/v2/workspaces', { name: 'Support' });
  serverId = await makeServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function post(path: string, body: Record<string, unknown>): Promise<string> {
  const made = await server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body.id;
}

const made = (path: string, body: Record<string, unknown>) => async () => ({
  path: `${path}/${await post(path, body)}`,
});

let count = 0;
function makeIntegration(): Promise<string> {
  count += 1;
  return post('/v2/mcp-integrations', {
    name: `tools ${count}`,
    url: 'https://mcp.example.com',
    auth_type: 'headers',
    transport: 'http',
    configurations: { custom_headers: { Authorization: 'first' } },
  });
}

function makeReference(more: Record<string, unknown> = {}): Promise<string> {
  count += 1;
  return post('/v2/secret-references', {
    name: `secret ${count}`,
    manager_type: 'aws_sm',
    secret_path: 'prod/openai',
    auth_config: {
      aws_auth_type: 'accessKey',
      aws_access_key_id: 'AKIA',
      aws_region: 'eu-central-1',
      aws_secret_access_key: 'first',
    },
    allow_all_workspaces: true,
    allowed_hosts: ['other.example.com', '*.openai.azure.com'],
    ...more,
  });
}

function makeAccount(): Promise<string> {
  count += 1;
  const fields = { ai_provider_id: 'openai', key: 'sk-first' };
  return post('/v2/integrations', { name: `account ${count}`, ...fields });
}

function makeCollection(): Promise<string> {
  return post('/v2/collections', { name: 'all', workspace_id: workspaceId });
}

function makePrompt(): Promise<string> {
  return post('/v2/prompts', {
    name: 'hello',
    string: 'Hello {{name}}',
    workspace_id: workspaceId,
  });
}

/** Creates a second version that is not published. */
async function makePublishable(path: string, id: string) {
  const put = await server.request('PUT', `${path}/${id}`, { body: { string: 'Bye' } });
  expect(put.status).toBe(200);
  return { path: `${path}/${id}/makeDefault`, id, whole: `${path}/${id}` };
}

async function makeServer(): Promise<string> {
  const fields = { mcp_integration_id: await makeIntegration(), workspace_id: workspaceId };
  return post('/v2/mcp-servers', { name: 'tools', ...fields });
}

const check = { id: 'default.contains', name: 'words', parameters: { words: ['a'] } };

/** The guardrail that a workspace names here. */
const named: string[] = [];

const exported = {
  time_of_generation_min: '2027-01-04T00:00:00Z',
  time_of_generation_max: '2027-01-05T00:00:00Z',
};

const cases: Case[] = [
  {
    pattern: '/v2/deployments/{deploymentId}',
    make: made('/v2/deployments', { name: 'east', deployment_config: { a: 1, b: 2 } }),
    update: { name: 'west', deployment_config: { a: 2, b: 3 } },
    alike: { name: 'west', deployment_config: { b: 3, a: 2 } },
  },
  {
    pattern: '/v2/scim/workspaces/{id}',
    make: async () => {
      count += 1;
      const group = { scim_group_name: `crew ${count}`, role: 'member' };
      const body = { ...group, workspace_id: workspaceId };
      return { path: `/v2/scim/workspaces/${await post('/v2/scim/workspaces', body)}` };
    },
    update: { role: 'admin' },
    alike: { role: 'Admin' },
  },
  {
    pattern: '/v2/logs/exports/{exportId}',
    make: made('/v2/logs/exports', { filters: exported }),
    update: {
      description: 'for november',
      requested_data: ['id', 'cost'],
      filters: { ...exported, status_code: '429', metadata: { a: 'b', c: 'd' } },
    },
    alike: { filters: { metadata: { c: ['d'], a: 'b' }, ...exported, status_code: ['429'] } },
    isDeclared: false,
  },
  {
    pattern: '/v2/workspaces/{id}',
    make: made('/v2/workspaces', { name: 'Sales' }),
    update: {
      name: 'Marketing',
      description: 'leads',
      icon: '🚀',
      defaults: { metadata: { team: 'm', tier: '1' } },
      usage_limits: [{ credit_limit: 10, periodic_reset: 'weekly' }],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    },
    alike: {
      name: '🚀 Marketing',
      description: 'leads',
      icon: '🚀',
      defaults: { metadata: { tier: '1', team: 'm' } },
      usage_limits: [{ periodic_reset: 'weekly', credit_limit: 10 }],
      rate_limits: [{ value: 5, unit: 'rpm', type: 'requests' }],
    },
  },
  {
    pattern: '/v2/guardrail-exclusions/{guardrailExclusionId}',
    make: async () =>
      made('/v2/guardrail-exclusions', {
        workspace_id: await post('/v2/workspaces', { name: 'excluded' }),
      })(),
    update: { input_guardrails: true, output_guardrails: true },
  },
  {
    pattern: '/v2/workspaces/{id}/guardrails',
    make: async () => {
      const id = await post('/v2/workspaces', { name: 'guarded' });
      if (named.length === 0) {
        named.push(await post('/v2/guardrails', { name: 'g', checks: [check], actions: {} }));
      }
      return { path: `/v2/workspaces/${id}/guardrails`, id };
    },
    update: { input_guardrails: named, output_guardrails: null },
    alike: { input_guardrails: named, output_guardrails: [] },
  },
  {
    pattern: '/v2/guardrails/{guardrailId}',
    make: made('/v2/guardrails', { name: 'g', checks: [check], actions: { deny: true } }),
    update: { name: 'h', checks: [{ ...check, is_enabled: true }], actions: { async: true } },
    alike: { checks: [{ is_enabled: true, name: 'words', parameters: { words: ['a'] } }] },
  },
  {
    pattern: '/v2/configs/{configId}',
    make: made('/v2/configs', { name: 'c', config: { retry: { attempts: 1 } } }),
    update: {
      name: 'd',
      isDefault: 1,
      config: { retry: { attempts: 2 }, cache: { mode: 'simple' } },
    },
    alike: { config: { cache: { mode: 'simple' }, retry: { attempts: 2 } } },
  },
  {
    pattern: '/v2/api-keys/{id}',
    make: async () => {
      const body = { name: 'bot', scopes: ['completions.write'], workspace_id: workspaceId };
      return { path: `/v2/api-keys/${await post('/v2/api-keys/workspace/service', body)}` };
    },
    update: {
      name: 'agent',
      description: '',
      scopes: ['completions.write', 'logs.view'],
      rate_limits: [{ type: 'tokens', unit: 'rpd', value: 9 }],
      usage_limits: { credit_limit: 5, alert_threshold: 4, periodic_reset_days: 3 },
      defaults: { metadata: { a: 1, b: 2 }, allow_config_override: false },
      alert_emails: ['ops@example.com'],
      expires_at: '2099-01-01T00:00:00.000Z',
      rotation_policy: { rotation_period: 'weekly' },
    },
    alike: {
      usage_limits: { periodic_reset_days: 3, credit_limit: 5, alert_threshold: 4 },
      defaults: { metadata: { b: 2, a: 1 } },
      expires_at: '2099-01-01T01:00:00+01:00',
      rotation_policy: { rotation_period: 'weekly' },
    },
  },
  {
    pattern: '/v2/policies/usage-limits/{id}',
    make: async () => {
      const body = {
        conditions: [{ key: 'model', value: '*' }],
        group_by: [{ key: 'api_key' }],
        type: 'cost',
        credit_limit: 1,
        workspace_id: workspaceId,
      };
      return { path: `/v2/policies/usage-limits/${await post('/v2/policies/usage-limits', body)}` };
    },
    update: {
      name: 'team',
      description: 'monthly',
      type: 'tokens',
      credit_limit: 25,
      alert_threshold: 2,
      periodic_reset: 'monthly',
      group_by: [{ key: 'model' }],
      conditions: [{ key: 'metadata.team', value: '*', excludes: ['a', 'b'] }],
    },
    alike: { conditions: [{ excludes: ['a', 'b'], value: '*', key: 'metadata.team' }] },
  },
  {
    pattern: '/v2/policies/rate-limits/{id}',
    make: async () => {
      const body = {
        conditions: [{ key: 'model', value: '*' }],
        group_by: [{ key: 'api_key' }],
        type: 'requests',
        unit: 'rpm',
        value: 1,
        workspace_id: workspaceId,
      };
      return { path: `/v2/policies/rate-limits/${await post('/v2/policies/rate-limits', body)}` };
    },
    update: {
      name: 'team',
      description: 'slowly',
      type: 'tokens',
      unit: 'rph',
      value: 25,
      group_by: [{ key: 'model' }],
      target: 'llm',
      conditions: [{ key: 'metadata.team', value: '*', excludes: ['a', 'b'] }],
    },
    alike: { conditions: [{ excludes: ['a', 'b'], value: '*', key: 'metadata.team' }] },
  },
  {
    pattern: '/v2/secret-references/{secretReferenceId}',
    make: async () => ({ path: `/v2/secret-references/${await makeReference()}` }),
    update: {
      name: 'renamed',
      description: 'why',
      secret_path: 'prod/other',
      secret_key: 'k',
      auth_config: { aws_region: 'eu-west-1', aws_secret_access_key: 'second' },
      tags: { a: 'b', c: 'd' },
      allow_all_workspaces: false,
    },
    alike: {
      auth_config: { aws_secret_access_key: '********', aws_region: 'eu-west-1' },
      tags: { c: 'd', a: 'b' },
    },
  },
  {
    pattern: '/v2/mcp-integrations/{mcpIntegrationId}',
    make: async () => ({ path: `/v2/mcp-integrations/${await makeIntegration()}` }),
    update: {
      name: 'more tools',
      description: 'x',
      url: 'https://other.example.com',
      configurations: { custom_headers: { Authorization: 'second', 'X-Team': 'a' } },
      secret_mappings: [{ target_field: 'headers.X-Key', secret_reference_id: 'vault' }],
    },
    alike: {
      description: 'x',
      configurations: { custom_headers: { 'X-Team': 'a', Authorization: '********' } },
    },
  },
  {
    pattern: '/v2/mcp-servers/{mcpServerId}',
    make: async () => ({ path: `/v2/mcp-servers/${await makeServer()}` }),
    update: { name: 'renamed', description: 'why' },
  },
  {
    pattern: '/v2/integrations/{integrationId}',
    make: async () => ({ path: `/v2/integrations/${await makeAccount()}` }),
    update: {
      name: 'renamed',
      description: 'why',
      key: 'sk-another',
      tags: { a: 'b', c: 'd' },
      configurations: { custom_headers: { 'X-Team': 'a' }, openai_project: 'p' },
      models: [{ slug: 'm', enabled: false, configurations: { custom_headers: { a: 'b' } } }],
      allow_all_models: false,
      capabilities: { responses: 'native', files: 'proxy' },
      global_workspace_access: { enabled: false, usage_limits: [{ credit_limit: 5 }] },
      workspaces: [],
      pricing_adjustments: { multiplier: { default: 2, request_token: 1 } },
    },
    alike: {
      key: '********',
      tags: { c: 'd', a: 'b' },
      configurations: { openai_project: 'p', custom_headers: { 'X-Team': '********' } },
      models: [{ enabled: false, slug: 'm', configurations: { custom_headers: { a: 'b' } } }],
      pricing_adjustments: { multiplier: { request_token: 1, default: 2 } },
      capabilities: { files: 'proxy', responses: 'native' },
    },
  },
  {
    pattern: '/v2/providers/{providerId}',
    make: async () => {
      const fields = { integration_id: await makeAccount(), workspace_id: workspaceId };
      return { path: `/v2/providers/${await post('/v2/providers', { name: 'p', ...fields })}` };
    },
    update: {
      name: 'renamed',
      note: 'why',
      expires_at: '2099-01-01T00:00:00.000Z',
      usage_limits: { credit_limit: 5, alert_threshold: 4 },
      rate_limits: [{ type: 'tokens', unit: 'rpd', value: 9 }],
      tags: { a: 'b', c: 'd' },
    },
    alike: {
      usage_limits: { alert_threshold: 4, credit_limit: 5 },
      expires_at: '2099-01-01T01:00:00+01:00',
      tags: { c: 'd', a: 'b' },
      rate_limits: { type: 'tokens', unit: 'rpd', value: 9 },
    },
  },
  {
    pattern: '/v2/virtual-keys/{providerId}',
    make: async () => {
      const body = { name: 'v', provider: 'azure-openai', key: 'k', workspace_id: workspaceId };
      const made = await server.request('POST', '/v2/virtual-keys', { body });
      const path = `/v2/virtual-keys/${made.body.data.slug}`;
      const { body: responseBody } = await server.request('GET', path);
      return { path, id: responseBody.id };
    },
    update: {
      name: 'renamed',
      note: 'why',
      expires_at: '2099-01-01T00:00:00.000Z',
      key: 'another',
      resourceName: 'eu',
      usage_limits: { credit_limit: 5 },
      secret_mappings: [{ target_field: 'key', secret_reference_id: 'r' }],
    },
    alike: {
      secret_mappings: [{ secret_reference_id: 'r', target_field: 'key' }],
      expires_at: '2099-01-01T01:00:00+01:00',
    },
  },
  {
    pattern: '/v2/labels/{labelId}',
    make: async () => {
      count += 1;
      return made('/v2/labels', { name: `stage-${count}` })();
    },
    update: { name: 'production', description: 'why', color_code: '#fff' },
  },
  {
    pattern: '/v2/service-accounts/{accountId}',
    make: async () => {
      count += 1;
      return made('/v2/service-accounts', { name: `ci-${count}`, roles: ['view_only_admin'] })();
    },
    update: {
      description: 'why',
      roles: ['resource_admin', 'view_only_admin'],
      status: 'disabled',
      rotation_policy: { rotation_period: 'weekly' },
    },
  },
  {
    pattern: '/v2/tsgs/{tsgId}',
    make: async () => {
      count += 1;
      return made('/v2/tsgs', { name: `unit-${count}` })();
    },
    update: { name: 'renamed', description: 'why' },
  },
  {
    pattern: '/v2/collections/{collectionId}',
    make: async () => ({ path: `/v2/collections/${await makeCollection()}` }),
    update: { name: 'renamed', parent_collection_id: null },
  },
  {
    pattern: '/v2/prompts/partials/{partialId}',
    make: made('/v2/prompts/partials', { name: 'tone', string: 'Be kind.' }),
    update: { name: 'renamed', string: 'Be brief.', version_description: 'brief' },
  },
  {
    pattern: '/v2/prompts/{promptId}',
    make: async () => ({ path: `/v2/prompts/${await makePrompt()}` }),
    update: {
      name: 'renamed',
      string: 'Bye {{name}}',
      model: 'm',
      virtual_key: 'openai',
      parameters: { a: 1, b: 2 },
      tool_choice: 'auto',
      version_description: 'why',
    },
    alike: { string: 'Bye {{name}}', parameters: { b: 2, a: 1 }, model: 'm' },
  },
  {
    pattern: '/v2/prompts/{promptId}/makeDefault',
    make: async () => makePublishable('/v2/prompts', await makePrompt()),
    update: { version: 2 },
    isDeclared: false,
    isPart: true,
  },
  {
    pattern: '/v2/prompts/partials/{partialId}/makeDefault',
    make: async () => {
      const id = await post('/v2/prompts/partials', { name: 'tone', string: 'Be kind.' });
      return makePublishable('/v2/prompts/partials', id);
    },
    update: { version: 2 },
    isDeclared: false,
    isPart: true,
  },
  {
    pattern: '/v2/prompts/{promptId}/versions/{versionId}',
    make: async () => {
      const id = await makePrompt();
      const path = `/v2/prompts/${id}/versions/1`;
      count += 1;
      const body = { label_id: await post('/v2/labels', { name: `stage-${count}` }) };
      expect((await server.request('PUT', path, { body })).status).toBe(200);
      return { path, id, whole: `/v2/prompts/${id}` };
    },
    update: { label_id: null },
    isDeclared: false,
    isPart: true,
  },
  {
    pattern: '/v2/guardrails/{guardrailId}/mcp-servers/{mcpServerId}',
    make: async () => {
      const fields = { target: 'mcp_tools', checks: [check] };
      const guardrail = await post('/v2/guardrails', { name: 'tools', ...fields });
      const path = `/v2/guardrails/${guardrail}/mcp-servers/${serverId}`;
      const put = await server.request('PUT', path, { body: { run_on: ['input'] } });
      return { path, id: put.body.map_id };
    },
    update: { run_on: ['output', 'input'] },
    alike: { run_on: ['input', 'output'], capability_ids: [] },
  },
];

const leases = createLeases();

let marks = 0;
function mark(): Record<string, unknown> {
  marks += 1;
  const source = { repo: 'https://git.example.com/gateway', revision: '1f3c' };
  const name = `resource-${marks}`;
  return { owner: 'platform', workspace: null, name, source, last_applied: { a: 1, b: 2 } };
}

describe.each(cases)('$pattern', (one) => {
  const { make, update, alike = update, isDeclared = true, isPart = false } = one;

  it('writes no row, version or audit entry when an update is repeated', async () => {
    const { path, id = path.split('/').at(-1)!, whole = path } = await make();
    const owned = isDeclared ? { managed_by: mark() } : {};
    const headers = isDeclared ? await leases(server.request, 'platform') : {};
    const body = { ...update, ...owned };
    const before = await server.request('GET', whole);
    server.clock.advance(1000);
    expect((await server.request('PUT', path, { body, headers })).status).toBe(200);
    const changed = await server.request('GET', whole);
    expect(changed.headers.etag).not.toBe(before.headers.etag);
    const audit = await listAudit(server, id);
    const bare = isDeclared ? [owned] : [];
    for (const again of [body, update, alike, { ...alike, ...owned }, ...bare]) {
      server.clock.advance(1000);
      const mine = 'managed_by' in again ? { headers } : {};
      expect((await server.request('PUT', path, { body: again, ...mine })).status).toBe(200);
    }
    const after = await server.request('GET', whole);
    expect(after.body).toEqual(changed.body);
    expect(after.headers.etag).toBe(changed.headers.etag);
    expect(await listAudit(server, id)).toEqual(audit);
  });

  it('returns 412 to an update and a delete from a stale version', async () => {
    const { path } = await make();
    const headers = { 'if-match': '"999"' };
    expect((await server.request('PUT', path, { body: update, headers })).status).toBe(412);
    if (isPart) return;
    const body = /^\/v2\/workspaces\/[^/]+$/.test(path) ? { name: 'Sales' } : undefined;
    expect((await server.request('DELETE', path, { headers, body })).status).toBe(412);
  });
});

it('has a case for every update that is documented with If-Match', async () => {
  const { body: document } = await server.request('GET', '/openapi.json');
  const paths = Object.entries<Record<string, { parameters: { name: string }[] }>>(document.paths);
  const versioned = paths
    .filter(([path, { put }]) => path.startsWith('/v2/') && put !== undefined)
    .filter(([, { put }]) => put!.parameters.some(({ name }) => name === 'If-Match'))
    .map(([path]) => path)
    // Workspaces and keys have second paths; mappings, models and grants are written in bulk;
    // sealed values differ each time, and a reset does not write its policy. Feedback is no
    // resource, and feedback.test.ts covers its repetitions.
    .filter((path) => !/^\/v2\/(admin|api-keys\/\w+|workspace-exclusions|feedback)\//.test(path))
    .filter(
      (path) =>
        !/\}\/(mcp-servers|(integration-)?models|workspaces|capabilities|user-access|tokens|reset)$/.test(
          path,
        ),
    );
  expect(versioned.toSorted()).toEqual(cases.map(({ pattern }) => pattern).toSorted());
});

it('writes nothing when capabilities are put unchanged', async () => {
  const id = await makeIntegration();
  const path = `/v2/mcp-integrations/${id}/capabilities`;
  const body = { capabilities: [{ name: 'search', type: 'tool', enabled: true }] };
  expect((await server.request('PUT', path, { body })).status).toBe(200);
  const before = await server.request('GET', path);
  const audit = await listAudit(server, id);
  server.clock.advance(1000);
  expect((await server.request('PUT', path, { body })).status).toBe(200);
  expect((await server.request('GET', path)).body).toEqual(before.body);
  expect(await listAudit(server, id)).toEqual(audit);
});
