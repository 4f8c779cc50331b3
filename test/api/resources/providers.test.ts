/** Verifies the provider routes over HTTP: fields, budgets, states, and slugs of a workspace. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertCounter } from '../../support/rows/usage-rows.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const path = '/v1/providers';

interface CreatedResource {
  id: string;
  slug: string;
}
let server: TestServer;
let workspace: CreatedResource;
let integration: CreatedResource;
beforeAll(async () => {
  server = await startTestServer();
  workspace = await post('/v2/workspaces', { name: 'Support' });
  const fields = { ai_provider_id: 'openai', key: 'sk-0123456789abcdef' };
  integration = await post('/v1/integrations', { name: 'OpenAI', ...fields });
});
afterAll(() => server[Symbol.asyncDispose]());

async function post(at: string, body: Record<string, unknown>): Promise<CreatedResource> {
  const made = await server.request('POST', at, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

const make = (body: Record<string, unknown> = {}) =>
  post(path, {
    name: 'Main',
    integration_id: integration.slug,
    workspace_id: workspace.slug,
    ...body,
  });
const get = async (at: string) => (await server.request('GET', `${path}/${at}`)).body;
const put = (at: string, body: unknown) => server.request('PUT', `${path}/${at}`, { body });

it('returns the record by id and slug without defaults for fields that were not sent', async () => {
  const made = await make();
  expect(made).toEqual({
    id: expect.any(String),
    slug: expect.stringMatching(/^main-[0-9a-f]{6}$/),
    object: 'provider',
  });
  const expected = {
    ...made,
    declared_in: null,
    name: 'Main',
    note: null,
    organisation_id: server.organisationId,
    workspace_id: workspace.id,
    integration_id: integration.id,
    ai_provider_name: 'openai',
    status: 'active',
    key: '',
    masked_api_key: 'sk*****def',
    model_config: {},
    secret_mappings: [],
    tags: null,
    usage_limits: null,
    rate_limits: [],
    reset_usage: null,
    next_usage_reset_at: null,
    last_reset_at: null,
    expires_at: null,
    created_at: '2027-01-04T08:00:00.000Z',
    last_updated_at: '2027-01-04T08:00:00.000Z',
  };
  expect(await get(made.id)).toEqual(expected);
  expect(await get(`${made.slug}?workspace_id=${workspace.slug}`)).toEqual(expected);
  expect((await listAudit(server, made.id)).map(({ action }) => action)).toEqual(['create']);
});

it('is exhausted by its budget until a reset, and expired from its expiry on', async () => {
  const { id } = await make({
    usage_limits: { credit_limit: 10, periodic_reset: 'weekly' },
    rate_limits: { type: 'requests', unit: 'rpm', value: 5 },
    expires_at: '2027-01-05T08:00:00Z',
  });
  const subject = { organisationId: server.organisationId, kind: 'provider', id } as const;
  const windowStart = server.clock.now();
  await insertCounter(server.database.db, subject, { windowStart, used: 10_000_000 });
  expect(await get(id)).toMatchObject({
    status: 'exhausted',
    next_usage_reset_at: '2027-01-11T00:00:00.000Z',
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }],
  });
  expect((await put(id, { usage_limits: { credit_limit: 11 } })).status).toBe(200);
  expect(await get(id)).toMatchObject({ status: 'active', usage_limits: { credit_limit: 11 } });
  await put(id, { usage_limits: { credit_limit: 10 } });
  expect(await get(id)).toMatchObject({ status: 'exhausted' });
  await put(id, { reset_usage: true });
  expect(await get(id)).toMatchObject({
    status: 'active',
    last_reset_at: '2027-01-04T08:00:00.000Z',
  });
  await put(id, { expires_at: '2027-01-04T08:00:00.001Z' });
  server.clock.advance(1);
  expect(await get(id)).toMatchObject({ status: 'expired' });
  expect((await put(id, { name: 'n', expires_at: '2027-01-04T08:00:00.001Z' })).status).toBe(200);
  await put(id, { expires_at: null, usage_limits: null });
  expect(await get(id)).toMatchObject({ status: 'active', usage_limits: null, expires_at: null });
});

it('has a slug that is unique in its workspace, which selects one when several workspaces have it', async () => {
  const other = await post('/v2/workspaces', { name: 'Other' });
  await make({ slug: 'shared' });
  const there = await make({ slug: 'shared', workspace_id: other.id });
  expect(await get(`shared?workspace_id=${other.slug}`)).toMatchObject({ id: there.id });
  const unclear = await server.request('GET', `${path}/shared`);
  expect(unclear).toMatchObject({ status: 400, body: { error: { param: 'workspace_id' } } });
  expect((await server.request('DELETE', `${path}/shared`)).status).toBe(400);
  const renamed = await put('shared', { name: 'there', workspace_id: other.id });
  expect(renamed.body).toEqual({ id: there.id, slug: 'shared', object: 'provider' });
  const requested = `${path}/shared?workspace_id=${other.slug}`;
  const again = await server.request('PUT', requested, { body: { note: 'by query' } });
  expect(again.body).toEqual(renamed.body);
  const place = { note: 'twice', workspace_id: workspace.id };
  const twice = await server.request('PUT', requested, { body: place });
  expect(twice).toMatchObject({ status: 400, body: { error: { param: 'workspace_id' } } });
  expect(await get(there.id)).toMatchObject({ name: 'there', note: 'by query' });
  const gone = await server.request('DELETE', `${path}/shared?workspace_id=${other.id}`);
  expect(gone).toMatchObject({ status: 200, body: {} });
  expect((await server.request('GET', `${path}/${there.id}`)).status).toBe(404);
  const twin = await server.request('POST', path, {
    body: { name: 'x', slug: 'shared', integration_id: integration.id, workspace_id: workspace.id },
  });
  expect(twin).toMatchObject({ status: 409, body: { error: { param: 'slug' } } });
});

it('lists providers of one workspace or of all', async () => {
  const place = await post('/v2/workspaces', { name: 'Listing' });
  const [one, two] = [
    await make({ workspace_id: place.id }),
    await make({ workspace_id: place.id }),
  ];
  const list = async (query: string) => (await server.request('GET', `${path}?${query}`)).body;
  expect(await list(`workspace_id=${place.slug}`)).toMatchObject({
    object: 'list',
    total: 2,
    data: [{ id: two.id }, { id: one.id }],
  });
  expect((await list('page_size=1')).data).toHaveLength(1);
});

it.each([
  [{ workspace_id: undefined }, 400, 'workspace_id'],
  [{ integration_id: 'nobody' }, 404, 'integration_id'],
  [{ expires_at: '2020-01-01T00:00:00Z' }, 400, 'expires_at'],
  [{ usage_limits: { credit_limit: 0 } }, 400, 'usage_limits.credit_limit'],
  [{ rate_limits: [{ type: 'tokens', unit: 'tpd', value: 1 }] }, 400, 'rate_limits[0].unit'],
])('rejects a create with %j', async (body, status, param) => {
  const answer = await server.request('POST', path, {
    body: { name: 'x', integration_id: integration.id, workspace_id: workspace.id, ...body },
  });
  expect(answer).toMatchObject({ status, body: { error: { param } } });
});

it('hides providers from other tenants and from keys of other workspaces', async () => {
  const { id } = await make();
  const other = await addTenant(server, 'providers-other');
  const scopes = ['create', 'read', 'list', 'delete'].map((action) => `providers.${action}`);
  const elsewhere = await post('/v2/workspaces', { name: 'Elsewhere' });
  const { send } = await addKeyCaller(server, scopes, elsewhere.id);
  for (const ask of [other.send, send]) {
    expect((await ask('GET', `${path}/${id}`)).status).toBe(404);
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(404);
    expect((await ask('GET', path)).body.total).toBe(0);
  }
  const made = await send('POST', path, { body: { name: 'x', integration_id: integration.id } });
  expect(made.status).toBe(200);
  expect((await get(made.body.id)).workspace_id).toBe(elsewhere.id);
});

it('deletes providers with their workspace under force_delete, with all counters', async () => {
  const place = await post('/v2/workspaces', { name: 'Closing' });
  const { id } = await make({ workspace_id: place.id, usage_limits: { credit_limit: 1 } });
  const remove = (body: object) => server.request('DELETE', `/v2/workspaces/${place.id}`, { body });
  expect((await remove({ name: 'Closing' })).body.error.message).toContain('1 Provider');
  expect((await remove({ name: 'Closing', force_delete: true })).status).toBe(200);
  expect((await server.request('GET', `${path}/${id}`)).status).toBe(404);
  const left = await server.database.db
    .selectFrom('usage_budgets')
    .select('subject_id')
    .where('subject_id', '=', id)
    .execute();
  expect(left).toEqual([]);
});

it('stores tags of its own, also for virtual keys, until they are cleared', async () => {
  for (const [at, more] of [
    [path, { integration_id: integration.slug }],
    ['/v1/virtual-keys', { provider: 'openai', key: 'sk-1' }],
  ] as const) {
    const body = { name: 'tagged', workspace_id: workspace.slug, tags: { team: 'a' }, ...more };
    const { id } = (await server.request('POST', at, { body })).body;
    const change = async (tags: unknown) => {
      const { status } = await server.request('PUT', `${at}/${id}`, { body: { tags } });
      return [status, (await server.request('GET', `${at}/${id}`)).body.tags];
    };
    expect(await change({ team: 'a', Stage: 'Live' })).toEqual([200, { team: 'a', Stage: 'Live' }]);
    expect(await change({ team: 1 })).toEqual([400, { team: 'a', Stage: 'Live' }]);
    const { body: list } = await server.request('GET', `${at}?page_size=100`);
    const listed = list.data.find((one: { id: string }) => one.id === id);
    expect(listed.tags).toEqual({ team: 'a', Stage: 'Live' });
    expect(await change(null)).toEqual([200, null]);
  }
});
