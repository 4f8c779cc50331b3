/** Verifies the request log over HTTP: contents, access, and that it contains no secret. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { allScopes } from '../../../src/model/people/scopes.ts';
import type { TestResponse } from '../../support/network/exchange.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { addUser } from '../../support/server/people.ts';

const providerKey = 'sk-canary-of-the-provider';
let inference: Inference;
let keys: { own: { key: string; id: string }; bound: { key: string; id: string } };
let workspaceId: string;

const get = (path: string) => inference.server.request('GET', path);
const getBound = (path: string) =>
  inference.server.request('GET', path, {
    auth: 'none',
    headers: { 'x-gateway-api-key': keys.bound.key },
  });

beforeAll(async () => {
  inference = await startInference();
  const { server, addKey, chat } = inference;
  const workspace = await server.request('POST', '/admin/v2/workspaces', { body: { name: 'one' } });
  workspaceId = workspace.body.id;
  const scopes = ['completions.write', 'logs.list', 'analytics.view'];
  keys = {
    own: await addKey(),
    bound: await addKey({ workspace_id: workspaceId, scopes }),
  };
  const config = { api_key: providerKey };
  const headers = { 'x-gateway-trace-id': 'order-17', 'x-gateway-metadata': '{"team":"blue"}' };
  for (const { key } of [keys.own, keys.bound]) await chat(key, { config, headers });
  await chat(keys.own.key, { config: { ...config, provider: 'nobody-knows', custom_host: null } });
  await chat('not-a-key', { config });
  await eventually(async () => expect((await get('/admin/v2/logs')).body.data).toHaveLength(3));
});
afterAll(() => inference[Symbol.asyncDispose]());

describe('GET /logs', () => {
  it('returns each request with its outcome, newest first, and none with an unknown key', async () => {
    const { status, body } = await get('/admin/v2/logs');
    expect(status).toBe(200);
    expect(body.next_cursor).toBeNull();
    const ends = body.data.map((one: { ended_at: string }) => one.ended_at);
    expect(ends).toEqual(ends.toSorted().reverse());
    const answered = body.data.find(
      (one: { api_key_id: string }) => one.api_key_id === keys.bound.id,
    );
    expect(answered).toMatchObject({
      object: 'log',
      trace_id: 'order-17',
      workspace_id: workspaceId,
      status: 200,
      endpoint: 'chat_completions',
      provider: 'mock-upstream',
      requested_model: 'm',
      target_path: 'config',
      retries: 0,
      cache_status: 'DISABLED',
      is_stream: false,
      metadata: { team: 'blue' },
    });
    const refused = body.data.find((one: { status: number }) => one.status >= 400);
    expect(refused).toMatchObject({ workspace_id: null, metadata: {} });
    expect(refused.error_code).not.toBeNull();
  });

  it('returns each row once when a client follows the cursors', async () => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await get(`/admin/v2/logs?page_size=1${query}`);
      ids.push(...body.data.map((one: { id: string }) => one.id));
      cursor = body.next_cursor;
    }
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
  });

  it.each([
    ['trace_id=order-17', 2],
    ['status=2xx', 2],
    ['status=200&provider=mock-upstream&model=m', 2],
    ['status=5xx', 0],
    ['provider=other', 0],
    ['time_of_generation_max=2027-01-04T07:00:00Z', 0],
  ])('filters by %s', async (query, expected) => {
    expect((await get(`/admin/v2/logs?${query}`)).body.data).toHaveLength(expected);
  });

  it.each([
    'status=2x',
    'cursor=1_2',
    'page_size=101',
    'time_of_generation_min=2026-01-01T00:00:00Z',
    'time_of_generation_min=2027-01-05T00:00:00Z&time_of_generation_max=2027-01-04T00:00:00Z',
  ])('returns 400 for %s', async (query) => {
    expect((await get(`/admin/v2/logs?${query}`)).status).toBe(400);
  });

  it('returns only rows of its own workspace to a workspace key', async () => {
    const { body } = await getBound('/v1/logs');
    expect(body.data.map((one: { api_key_id: string }) => one.api_key_id)).toEqual([keys.bound.id]);
    expect((await getBound(`/v1/logs?api_key_id=${keys.own.id}`)).body.data).toEqual([]);
    expect((await getBound('/v1/analytics/summary')).body).toMatchObject({ requests: 1 });
  });

  it('returns 403 without the scope', async () => {
    const headers = { 'x-gateway-api-key': keys.own.key };
    for (const path of ['/v1/logs', '/v1/analytics/summary']) {
      const answer = await inference.server.request('GET', path, { auth: 'none', headers });
      expect(answer.status).toBe(403);
    }
  });

  it('contains no gateway or provider key, in the table, over HTTP, in metrics or in log lines', async () => {
    const { server } = inference;
    const rows = await server.database.db.selectFrom('request_logs').selectAll().execute();
    const totals = await server.database.db.selectFrom('request_totals').selectAll().execute();
    const figures = await fetch(`${server.metricsUrl}/metrics`).then((answer) => answer.text());
    const reported = JSON.stringify([
      rows,
      totals,
      (await get('/admin/v2/logs')).body,
      server.logLines,
    ]);
    for (const secret of [providerKey, keys.own.key, keys.bound.key]) {
      expect(reported + figures).not.toContain(secret);
    }
    expect(figures).toContain('gatewright_request_log_requests_total{outcome="written"} 3');
    expect(figures).toContain('gatewright_request_log_requests_total{outcome="lost"} 0');
  });
});

describe('analytics', () => {
  const range =
    'time_of_generation_min=2026-11-22T00:00:00Z&time_of_generation_max=2026-11-22T23:00:00Z';

  beforeAll(async () => {
    const { database, organisationId } = inference.server;
    const log = new RequestLog({ database, onLoss: () => {} });
    const at = (time: string) => ({ startedAt: Date.parse(`2026-11-22T${time}Z`) });
    for (let one = 0; one < 8; one += 1) {
      log.record(requestRecord(organisationId, { ...at('08:15:00'), durationMs: 50 }));
    }
    log.record(requestRecord(organisationId, { ...at('10:15:00'), durationMs: 200_000 }));
    const failed = { status: 429, model: 'other', tokens: null, costUnits: null, durationMs: 200 };
    log.record(requestRecord(organisationId, { ...at('10:30:00'), ...failed }));
    await log.close(60_000);
  });

  it('sums up a period', async () => {
    const { body } = await get(`/v2/analytics/summary?${range}`);
    expect(body).toEqual({
      object: 'analytics-summary',
      requests: 10,
      errors: 1,
      cache_hits: 0,
      from: '2026-11-22T00:00:00.000Z',
      to: '2026-11-23T00:00:00.000Z',
      input_tokens: 90,
      output_tokens: 45,
      cached_input_tokens: 18,
      cost: 0.001125,
      duration_ms_average: 20_060,
      duration_ms_p50: 63,
      duration_ms_p90: 250,
      duration_ms_p99: 60_000,
      unlogged_requests: 0,
      guardrail_passed: 0,
      guardrail_monitored: 0,
      guardrail_failed: 0,
      guardrail_denied: 0,
      llm_count: 10,
      mcp_count: 0,
      a2a_count: 0,
      llm_error_count: 1,
      mcp_error_count: 0,
      a2a_error_count: 0,
    });
    const none = await get(`/v2/analytics/summary?${range}&provider=nobody`);
    expect(none.body).toMatchObject({ requests: 0, cost: 0, duration_ms_p50: null });
  });

  it('returns a point for each hour or day, including those without requests', async () => {
    const hourly = await get(`/v2/analytics/graph?${range}`);
    const counts = hourly.body.data.map((one: { requests: number }) => one.requests);
    expect(counts).toHaveLength(24);
    expect([counts[8], counts[9], counts[10]]).toEqual([8, 0, 2]);
    const daily = await get(`/v2/analytics/graph?${range}&interval=day`);
    expect(daily.body.data).toMatchObject([
      { timestamp: '2026-11-22T00:00:00.000Z', requests: 10 },
    ]);
  });

  it.each([
    ['models', ['gpt-4o', 'other']],
    ['statuses', [200, 429]],
    ['providers', ['openai']],
    ['workspaces', [null]],
    ['api-keys', [null]],
  ])('groups by %s, the most expensive first', async (group, values) => {
    const { body } = await get(`/v2/analytics/groups/${group}?${range}`);
    expect(body.data.map((one: { value: unknown }) => one.value)).toEqual(values);
  });

  it('returns 400 for a period that is too long', async () => {
    const years = 'time_of_generation_min=2025-01-01T00:00:00Z';
    expect((await get(`/v2/analytics/summary?${years}`)).status).toBe(400);
  });

  it('answers for more than 31 days by day, and with filters that only the log knows', async () => {
    const months = range.replace('11-22T0', '10-01T0');
    const { status, body } = await get(`/v2/analytics/graph?${months}&interval=hour`);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(53);
    expect(body.data.at(-1)).toMatchObject({ timestamp: '2026-11-22T00:00:00.000Z', requests: 10 });
    for (const path of ['graphs/users', 'groups/metadata/team', 'groups/users']) {
      const read = await get(`/v1/analytics/${path}?${months}`);
      expect(read, path).toMatchObject({ status: 200 });
    }
  });

  it('reads an index range of the table, not all of it', async () => {
    const { database, organisationId } = inference.server;
    const { rows } = await database.db.executeQuery({
      ...database.db.selectFrom('request_totals').selectAll().compile(),
      sql: `EXPLAIN SELECT requests FROM request_totals WHERE organisation_id = '${organisationId}'
        AND began_at >= 1 AND began_at <= 2`,
      parameters: [],
    });
    // MariaDB returns columns, MySQL 9 a tree; the chosen index depends on the data.
    expect(JSON.stringify(rows)).toMatch(
      /"type":"(?:range|ref)".*"(?:PRIMARY|request_totals_\w+)"|Index (?:range scan|lookup) on request_totals/,
    );
  });
});

describe('the visibility of workspace data to people', () => {
  let place: string;
  const calls = new Map<
    string,
    (path: string, body?: object, method?: string) => Promise<TestResponse>
  >();
  const put = (security_settings: Record<string, boolean | null>) =>
    inference.server.request('PUT', `/admin/v2/workspaces/${place}`, {
      body: { security_settings },
    });
  const seen = async (who: string, path: string) => {
    const { status, body } = await calls.get(who)!(path);
    return status === 200 ? (body.data?.length ?? body.requests) : status;
  };
  /** Number of requests that each person sees in the log and in the sums. */
  const seenByAll = async () => {
    const rows = [...calls.keys()].map(async (who) => [
      who,
      [await seen(who, '/v1/logs'), await seen(who, '/v1/analytics/summary')],
    ]);
    return Object.fromEntries(await Promise.all(rows));
  };

  beforeAll(async () => {
    const { server } = inference;
    const { body } = await server.request('POST', '/admin/v2/workspaces', {
      body: { name: 'seen', security_settings: { membersViewAllData: true } },
    });
    place = body.id;
    const scopes = allScopes.filter((scope) => /^(?!access|iam|managed)/.test(scope));
    const log = new RequestLog({ database: server.app.database, onLoss: () => {} });
    for (const who of ['member', 'manager', 'admin', 'organisation admin', 'service'] as const) {
      const user_id = await addUser(server, {
        role: who === 'organisation admin' ? 'admin' : 'member',
      });
      const role = who === 'organisation admin' || who === 'service' ? 'member' : who;
      await server.request('POST', `/v1/admin/workspaces/${place}/users`, {
        body: { users: [{ id: user_id, role }] },
      });
      const type = who === 'service' ? 'service' : 'user';
      const made = await server.request('POST', `/v1/api-keys/workspace/${type}`, {
        body: { name: who, user_id, workspace_id: place, scopes },
      });
      const { id, key } = made.body;
      log.record(
        requestRecord(server.organisationId, {
          workspaceId: place,
          apiKeyId: id,
          startedAt: server.clock.now() - 240,
        }),
      );
      const headers = { 'x-gateway-api-key': key };
      calls.set(who, (path, body, method = body === undefined ? 'GET' : 'POST') =>
        server.request(method, path, { auth: 'none', headers, body }),
      );
    }
    await log.close(60_000);
  });

  const all = [5, 5];
  const others = { admin: all, 'organisation admin': all, service: all };

  it('includes everything by default', async () => {
    expect(await seenByAll()).toEqual({ member: all, manager: all, ...others });
  });

  it('is limited to their own keys when the workspace says so for their role', async () => {
    await put({ membersViewAllData: false });
    expect(await seenByAll()).toEqual({ member: [1, 1], manager: all, ...others });
    await put({ managersViewAllData: false });
    expect(await seenByAll()).toEqual({ member: [1, 1], manager: [1, 1], ...others });
    await put({ membersViewAllData: null, managersViewAllData: null });
    expect(await seenByAll()).toEqual({ member: all, manager: all, ...others });
  });

  it('excludes logs or sums when the workspace says so for their role', async () => {
    await put({ membersViewLogs: false, managersViewAnalytics: false });
    expect(await seenByAll()).toEqual({ member: [403, 5], manager: [5, 403], ...others });
  });

  it('includes prompts, which members cannot write unless the workspace allows it', async () => {
    const read = async () => (await calls.get('member')!('/v1/collections')).status;
    const write = (who: string) =>
      calls.get(who)!('/v1/collections', { name: who }).then(({ status }) => status);
    expect([await read(), await write('member'), await write('manager')]).toEqual([200, 403, 200]);
    expect(await write('service')).toBe(200);
    await put({
      membersViewPrompts: false,
      membersWritePrompts: true,
      managersWritePrompts: false,
    });
    expect([await read(), await write('member'), await write('manager')]).toEqual([403, 200, 403]);
    expect(await write('admin')).toBe(200);
  });

  it('follows the setting of the workspace for their role, for every resource', async () => {
    const none = '7e1c9bd2-0000-4000-8000-000000000000';
    const both = { members: 'member', managers: 'manager' };
    const { managers } = both;
    const ways = [
      ['Configs', both, '/v1/configs/none'],
      ['Guardrails', both, '/v1/guardrails/none'],
      ['VirtualKeys', both, '/v1/providers/none'],
      ['VirtualKeys', both, '/v1/virtual-keys/none'],
      ['ApiKeys', both, `/v1/api-keys/${none}`],
      ['McpServers', { managers }, '/v1/mcp-servers/none'],
      ['WsIntegrations', { managers }, '/v1/integrations/none'],
      ['WsMcpIntegrations', { managers }, '/v1/mcp-integrations/none'],
      ['WsUsers', { managers }, `/v1/admin/workspaces/${place}/users/${none}`],
    ] as const;
    for (const [word, groups, path] of ways) {
      for (const [deed, method] of Object.entries({ View: 'GET', Write: 'DELETE' })) {
        const isPermitted = deed === 'Write' || 'members' in groups;
        for (const [group, who] of Object.entries(groups)) {
          if (!isPermitted) continue;
          const setting = `${group}${deed}${word}`;
          await put({ [setting]: false });
          const seen = await calls.get(who)!(path, undefined, method);
          expect([setting, seen.status]).toEqual([setting, 403]);
          const others = [...calls.keys()].filter((other) => other !== who);
          for (const other of others) {
            const { status } = await calls.get(other)!(path, undefined, method);
            expect([setting, other, status]).toEqual([setting, other, 404]);
          }
          await put({ [setting]: null });
          expect((await calls.get(who)!(path, undefined, method)).status).toBe(404);
        }
      }
    }
    const rename = () =>
      calls.get('manager')!(`/v1/admin/workspaces/${place}`, { description: 'd' }, 'PUT');
    expect((await rename()).status).toBe(200);
    await put({ managersUpdateWs: false });
    expect((await rename()).status).toBe(403);
  });

  it('is returned in full with defaults, and can be sent back in full', async () => {
    const { body } = await get(`/v2/workspaces/${place}`);
    expect(body.security_settings).toMatchObject({
      membersViewLogs: false,
      managersViewAnalytics: false,
      managersViewLogs: true,
      membersWritePrompts: true,
      managersViewPrompts: true,
      managersUpdateWs: false,
    });
    expect(Object.keys(body.security_settings)).toHaveLength(35);
    expect(await put(body.security_settings)).toMatchObject({ status: 200, body: {} });
    expect((await get(`/v2/workspaces/${place}`)).body.security_settings).toEqual(
      body.security_settings,
    );
    const refused = await put({ membersViewLogMetadata: false });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { param: 'security_settings.membersViewLogMetadata' } },
    });
  });
});
