/** Verifies the usage-limit policy routes and their counters over HTTP. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertCounter } from '../../support/rows/usage-rows.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const base = '/v2/policies/usage-limits';
let server: TestServer;
let workspace: { id: string; slug: string };
beforeAll(async () => {
  server = await startTestServer();
  workspace = await makeWorkspace('Policies');
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeWorkspace(name: string): Promise<{ id: string; slug: string }> {
  const made = await server.request('POST', '/admin/v2/workspaces', { body: { name } });
  expect(made.status).toBe(200);
  return made.body;
}

function bodyOf(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    conditions: [{ key: 'metadata.team', value: '*' }],
    group_by: [{ key: 'metadata.team' }],
    type: 'cost',
    credit_limit: 10,
    workspace_id: workspace.id,
    ...changes,
  };
}

async function make(changes: Record<string, unknown> = {}): Promise<string> {
  const made = await server.request('POST', base, { body: bodyOf(changes) });
  expect(made.status).toBe(200);
  return made.body.id;
}

async function read(id: string, query = ''): Promise<Record<string, unknown>> {
  const got = await server.request('GET', `${base}/${id}${query}`);
  expect(got.status).toBe(200);
  return got.body;
}

/** Adds a counter to the current window of a new policy; returns its id. */
async function addEntity(policyId: string, valueKey: string, used: number): Promise<string> {
  const { db } = server.database;
  const policy = await db
    .selectFrom('usage_limit_policies')
    .select('window_start')
    .where('id', '=', policyId)
    .executeTakeFirstOrThrow();
  const subject = { organisationId: server.organisationId, kind: 'policy', id: policyId } as const;
  return insertCounter(db, subject, { windowStart: policy.window_start, used, valueKey });
}

describe('status 200', () => {
  it('creates a policy and returns its record on every mount, with values in the form that was sent', async () => {
    const conditions = [
      { value: 'text', key: 'api_key' },
      { key: 'model', value: ['@openai/*', 'x'], excludes: '@openai/gpt-4*' },
      { key: 'metadata.team', value: '*', excludes: ['a', 'b'] },
      { key: 'workspace_id', value: workspace.id },
    ];
    const body = bodyOf({
      name: 'Team budget',
      conditions,
      credit_limit: 12.5,
      alert_threshold: 10.25,
      periodic_reset: 'weekly',
      workspace_id: workspace.slug,
    });
    const made = await server.request('POST', base, { body });
    expect(made).toMatchObject({
      status: 200,
      body: { id: expect.any(String), object: 'usage-limits-policy' },
    });
    const expected = {
      ...body,
      id: made.body.id,
      description: null,
      organisation_id: server.organisationId,
      workspace_id: workspace.id,
      periodic_reset_days: null,
      next_usage_reset_at: '2027-01-11T00:00:00.000Z',
      last_reset_at: null,
      status: 'active',
      created_at: '2027-01-04T08:00:00.000Z',
      last_updated_at: '2027-01-04T08:00:00.000Z',
      object: 'usage-limits-policy',
      declared_in: null,
    };
    for (const mount of ['/v1', '/v2', '/admin/v2']) {
      const path = `${mount}/policies/usage-limits/${made.body.id}`;
      expect((await server.request('GET', path)).body).toEqual(expected);
    }
  });

  it('keeps absent fields, clears null fields, and does not change the current period', async () => {
    const id = await make({ description: 'keep', alert_threshold: 5, periodic_reset_days: 10 });
    const { next_usage_reset_at: next } = await read(id);
    server.clock.advance(86_400_000);
    const body = { alert_threshold: null, periodic_reset_days: 10, name: 'renamed' };
    for (const _ of [1, 2]) {
      const put = await server.request('PUT', `${base}/${id}`, { body });
      expect(put).toMatchObject({ status: 200, body: {} });
    }
    expect(await read(id)).toMatchObject({
      name: 'renamed',
      description: 'keep',
      alert_threshold: null,
      periodic_reset_days: 10,
      next_usage_reset_at: next,
    });
  });

  it('replaces one kind of period by the other, and removes it with null', async () => {
    const id = await make({
      periodic_reset_days: 10,
      next_usage_reset_at: '2027-03-01T12:00:00Z',
    });
    expect(await read(id)).toMatchObject({ next_usage_reset_at: '2027-03-01T00:00:00.000Z' });
    const put = (body: Record<string, unknown>) => server.request('PUT', `${base}/${id}`, { body });
    expect((await put({ periodic_reset: 'monthly', next_usage_reset_at: null })).status).toBe(200);
    expect(await read(id)).toMatchObject({
      periodic_reset: 'monthly',
      periodic_reset_days: null,
      next_usage_reset_at: '2027-02-01T00:00:00.000Z',
    });
    expect((await put({ periodic_reset: null })).status).toBe(200);
    expect(await read(id)).toMatchObject({ periodic_reset: null, next_usage_reset_at: null });
  });

  it('applies a new limit to its counters at once', async () => {
    const id = await make();
    await addEntity(id, 'a', 12_000_000);
    await addEntity(id, 'b', 5_000_000);
    const entities = (status: string) =>
      server.request('GET', `${base}/${id}/entities?status=${status}`);
    expect((await entities('exhausted')).body.total).toBe(1);
    await server.request('PUT', `${base}/${id}`, { body: { credit_limit: 20 } });
    expect((await entities('exhausted')).body.total).toBe(0);
    await server.request('PUT', `${base}/${id}`, { body: { credit_limit: 5 } });
    expect((await entities('exhausted')).body.total).toBe(2);
    const map = (await read(id, '?include_usage=true')).value_key_usage_map;
    expect(map).toEqual({
      a: {
        current_usage: 12,
        status: 'exhausted',
        is_threshold_alerts_sent: false,
        is_exhausted_alerts_sent: false,
      },
      b: {
        current_usage: 5,
        status: 'exhausted',
        is_threshold_alerts_sent: false,
        is_exhausted_alerts_sent: false,
      },
    });
  });

  it('lists the active policies of a workspace by type, and archived ones on request', async () => {
    const { id: place } = await makeWorkspace('Listed');
    const cost = await make({ workspace_id: place });
    server.clock.advance(1000);
    const tokens = await make({ workspace_id: place, type: 'tokens' });
    const list = async (query: string): Promise<string[]> => {
      const path = `${base}?workspace_id=${place}${query}`;
      const { body } = await server.request('GET', path);
      expect(body.total).toBe(body.data.length);
      return body.data.map((row: { id: string }) => row.id);
    };
    expect(await list('')).toEqual([tokens, cost]);
    expect(await list('&type=tokens')).toEqual([tokens]);
    await server.request('DELETE', `${base}/${cost}`);
    expect(await list('')).toEqual([tokens]);
    expect(await list('&status=archived')).toEqual([cost]);
  });

  it('archives on DELETE: hidden by default, listed with status=archived, no longer editable', async () => {
    const id = await make();
    const entity = await addEntity(id, 'a', 1);
    const gone = await server.request('DELETE', `${base}/${id}`);
    expect(gone).toMatchObject({ status: 200, body: {} });
    const later = await Promise.all([
      server.request('GET', `${base}/${id}`),
      server.request('PUT', `${base}/${id}`, { body: { credit_limit: 5 } }),
      server.request('DELETE', `${base}/${id}`),
      server.request('GET', `${base}/${id}/entities`),
      server.request('PUT', `${base}/${id}/entities/${entity}/reset`),
    ]);
    expect(later.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect(await read(id, '?status=archived')).toMatchObject({ status: 'archived' });
  });
});

describe('entities with 200', () => {
  it('pages through counters with exactly id, value_key and current_usage', async () => {
    const id = await make();
    for (const [key, used] of [
      ['red_1', 1_500_000],
      ['blue%', 2],
      ['red_2', 0],
    ] as const) {
      server.clock.advance(1000);
      await addEntity(id, key, used);
    }
    const list = (query: string) => server.request('GET', `${base}/${id}/entities?${query}`);
    const all = await list('');
    const data: Record<string, unknown>[] = all.body.data;
    expect(all.body).toMatchObject({ object: 'list', total: 3 });
    expect(data.map(({ id }) => id)).toEqual(data.map(({ id }) => id).toSorted());
    expect(
      data.toSorted((one, other) => Number(other.current_usage) - Number(one.current_usage)),
    ).toEqual([
      { id: expect.any(String), value_key: 'red_1', current_usage: 1.5 },
      { id: expect.any(String), value_key: 'blue%', current_usage: 0.000002 },
      { id: expect.any(String), value_key: 'red_2', current_usage: 0 },
    ]);
    const second = await list('page_size=1&current_page=1');
    expect(second.body).toEqual({ object: 'list', total: 3, data: [data[1]] });
    expect((await list('search=red_')).body.total).toBe(2);
    expect((await list('search=%25')).body.total).toBe(1);
  });

  it('pages through thousands of counters, each once, at constant cost', async () => {
    const id = await make();
    const subject = { organisationId: server.organisationId, kind: 'policy', id } as const;
    const windowStart = server.clock.now();
    await Promise.all(
      Array.from({ length: 1_200 }, (_, at) =>
        insertCounter(server.database.db, subject, { windowStart, used: at, valueKey: `v${at}` }),
      ),
    );
    const list = async (query: string) =>
      (await server.request('GET', `${base}/${id}/entities?${query}`)).body;
    const found: string[] = [];
    for (let page = 0; page < 13; page += 1) {
      const { data, total } = await list(`page_size=100&current_page=${page}`);
      expect(total).toBe(1_200);
      found.push(...data.map((one: { id: string }) => one.id));
    }
    expect(found).toEqual([...new Set(found)].toSorted());
    expect(found).toHaveLength(1_200);
    const [tenth, last] = [
      await list('page_size=100&current_page=10'),
      await list('page_size=100&current_page=11'),
    ];
    expect([...tenth.data, ...last.data].map(({ id }) => id)).toEqual(found.slice(1_000));
    expect((await list('search=v11&page_size=100')).total).toBe(111);
  });

  it('resets one counter by id or by value, and records it in the audit log', async () => {
    const id = await make();
    const [a, b] = [await addEntity(id, 'a', 12_000_000), await addEntity(id, 'b', 12_000_000)];
    const reset = await server.request('PUT', `${base}/${id}/entities/${a}/reset`);
    expect(reset).toMatchObject({ status: 200, body: {} });
    const usage = async (): Promise<unknown> =>
      Object.entries((await read(id, '?include_usage=true')).value_key_usage_map as object).map(
        ([key, { current_usage, status }]) => [key, current_usage, status],
      );
    expect(await usage()).toEqual(
      expect.arrayContaining([
        ['a', 0, 'active'],
        ['b', 12, 'exhausted'],
      ]),
    );
    const body = { reset_usage_for_value: 'b' };
    expect((await server.request('PUT', `${base}/${id}`, { body })).status).toBe(200);
    expect(await usage()).toEqual(expect.arrayContaining([['b', 0, 'active']]));
    const rows = await listAudit(server, id);
    expect(rows.map(({ action, changes }) => [action, changes]).slice(1)).toEqual([
      ['reset', { entity: a }],
      ['update', { fields: ['reset_usage_for_value'] }],
    ]);
    expect(b).not.toBe(a);
  });
});

describe('windows', () => {
  const usageOf = async (id: string): Promise<unknown> =>
    (await read(id, '?include_usage=true')).value_key_usage_map;

  it('begins empty at its boundary before the job runs, and counters keep their ids', async () => {
    const id = await make({ periodic_reset_days: 2 });
    const entity = await addEntity(id, 'a', 12_000_000);
    const { next_usage_reset_at: boundary } = await read(id);
    server.clock.set(Date.parse(String(boundary)));
    expect(await usageOf(id)).toEqual({});
    expect(await read(id)).toMatchObject({
      last_reset_at: boundary,
      next_usage_reset_at: new Date(server.clock.now() + 2 * 86_400_000).toISOString(),
    });
    const reset = await server.request('PUT', `${base}/${id}/entities/${entity}/reset`);
    expect(reset.status).toBe(404);
    expect(await server.app.jobs.runNow('reset-usage')).toMatchObject({ state: 'done' });
    expect(await addEntity(id, 'a', 1_000_000)).toBe(entity);
    expect(await usageOf(id)).toMatchObject({ a: { current_usage: 1, status: 'active' } });
  });

  it('is audited as one reset when an update advances it before the job does', async () => {
    const id = await make({ periodic_reset_days: 2 });
    const { next_usage_reset_at: boundary } = await read(id);
    server.clock.set(Date.parse(String(boundary)));
    for (const name of ['one', 'two']) {
      expect((await server.request('PUT', `${base}/${id}`, { body: { name } })).status).toBe(200);
    }
    await server.app.jobs.runNow('reset-usage');
    const rows = await listAudit(server, id);
    expect(rows.map(({ action }) => action)).toEqual(['create', 'reset', 'update', 'update']);
    expect(rows[1]).toMatchObject({ request_id: rows[2]!.request_id });
    expect(rows[1]!.changes).toEqual({
      boundary_at: Date.parse(String(boundary)),
      window_start: Date.parse(String(boundary)),
      next_reset_at: Date.parse(String(boundary)) + 2 * 86_400_000,
      skipped_windows: 0,
    });
  });

  it('begins again when the counted unit changes, which must be an integer', async () => {
    const id = await make({ credit_limit: 2.5 });
    await addEntity(id, 'a', 2_500_000);
    const put = (body: object) => server.request('PUT', `${base}/${id}`, { body });
    expect(await put({ type: 'tokens' })).toMatchObject({
      status: 400,
      body: { error: { param: 'credit_limit' } },
    });
    expect((await put({ type: 'tokens', credit_limit: 2500 })).status).toBe(200);
    expect(await usageOf(id)).toEqual({});
    await addEntity(id, 'a', 2500);
    expect(await usageOf(id)).toMatchObject({ a: { current_usage: 2500, status: 'exhausted' } });
  });
});

describe('400', () => {
  it.each([
    ['conditions', { conditions: [] }],
    ['conditions[0].key', { conditions: [{ key: 'colour', value: 'x' }] }],
    ['conditions[0].value', { conditions: [{ key: 'api_key', value: [] }] }],
    ['conditions[0].excludes', { conditions: [{ key: 'model', value: '*', excludes: true }] }],
    ['conditions[0].excludes', { conditions: [{ key: 'model', value: '*', excludes: [] }] }],
    [
      'conditions[0].excludes[1]',
      { conditions: [{ key: 'model', value: '*', excludes: ['a', 1] }] },
    ],
    ['conditions[0].excludes', { conditions: [{ key: 'model', value: 'x', excludes: '*' }] }],
    ['group_by', { group_by: [] }],
    ['type', { type: 'joules' }],
    ['credit_limit', { credit_limit: -1 }],
    ['credit_limit', { credit_limit: 0.1 + 0.2 }],
    ['credit_limit', { credit_limit: '5' }],
    ['alert_threshold', { alert_threshold: 10.01 }],
    ['periodic_reset_days', { periodic_reset: 'weekly', periodic_reset_days: 7 }],
    ['periodic_reset_days', { periodic_reset_days: 366 }],
    [
      'next_usage_reset_at',
      { periodic_reset: 'weekly', next_usage_reset_at: '2026-01-01T00:00:00Z' },
    ],
    ['workspace_id', { workspace_id: undefined }],
    ['description', { description: 'x'.repeat(501) }],
  ])('names %s for %j', async (param, changes) => {
    const made = await server.request('POST', base, { body: bodyOf(changes) });
    expect(made).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it('validates an update by the resulting policy', async () => {
    const id = await make({ alert_threshold: 8 });
    const put = (body: Record<string, unknown>) => server.request('PUT', `${base}/${id}`, { body });
    expect(await put({ credit_limit: 7 })).toMatchObject({
      status: 400,
      body: { error: { param: 'alert_threshold' } },
    });
    expect(await put({ alert_threshold: 11 })).toMatchObject({ status: 400 });
    expect(await put({ next_usage_reset_at: '2028-01-01T00:00:00Z' })).toMatchObject({
      status: 400,
      body: { error: { param: 'next_usage_reset_at' } },
    });
    expect(await put({ current_usage: 0 })).toMatchObject({ status: 400 });
    expect((await put({})).body.error.message).toContain('No update fields provided');
    expect((await put({ credit_limit: 7, alert_threshold: 7 })).status).toBe(200);
  });

  it.each(['page_size=0', 'page_size=101', 'current_page=-1', 'page_size=1e1', 'status=archived'])(
    'rejects the entities query %s',
    async (query) => {
      const id = await make();
      expect((await server.request('GET', `${base}/${id}/entities?${query}`)).status).toBe(400);
    },
  );
});

describe('401, 403, 404 and 412', () => {
  it('requires a credential and the scope', async () => {
    const id = await make();
    expect((await server.request('GET', base, { auth: 'none' })).status).toBe(401);
    expect((await server.request('GET', base, { auth: 'key' })).status).toBe(401);
    const { send } = await addKeyCaller(server, ['policies.list']);
    const path = '/v1/policies/usage-limits';
    expect((await send('GET', path)).status).toBe(200);
    const refused = await Promise.all([
      send('GET', `${path}/${id}`),
      send('GET', `${path}/${id}/entities`),
      send('POST', path, { body: bodyOf() }),
      send('PUT', `${path}/${id}`, { body: { credit_limit: 1 } }),
      send('PUT', `${path}/${id}/entities/${id}/reset`),
      send('DELETE', `${path}/${id}`),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(Array(6).fill(403));
  });

  it('confines a workspace key to its workspace, which it need not name', async () => {
    const { id: mine } = await makeWorkspace('Mine');
    const foreign = await make();
    const scopes = ['create', 'read', 'list', 'update'].map((verb) => `policies.${verb}`);
    const { send } = await addKeyCaller(server, scopes, mine);
    const path = '/v1/policies/usage-limits';
    const made = await send('POST', path, { body: bodyOf({ workspace_id: undefined }) });
    expect(made.status).toBe(200);
    expect(await read(made.body.id)).toMatchObject({ workspace_id: mine });
    expect((await send('POST', path, { body: bodyOf() })).status).toBe(403);
    expect((await send('GET', path)).body).toMatchObject({
      total: 1,
      data: [{ id: made.body.id }],
    });
    expect((await send('GET', `${path}/${foreign}`)).status).toBe(404);
    expect((await send('GET', `${path}/${foreign}/entities`)).status).toBe(404);
    const put = await send('PUT', `${path}/${foreign}`, { body: { credit_limit: 1 } });
    expect(put.status).toBe(404);
  });

  it('returns the same 404 for unknown and foreign policies and counters', async () => {
    const id = await make();
    const entity = await addEntity(id, 'a', 5);
    const tenant = await addTenant(server);
    const unknown = '00000000-0000-4000-8000-000000000000';
    const operations = [
      ['GET', ''],
      ['PUT', '', { credit_limit: 1 }],
      ['DELETE', ''],
      ['GET', '/entities'],
      ['PUT', `/entities/${entity}/reset`],
    ] as const;
    for (const [method, suffix, body] of operations) {
      const [foreign, missing] = await Promise.all(
        [id, unknown].map((policy) => tenant.send(method, `${base}/${policy}${suffix}`, { body })),
      );
      expect(foreign).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
      expect(foreign!.body).toEqual(missing!.body);
    }
    const other = await make();
    const crossed = await server.request('PUT', `${base}/${other}/entities/${entity}/reset`);
    expect(crossed.status).toBe(404);
  });

  it('returns 412 to an update from a stale version', async () => {
    const id = await make();
    const got = await server.request('GET', `${base}/${id}`);
    const headers = { 'if-match': String(got.headers.etag) };
    const change = (credit_limit: number) =>
      server.request('PUT', `${base}/${id}`, { body: { credit_limit }, headers });
    const both = await Promise.all([change(1), change(2)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    expect((await server.request('DELETE', `${base}/${id}`, { headers })).status).toBe(412);
  });
});
