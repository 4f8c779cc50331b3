/** Verifies the API key routes over HTTP: fields, responses, and that a key value is shown once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isWellFormedApiKey, makeApiKey } from '../../../src/model/people/credentials.ts';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { findState } from '../../../src/store/usage/usage-budgets.ts';
import type { TestResponse } from '../../support/network/exchange.ts';
import { insertCounter } from '../../support/rows/usage-rows.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const minimal = { name: 'bot', scopes: ['completions.write'] };
const dayMs = 86_400_000;
let server: TestServer;
let workspace: { id: string; slug: string };
beforeAll(async () => {
  server = await startTestServer();
  workspace = await makeWorkspace('Support');
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeWorkspace(name: string): Promise<{ id: string; slug: string }> {
  const made = await server.request('POST', '/admin/v2/workspaces', { body: { name } });
  expect(made.status).toBe(200);
  return made.body;
}

function post(body: Record<string, unknown>, path = 'organisation/service'): Promise<TestResponse> {
  return server.request('POST', `/v1/api-keys/${path}`, { body: { ...minimal, ...body } });
}

async function make(body: Record<string, unknown> = {}, path?: string): Promise<string> {
  const made = await post(body, path);
  expect(made.status).toBe(200);
  return made.body.id;
}

async function read(id: string): Promise<Record<string, unknown>> {
  const got = await server.request('GET', `/v1/api-keys/${id}`);
  expect(got.status).toBe(200);
  return got.body;
}

async function put(id: string, body: Record<string, unknown>): Promise<void> {
  const answer = await server.request('PUT', `/v1/api-keys/${id}`, { body });
  expect(answer).toMatchObject({ status: 200, body: {} });
}

async function budget(id: string): Promise<Record<string, unknown> | undefined> {
  return server.database.db
    .selectFrom('usage_budgets')
    .selectAll()
    .where('subject_kind', '=', 'api_key')
    .where('subject_id', '=', id)
    .executeTakeFirst();
}

/** Simulates the ledger: sets the usage of the current window to this many whole units. */
async function spend(id: string, used: number): Promise<void> {
  const { db } = server.database;
  await db.deleteFrom('usage_counters').where('subject_id', '=', idToBytes(id)).execute();
  const subject = { organisationId: server.organisationId, kind: 'api_key', id } as const;
  const windowStart = (await budget(id))!.window_start as number;
  await insertCounter(db, subject, { windowStart, used });
}

const used = async (id: string) => {
  const subject = { organisationId: server.organisationId, kind: 'api_key', id } as const;
  return (await findState(server.database.db, subject, server.clock.now()))?.usedUnits;
};

describe('create with 200', () => {
  it('returns the id, a well-formed key and the object name, and nothing else', async () => {
    const made = await post({});
    expect(made.status).toBe(200);
    expect(Object.keys(made.body).toSorted()).toEqual(['id', 'key', 'object']);
    expect(made.body.object).toBe('api-key');
    expect(isWellFormedApiKey(made.body.key)).toBe(true);
    expect(made.headers['content-type']).toContain('application/json');
  });

  it('creates all four types, with and without the path values in the body', async () => {
    const user_id = '7E1C9BD2-0000-4000-8000-000000000000';
    const made = await Promise.all([
      make({ type: 'organisation', 'sub-type': 'service', sub_type: 'x' }),
      make({ user_id }, 'organisation/user'),
      make({ workspace_id: workspace.slug }, 'workspace/service'),
      make({ workspace_id: workspace.id, user_id }, 'workspace/user'),
    ]);
    const records = await Promise.all(made.map(read));
    expect(records.map(({ type, workspace_id, user_id }) => [type, workspace_id, user_id])).toEqual(
      [
        ['organisation-service', null, null],
        ['organisation-user', null, user_id.toLowerCase()],
        ['workspace-service', workspace.id, null],
        ['workspace-user', workspace.id, user_id.toLowerCase()],
      ],
    );
  });

  it('takes the sub-type from the path on v2, and the type from the body or the workspace', async () => {
    const create = (body: Record<string, unknown>) =>
      server.request('POST', '/v2/api-keys/service', { body: { ...minimal, ...body } });
    const made = await Promise.all([
      create({ type: 'organisation', organisation_id: server.tsgId }),
      create({ type: 'workspace', workspace_id: workspace.id }),
      create({ workspace_id: workspace.slug }),
      create({}),
    ]);
    const records = await Promise.all(made.map(({ body }) => read(body.id)));
    expect(records.map(({ type }) => type)).toEqual([
      'organisation-service',
      'workspace-service',
      'workspace-service',
      'organisation-service',
    ]);
  });

  it('returns the full record without defaults for fields that were not sent', async () => {
    const made = await post({});
    expect(await read(made.body.id)).toEqual({
      id: made.body.id,
      key: `${made.body.key.slice(0, 2)}*****${made.body.key.slice(-3)}`,
      name: 'bot',
      description: null,
      type: 'organisation-service',
      organisation_id: server.organisationId,
      workspace_id: null,
      user_id: null,
      status: 'active',
      creation_mode: 'api',
      created_at: '2027-01-04T08:00:00.000Z',
      last_updated_at: '2027-01-04T08:00:00.000Z',
      scopes: ['completions.write'],
      rate_limits: [],
      usage_limits: null,
      reset_usage: null,
      expires_at: null,
      last_reset_at: null,
      next_usage_reset_at: null,
      current_usage: null,
      last_used_at: null,
      alert_emails: null,
      expiry_enforced: 0,
      allow_config_override: null,
      api_key_defaults_id: null,
      defaults: { metadata: null, config_id: null },
      rotation_policy: null,
      object: 'api-key',
      declared_in: null,
    });
  });

  it('returns what was sent, names the config by UUID, and shows the next reset at the top level', async () => {
    const config = await server.request('POST', '/v2/configs', {
      body: { name: 'Routing', config: { retry: { attempts: 2 } }, workspace_id: workspace.id },
    });
    const body = {
      description: 'x',
      scopes: ['mcp.invoke', 'completions.write'],
      rate_limits: [{ type: 'requests', unit: 'rps', value: 5 }],
      usage_limits: { credit_limit: 10.5, alert_threshold: 8, periodic_reset: 'monthly' },
      alert_emails: ['z@example.com', 'a@example.com'],
      expires_at: '2027-03-31T02:00:00+02:00',
      rotation_policy: { rotation_period: 'weekly', key_transition_period_ms: 1_800_000 },
      defaults: {
        metadata: { team: 'cx', nested: { a: [1] } },
        config_id: config.body.slug,
        allow_config_override: false,
      },
      workspace_id: workspace.id,
    };
    const id = await make(body, 'workspace/service');
    expect(await read(id)).toMatchObject({
      ...body,
      expires_at: '2027-03-31T00:00:00.000Z',
      rotation_policy: { ...body.rotation_policy, next_rotation_at: '2027-01-11T00:00:00.000Z' },
      defaults: { ...body.defaults, config_id: config.body.id },
      allow_config_override: 0,
      next_usage_reset_at: '2027-02-01T00:00:00.000Z',
    });
    expect((await read(id)).usage_limits).toEqual(body.usage_limits);
    expect(await budget(id)).toMatchObject({
      credit_limit_units: 10_500_000,
      alert_threshold_units: 8_000_000,
    });
    expect(await used(id)).toBe(0n);
  });

  it('begins a schedule of days at the start of the given day', async () => {
    const id = await make({
      usage_limits: {
        credit_limit: 5,
        periodic_reset_days: 10,
        next_usage_reset_at: '2027-01-20T15:30:00Z',
      },
    });
    expect(await read(id)).toMatchObject({ next_usage_reset_at: '2027-01-20T00:00:00.000Z' });
  });
});

describe('update with 200', () => {
  it('keeps absent fields, clears null fields, and merges defaults by key', async () => {
    const id = await make({
      description: 'keep',
      alert_emails: ['a@example.com'],
      usage_limits: { credit_limit: 5 },
      defaults: { metadata: { a: '1' }, allow_config_override: true },
    });
    const body = { alert_emails: null, usage_limits: null, defaults: { metadata: { b: '2' } } };
    await put(id, body);
    await put(id, body);
    expect(await read(id)).toMatchObject({
      description: 'keep',
      alert_emails: null,
      usage_limits: null,
      defaults: { metadata: { b: '2' }, allow_config_override: true },
      allow_config_override: 1,
    });
    expect(await budget(id)).toBeUndefined();
    await put(id, { defaults: null });
    const cleared = await read(id);
    expect(cleared.defaults).toEqual({ metadata: null, config_id: null });
    expect(cleared.allow_config_override).toBeNull();
  });

  it('accepts its own response including the time that the server filled in, and rejects another time', async () => {
    const id = await make({ rotation_policy: { rotation_period: 'weekly' } });
    const { body: responseBody } = await server.request('GET', `/v1/api-keys/${id}`);
    const put = (body: unknown) => server.request('PUT', `/v1/api-keys/${id}`, { body });
    expect(await put(responseBody)).toMatchObject({ status: 200 });
    expect((await server.request('GET', `/v1/api-keys/${id}`)).body).toEqual(responseBody);
    const policy = responseBody.rotation_policy;
    const chosen = { ...policy, next_rotation_at: '2027-01-12T00:00:00Z' };
    expect(await put({ rotation_policy: chosen })).toMatchObject({
      status: 400,
      body: { error: { param: 'rotation_policy' } },
    });
    // With another period the response contains no reset time.
    const monthly = { ...policy, rotation_period: 'monthly' };
    expect(await put({ rotation_policy: monthly })).toMatchObject({ status: 200 });
    const { body: after } = await server.request('GET', `/v1/api-keys/${id}`);
    expect(after.rotation_policy.next_rotation_at).toBe('2027-02-01T00:00:00.000Z');
    const moment = { next_rotation_at: after.rotation_policy.next_rotation_at };
    await put({ rotation_policy: moment });
    const both = { rotation_period: 'weekly', ...moment };
    expect(await put({ rotation_policy: both })).toMatchObject({ status: 400 });
  });

  it('is exhausted while the usage reaches the limit, also in authentication', async () => {
    const made = await post({
      scopes: ['logs.view', 'workspaces.list'],
      usage_limits: { credit_limit: 10 },
    });
    const { id, key } = made.body;
    const path = '/v1/admin/workspaces';
    const status = async (): Promise<[unknown, number]> => {
      const headers = { 'x-gateway-api-key': key };
      const answer = await server.request('GET', path, { auth: 'none', headers });
      return [(await read(id)).status, answer.status];
    };
    expect(await status()).toEqual(['active', 200]);
    await spend(id, 12_000_000);
    expect(await status()).toEqual(['exhausted', 402]);
    await put(id, { usage_limits: { credit_limit: 11 } });
    expect(await status()).toEqual(['exhausted', 402]);
    await put(id, { usage_limits: { credit_limit: 20 } });
    expect(await status()).toEqual(['active', 200]);
    await put(id, { usage_limits: { credit_limit: 12 } });
    expect(await status()).toEqual(['exhausted', 402]);
    for (const nothing of [false, 0, null]) await put(id, { reset_usage: nothing, name: 'kept' });
    expect(await status()).toEqual(['exhausted', 402]);
    for (const reset of [true, 1]) {
      await put(id, { reset_usage: reset });
      expect(await status()).toEqual(['active', 200]);
      await spend(id, 12_000_000);
    }
    await put(id, { usage_limits: null });
    expect(await status()).toEqual(['active', 200]);
  });

  it('works again at its boundary before the job runs', async () => {
    const id = await make({ usage_limits: { credit_limit: 10, periodic_reset_days: 3 } });
    await spend(id, 12_000_000);
    const { next_usage_reset_at: boundary } = await read(id);
    server.clock.set(Date.parse(String(boundary)));
    expect(await read(id)).toMatchObject({
      status: 'active',
      last_reset_at: boundary,
      next_usage_reset_at: new Date(Date.parse(String(boundary)) + 3 * dayMs).toISOString(),
    });
    // A change of the schedule does not skip a reset that was due.
    await put(id, { usage_limits: { credit_limit: 10, periodic_reset: 'monthly' } });
    expect(await read(id)).toMatchObject({ status: 'active', last_reset_at: boundary });
    const [, reset, update] = await listAudit(server, id);
    expect(reset).toMatchObject({ action: 'reset', request_id: update!.request_id });
    expect(reset!.changes).toEqual({
      boundary_at: Date.parse(String(boundary)),
      window_start: Date.parse(String(boundary)),
      next_reset_at: Date.parse(String(boundary)) + 3 * dayMs,
      skipped_windows: 0,
    });
    expect(await server.app.jobs.runNow('reset-usage')).toMatchObject({ counts: { keys: 0 } });
  });

  it('counts tokens as integers, and from zero when the unit changes', async () => {
    const limits = { type: 'tokens', credit_limit: 2 ** 33, alert_threshold: 7 };
    const id = await make({ usage_limits: limits });
    expect(await budget(id)).toMatchObject({
      type: 'tokens',
      credit_limit_units: 2 ** 33,
      alert_threshold_units: 7,
    });
    await spend(id, 2 ** 33);
    expect(await read(id)).toMatchObject({ status: 'exhausted' });
    await put(id, { usage_limits: { type: 'cost', credit_limit: 1.5 } });
    expect(await read(id)).toMatchObject({ status: 'active' });
    expect(await used(id)).toBe(0n);
    const fraction = { usage_limits: { type: 'tokens', credit_limit: 1.5 } };
    expect(await server.request('PUT', `/v1/api-keys/${id}`, { body: fraction })).toMatchObject({
      status: 400,
      body: { error: { param: 'usage_limits.credit_limit' } },
    });
  });

  it('exhausts a key whose limit falls below its usage', async () => {
    const id = await make({ usage_limits: { credit_limit: 10 } });
    await spend(id, 6_000_000);
    await put(id, { usage_limits: { credit_limit: 6 } });
    expect(await read(id)).toMatchObject({ status: 'exhausted' });
  });

  it('resets usage on request, without postponing the next reset', async () => {
    const limits = { credit_limit: 10, periodic_reset_days: 3 };
    const id = await make({ usage_limits: limits });
    const { next_usage_reset_at: next } = await read(id);
    await spend(id, 12_000_000);
    server.clock.advance(dayMs);
    await put(id, { usage_limits: limits, reset_usage: true });
    expect(await read(id)).toMatchObject({
      status: 'active',
      next_usage_reset_at: next,
      last_reset_at: new Date(server.clock.now()).toISOString(),
    });
    expect(await used(id)).toBe(0n);
  });

  it('counts anew when the type of a budget changes, which is no reset', async () => {
    const id = await make({ usage_limits: { type: 'cost', credit_limit: 10 } });
    await spend(id, 12_000_000);
    server.clock.advance(dayMs);
    await put(id, { usage_limits: { type: 'tokens', credit_limit: 10 } });
    expect(await read(id)).toMatchObject({ status: 'active', last_reset_at: null });
    expect(await used(id)).toBe(0n);
  });

  it('reports a key as expired from its expiry on, and reactivates it with a later expiry', async () => {
    const at = (ms: number): string => new Date(server.clock.now() + ms).toISOString();
    const id = await make({ expires_at: at(1000) });
    expect(await read(id)).toMatchObject({ status: 'active' });
    server.clock.advance(1000);
    expect(await read(id)).toMatchObject({ status: 'expired' });
    await server.database.db
      .updateTable('api_keys')
      .set({ status: 'expired' })
      .where('id', '=', id)
      .execute();
    await put(id, { expires_at: at(dayMs) });
    expect(await read(id)).toMatchObject({ status: 'active' });
  });

  it('accepts an expiry in the past when it is unchanged', async () => {
    const expires_at = new Date(server.clock.now() + 1000).toISOString();
    const id = await make({ expires_at });
    server.clock.advance(5000);
    await put(id, { name: 'renamed', expires_at });
    expect(await read(id)).toMatchObject({ name: 'renamed', status: 'expired' });
  });
});

describe('list and delete with 200', () => {
  it('pages through a workspace in a stable order with the correct total', async () => {
    const { id: place, slug } = await makeWorkspace('Paged');
    const made: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      server.clock.advance(1000);
      made.push(await make({ name, workspace_id: place }, 'workspace/service'));
    }
    const pages = await Promise.all(
      [0, 1, 2].map((page) =>
        server.request('GET', `/v2/api-keys?workspace_id=${slug}&page_size=2&current_page=${page}`),
      ),
    );
    expect(pages.map(({ body }) => body.total)).toEqual([3, 3, 3]);
    const ids = pages.flatMap(({ body }) => body.data.map((row: { id: string }) => row.id));
    expect(ids).toEqual(made.toReversed());
    const chosen = await server.request('GET', `/v1/api-keys?ids=${made[0]},${made[2]}`);
    expect(chosen.body.total).toBe(2);
  });

  it('filters the list, and rejects a parameter that it does not know', async () => {
    const { id: place } = await makeWorkspace('Filtered');
    const user_id = '7e1c9bd2-0000-4000-8000-000000000001';
    const of = { workspace_id: place };
    const service = await make({ ...of, name: 'Plain 100%' }, 'workspace/service');
    const user = await make({ ...of, name: 'of a person', user_id }, 'workspace/user');
    const expires_at = new Date(server.clock.now() + 1_000).toISOString();
    const old = await make({ ...of, name: 'old', expires_at }, 'workspace/service');
    const limited = await make(
      { ...of, name: 'limited', usage_limits: { credit_limit: 1 } },
      'workspace/service',
    );
    await spend(limited, 1_000_000);
    server.clock.advance(2_000);
    const idsOf = async (query: string) => {
      const { body } = await server.request('GET', `/v1/api-keys?workspace_id=${place}&${query}`);
      const ids = body.data.map((row: { id: string }) => row.id);
      expect(body.total).toBe(ids.length);
      return ids.toSorted();
    };
    const every = [service, user, old, limited];
    const expected: Record<string, string[]> = {
      'type=workspace': every,
      'type=organisation': [],
      'sub_type=user': [user],
      'sub_type=service': [service, old, limited],
      [`user_id=${user_id}`]: [user],
      'name=0%25': [service],
      'name=PERSON': [user],
      'status=expired': [old],
      'status=exhausted': [limited],
      'status=active': [service, user],
      'status=active&sub_type=user': [user],
    };
    for (const [query, ids] of Object.entries(expected)) {
      expect([query, ...(await idsOf(query))]).toEqual([query, ...ids.toSorted()]);
    }
    for (const query of ['status=gone', 'subtype=user']) {
      const { status, body } = await server.request('GET', `/v1/api-keys?${query}`);
      expect([status, body.error?.param]).toEqual([400, query.split('=')[0]]);
    }
  });

  it('splits the list by sub-type on v2', async () => {
    const { id: place } = await makeWorkspace('Split');
    const user_id = '7e1c9bd2-0000-4000-8000-000000000000';
    const service = await make({ workspace_id: place }, 'workspace/service');
    const user = await make({ workspace_id: place, user_id }, 'workspace/user');
    const list = (subType: string) =>
      server.request('GET', `/v2/api-keys/${subType}?workspace_id=${place}`);
    expect((await list('service')).body).toMatchObject({ total: 1, data: [{ id: service }] });
    expect((await list('user')).body).toMatchObject({ total: 1, data: [{ id: user }] });
  });

  it('returns {} once and then 404 for a deletion, and the key no longer authenticates', async () => {
    const { id, send } = await addKeyCaller(server, ['workspaces.list']);
    await put(id, { usage_limits: { credit_limit: 3 } });
    expect((await send('GET', '/v1/workspaces')).status).toBe(200);
    const path = `/v1/api-keys/${id}`;
    const gone = await server.request('DELETE', path, {
      headers: { 'content-type': 'application/json' },
    });
    expect(gone).toMatchObject({ status: 200, body: {} });
    expect((await server.request('DELETE', path)).status).toBe(404);
    expect((await server.request('GET', path)).status).toBe(404);
    expect(await budget(id)).toBeUndefined();
    expect((await send('GET', '/v1/workspaces')).status).toBe(401);
  });
});

describe('400', () => {
  const past = '2026-12-31T00:00:00Z';
  it.each([
    ['scopes[1]', { scopes: ['logs.view', 'logs.burn'] }],
    ['scopes', { scopes: ['logs.view', 'logs.view'] }],
    ['expires_at', { expires_at: past }],
    ['expires_at', { expires_at: '2027-02-30T00:00:00Z' }],
    ['usage_limits.credit_limit', { usage_limits: { credit_limit: '5' } }],
    ['usage_limits.alert_threshold', { usage_limits: { credit_limit: 5, alert_threshold: 6 } }],
    [
      'usage_limits.next_usage_reset_at',
      { usage_limits: { credit_limit: 5, periodic_reset: 'weekly', next_usage_reset_at: past } },
    ],
    ['rotation_policy.next_rotation_at', { rotation_policy: { next_rotation_at: past } }],
    [
      'rotation_policy',
      { rotation_policy: { rotation_period: 'weekly', rotation_period_days: 1 } },
    ],
    ['defaults.config_id', { defaults: { config_id: 'pc-none-000000' } }],
    ['workspace_id', { workspace_id: 'ws-any' }],
    ['key', { key: makeApiKey('') }],
  ])('names %s for %j', async (param, body) => {
    const made = await post(body);
    expect(made).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it('rejects a user key without user, a workspace key without workspace, and an unknown type', async () => {
    const user = await post({}, 'organisation/user');
    expect(user).toMatchObject({ status: 400, body: { error: { param: 'user_id' } } });
    const loose = await post({}, 'workspace/service');
    expect(loose).toMatchObject({ status: 400, body: { error: { param: 'workspace_id' } } });
    expect((await post({}, 'planet/service')).status).toBe(400);
  });

  it('finds, updates and deletes a key under its own sub-type on v2 only', async () => {
    const { id } = (await post({}, 'organisation/service')).body;
    const ask = (method: string, subType: string, body?: unknown) =>
      server.request(method, `/v2/api-keys/${subType}/${id}`, { body });
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { name: 'renamed' } : undefined;
      expect((await ask(method, 'user', body)).status).toBe(404);
      expect((await ask(method, 'service', body)).status).toBe(200);
    }
    expect((await ask('GET', 'service')).status).toBe(404);
  });

  it('accepts a config of any workspace for organisation keys only', async () => {
    const other = await makeWorkspace('Elsewhere');
    const config = await server.request('POST', '/v2/configs', {
      body: { name: 'c', config: { retry: { attempts: 1 } }, workspace_id: other.id },
    });
    const pinned = { defaults: { config_id: config.body.slug } };
    const { id } = (await post(pinned, 'organisation/service')).body;
    expect((await read(id)).defaults).toMatchObject({ config_id: config.body.id });
    const body = { workspace_id: workspace.id, defaults: { config_id: config.body.id } };
    const made = await post(body, 'workspace/service');
    expect(made).toMatchObject({ status: 400, body: { error: { param: 'defaults.config_id' } } });
  });

  it('limits the lifetime of keys to the shorter maximum of organisation and workspace', async () => {
    const { id } = await makeWorkspace('Short-lived');
    const limitAll = async (days: number | null) => {
      const body = { api_key_max_ttl_days: days };
      const changed = await server.request('PUT', '/admin/v2/organisations/self', { body });
      expect(changed.status).toBe(200);
      const { data } = (await server.request('GET', '/v1/organisations/self')).body;
      expect(data.api_key_max_ttl_days).toBe(days);
    };
    const settings = { settings: { api_key_max_ttl_days: 10 } };
    await server.request('PUT', `/v2/workspaces/${id}`, { body: settings });
    const older = (await post({})).body.id;
    await limitAll(30);
    const inDays = (days: number): string =>
      new Date(server.clock.now() + days * dayMs).toISOString();
    const place = { workspace_id: id };
    const answers = [
      await post({ ...place, expires_at: inDays(10) }, 'workspace/service'),
      await post({ ...place, expires_at: inDays(11) }, 'workspace/service'),
      await post(place, 'workspace/service'),
      await post({ expires_at: inDays(30) }),
      await post({ expires_at: inDays(31) }),
    ];
    const change = (expires_at: string | null) =>
      server.request('PUT', `/v1/api-keys/${older}`, { body: { expires_at } });
    const changes = [await change(null), await change(inDays(31)), await change(inDays(30))];
    await limitAll(null);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 200, 400]);
    expect(changes.map(({ status }) => status)).toEqual([200, 400, 200]);
  });

  it('rejects server-set fields on v2, and an update without fields', async () => {
    const id = await make();
    for (const body of [{}, { status: 'expired' }, { organisation_id: 'x' }, { key: 'x' }]) {
      const answer = await server.request('PUT', `/v2/api-keys/${id}`, { body });
      expect(answer.status).toBe(400);
    }
    expect((await server.request('GET', '/v1/api-keys?ids=1,2')).status).toBe(400);
  });
});

describe('401 and 403', () => {
  it('accepts an organisation key on v1, and rejects it on the admin planes', async () => {
    const path = 'api-keys/organisation/service';
    const send = (base: string, auth: 'key' | 'none') =>
      server.request('POST', `${base}/${path}`, { body: minimal, auth });
    expect((await send('/v1', 'key')).status).toBe(200);
    expect((await send('/v2', 'key')).status).toBe(401);
    expect((await send('/admin/v2', 'key')).status).toBe(401);
    expect((await send('/v1', 'none')).status).toBe(401);
  });

  it('returns 403 for scopes that the creator lacks, on create and on update', async () => {
    const held = ['organisation_service_api_keys.create', 'organisation_service_api_keys.update'];
    const { send } = await addKeyCaller(server, [...held, 'logs.view']);
    const path = '/v1/api-keys/organisation/service';
    const beyond = await send('POST', path, {
      body: { name: 'x', scopes: ['logs.view', 'logs.export'] },
    });
    expect(beyond).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
    expect(beyond.body.error.message).toContain('logs.export');
    expect(beyond.body.error.message).not.toContain('logs.view');
    const mine = await send('POST', path, { body: { name: 'x', scopes: ['logs.view'] } });
    expect(mine.status).toBe(200);
    const rich = await make({ scopes: ['configs.read'] });
    const grow = (scopes: string[]) => send('PUT', `/v1/api-keys/${rich}`, { body: { scopes } });
    expect((await grow(['configs.read', 'configs.delete'])).status).toBe(403);
    expect((await grow(['configs.read', 'logs.view'])).status).toBe(200);
  });

  it('requires the scope for the type of the key', async () => {
    const held = ['read', 'list', 'update', 'delete'].map(
      (verb) => `workspace_user_api_keys.${verb}`,
    );
    const { send } = await addKeyCaller(server, held);
    const id = await make();
    expect((await send('GET', `/v1/api-keys/${id}`)).status).toBe(403);
    expect((await send('PUT', `/v1/api-keys/${id}`, { body: { name: 'x' } })).status).toBe(403);
    expect((await send('DELETE', `/v1/api-keys/${id}`)).status).toBe(403);
    expect((await send('POST', '/v1/api-keys/workspace/user', { body: minimal })).status).toBe(403);
    const listed = await send('GET', '/v1/api-keys');
    expect(listed.status).toBe(200);
    const types = listed.body.data.map((row: { type: string }) => row.type);
    expect(new Set(types)).toEqual(new Set(['workspace-user']));
  });

  it('confines a workspace key to its workspace', async () => {
    const verbs = ['create', 'read', 'list', 'update', 'delete'];
    const scopes = ['organisation', 'workspace'].flatMap((type) =>
      verbs.map((verb) => `${type}_service_api_keys.${verb}`),
    );
    const { id: mine } = await makeWorkspace('Bound');
    const { send, id: own } = await addKeyCaller(server, scopes, mine);
    const foreign = await make({ workspace_id: workspace.id }, 'workspace/service');
    const organisation = await make();
    const body = { name: 'x', scopes: [scopes[0]] };
    const create = (path: string, extra: Record<string, unknown>) =>
      send('POST', `/v1/api-keys/${path}`, { body: { ...body, ...extra } });
    expect((await create('workspace/service', {})).status).toBe(200);
    expect((await create('workspace/service', { workspace_id: mine })).status).toBe(200);
    const named = await create('workspace/service', { workspace_id: workspace.slug });
    expect(named).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
    const unknown = await create('workspace/service', { workspace_id: 'ws-nowhere' });
    expect(unknown.body).toEqual(named.body);
    expect((await create('organisation/service', {})).status).toBe(403);
    for (const id of [foreign, organisation]) {
      expect((await send('GET', `/v1/api-keys/${id}`)).status).toBe(404);
      expect((await send('DELETE', `/v1/api-keys/${id}`)).status).toBe(404);
    }
    expect((await send('GET', `/v1/api-keys?workspace_id=${workspace.id}`)).status).toBe(403);
    const listed = await send('GET', '/v1/api-keys');
    expect(listed.body.total).toBe(3);
    expect(listed.body.data.map((row: { id: string }) => row.id)).toContain(own);
  });
});

describe('404 and 412', () => {
  it('returns the same 404 for unknown and foreign keys, and for foreign references', async () => {
    const id = await make({ workspace_id: workspace.id }, 'workspace/service');
    const tenant = await addTenant(server);
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const [method, body] of [['GET'], ['PUT', { name: 'x' }], ['DELETE']] as const) {
      const [foreign, missing, odd] = await Promise.all(
        [id, unknown, 'no-id'].map((key) => tenant.send(method, `/v2/api-keys/${key}`, { body })),
      );
      expect(foreign).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
      expect(foreign!.body).toEqual(missing!.body);
      expect(foreign!.body).toEqual(odd!.body);
    }
    const create = (body: Record<string, unknown>) =>
      tenant.send('POST', '/v2/api-keys/workspace/service', { body: { ...minimal, ...body } });
    expect((await create({ workspace_id: workspace.id })).status).toBe(404);
    const organisation = await create({ organisation_id: server.organisationId });
    expect(organisation.status).toBe(404);
    expect((await tenant.send('GET', `/v2/api-keys?ids=${id}`)).body.total).toBe(0);
    expect((await tenant.send('GET', `/v2/api-keys?workspace_id=${workspace.id}`)).status).toBe(
      404,
    );
    expect((await read(id)).name).toBe('bot');
  });

  it("returns 404 when the request names another workspace than the key's", async () => {
    const id = await make({ workspace_id: workspace.id }, 'workspace/service');
    const other = await makeWorkspace('Wrong');
    const at = (place: string) => `/v1/api-keys/${id}?workspace_id=${place}`;
    expect((await server.request('GET', at(other.id))).status).toBe(404);
    expect((await server.request('DELETE', at(other.slug))).status).toBe(404);
    expect((await server.request('GET', at(workspace.slug))).status).toBe(200);
  });

  it('returns 412 to an update and a delete from a stale version', async () => {
    const id = await make();
    const got = await server.request('GET', `/v1/api-keys/${id}`);
    const headers = { 'if-match': String(got.headers.etag) };
    const change = (name: string) =>
      server.request('PUT', `/v1/api-keys/${id}`, { body: { name }, headers });
    const both = await Promise.all([change('a'), change('b')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    const stale = await server.request('DELETE', `/v1/api-keys/${id}`, { headers });
    expect(stale).toMatchObject({ status: 412, body: { error: { code: 'AB07' } } });
  });
});

describe('secrets and audit rows', () => {
  it('shows a key value only in the create response, never in other responses, audit rows, logs or columns', async () => {
    const made = await post({ description: 'canary' });
    const { id, key } = made.body;
    await put(id, { name: 'still canary' });
    const answers = await Promise.all([
      server.request('GET', `/v1/api-keys/${id}`),
      server.request('GET', `/v1/api-keys?ids=${id}`),
      server.request('POST', '/v1/api-keys/organisation/service', {
        body: { ...minimal, key, scopes: 7 },
      }),
      server.request('DELETE', `/v1/api-keys/${id}`),
    ]);
    const { db } = server.database;
    const tables = await Promise.all([
      db.selectFrom('api_keys').selectAll().execute(),
      db.selectFrom('audit_log').selectAll().execute(),
      db.selectFrom('managed_resources').selectAll().execute(),
    ]);
    const seen = JSON.stringify([answers.map(({ body }) => body), tables]) + server.logLines;
    expect(seen).not.toContain(key);
    expect(seen).not.toContain(Buffer.from(key).toString('base64').slice(0, 40));
  });

  it('writes one audit row for each change, and none for a rejected one', async () => {
    const id = await make({ usage_limits: { credit_limit: 5 } });
    await put(id, { description: 'hidden' });
    const headers = { 'if-match': '"77"' };
    await server.request('PUT', `/v1/api-keys/${id}`, { body: { name: 'x' }, headers });
    await server.request('DELETE', `/v1/api-keys/${id}`);
    const rows = await listAudit(server, id);
    expect(rows.map(({ action, changes }) => [action, changes])).toEqual([
      ['create', { fields: ['name', 'scopes', 'usage_limits'] }],
      ['update', { fields: ['description'] }],
      ['delete', { name: 'bot' }],
    ]);
  });
});
