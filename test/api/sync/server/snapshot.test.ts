/**
 * Verifies the snapshot: complete, sparse, consistent, free of secrets, and cheap when unchanged.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KindName, kindNames, kinds } from '../../../../src/model/kinds/kinds.ts';
import { loadSpecSchema } from '../../../../src/model/kinds/spec-schemas.ts';
import { Description, nameOf } from '../../../support/interface/response-check.ts';
import { RightRequests } from '../../../support/interface/valid-requests.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import {
  addKeyCaller,
  addServiceAccount,
  addTenant,
  type Send,
} from '../../../support/server/tenant.ts';
import { leaseHeaders } from '../../../support/sync/lease.ts';

const path = '/admin/v2/gatewright/snapshot?owner=git';
const canary = 'Bearer canary-4c7d19aa';
const managedBy = {
  owner: 'git',
  workspace: 'support',
  name: 'no-digits',
  source: { repo: '/srv/gateway', revision: 'abc', file: 'g.yaml' },
  last_applied: { name: 'No digits' },
};

interface Resource {
  kind: KindName;
  id: string;
  slug: string | null;
  name: string | null;
  workspace_id: string | null;
  version: number;
  spec: Record<string, unknown>;
  managed_by: unknown;
}
const judgingWords = {
  checks: [{ id: 'default.regexMatch', parameters: { rule: 'x' } }],
  actions: { deny: true },
};
let judgingSlug: string;
let server: TestServer;
let made: Record<KindName, { id: string; slug?: string }>;

beforeAll(async () => {
  server = await startTestServer();
  made = await fill();
});
afterAll(() => server[Symbol.asyncDispose]());

async function create(to: string, body: Record<string, unknown>, method = 'POST') {
  const headers = 'managed_by' in body ? await leaseHeaders(server.request, managedBy.owner) : {};
  const answer = await server.request(method, to, { body, headers });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body;
}

/** Creates one resource of each kind, with every kind of reference between them. */
async function fill(): Promise<typeof made> {
  const workspace = await create('/v2/workspaces', { name: 'Support', description: 'cx' });
  const guardrail = await create('/v2/guardrails', {
    name: 'No digits',
    target: 'mcp_tools',
    checks: [{ id: 'default.regexMatch', parameters: { rule: '\\d' } }],
    workspace_id: workspace.slug,
    managed_by: managedBy,
  });
  const judging = await create('/v2/guardrails', {
    name: 'No words',
    ...judgingWords,
    workspace_id: workspace.id,
  });
  judgingSlug = judging.slug;
  const config = await create('/v2/configs', {
    name: 'Routing',
    config: { input_guardrails: [judging.slug], targets: [{ virtual_key: 'v' }] },
    workspace_id: workspace.id,
  });
  const key = await create('/v1/api-keys/workspace/service', {
    name: 'bot',
    scopes: ['completions.write'],
    workspace_id: workspace.id,
    defaults: { config_id: config.slug },
  });
  const reference = await create('/v2/secret-references', {
    name: 'OpenAI key',
    manager_type: 'hashicorp_vault',
    auth_config: {
      vault_auth_type: 'token',
      vault_addr: 'https://vault.example.com',
      vault_token: canary,
    },
    secret_path: 'secret/data/openai',
    allowed_workspaces: [workspace.slug],
    tags: { team: 'a' },
  });
  const integration = await create('/v2/mcp-integrations', {
    name: 'CRM',
    url: 'https://crm.example.com/mcp',
    auth_type: 'headers',
    transport: 'http',
    configurations: { custom_headers: { Authorization: canary }, passthrough_header: { a: 'b' } },
  });
  const mcpServer = await create('/v2/mcp-servers', {
    name: 'CRM tools',
    mcp_integration_id: integration.slug,
    workspace_id: workspace.slug,
  });
  const at = `/v2/guardrails/${guardrail.id}/mcp-servers/${mcpServer.id}`;
  const binding = await create(at, { run_on: ['input'] }, 'PUT');
  const policy = await create('/v2/policies/usage-limits', {
    name: 'budget',
    conditions: [{ key: 'workspace_id', value: workspace.id }],
    group_by: [{ key: 'api_key' }],
    type: 'cost',
    credit_limit: 12.5,
    workspace_id: workspace.id,
  });
  const ratePolicy = await create('/v2/policies/rate-limits', {
    conditions: [{ key: 'endpoint_type', value: ['chat_completions', 'messages'] }],
    group_by: [{ key: 'api_key' }, { key: 'model' }],
    type: 'tokens',
    unit: 'rpm',
    value: 1000,
    workspace_id: workspace.id,
  });
  const account = await create('/v2/integrations', {
    name: 'OpenAI',
    ai_provider_id: 'openai',
    key: canary,
    configurations: { custom_headers: { 'X-Team': canary }, openai_project: 'p' },
    models: [{ slug: 'm', enabled: true, configurations: { custom_headers: { a: canary } } }],
    secret_mappings: [
      { target_field: 'configurations.openai_project', secret_reference_id: reference.slug },
    ],
    workspaces: [{ id: workspace.slug, enabled: true, usage_limits: [{ credit_limit: 5 }] }],
  });
  const provider = await create('/v2/providers', {
    name: 'OpenAI',
    integration_id: account.slug,
    workspace_id: workspace.slug,
    usage_limits: { credit_limit: 5 },
    tags: { a: 'b' },
  });
  const label = await create('/v2/labels', { name: 'staging', color_code: '#2f6fde' });
  const place = { workspace_id: workspace.id };
  const collection = await create('/v2/collections', { ...place, name: 'Support' });
  const partial = await create('/v2/prompts/partials', { name: 'tone', string: 'Be kind.' });
  const prompt = await create('/v2/prompts', {
    name: 'welcome',
    collection_id: collection.slug,
    virtual_key: provider.id,
    string: `{{>${partial.slug}}}`,
    parameters: { temperature: 0 },
    model: 'm',
  });
  const everywhere = await create('/v2/guardrails', { name: 'Everywhere', ...judgingWords });
  const sides = { input_guardrails: [everywhere.slug], output_guardrails: [everywhere.id] };
  const defaults = await create('/v2/admin/organisation/defaults', sides, 'PUT');
  const exclusion = await create('/v2/guardrail-exclusions', { ...place, output_guardrails: true });
  const guarded = await create(`/v2/workspaces/${workspace.slug}/guardrails`, sides, 'PUT');
  const deployment = await create('/v2/deployments', {
    name: 'east',
    tags: { a: 'b' },
    auth_settings: { workspaces_allowed: [workspace.slug] },
  });
  const mapping = await create('/v2/scim/workspaces', {
    workspace_id: workspace.id,
    role: 'Manager',
    scim_group_name: 'Support',
  });
  const client = await create('/v2/service-accounts', {
    name: 'ci',
    roles: ['workspace_member'],
    workspace_id: workspace.slug,
  });
  const tenant = await create('/v2/tsgs', { name: 'Sales' });
  return {
    Workspace: workspace,
    Guardrail: guardrail,
    Config: config,
    ApiKey: key,
    SecretReference: reference,
    McpIntegration: integration,
    McpServer: mcpServer,
    GuardrailMcpBinding: { id: binding.map_id },
    UsageLimitPolicy: policy,
    RateLimitPolicy: ratePolicy,
    Integration: account,
    Provider: provider,
    PromptLabel: label,
    PromptCollection: collection,
    PromptPartial: partial,
    Prompt: prompt,
    OrganisationDefaults: defaults,
    GuardrailExclusion: exclusion,
    WorkspaceGuardrails: guarded,
    Deployment: deployment,
    ScimMapping: mapping,
    ServiceAccount: client,
    TenantServiceGroup: tenant,
  };
}

async function read(owner = 'git') {
  return server.request('GET', `/admin/v2/gatewright/snapshot?owner=${owner}`);
}

/** The snapshot as it is sent without compression. */
async function readSnapshot(): Promise<{ etag: string; text: string }> {
  const { status, headers, body } = await read();
  expect(status).toBe(200);
  return { etag: String(headers.etag), text: JSON.stringify(body) };
}

async function find(kind: KindName): Promise<Resource> {
  const { resources } = (await read()).body as { resources: Resource[] };
  return resources.find((one) => one.kind === kind && one.id === made[kind].id)!;
}

function holdsNull(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === 'object' && Object.values(value).some(holdsNull);
}

describe('the snapshot', () => {
  it('contains every kind, with each spec as the body that would create it, without nulls', async () => {
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'snapshot', organisation_id: server.organisationId });
    const resources = body.resources as Resource[];
    for (const kind of kindNames) {
      const resource = resources.find((one) => one.kind === kind && one.id === made[kind].id);
      // The empty singletons existed before.
      const isThere = ['OrganisationDefaults', 'WorkspaceGuardrails', 'Workspace'].includes(kind);
      const version = isThere ? 2 : 1;
      expect(resource).toMatchObject({ kind, version, slug: made[kind].slug ?? null });
      expect(holdsNull(resource!.spec)).toBe(false);
      // Fingerprints replace the secrets of the body.
      if (kinds[kind].secrets.length > 0) continue;
      const schema = await loadSpecSchema(kind);
      expect(schema.safeParse(resource!.spec)).toMatchObject({ success: true });
    }
  });

  it('contains references in the form of the API: ids, and slugs in config documents', async () => {
    const workspace_id = made.Workspace.id;
    expect(await find('Config')).toMatchObject({
      name: 'Routing',
      workspace_id,
      spec: { workspace_id, isDefault: 0, config: { input_guardrails: [judgingSlug] } },
    });
    expect((await find('ApiKey')).spec).toMatchObject({
      type: 'workspace',
      sub_type: 'service',
      workspace_id,
      defaults: { config_id: made.Config.id },
    });
    expect((await find('McpServer')).spec).toMatchObject({
      mcp_integration_id: made.McpIntegration.id,
      workspace_id,
    });
    expect(await find('GuardrailMcpBinding')).toMatchObject({
      name: null,
      workspace_id,
      spec: {
        guardrail_id: made.Guardrail.id,
        mcp_server_id: made.McpServer.id,
        run_on: ['input'],
        mcp_integration_capability_ids: [],
      },
    });
    expect((await find('UsageLimitPolicy')).spec).toMatchObject({ credit_limit: 12.5 });
    expect((await find('Integration')).spec).toMatchObject({
      secret_mappings: [
        {
          target_field: 'configurations.openai_project',
          secret_reference_id: made.SecretReference.id,
        },
      ],
    });
    expect((await find('SecretReference')).spec).toMatchObject({
      allow_all_workspaces: false,
      allowed_workspaces: [workspace_id],
    });
  });

  it('contains the owner of a resource and its last applied state', async () => {
    const managed = { ...managedBy, recorded_by_caller: true };
    expect((await find('Guardrail')).managed_by).toEqual(managed);
    expect((await find('Config')).managed_by).toBeNull();
  });

  it('contains fingerprints of header values under a key of the owner, never the values', async () => {
    const { body } = await read();
    expect(JSON.stringify(body)).not.toContain('canary-4c7d19aa');
    const key = Buffer.from(body.fingerprint_key, 'base64');
    expect(key).toEqual(server.app.keyring.fingerprintKey(server.organisationId, 'git'));
    const fingerprint = createHmac('sha256', key).update(canary).digest('hex');
    expect((await find('McpIntegration')).spec).toMatchObject({
      configurations: {
        custom_headers: { Authorization: { $secret: 'live', fingerprint } },
        passthrough_header: { a: 'b' },
      },
    });
    const other = (await read('someone-else')).body;
    expect(other.fingerprint_key).not.toBe(body.fingerprint_key);
    expect(JSON.stringify(other)).not.toContain(fingerprint);
  });

  it('hides key and fingerprints from callers without write access, in specs and in applied states', async () => {
    const secret = { $secret: 'env:PIN', fingerprint: 'f'.repeat(64) };
    const configurations = { custom_headers: { 'X-Pin': secret }, fingerprint: 'kept' };
    const made = await server.request('POST', '/v2/mcp-integrations', {
      headers: await leaseHeaders(server.request, 'pins'),
      body: {
        name: 'PIN',
        url: 'https://pin.example.com',
        auth_type: 'headers',
        transport: 'http',
        configurations: { custom_headers: { 'X-Pin': '4711' } },
        managed_by: { ...managedBy, owner: 'pins', last_applied: { configurations } },
      },
    });
    expect(made.status).toBe(200);
    const { id } = made.body;
    const readSnapshot = async (
      send: Send,
    ): Promise<{ text: string; key: unknown; pin: Resource }> => {
      const { status, body } = await send('GET', path);
      expect(status).toBe(200);
      const pin = (body.resources as Resource[]).find((resource) => resource.id === id)!;
      return { text: JSON.stringify(body), key: body.fingerprint_key, pin };
    };
    const { send } = await addServiceAccount(server, 'view_only_admin');
    const seen = await readSnapshot(send);
    expect(seen.key).toBeNull();
    expect(seen.text).not.toMatch(/"fingerprint":"[0-9a-f]/);
    expect(seen.pin).toMatchObject({
      spec: {
        configurations: { custom_headers: { 'X-Pin': { $secret: 'live', fingerprint: '' } } },
      },
      managed_by: {
        last_applied: {
          configurations: {
            custom_headers: { 'X-Pin': { $secret: 'env:PIN', fingerprint: '' } },
            fingerprint: 'kept',
          },
        },
      },
    });
    const writer = await readSnapshot(server.request);
    expect(writer.key).toEqual(expect.any(String));
    expect(writer.text).toContain('f'.repeat(64));
  });

  it('returns 304 while nothing has changed, and a new body after any change', async () => {
    const first = await read();
    const etag = String(first.headers.etag);
    expect(etag).toMatch(/^W\/"[\w-]+"$/);
    for (const offered of [etag, `"other", ${etag}`, etag.slice(2)]) {
      const headers = { 'if-none-match': offered };
      const same = await server.request('GET', path, { headers });
      expect(same).toMatchObject({ status: 304, body: '', headers: { etag } });
    }
    await server.request('PUT', `/v2/mcp-servers/${made.McpServer.id}`, { body: { name: 'New' } });
    const changed = await server.request('GET', path, { headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.etag).not.toBe(etag);
    expect(await find('McpServer')).toMatchObject({ name: 'New', version: 2 });
  });

  it('has another ETag after every request that changes its contents', async () => {
    const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
    const description = new Description(document.body);
    const requests = new RightRequests(server, description, await server.token(), (faults) =>
      expect(faults).toEqual([]),
    );
    await requests.furnish();
    let before = await readSnapshot();
    let changes = 0;
    for (const one of description.operations.filter(({ method }) => method !== 'GET')) {
      await requests.ask(one, await requests.place(one), requests.right(one));
      const after = await readSnapshot();
      const isSame = after.text === before.text;
      if (!isSame) {
        expect(after.etag, nameOf(one)).not.toBe(before.etag);
        changes += 1;
      }
      before = after;
    }
    expect(changes).toBeGreaterThan(30);
  });

  it('never has two contents with one ETag under concurrent writes', async () => {
    const seen = new Map<string, string>();
    const look = async (): Promise<void> => {
      const { etag, text } = await readSnapshot();
      expect(seen.get(etag) ?? text).toBe(text);
      seen.set(etag, text);
    };
    const write = async (writer: number): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        const { id } = await create('/v2/configs', { name: `c${writer}`, config: {} });
        await look();
        await server.request('PUT', `/v2/configs/${id}`, { body: { name: `d${round}` } });
        // A rejected request leaves everything and the ETag unchanged.
        await server.request('PUT', `/v2/configs/${id}`, {
          headers: { 'if-match': '"9"' },
          body: {},
        });
        await create(`/v2/configs/${id}`, {}, 'DELETE');
      }
    };
    const writers = [1, 2, 3, 4, 5, 6].map(write);
    let isOver = false;
    const written = Promise.all(writers).finally(() => (isOver = true));
    const watch = async (): Promise<void> => {
      while (!isOver) await look();
    };
    await Promise.all([written, watch(), watch()]);
    await look();
    expect(seen.size).toBeGreaterThan(1);
  });

  it.each(['zstd', 'gzip'] as const)(
    'is sent as %s to clients that accept it, with the same ETag',
    async (coding) => {
      const plain = await readSnapshot();
      const answer = await fetch(server.url + path, {
        headers: { authorization: `Bearer ${await server.token()}`, 'accept-encoding': coding },
      });
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-encoding': coding,
        vary: 'accept-encoding',
        etag: plain.etag,
      });
      expect(await answer.text()).toBe(plain.text);
    },
  );

  it('omits archived resources', async () => {
    const workspace = await create('/v2/workspaces', { name: 'Doomed' });
    await create(`/v2/workspaces/${workspace.id}`, { name: 'Doomed' }, 'DELETE');
    const { resources } = (await read()).body as { resources: Resource[] };
    expect(resources.map(({ id }) => id)).not.toContain(workspace.id);
  });

  it('is consistent: it contains no mapping without its guardrail and server', async () => {
    const guardrail = { name: 'g', target: 'mcp_tools', checks: [{ id: 'default.notNull' }] };
    const churn = async (): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        const { id } = await create('/v2/guardrails', guardrail);
        await create(`/v2/guardrails/${id}/mcp-servers/${made.McpServer.id}`, {}, 'PUT');
        await server.request('DELETE', `/v2/guardrails/${id}`);
      }
    };
    const watch = async (): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        const { resources } = (await read()).body as { resources: Resource[] };
        const known = new Set(resources.map(({ id }) => id));
        const bindings = resources.filter(({ kind }) => kind === 'GuardrailMcpBinding');
        for (const { spec } of bindings) {
          expect([
            known.has(String(spec.guardrail_id)),
            known.has(String(spec.mcp_server_id)),
          ]).toEqual([true, true]);
        }
      }
    };
    await Promise.all([churn(), churn(), watch(), watch()]);
  });
});

describe('400, 401, 403 and 404', () => {
  it.each(['', '?owner=', '?owner=a%20b', '?owner=a&owner=b'])(
    'rejects the query %j',
    async (query) => {
      const answer = await server.request('GET', `/admin/v2/gatewright/snapshot${query}`);
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { code: 'AB01', param: 'owner' } },
      });
    },
  );

  it('accepts tokens on the admin plane only', async () => {
    expect((await server.request('GET', path, { auth: 'key' })).status).toBe(401);
    expect((await server.request('GET', path, { auth: 'none' })).status).toBe(401);
    expect((await server.request('GET', path.replace('/admin/v2', '/v1'))).status).toBe(404);
    const { send } = await addKeyCaller(server, ['organisation_settings.read']);
    expect((await send('GET', path)).status).toBe(401);
  });

  it('rejects a token that is bound to one workspace', async () => {
    const account = await server.database.db
      .selectFrom('access_policies')
      .selectAll()
      .where('tsg_id', '=', server.tsgId)
      .executeTakeFirstOrThrow();
    const resource = `prn:${server.tsgId}::::${made.Workspace.slug}`;
    await server.database.db
      .updateTable('access_policies')
      .set({ resource })
      .where('id', '=', account.id)
      .execute();
    try {
      const bound = await server.token();
      const headers = { authorization: `Bearer ${bound}` };
      const answer = await server.request('GET', path, { auth: 'none', headers });
      expect(answer).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
    } finally {
      await server.database.db
        .updateTable('access_policies')
        .set({ resource: account.resource })
        .where('id', '=', account.id)
        .execute();
    }
  });

  it('contains nothing of another tenant', async () => {
    const other = await addTenant(server, 'snapshot-other');
    const { body } = await other.send('GET', path);
    const ours = new Set(Object.values(made).map(({ id }) => id));
    expect((body.resources as Resource[]).filter(({ id }) => ours.has(id))).toEqual([]);
    expect(body.organisation_id).toBe(other.organisationId);
    expect(body.fingerprint_key).not.toBe((await read()).body.fingerprint_key);
  });
});
