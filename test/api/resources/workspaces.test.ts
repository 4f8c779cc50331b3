/** Verifies the workspace routes over HTTP: fields, names, limits, isolation and deletion. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endedWindows } from '../../support/rows/usage-rows.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const base = '/admin/v2/workspaces';
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function make(body: Record<string, unknown> = {}): Promise<{ id: string; slug: string }> {
  const made = await server.request('POST', base, { body: { name: 'Support', ...body } });
  expect(made.status).toBe(200);
  return made.body;
}

async function read(id: string, query = ''): Promise<Record<string, unknown>> {
  const got = await server.request('GET', `${base}/${id}${query}`);
  expect(got.status).toBe(200);
  return got.body;
}

describe('status 200', () => {
  it('takes a budget in a list or alone, and returns it in a list', async () => {
    const budget = { type: 'cost', credit_limit: 500 };
    const made = await make({ usage_limits: budget });
    expect((await read(made.id)).usage_limits).toEqual([budget]);
    const body = { usage_limits: { ...budget, credit_limit: 0 } };
    const refused = await server.request('PUT', `${base}/${made.id}`, { body });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { param: 'usage_limits.credit_limit' } },
    });
  });

  it('creates a workspace with the same record by id and by slug on every mount', async () => {
    const made = await make({
      description: 'For support',
      defaults: { metadata: { team: 'cx' } },
      usage_limits: [{ type: 'cost', credit_limit: 500, periodic_reset: 'monthly' }],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 60 }],
    });
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      slug: expect.stringMatching(/^ws-suppor-[0-9a-f]{6}$/),
      name: 'Support',
      icon: null,
      description: 'For support',
      created_at: '2027-01-04T08:00:00.000Z',
      last_updated_at: '2027-01-04T08:00:00.000Z',
      defaults: { metadata: { team: 'cx' } },
      usage_limits: [{ type: 'cost', credit_limit: 500, periodic_reset: 'monthly' }],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 60 }],
      scope_name: made.slug,
      users: [],
      object: 'workspace',
    });
    const paths = [
      `/v1/admin/workspaces/${made.id}`,
      `/v2/workspaces/${made.slug}`,
      `${base}/${made.id.toUpperCase()}`,
    ];
    const answers = await Promise.all(paths.map((path) => server.request('GET', path)));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ ...made, status: 'active', is_default: 0, icon: null });
    }
  });

  it('shows the icon before the name, accepts it in both forms, and clears it with ""', async () => {
    const { id } = await make({ name: 'Ops', icon: '🚀' });
    expect(await read(id)).toMatchObject({ name: '🚀 Ops', icon: '🚀' });
    expect(await read(id, '?name_format=plain')).toMatchObject({ name: 'Ops' });
    await server.request('PUT', `${base}/${id}`, { body: { name: '🚀 Ops' } });
    expect(await read(id)).toMatchObject({ name: '🚀 Ops' });
    await server.request('PUT', `${base}/${id}`, { body: { icon: '' } });
    expect(await read(id)).toMatchObject({ name: 'Ops', icon: null });
    const emoji = await make({ name: '🎉 Party' });
    expect(await read(emoji.id)).toMatchObject({ name: '🎉 Party', icon: null });
  });

  it('keeps absent fields, clears null fields, merges defaults by key, and returns {} to a PUT', async () => {
    const { id } = await make({
      description: 'keep me',
      defaults: { metadata: { a: '1' } },
      usage_limits: [{ credit_limit: 10, periodic_reset: null }],
    });
    const limits = await read(id);
    expect(limits.usage_limits).toEqual([{ credit_limit: 10, periodic_reset: null }]);
    const guardrail = await server.request('POST', '/admin/v2/guardrails', {
      body: {
        name: 'no regex',
        checks: [{ id: 'default.regexMatch', parameters: { rule: 'x' } }],
        actions: { deny: true },
      },
    });
    expect(guardrail.status).toBe(200);
    const { slug } = guardrail.body;
    const body = { usage_limits: null, defaults: { input_guardrails: [slug] } };
    const put = await server.request('PUT', `${base}/${id}`, { body });
    expect(put).toMatchObject({ status: 200, body: {} });
    const again = await server.request('PUT', `${base}/${id}`, { body });
    expect(again.status).toBe(200);
    expect(await read(id)).toMatchObject({
      description: 'keep me',
      usage_limits: [],
      defaults: { metadata: { a: '1' }, input_guardrails: [slug] },
    });
  });

  it('lists active ones newest first with a total over all pages, and archived ones on request', async () => {
    const first = await make({ name: 'Listed one' });
    server.clock.advance(1000);
    const second = await make({ name: 'listed two' });
    await server.request('DELETE', `${base}/${first.id}`, { body: { name: 'Listed one' } });
    const active = await server.request('GET', `${base}?name=LISTED&page_size=1`);
    expect(active.body).toMatchObject({ object: 'list', total: 1, data: [{ id: second.id }] });
    const both = `${base}?name=listed&status=active,%20archived`;
    const pages = await Promise.all(
      [0, 1, 2].map((page) => server.request('GET', `${both}&page_size=1&current_page=${page}`)),
    );
    expect(pages.map(({ body }) => body.total)).toEqual([2, 2, 2]);
    expect(pages.flatMap(({ body }) => body.data.map((row: { id: string }) => row.id))).toEqual([
      second.id,
      first.id,
    ]);
  });

  it('finds a whole name exactly, and not with a trailing space', async () => {
    const { id } = await make({ name: 'Exactly' });
    const found = async (name: string) =>
      (await server.request('GET', `${base}?exact_name=${encodeURIComponent(name)}`)).body;
    expect(await found('Exactly')).toMatchObject({ total: 1, data: [{ id }] });
    for (const other of ['Exactly ', ' Exactly', 'exactly']) {
      expect((await found(other)).total).toBe(0);
    }
  });

  it('finds a name with and without its icon', async () => {
    const { id } = await make({ name: 'Rocketry', icon: '🚀' });
    const found = async (query: string) =>
      (await server.request('GET', `${base}?${new URLSearchParams(query)}`)).body;
    for (const query of ['exact_name=🚀 Rocketry', 'exact_name=Rocketry', 'name=🚀 rock']) {
      expect(await found(query)).toMatchObject({ total: 1, data: [{ id, name: '🚀 Rocketry' }] });
    }
    for (const query of ['exact_name=🚀', 'exact_name=🚀 Rocketry ', 'name=rocketry 🚀']) {
      expect((await found(query)).total).toBe(0);
    }
  });

  it('archives on DELETE: hidden by id and slug, listed with status=archived', async () => {
    const { id, slug } = await make({ name: 'Doomed' });
    const gone = await server.request('DELETE', `${base}/${slug}`, { body: { name: 'Doomed' } });
    expect(gone).toMatchObject({ status: 200, body: {} });
    for (const reference of [id, slug]) {
      const got = await server.request('GET', `${base}/${reference}`);
      expect(got).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
    }
    const archived = await server.request('GET', `${base}?status=archived&exact_name=Doomed`);
    expect(archived.body.data).toMatchObject([{ id, status: 'archived' }]);
  });

  it('deletes all contents with force_delete, each with its audit row', async () => {
    const { id } = await make({ name: 'Full' });
    const inside = await fill(id);
    const blocked = await server.request('DELETE', `${base}/${id}`, { body: { name: 'Full' } });
    expect(blocked).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    expect(blocked.body.error.message).toContain('1 ApiKey');
    const body = { name: 'Full', force_delete: true };
    expect((await server.request('DELETE', `${base}/${id}`, { body })).status).toBe(200);
    for (const path of Object.values(inside)) {
      expect((await server.request('GET', path)).status).toBe(404);
      const resource = path.split('/').at(-1)!;
      expect((await listAudit(server, resource)).at(-1)).toMatchObject({
        action: 'delete',
        changes: { with_workspace: id },
      });
    }
    const { db } = server.database;
    const budgets = await db.selectFrom('usage_budgets').selectAll().execute();
    expect(budgets.filter((row) => row.workspace_id === id)).toEqual([]);
    expect(await db.selectFrom('usage_counters').selectAll().execute()).toEqual([]);
    // The policy is archived and its window ended, so that its counters are deleted later.
    const policy = inside.policy.split('/').at(-1)!;
    expect(await endedWindows(db)).toMatchObject([{ subject_kind: 'policy', subject_id: policy }]);
  });

  it('is kept while an organisation key uses one of its configs', async () => {
    const { id } = await make({ name: 'Pinned' });
    const { config } = await fill(id);
    const made = await server.request('POST', '/v1/api-keys/organisation/service', {
      body: {
        name: 'outsider',
        scopes: ['completions.write'],
        defaults: { config_id: config.split('/').at(-1) },
      },
    });
    const path = `${base}/${id}`;
    const body = { force_delete: true };
    const stored = await server.request('DELETE', path, { body });
    expect(stored).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    expect(stored.body.error.message).toContain('outsider');
    await server.request('DELETE', `/v1/api-keys/${made.body.id}`);
    expect((await server.request('DELETE', path, { body })).status).toBe(200);
  });
});

/** Creates a key, a config and a policy; returns the path of each. */
async function fill(workspace: string): Promise<{ key: string; config: string; policy: string }> {
  const post = async (path: string, body: Record<string, unknown>): Promise<string> => {
    const made = await server.request('POST', path, {
      body: { ...body, workspace_id: workspace },
    });
    expect(made.status).toBe(200);
    return made.body.id;
  };
  const key = await post('/v1/api-keys/workspace/service', {
    name: 'k',
    scopes: ['completions.write'],
    usage_limits: { credit_limit: 5 },
  });
  const config = await post('/v2/configs', { name: 'c', config: { retry: { attempts: 1 } } });
  const policy = await post('/v2/policies/usage-limits', {
    conditions: [{ key: 'api_key', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'cost',
    credit_limit: 5,
  });
  return {
    key: `/v1/api-keys/${key}`,
    config: `/v2/configs/${config}`,
    policy: `/v2/policies/usage-limits/${policy}`,
  };
}

describe('400', () => {
  it.each([
    ['name', {}],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(256) }],
    ['usage_limits', { name: 'x', usage_limits: [{ credit_limit: 1 }, { credit_limit: 2 }] }],
    ['usage_limits[0].credit_limit', { name: 'x', usage_limits: [{ credit_limit: 0.5 }] }],
    ['usage_limits[0].credit_limit', { name: 'x', usage_limits: [{ credit_limit: 0 }] }],
    [
      'usage_limits[0].next_usage_reset_at',
      {
        name: 'x',
        usage_limits: [
          {
            credit_limit: 1,
            periodic_reset: 'weekly',
            next_usage_reset_at: '2026-01-01T00:00:00Z',
          },
        ],
      },
    ],
    [
      'rate_limits[0].unit',
      { name: 'x', rate_limits: [{ type: 'requests', unit: 'x', value: 1 }] },
    ],
    ['defaults.metadata.a', { name: 'x', defaults: { metadata: { a: 1 } } }],
  ])('names %s for %j', async (param, body) => {
    const made = await server.request('POST', base, { body });
    expect(made).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it('rejects an update without fields or with an unknown guardrail', async () => {
    const { id } = await make();
    const empty = await server.request('PUT', `${base}/${id}`, { body: {} });
    expect(empty.body.error.message).toContain('No update fields provided');
    const body = { defaults: { output_guardrails: ['pg-none-000000'] } };
    const unknown = await server.request('PUT', `${base}/${id}`, { body });
    expect(unknown).toMatchObject({
      status: 400,
      body: { error: { param: 'defaults.output_guardrails' } },
    });
  });

  it('rejects server-set fields on the admin planes, and drops them on v1', async () => {
    const { id } = await make();
    const body = { name: 'still', status: 'archived', is_default: 1 };
    expect((await server.request('PUT', `${base}/${id}`, { body })).status).toBe(400);
    const v1 = await server.request('PUT', `/v1/admin/workspaces/${id}`, { body });
    expect(v1.status).toBe(200);
    expect(await read(id)).toMatchObject({ name: 'still', status: 'active', is_default: 0 });
  });

  it('rejects a DELETE with a wrong name, and accepts the correct one or none', async () => {
    for (const body of [undefined, {}, { name: 'Careful' }, { name: '🔒 Careful' }]) {
      const path = `${base}/${(await make({ name: 'Careful', icon: '🔒' })).id}`;
      const refused = await server.request('DELETE', path, { body: { name: 'careful' } });
      expect(refused).toMatchObject({ status: 400, body: { error: { param: 'name' } } });
      expect((await server.request('DELETE', path, { body })).status).toBe(200);
    }
  });

  it.each(['page_size=0', 'page_size=101', 'page_size=1e1', 'current_page=-1', 'status=gone'])(
    'rejects the list query %s',
    async (query) => {
      expect((await server.request('GET', `${base}?${query}`)).status).toBe(400);
    },
  );
});

describe('401 and 403', () => {
  it('requires a credential, and accepts a key on v1 only', async () => {
    expect((await server.request('GET', base, { auth: 'none' })).status).toBe(401);
    expect((await server.request('GET', base, { auth: 'key' })).status).toBe(401);
    const v1 = await server.request('GET', '/v1/admin/workspaces', { auth: 'key' });
    expect(v1.status).toBe(200);
  });

  it('requires the scope of each operation', async () => {
    const { id } = await make();
    const caller = await addKeyCaller(server, ['workspaces.list']);
    const path = `/v1/admin/workspaces`;
    expect((await caller.send('GET', path)).status).toBe(200);
    expect((await caller.send('GET', `${path}/${id}`)).status).toBe(403);
    expect((await caller.send('POST', path, { body: { name: 'x' } })).status).toBe(403);
    expect((await caller.send('PUT', `${path}/${id}`, { body: { name: 'x' } })).status).toBe(403);
    expect((await caller.send('DELETE', `${path}/${id}`)).status).toBe(403);
  });

  it('confines a workspace key to its own workspace', async () => {
    const mine = await make({ name: 'Mine' });
    const other = await make({ name: 'Other' });
    const scopes = ['workspaces.read', 'workspaces.list', 'workspaces.create', 'workspaces.update'];
    const { send } = await addKeyCaller(server, scopes, mine.id);
    const path = '/v1/admin/workspaces';
    expect((await send('GET', path)).body).toMatchObject({ total: 1, data: [{ id: mine.id }] });
    expect((await send('GET', `${path}/${mine.slug}`)).status).toBe(200);
    expect((await send('GET', `${path}/${other.id}`)).status).toBe(404);
    const put = await send('PUT', `${path}/${other.slug}`, { body: { name: 'x' } });
    expect(put.status).toBe(404);
    expect((await send('POST', path, { body: { name: 'x' } })).status).toBe(403);
  });
});

describe('404 and 412', () => {
  it('returns the same 404 for unknown and foreign workspaces on every operation', async () => {
    const { id, slug } = await make({ name: 'Private' });
    const tenant = await addTenant(server);
    const unknown = '00000000-0000-4000-8000-000000000000';
    const operations = [
      ['GET', undefined],
      ['PUT', { name: 'x' }],
      ['DELETE', { name: 'Private' }],
    ] as const;
    for (const [method, body] of operations) {
      const answers = await Promise.all(
        [id, slug, unknown, "'--", 'ß'].map((reference) =>
          tenant.send(method, `${base}/${encodeURIComponent(reference)}`, { body }),
        ),
      );
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
        expect(answer.body).toEqual(answers[0]!.body);
      }
    }
    expect((await tenant.send('GET', `${base}?status=active,%20archived`)).body.total).toBe(0);
  });

  it('accepts one of several concurrent updates of the same version', async () => {
    const { id } = await make();
    const got = await server.request('GET', `${base}/${id}`);
    const headers = { 'if-match': String(got.headers.etag) };
    const puts = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        server.request('PUT', `${base}/${id}`, { body: { name: `n${at}` }, headers }),
      ),
    );
    expect(puts.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(412)]);
    const late = await server.request('DELETE', `${base}/${id}`, { body: { name: 'x' }, headers });
    expect(late.status).toBe(400);
  });
});

describe('audit rows', () => {
  it('contains one row for each change, with names of fields and no values', async () => {
    const { id } = await make({ description: 'confidential' });
    await server.request('PUT', `${base}/${id}`, { body: { description: 'hidden', icon: 'x' } });
    await server.request('DELETE', `${base}/${id}`, { body: { name: 'Support' } });
    const rows = await listAudit(server, id);
    expect(rows.map(({ action, changes }) => [action, changes])).toEqual([
      ['create', { fields: ['name', 'description'] }],
      ['update', { fields: ['icon', 'description'] }],
      ['delete', { name: 'Support', contents: 0 }],
    ]);
  });

  it('keeps a request id of 128 characters, and replaces a longer one', async () => {
    const answers = [128, 129, 4000].map(async (length) => {
      const headers = { 'x-request-id': 'r'.repeat(length) };
      return server.request('POST', base, { body: { name: `r${length}` }, headers });
    });
    const made = await Promise.all(answers);
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    const ids = made.map(({ headers }) => String(headers['x-request-id']));
    expect(ids.map((id) => id.length)).toEqual([128, 36, 36]);
    const rows = await Promise.all(made.map(({ body }) => listAudit(server, body.id)));
    expect(rows.map(([row]) => row?.request_id)).toEqual(ids);
  });

  it('is not written for a rejected change', async () => {
    const { id } = await make();
    const headers = { 'if-match': '"99"' };
    const stale = await server.request('PUT', `${base}/${id}`, { body: { name: 'x' }, headers });
    expect(stale.status).toBe(412);
    expect(await listAudit(server, id)).toHaveLength(1);
  });
});

describe('the guardrails of a workspace', () => {
  const addGuardrail = async (name: string, workspace_id?: string) => {
    const checks = [{ id: 'default.wordCount', parameters: { maxWords: 9 } }];
    const body = { name, checks, actions: { deny: true }, workspace_id };
    return (await server.request('POST', '/v2/guardrails', { body })).body as { slug: string };
  };
  const call = async (method: string, path: string, tag: string | null, body?: object) => {
    const headers: Record<string, string> = tag === null ? {} : { 'if-match': tag };
    const answer = await server.request(method, `${base}/${path}`, { body, headers });
    return [answer.status, answer.headers.etag] as const;
  };

  it('equals the two lists of its defaults, leaves other defaults unchanged, and is cleared by null, [] and DELETE', async () => {
    const { id } = await make({ defaults: { metadata: { a: '1' } } });
    const { slug } = await addGuardrail('ours', id);
    const path = `${id}/guardrails`;
    const readReported = async () => (await server.request('GET', `${base}/${path}`)).body;
    const empty = {
      id,
      input_guardrails: [],
      output_guardrails: [],
      mcp_input_guardrails: [],
      mcp_output_guardrails: [],
    };
    expect(await readReported()).toEqual(empty);
    const both = { input_guardrails: [slug], output_guardrails: [slug] };
    expect((await call('PUT', path, null, both))[0]).toBe(200);
    expect((await read(id)).defaults).toEqual({ metadata: { a: '1' }, ...both });
    expect((await call('PUT', path, null, { input_guardrails: [] }))[0]).toBe(200);
    expect(await readReported()).toEqual({ ...empty, output_guardrails: [slug] });
    expect((await call('PUT', path, null, { output_guardrails: null }))[0]).toBe(200);
    expect((await read(id)).defaults).toEqual({ metadata: { a: '1' } });
    await call('PUT', path, null, both);
    expect((await call('DELETE', path, null))[0]).toBe(200);
    expect((await read(id)).defaults).toEqual({ metadata: { a: '1' } });
    expect((await call('DELETE', path, null))[0]).toBe(200);
  });

  it('is rejected when it belongs elsewhere, and to credentials of another workspace', async () => {
    const [one, other] = [await make(), await make()];
    const { slug } = await addGuardrail('theirs', other.id);
    const body = { input_guardrails: [slug] };
    expect((await call('PUT', `${one.id}/guardrails`, null, body))[0]).toBe(400);
    const tenant = await addTenant(server, 'guarded');
    const path = `/workspaces/${other.id}/guardrails`;
    expect((await tenant.send('PUT', `/v2${path}`, { body })).status).toBe(404);
    const bound = await addKeyCaller(server, ['workspaces.read', 'workspaces.update'], one.id);
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const sent = method === 'PUT' ? { body } : {};
      expect([method, (await bound.send(method, `/v1${path}`, sent)).status]).toEqual([
        method,
        404,
      ]);
    }
  });

  it('has a version of its own, while other updates accept any version since their last change', async () => {
    const { id } = await make();
    const { slug } = await addGuardrail('versioned');
    const path = `${id}/guardrails`;
    const tags = async () => [(await call('GET', id, null))[1], (await call('GET', path, null))[1]];
    expect(await tags()).toEqual(['"1"', '"1"']);
    const named = { input_guardrails: [slug] };
    expect((await call('PUT', path, '"1"', named))[0]).toBe(200);
    expect(await tags()).toEqual(['"2"', '"2"']);
    // A client with an old version may not change the guardrails, and may change everything else.
    const stale = { description: 'a', defaults: { input_guardrails: null } };
    expect((await call('PUT', id, '"1"', stale))[0]).toBe(412);
    expect((await call('PUT', id, '"1"', { defaults: null }))[0]).toBe(412);
    expect((await call('PUT', id, '"1"', { description: 'a' }))[0]).toBe(200);
    expect(await tags()).toEqual(['"3"', '"2"']);
    expect((await call('PUT', id, '"1"', { description: 'b' }))[0]).toBe(412);
    expect((await call('PUT', id, '"2"', { description: 'b' }))[0]).toBe(412);
    expect((await call('PUT', path, '"1"', { input_guardrails: null }))[0]).toBe(412);
    expect((await call('DELETE', path, '"1"'))[0]).toBe(412);
    expect((await call('PUT', id, '"3"', { defaults: { input_guardrails: null } }))[0]).toBe(200);
    expect(await tags()).toEqual(['"4"', '"4"']);
    expect((await call('PUT', path, '"2"', named))[0]).toBe(412);
    expect((await call('PUT', path, '"4"', named))[0]).toBe(200);
    expect((await call('DELETE', id, '"2"'))[0]).toBe(412);
    expect((await call('DELETE', id, '"4"'))[0]).toBe(200);
  });

  it('accepts one of fifty concurrent updates that each add one guardrail', async () => {
    const { id } = await make();
    const { slug } = await addGuardrail('raced');
    const body = { input_guardrails: [slug] };
    const all = Array.from({ length: 50 }, (_, at) =>
      at % 2 === 0
        ? call('PUT', `${id}/guardrails`, '"1"', body)
        : call('PUT', id, '"1"', { defaults: body }),
    );
    const statuses = (await Promise.all(all)).map(([status]) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 412)).toHaveLength(49);
  });
});
