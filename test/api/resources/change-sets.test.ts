/**
 * Verifies change sets: each change follows the rules of its single request, in order, and an
 * atomic set is applied completely or not at all.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchToken, startTestServer, type TestServer } from '../../support/server/server.ts';
import { addServiceAccount, addTenant, listAudit, type Send } from '../../support/server/tenant.ts';
import { endLeases, leaseHeaders } from '../../support/sync/lease.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

type Change = Record<string, unknown>;

const path = '/admin/v2/gatewright/changes';
const send = (
  changes: readonly Change[],
  more: object = {},
  headers = {},
  by: Send = server.request,
) => by('POST', path, { body: { changes, ...more }, headers });
const together = (changes: readonly Change[], headers = {}) =>
  send(changes, { mode: 'atomic' }, headers);

const config = (name: string, more: Change = {}): Change => ({
  kind: 'Config',
  action: 'create',
  body: { name, config: { retry: { attempts: 1 } } },
  ...more,
});
const statuses = ({ body }: { body: { data: { status: number }[] } }): number[] =>
  body.data.map(({ status }) => status);
const made = async (name: string): Promise<string> =>
  (await send([config(name)])).body.data[0].body.id;

/** Counts the rows of every table that a change could leave. */
async function countRows(): Promise<Record<string, number>> {
  const { db } = server.database;
  const { rows } = await sql<{ name: string }>`SELECT table_name AS name
    FROM information_schema.tables WHERE table_schema = database()`.execute(db);
  const counts: Record<string, number> = {};
  for (const { name } of rows) {
    if (name === 'organisation_locks') continue;
    const { rows: found } = await sql<{
      n: number;
    }>`SELECT COUNT(*) AS n FROM ${sql.table(name)}`.execute(db);
    counts[name] = Number(found[0]!.n);
  }
  return counts;
}

describe('a change of a set', () => {
  it('returns the response of its single request, also between rejected changes', async () => {
    const body = { name: 'a', config: { retry: { attempts: 'many' } } };
    const alone = await server.request('POST', '/v2/configs', { body });
    const id = await made('b');
    const stale = { if_match: 9, id };
    const set = await send([
      config('one'),
      { kind: 'Config', action: 'create', body },
      { kind: 'Config', action: 'update', ...stale, body: { name: 'c' } },
      { kind: 'Config', action: 'update', id, if_match: 1, body: { name: 'c' } },
      { kind: 'Config', action: 'delete', id: randomUUID() },
      { kind: 'Config', action: 'delete', id, if_match: 2 },
      { kind: 'Workspace', action: 'create', body: { name: 'w', unheard_of: 1 } },
    ]);
    expect([set.status, set.body.total, set.body.applied]).toEqual([200, 7, 3]);
    expect(statuses(set)).toEqual([200, 400, 412, 200, 404, 200, 400]);
    expect(set.body.data[1].body).toEqual(alone.body);
    expect(set.body.data[6].body.error.param).toBe('unheard_of');
    const audit = await listAudit(server, id);
    expect(audit.map(({ action }) => action)).toEqual(['create', 'update', 'delete']);
  });

  it('references objects of earlier changes, by id or slug as its field requires', async () => {
    const set = await send([
      { kind: 'Workspace', action: 'create', label: 'w', body: { name: 'refs' } },
      {
        kind: 'Guardrail',
        action: 'create',
        label: 'g',
        body: { name: 'g', target: 'mcp_tools', workspace_id: { $ref: 'w' } },
      },
      {
        kind: 'Guardrail',
        action: 'create',
        label: 'short',
        body: {
          name: 'short',
          workspace_id: { $ref: 'w' },
          actions: {},
          checks: [{ id: 'default.wordCount', parameters: { minWords: 1, maxWords: 9 } }],
        },
      },
      {
        kind: 'Config',
        action: 'create',
        label: 'c',
        body: {
          name: 'c',
          workspace_id: { $ref: 'w' },
          config: { input_guardrails: [{ $ref: 'short' }], targets: [{ provider: 'a' }] },
        },
      },
      {
        kind: 'ApiKey',
        action: 'create',
        label: 'k',
        body: {
          type: 'workspace',
          sub_type: 'service',
          name: 'k',
          scopes: ['completions.write'],
          workspace_id: { $ref: 'w' },
          defaults: { config_id: { $ref: 'c' } },
        },
      },
      {
        kind: 'McpIntegration',
        action: 'create',
        label: 'i',
        body: {
          name: 'i',
          workspace_id: { $ref: 'w' },
          auth_type: 'none',
          transport: 'http',
          url: 'https://mcp.example.com',
        },
      },
      {
        kind: 'McpServer',
        action: 'create',
        label: 's',
        body: { name: 's', mcp_integration_id: { $ref: 'i' }, workspace_id: { $ref: 'w' } },
      },
      {
        kind: 'GuardrailMcpBinding',
        action: 'create',
        label: 'b',
        body: { guardrail_id: { $ref: 'g' }, mcp_server_id: { $ref: 's' }, run_on: ['input'] },
      },
      {
        kind: 'UsageLimitPolicy',
        action: 'create',
        body: {
          type: 'cost',
          credit_limit: 1,
          group_by: [{ key: 'api_key' }],
          workspace_id: { $ref: 'w' },
          conditions: [{ key: 'api_key', value: { $ref: 'k' } }],
        },
      },
      {
        kind: 'GuardrailMcpBinding',
        action: 'delete',
        after: ['b'],
        body: { guardrail_id: { $ref: 'g' }, mcp_server_id: { $ref: 's' } },
      },
    ]);
    expect([set.body.data.find(({ status }: { status: number }) => status >= 400)]).toEqual([
      undefined,
    ]);
    const [, , short, c, k] = set.body.data.map(({ body }: { body: unknown }) => body);
    const stored = await server.request('GET', `/v2/configs/${c.id}`);
    expect(JSON.parse(stored.body.config).input_guardrails).toEqual([short.slug]);
    const key = await server.request('GET', `/v2/api-keys/${k.id}`);
    expect(key.body.defaults.config_id).toBe(c.id);
  });

  it('is skipped when it references a rejected change, and rejected when it references none', async () => {
    const set = await send([
      config('', { label: 'bad' }),
      config('after', { after: ['bad'] }),
      config('nowhere', { after: ['later'] }),
      config('later', { label: 'later' }),
    ]);
    expect(statuses(set)).toEqual([400, 424, 400, 200]);
    expect(set.body.data[2].body.error).toMatchObject({ param: 'after' });
    const odd = [config('x', { label: 'l' }), config('y', { label: 'l' })];
    expect((await send(odd)).body.error.param).toBe('changes[1].label');
  });

  it('requires ids and the fields of its path, and rejects others', async () => {
    const pair = { guardrail_id: randomUUID(), mcp_server_id: randomUUID() };
    const set = await send([
      { kind: 'Config', action: 'update', body: { name: 'x' } },
      config('x', { id: randomUUID() }),
      { kind: 'ApiKey', action: 'create', body: { name: 'k', type: 'workspace' } },
      { kind: 'GuardrailMcpBinding', action: 'delete', body: {} },
      { kind: 'GuardrailMcpBinding', action: 'delete', body: { ...pair, more: 1 } },
      config('x', { if_match: 1 }),
      { kind: 'Config', action: 'delete', id: randomUUID(), idempotency_key: 'a' },
    ]);
    const reported = set.body.data.map(
      ({ body }: { body: { error: { param: string } } }) => body.error.param,
    );
    expect(reported).toEqual([
      'id',
      'id',
      'sub_type',
      'guardrail_id',
      'more',
      'if_match',
      'idempotency_key',
    ]);
  });

  it('requires the scope, workspace and limits of its single request', async () => {
    const account = await addServiceAccount(server, 'view_only_admin');
    const token = await fetchToken(server.url, { ...account, tsgId: server.tsgId });
    const refused = await send([config('x')], {}, { authorization: `Bearer ${token}` });
    expect(refused.status).toBe(403);
    const large = Object.fromEntries(
      Array.from({ length: 700 }, (_, at) => [`k${at}`, [1, 2, 3, 4, 5, 6, 7, 8]]),
    );
    const workspace = { name: 'w', defaults: { metadata: large } };
    const set = await send([{ kind: 'Workspace', action: 'create', body: workspace }, config('x')]);
    expect(statuses(set)).toEqual([413, 200]);
    const other = await addTenant(server);
    const id = await made('mine');
    const foreign = [{ kind: 'Config', action: 'update', id, body: { name: 'theirs' } }];
    expect(statuses(await send(foreign, {}, {}, other.send))).toEqual([404]);
  });

  it('requires the lease like a single write for an owner', async () => {
    const owner = `o${randomUUID()}`;
    const lease = await leaseHeaders(server.request, owner);
    const claim = (name: string): Change => {
      const managed_by = {
        owner,
        workspace: null,
        name,
        source: { repo: '/', revision: null },
        last_applied: {},
      };
      return config(name, { body: { name, config: { retry: { attempts: 1 } }, managed_by } });
    };
    expect(statuses(await send([claim('a')]))).toEqual([400]);
    expect(statuses(await send([claim('a'), claim('a'), claim('b')], {}, lease))).toEqual([
      200, 409, 200,
    ]);
    await endLeases(server);
    await leaseHeaders(server.request, owner);
    const late = await send([claim('c'), claim('d')], {}, lease);
    expect(late.body.data[0].body.error.param).toBe('gatewright-fence');
    expect(statuses(late)).toEqual([409, 409]);
  });

  it('is executed once under its own key, however often the set is sent', async () => {
    const keyed = () => config('once', { idempotency_key: 'a-key' });
    const set = await send([keyed(), keyed()]);
    expect(set.body.data[1]).toEqual(set.body.data[0]);
    expect((await send([keyed()])).body.data).toEqual([set.body.data[0]]);
    const whole = await send([config('x')], {}, { 'idempotency-key': randomUUID() });
    expect([whole.status, whole.body.error.param]).toEqual([400, 'Idempotency-Key']);
  });

  it('is not started after a server error, which becomes the response of all later changes', async () => {
    const { db } = server.database;
    const policy = {
      kind: 'UsageLimitPolicy',
      action: 'create',
      body: {
        type: 'cost',
        credit_limit: 1,
        group_by: [{ key: 'api_key' }],
        workspace_id: await workspaceId(),
        conditions: [{ key: 'model', value: '*' }],
      },
    };
    await sql`RENAME TABLE usage_limit_policies TO away`.execute(db);
    try {
      expect(statuses(await send([config('a'), policy, config('b')]))).toEqual([200, 500, 503]);
      expect((await send([policy, config('b')])).status).toBe(500);
      expect((await together([config('a'), policy])).status).toBe(500);
    } finally {
      await sql`RENAME TABLE away TO usage_limit_policies`.execute(db);
    }
  });
});

async function workspaceId(): Promise<string> {
  const body = { name: `w${randomUUID()}` };
  return (await server.request('POST', '/v2/workspaces', { body })).body.id;
}

describe('an atomic change set', () => {
  it('leaves nothing when one change is invalid, and reports every position at once', async () => {
    const id = await made('kept');
    const before = await countRows();
    const set = await together([
      config('one', { label: 'one', idempotency_key: 'lost' }),
      config('', { label: 'bad' }),
      { kind: 'Config', action: 'delete', id },
      { kind: 'Config', action: 'update', id, body: { name: 'gone' } },
      config('with', { after: ['bad'] }),
    ]);
    expect([set.status, set.body.applied]).toEqual([422, 0]);
    expect(statuses(set)).toEqual([424, 400, 424, 404, 424]);
    expect(await countRows()).toEqual(before);
    expect((await server.request('GET', `/v2/configs/${id}`)).body.name).toBe('kept');
  });

  it('is executed once under an Idempotency-Key, and may be corrected and sent again after a rejection', async () => {
    const key = { 'idempotency-key': randomUUID() };
    expect((await together([config('x'), config('')], key)).status).toBe(422);
    const first = await together([config('x'), config('y')], key);
    const second = await together([config('x'), config('y')], key);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(await listAudit(server, first.body.data[0].body.id)).toHaveLength(1);
  });

  it('is visible completely or not at all, beside sets in another order and single changes', async () => {
    const ids = [await made('a'), await made('b'), await made('c')];
    const renaming = (order: readonly string[], name: string) =>
      together(order.map((id) => ({ kind: 'Config', action: 'update', id, body: { name } })));
    const [one, two, three] = ids as [string, string, string];
    const orders = [
      [one, two, three],
      [three, two, one],
      [two, one, three],
    ];
    const single = (at: number) =>
      server.request('PUT', `/v2/configs/${ids[at % 3]}`, {
        body: { config: { retry: { attempts: (at % 5) + 1 } } },
      });
    for (let round = 0; round < 25; round += 1) {
      const sets = orders.map((order, at) => renaming(order, `set-${round}-${at}`));
      const answers = await Promise.all([...sets, single(round), single(round + 1)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    }
    const names = await Promise.all(
      ids.map(async (id) => (await server.request('GET', `/v2/configs/${id}`)).body.name),
    );
    expect(new Set(names).size).toBe(1);
    expect(names[0]).toMatch(/^set-24-/);
  });

  it('succeeds for one of two sets with the same identity, and leaves nothing of the other', async () => {
    const owner = `o${randomUUID()}`;
    const lease = await leaseHeaders(server.request, owner);
    const claims = (names: readonly string[], reported: string): Change[] =>
      names.map((name) => ({
        kind: 'Config',
        action: 'create',
        body: {
          name: reported,
          config: { retry: { attempts: 1 } },
          managed_by: {
            owner,
            workspace: null,
            name,
            last_applied: {},
            source: { repo: '/', revision: null },
          },
        },
      }));
    const sets = await Promise.all(
      Array.from({ length: 6 }, (_, at) => {
        const names = ['x', 'y', 'z', `own-${at}`];
        return together(claims(at % 2 === 0 ? names : names.toReversed(), `told-${at}`), lease);
      }),
    );
    const won = sets.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    const { body } = await server.request('GET', '/v2/configs?page_size=100');
    const reported = body.data.filter(({ name }: { name: string }) => name.startsWith('told-'));
    expect(reported).toHaveLength(4);
    expect(new Set(reported.map(({ name }: { name: string }) => name)).size).toBe(1);
  });
});

it('rejects more changes or a larger body than the limits before doing anything', async () => {
  const many = Array.from({ length: 1001 }, () => config('x'));
  expect((await send(many)).status).toBe(400);
  expect((await send([])).status).toBe(400);
  const text = 'x'.repeat(1024 * 1024);
  const big = Array.from({ length: 5 }, () => config(text));
  expect((await send(big)).status).toBe(413);
});
