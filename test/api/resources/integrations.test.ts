/**
 * Verifies the integration routes over HTTP: fields, secrets, models, and which workspaces may use
 * them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyContext } from '../../../src/auth/integration-secrets.ts';
import * as providers from '../../../src/store/resources/providers.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import {
  addKeyCaller,
  addTenant,
  bindToWorkspace,
  listAudit,
} from '../../support/server/tenant.ts';
import { leaseHeaders } from '../../support/sync/lease.ts';

const path = '/v1/integrations';
const canary = 'sk-canary-0123456789';

interface CreatedResource {
  id: string;
  slug: string;
}
let server: TestServer;
let workspace: CreatedResource;
beforeAll(async () => {
  server = await startTestServer();
  workspace = await makeWorkspace('Support');
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeWorkspace(name: string): Promise<CreatedResource> {
  return (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
}

async function make(body: Record<string, unknown> = {}): Promise<CreatedResource> {
  const made = await server.request('POST', path, {
    body: { name: 'OpenAI', ai_provider_id: 'openai', key: canary, ...body },
  });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

const get = async (at: string) => (await server.request('GET', `${path}/${at}`)).body;
const put = (at: string, body: unknown) => server.request('PUT', `${path}/${at}`, { body });

/** Returns the providers of a workspace. */
async function providersIn(place: CreatedResource): Promise<Record<string, unknown>[]> {
  return (await server.request('GET', `/v1/providers?workspace_id=${place.id}`)).body.data;
}

describe('an integration', () => {
  it('is returned with masked secrets, which are stored sealed', async () => {
    const { id, slug } = await make({
      configurations: {
        custom_headers: { 'X-Team': canary },
        vertex_service_account_json: { private_key: canary },
        openai_project: 'p',
      },
      tags: { team: 'a' },
    });
    expect(slug).toMatch(/^openai-[0-9a-f]{6}$/);
    const got = await get(slug);
    expect(got).toEqual({
      id,
      slug,
      name: 'OpenAI',
      description: null,
      status: 'active',
      tags: { team: 'a' },
      organisation_id: server.organisationId,
      workspace_id: null,
      type: 'organisation',
      ai_provider_id: 'openai',
      masked_key: 'sk*****789',
      allow_all_models: true,
      configurations: {
        custom_headers: { 'X-Team': '********' },
        vertex_service_account_json: '********',
        openai_project: 'p',
      },
      global_workspace_access_settings: { enabled: true, usage_limits: [], rate_limits: [] },
      workspace_count: 0,
      workspaces_count: 0,
      secret_mappings: [],
      pricing_adjustments: null,
      capabilities: null,
      owner_id: expect.any(String),
      created_at: '2027-01-04T08:00:00.000Z',
      last_updated_at: '2027-01-04T08:00:00.000Z',
      object: 'integration',
      declared_in: null,
    });
    const stored = await server.database.db
      .selectFrom('integrations')
      .selectAll()
      .where('id', '=', id)
      .execute();
    expect(JSON.stringify([stored, await listAudit(server, id)])).not.toContain(canary);
  });

  it('is named on v2 with the id of its service in the catalogue', async () => {
    const listed = await server.request('GET', '/admin/v2/utils/static-resources/ai-providers');
    const openai = listed.body.data.find((one: { slug: string }) => one.slug === 'openai');
    const { id } = await make({ ai_provider_id: openai.id });
    const got = await server.request('GET', `/admin/v2/integrations/${id}`);
    expect(got.body.ai_provider_id).toBe(openai.id);
    expect(await get(id)).toMatchObject({ ai_provider_id: 'openai' });
  });

  it('keeps a masked or absent secret, and clears one on request', async () => {
    const { id } = await make({ configurations: { custom_headers: { a: canary } } });
    await put(id, { configurations: { custom_headers: { a: '********', b: 'new' } } });
    expect(await get(id)).toMatchObject({
      masked_key: 'sk*****789',
      configurations: { custom_headers: { a: '********', b: '********' } },
    });
    const unknown = await put(id, { configurations: { custom_headers: { c: '********' } } });
    expect(unknown).toMatchObject({
      status: 400,
      body: { error: { param: 'configurations.custom_headers.c' } },
    });
    expect((await put(id, { name: 'renamed' })).status).toBe(200);
    expect(await get(id)).toMatchObject({ name: 'renamed', masked_key: 'sk*****789' });
    await put(id, { key: null, configurations: null });
    expect(await get(id)).toMatchObject({ masked_key: null, configurations: {} });
  });

  it('is loaded through a provider in two statements, with the original key', async () => {
    const { id, slug } = await make({ workspace_id: workspace.id, name: 'Reached' });
    const [found] = await providers.listReached(
      server.database.db,
      server.organisationId,
      workspace.id,
      slug,
    );
    expect(found).toMatchObject({ provider: { slug }, integration: { id }, grant: null });
    const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
    expect(unsealer.unseal(found!.integration.sealed_key!, keyContext(id))).toBe(canary);
  });

  it('is listed by level, and by type in the lists that the caller may see', async () => {
    const own = await make({ workspace_id: workspace.id });
    const list = async (query: string) => (await server.request('GET', `${path}?${query}`)).body;
    expect((await list(`workspace_id=${workspace.slug}`)).data[0]).toMatchObject({ id: own.id });
    const types = ({ data }: { data: { type: string }[] }) => new Set(data.map(({ type }) => type));
    expect(types(await list('type=workspace'))).toEqual(new Set(['workspace']));
    const caller = await addKeyCaller(server, ['organisation_integrations.list']);
    expect(types((await caller.send('GET', path)).body)).toEqual(new Set(['organisation']));
    expect((await caller.send('GET', `${path}?type=workspace`)).status).toBe(403);
  });

  it.each([
    [{ ai_provider_id: 'opanai' }, 'ai_provider_id', /did you mean "openai"/],
    [
      { configurations: { custom_host: 'http://10.0.0.1' } },
      'configurations.custom_host',
      /private/,
    ],
    [
      { configurations: { custom_headers: { Host: 'a' } } },
      'configurations.custom_headers.Host',
      /restricted/,
    ],
    [{ configurations: { some_api_key: canary } }, 'configurations.some_api_key', /is a secret/],
    [
      { models: [{ slug: 'm', enabled: true, configurations: { custom_host: 'x' } }] },
      'models[0].configurations.custom_host',
      /absolute URL/,
    ],
    [
      {
        models: [
          { slug: 'm', enabled: true },
          { slug: 'm', enabled: false },
        ],
      },
      'models[1].slug',
      /twice/,
    ],
    [{ workspaces: [{ id: 'nobody', enabled: true }] }, 'workspaces[0].id', /not a workspace/],
  ])('rejects %j without showing a secret', async (body, param, message) => {
    const answer = await server.request('POST', path, {
      body: { name: 'x', ai_provider_id: 'openai', ...body },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: { param } } });
    expect(answer.body.error.message).toMatch(message);
    expect(JSON.stringify(answer.body)).not.toContain(canary);
  });

  it('rejects a taken slug, and access of others to a workspace integration', async () => {
    const { id, slug } = await make({ slug: 'taken', workspace_id: workspace.id });
    expect((await put(id, { workspaces: [] })).body.error.param).toBe('workspaces');
    const twin = await server.request('POST', path, {
      body: { name: 'x', ai_provider_id: 'openai', slug },
    });
    expect(twin).toMatchObject({ status: 409, body: { error: { param: 'slug' } } });
  });

  it('is hidden from other tenants, and organisation integrations from workspace credentials', async () => {
    const { id, slug } = await make();
    const other = await addTenant(server, 'integrations-other');
    const bound = await bindToWorkspace(server, workspace.id);
    for (const send of [other.send, bound]) {
      for (const at of [id, slug, `${id}/models`, `${id}/workspaces`]) {
        expect((await send('GET', `${path}/${at}`)).status).toBe(404);
      }
      expect((await send('PUT', `${path}/${id}`, { body: { name: 'x' } })).status).toBe(404);
      expect((await send('DELETE', `${path}/${id}`)).status).toBe(404);
    }
  });
});

describe('the models of an integration', () => {
  it('lists those of the catalogue in a fixed order, then the added ones, merged by slug', async () => {
    const { id } = await make();
    const first = await get(`${id}/models`);
    expect(first).toMatchObject({ object: 'list', allow_all_models: true });
    expect(first.models[0]).toMatchObject({ slug: 'gpt-4o', enabled: true, is_custom: false });
    expect(first.total).toBe(first.models.length);
    const price = { type: 'static', pay_as_you_go: { request_token: { price: 0.00025 } } };
    const custom = { slug: 'ours', enabled: true, is_custom: true, pricing_config: price };
    expect(await put(`${id}/models`, { models: [custom], allow_all_models: false })).toMatchObject({
      status: 200,
      body: {},
    });
    await put(`${id}/integration-models`, {
      models: [{ slug: 'gpt-4o', enabled: true, custom_headers: { 'X-A': canary } }],
    });
    const { models, allow_all_models: all } = await get(`${id}/models`);
    expect(all).toBe(false);
    expect(models[0]).toMatchObject({
      slug: 'gpt-4o',
      enabled: true,
      configurations: { custom_headers: { 'X-A': '********' } },
    });
    expect(models[1].enabled).toBe(false);
    expect(models.at(-1)).toMatchObject(custom);
  });

  it('is listed by pages where a page size is sent, with the number of all', async () => {
    const { id } = await make({ models: [{ slug: 'ours', enabled: true }] });
    const all = await get(`${id}/models`);
    const last = all.total - 1;
    const pages = [0, 1, last, last + 1].map((at) =>
      get(`${id}/models?page_size=1&current_page=${at}`),
    );
    expect((await Promise.all(pages)).map(({ models }) => models)).toEqual([
      [all.models[0]],
      [all.models[1]],
      [expect.objectContaining({ slug: 'ours' })],
      [],
    ]);
    expect(await get(`${id}/models?current_page=0`)).toEqual(all);
    expect(await get(`${id}/models?current_page=1`)).toEqual({ ...all, models: [] });
  });

  it('is removed by body or query, except those of the catalogue', async () => {
    const { id } = await make({ models: ['a', 'b'].map((slug) => ({ slug, enabled: true })) });
    const slugs = async () =>
      (await get(`${id}/models`)).models.map(({ slug }: { slug: string }) => slug);
    await server.request('DELETE', `${path}/${id}/models`, { body: { models: ['a'] } });
    expect(await slugs()).not.toContain('a');
    await server.request('DELETE', `${path}/${id}/models?slugs=b,unknown`);
    expect(await slugs()).not.toContain('b');
    const fixed = await server.request('DELETE', `${path}/${id}/models?slugs=gpt-4o`);
    expect(fixed.status).toBe(400);
    expect(await slugs()).toContain('gpt-4o');
  });

  it('is not changed and gets no version when it is put unchanged', async () => {
    const { id } = await make();
    const models = [
      { slug: 'm', enabled: true, configurations: { custom_headers: { a: canary } } },
    ];
    await put(`${id}/models`, { models });
    const before = await server.request('GET', `${path}/${id}`);
    await put(`${id}/models`, { models });
    expect((await server.request('GET', `${path}/${id}`)).headers.etag).toBe(before.headers.etag);
    const headers = { 'if-match': '"1"' };
    const stale = await server.request('PUT', `${path}/${id}/models`, {
      headers,
      body: { models: [] },
    });
    expect(stale.status).toBe(412);
  });
});

describe('the workspaces of an integration', () => {
  it('gets access with a budget and a first provider, and loses both with the workspace', async () => {
    const place = await makeWorkspace('Granted');
    const { id, slug } = await make();
    const grant = {
      id: place.slug,
      enabled: true,
      usage_limits: [{ credit_limit: 10, periodic_reset: 'weekly' }],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
    };
    expect(await put(`${id}/workspaces`, { workspaces: [grant] })).toMatchObject({ body: {} });
    const listed = await get(`${id}/workspaces`);
    expect(listed).toMatchObject({
      object: 'list',
      total: 1,
      global_workspace_access: { enabled: true },
      workspaces: [{ ...grant, id: place.id, status: 'active', last_reset_at: null }],
    });
    expect(await providersIn(place)).toMatchObject([
      { slug, integration_id: id, note: 'Created automatically on integration access grant' },
    ]);
    expect((await get(id)).workspaces_count).toBe(1);
    await put(`${id}/workspaces`, { workspaces: [{ ...grant, reset_usage: true }] });
    expect((await get(`${id}/workspaces`)).workspaces[0].last_reset_at).toBeTruthy();
    expect(await providersIn(place)).toHaveLength(1);
    await server.request('DELETE', `/v2/workspaces/${place.id}`, {
      body: { name: 'Granted', force_delete: true },
    });
    expect(await get(`${id}/workspaces`)).toMatchObject({ total: 0, workspaces: [] });
    const left = await server.database.db
      .selectFrom('usage_budgets')
      .select('subject_id')
      .where('workspace_id', '=', place.id)
      .execute();
    expect(left).toEqual([]);
  });

  it('accepts any alert threshold, which some clients treat as a percentage', async () => {
    const place = await makeWorkspace('Alerted');
    const { id } = await make();
    const usage_limits = [{ type: 'cost', credit_limit: 50, alert_threshold: 75 }];
    const workspaces = [{ id: place.id, enabled: true, usage_limits }];
    expect(await put(`${id}/workspaces`, { workspaces })).toMatchObject({ status: 200 });
    expect((await get(`${id}/workspaces`)).workspaces).toMatchObject([{ usage_limits }]);
  });

  it('is removed with an automatically created provider, and not with a manually created one', async () => {
    const place = await makeWorkspace('Provided');
    const { id } = await make();
    const access = (enabled: boolean) =>
      put(`${id}/workspaces`, { workspaces: [{ id: place.id, enabled }] });
    const remove = () =>
      server.request('DELETE', `/v1/admin/workspaces/${place.id}`, { body: { name: 'Provided' } });
    await access(true);
    const [{ id: providerId } = {}] = await providersIn(place);
    const provider = `/v1/providers/${providerId}`;
    const changed = await server.request('PUT', provider, {
      body: { workspace_id: place.id, note: 'ours' },
    });
    expect(changed.status).toBe(200);
    const held = await remove();
    expect(held).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    expect(held.body.error.message).toContain('holds 1 Provider;');
    await server.request('DELETE', `${provider}?workspace_id=${place.id}`);
    await access(false);
    await access(true);
    const [{ id: next } = {}] = await providersIn(place);
    const declared = await server.request('PUT', `/v2/providers/${next}`, {
      headers: await leaseHeaders(server.request, 'platform'),
      body: {
        workspace_id: place.id,
        managed_by: {
          owner: 'platform',
          workspace: 'provided',
          name: 'first',
          source: { repo: '/srv', revision: null },
          last_applied: { name: 'OpenAI' },
        },
      },
    });
    expect(declared).toMatchObject({ status: 200 });
    expect((await remove()).status).toBe(409);
    const { db } = server.database;
    await db.deleteFrom('managed_resources').where('resource_id', '=', String(next)).execute();
    expect(await remove()).toMatchObject({ status: 200, body: {} });
    expect((await get(`${id}/workspaces`)).workspaces).toEqual([]);
  });

  it('is removed by name or all together, and overridden individually on request', async () => {
    const place = await makeWorkspace('Kept out');
    const { id } = await make();
    const workspaces = [{ id: place.id, enabled: true }];
    await put(`${id}/workspaces`, { workspaces, create_default_provider: false });
    expect(await providersIn(place)).toEqual([]);
    await put(`${id}/workspaces`, { global_workspace_access: { enabled: false } });
    const use = (at: CreatedResource) =>
      server.request('POST', '/v1/providers', {
        body: { name: 'p', integration_id: id, workspace_id: at.id },
      });
    expect((await use(place)).status).toBe(200);
    expect((await use(workspace)).status).toBe(403);
    await put(`${id}/workspaces`, {
      global_workspace_access: { enabled: false },
      override_existing_workspace_access: true,
    });
    expect((await use(place)).status).toBe(403);
  });

  it('inherits the limits for all workspaces, which PUT sets partially and an update replaces', async () => {
    const place = await makeWorkspace('Alike');
    const usage_limits = [{ type: 'tokens', credit_limit: 100, periodic_reset: 'weekly' }];
    const rate_limits = [{ type: 'requests', unit: 'rpm', value: 5 }];
    const { id } = await make({ global_workspace_access: { enabled: true, usage_limits } });
    const settings = async () => (await get(id)).global_workspace_access_settings;
    expect(await settings()).toEqual({ enabled: true, usage_limits, rate_limits: [] });
    await put(`${id}/workspaces`, { global_workspace_access: { enabled: false, rate_limits } });
    expect(await settings()).toEqual({ enabled: false, usage_limits, rate_limits });
    const budgets = () =>
      server.database.db
        .selectFrom('usage_budgets')
        .select(['subject_kind', 'credit_limit_units', 'periodic_reset'])
        .where('subject_id', '=', id)
        .execute();
    const budget = { subject_kind: 'integration', periodic_reset: 'weekly' };
    expect(await budgets()).toEqual([{ ...budget, credit_limit_units: 100 }]);
    const own = [{ credit_limit: 1 }];
    const workspaces = [{ id: place.id, enabled: true, usage_limits: own, rate_limits: [] }];
    await put(`${id}/workspaces`, { workspaces });
    const more = [{ ...usage_limits[0]!, credit_limit: 200 }];
    await put(`${id}/workspaces`, {
      global_workspace_access: { enabled: true, usage_limits: more },
      override_existing_workspace_access: true,
    });
    expect(await budgets()).toEqual([{ ...budget, credit_limit_units: 200 }]);
    const stored = await server.database.db
      .selectFrom('integration_workspaces')
      .select(['enabled', 'usage_limits', 'rate_limits'])
      .where('integration_id', '=', id)
      .execute();
    expect(stored).toEqual([{ enabled: 1, usage_limits: null, rate_limits: '[]' }]);
    await put(id, { global_workspace_access: { enabled: true } });
    expect(await settings()).toEqual({ enabled: true, usage_limits: [], rate_limits: [] });
    expect(await budgets()).toEqual([]);
  });

  it('inherits no limits that cannot hold, and none are stored', async () => {
    const { id } = await make();
    const passed = { credit_limit: 1, next_usage_reset_at: '2020-01-01T00:00:00.000Z' };
    for (const [usage_limits, place] of [
      [[{ credit_limit: 0 }], 'global_workspace_access.usage_limits[0].credit_limit'],
      [[{ ...passed }], 'global_workspace_access.usage_limits[0].next_usage_reset_at'],
      [[{ credit_limit: 1 }, { credit_limit: 2 }], 'global_workspace_access.usage_limits'],
    ] as const) {
      const refused = await put(`${id}/workspaces`, {
        global_workspace_access: { enabled: true, usage_limits },
      });
      expect(refused).toMatchObject({ status: 400, body: { error: { param: place } } });
    }
    const workspaces = { global_workspace_access: { enabled: true, usage_limits: [] } };
    expect(await make({ workspace_id: workspace.id })).toBeTruthy();
    expect(await put(`${id}/workspaces`, workspaces)).toMatchObject({ status: 200 });
    await put(id, {
      global_workspace_access: { enabled: true, usage_limits: [{ credit_limit: 1 }] },
    });
    await server.request('DELETE', `${path}/${id}`);
    const left = await server.database.db
      .selectFrom('usage_budgets')
      .select('subject_id')
      .where('subject_id', '=', id)
      .execute();
    expect(left).toEqual([]);
  });

  it('is replaced by an update of the integration, which counts as one version', async () => {
    const [one, two] = [await makeWorkspace('One'), await makeWorkspace('Two')];
    const { id } = await make({ workspaces: [{ id: one.id, enabled: true }] });
    await put(id, { workspaces: [{ id: two.id, enabled: false }] });
    expect((await get(`${id}/workspaces`)).workspaces).toMatchObject([{ id: two.id }]);
    expect((await server.request('GET', `${path}/${id}`)).headers.etag).toBe('"2"');
    expect((await listAudit(server, id)).at(-1)).toMatchObject({
      changes: { fields: ['workspaces'] },
    });
  });
});

describe('the deletion of an integration', () => {
  it('removes its automatically created providers, and is refused while others exist', async () => {
    const { id } = await make({ workspace_id: workspace.id, name: 'Ending' });
    const made = (await providersIn(workspace)).filter((one) => one.integration_id === id);
    expect(made).toHaveLength(1);
    const at = `/v1/providers/${made[0]!.id}`;
    await server.request('PUT', at, { body: { note: 'mine now' } });
    expect((await server.request('DELETE', `${path}/${id}`)).status).toBe(409);
    await server.request('DELETE', at);
    await server.request('POST', '/v1/providers', {
      body: { name: 'x', integration_id: id, workspace_id: workspace.id, slug: 'by-hand' },
    });
    expect((await server.request('DELETE', `${path}/${id}`)).status).toBe(409);
    await server.request('DELETE', '/v1/providers/by-hand');
    expect(await server.request('DELETE', `${path}/${id}`)).toMatchObject({
      status: 200,
      body: {},
    });
    expect((await server.request('GET', `${path}/${id}`)).status).toBe(404);
    const other = await make({ workspace_id: workspace.id, name: 'Ending' });
    expect((await server.request('DELETE', `${path}/${other.id}`)).status).toBe(200);
    const left = (await providersIn(workspace)).map((one) => one.integration_id);
    expect(left).not.toContain(other.id);
  });

  it('never leaves a provider that is created concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await make();
      const body = { name: 'x', integration_id: id, workspace_id: workspace.id };
      const [made, gone] = await Promise.all([
        server.request('POST', '/v1/providers', { body }),
        server.request('DELETE', `${path}/${id}`),
      ]);
      expect([
        [200, 409],
        [404, 200],
      ]).toContainEqual([made.status, gone.status]);
    }
  });
});
