/** Verifies requests that callers report to the log, and reading single rows by id. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, type Send } from '../../support/server/tenant.ts';

const secret = 'sk-canary-in-a-body';
let server: TestServer;
let team: string;
let other: string;
/** A key that is bound to the team workspace. */
let bound: { readonly id: string; readonly send: Send };

const completion = {
  request: {
    url: 'https://api.openai.com/v1/chat/completions',
    provider: 'openai',
    method: 'post',
    headers: { authorization: `Bearer ${secret}` },
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: secret }] },
  },
  response: {
    status: 200,
    response_time: 250.6,
    streamingMode: true,
    headers: { 'x-a': secret },
    body: {
      model: 'gpt-4o-2024-08-06',
      choices: [{ message: { content: secret } }],
      usage: { prompt_tokens: 1000, completion_tokens: 500 },
    },
  },
  metadata: { traceId: 'elsewhere', user: 'anna', team: 'blue', round: 3, nothing: null },
};
const tell = async (body: unknown, send: Send = (...all) => server.request(...all)) => {
  const { status, body: responseBody } = await send('POST', '/v1/logs', { body });
  return {
    status,
    ids: responseBody.log_ids as string[],
    message: responseBody.error?.message as string,
  };
};
const read = (id: string) => server.request('GET', `/v1/logs/${id}`);

beforeAll(async () => {
  server = await startTestServer();
  const make = async (name: string) =>
    (await server.request('POST', '/v2/workspaces', { body: { name } })).body.id;
  [team, other] = [await make('Team'), await make('Other')];
  bound = await addKeyCaller(server, ['logs.write', 'logs.view', 'logs.list'], team);
});
afterAll(() => server[Symbol.asyncDispose]());

describe('POST /logs', () => {
  it('creates rows with usage at the public price, without bodies and headers', async () => {
    const { ids } = await tell({ ...completion, workspace_id: team });
    const { body } = await read(ids[0]!);
    expect(body).toMatchObject({
      id: ids[0],
      object: 'log',
      trace_id: 'elsewhere',
      workspace_id: team,
      api_key_id: null,
      endpoint: 'chat_completions',
      status: 200,
      provider: 'openai',
      model: 'gpt-4o',
      requested_model: 'gpt-4o',
      answered_model: 'gpt-4o-2024-08-06',
      is_stream: true,
      duration_ms: 251,
      input_tokens: 1000,
      output_tokens: 500,
      is_estimated: false,
      is_reported: true,
      feedback: [],
      target_path: null,
      cache_status: null,
      ended_at: '2027-01-04T08:00:00.000Z',
      // At 2.5 and 10 dollars per million tokens.
      cost: 0.0075,
    });
    expect(body.metadata).toEqual({ _user: 'anna', team: 'blue', round: 3 });
    const rows = await server.database.db.selectFrom('request_logs').selectAll().execute();
    expect(JSON.stringify([rows, server.logLines])).not.toContain(secret);
  });

  it('counts in sums, and in no budget', async () => {
    const { id, send } = await addKeyCaller(server, ['logs.write'], other);
    await server.request('PUT', `/v2/api-keys/service/${id}`, {
      body: { usage_limits: { credit_limit: 1, type: 'cost' } },
    });
    const failed = { ...completion, response: { status: 500 } };
    expect((await tell([completion, failed], send)).ids).toHaveLength(2);
    const range = 'time_of_generation_min=2027-01-04T00:00:00Z';
    const sums = await server.request(
      'GET',
      `/v1/analytics/summary?${range}&workspace_id=${other}`,
    );
    expect(sums.body).toMatchObject({ requests: 2, errors: 1, cost: 0.0075, input_tokens: 1000 });
    const rows = await server.request('GET', `/v1/logs?${range}&workspace_id=${other}`);
    expect(rows.body.data.map((row: { api_key_id: string }) => row.api_key_id)).toEqual([id, id]);
    expect(await server.database.db.selectFrom('usage_counters').selectAll().execute()).toEqual([]);
  });

  it('accepts a report without details', async () => {
    const { ids } = await tell({ request: {}, response: {} });
    expect((await read(ids[0]!)).body).toMatchObject({
      trace_id: ids[0],
      workspace_id: null,
      provider: null,
      model: null,
      status: 200,
      endpoint: 'other',
      input_tokens: null,
      cost: null,
      metadata: {},
    });
  });

  it('assigns the row to the workspace of its credential', async () => {
    const { ids } = await tell(completion, bound.send);
    const { body } = await read(ids[0]!);
    expect(body).toMatchObject({ workspace_id: team, api_key_id: bound.id });
    expect((await tell({ ...completion, workspace_id: other }, bound.send)).status).toBe(403);
    expect((await tell({ ...completion, workspace_id: randomUUID() })).status).toBe(404);
  });

  it.each([
    [{ request: {} }, /response/],
    [{ ...completion, metadata: { traceId: 'ä' } }, /traceId.*visible ASCII/],
    [{ ...completion, metadata: { deep: {} } }, /metadata/],
    [{ ...completion, response: { status: 99 } }, /status/],
    [{ ...completion, response: { response_time: 2 ** 31 } }, /response_time/],
    [[], /./],
    [Array.from({ length: 101 }, () => completion), /100/],
  ])('returns 400 with the reason for %j', async (body, message) => {
    const answer = await tell(body);
    expect([answer.status, answer.message]).toEqual([400, expect.stringMatching(message)]);
  });

  it('ignores impossible token counts', async () => {
    const response = { body: { usage: { prompt_tokens: 1e15, completion_tokens: -1 } } };
    const { ids } = await tell({ ...completion, response });
    expect((await read(ids[0]!)).body).toMatchObject({ input_tokens: null, cost: null });
  });

  it('writes a row once when it is sent again under the same idempotency key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const send = () => server.request('POST', '/v1/logs', { body: completion, headers });
    const [first, again] = [await send(), await send()];
    expect(again.body).toEqual(first.body);
  });

  it('requires logs.write', async () => {
    const { send } = await addKeyCaller(server, ['logs.view', 'completions.write']);
    expect((await tell(completion, send)).status).toBe(403);
  });
});

describe('GET /logs/{id}', () => {
  /** Writes rows as a gateway does. */
  const logged = async (...records: Parameters<typeof requestRecord>[1][]): Promise<string[]> => {
    const before = new Set((await rowsNow()).map(({ id }) => id));
    const log = new RequestLog({ database: server.app.database, onLoss: () => {} });
    for (const one of records) log.record(requestRecord(server.organisationId, one));
    await log.close(60_000);
    return (await rowsNow()).map(({ id }) => id).filter((id) => !before.has(id));
  };
  const rowsNow = async (): Promise<{ id: string }[]> =>
    (
      await server.request(
        'GET',
        '/v1/logs?page_size=100&time_of_generation_min=2027-01-01T00:00:00Z',
      )
    ).body.data;

  it('finds each row that a gateway wrote, also within one millisecond and in a partitioned log', async () => {
    const at = (text: string) => ({ startedAt: Date.parse(text), durationMs: 0.4 });
    const moments = ['2027-01-02T23:59:59.999Z', '2027-01-03T00:00:00Z', '2027-01-03T00:00:00Z'];
    const ids = await logged(...moments.map(at));
    await server.app.jobs.runNow('delete-old-logs');
    expect(ids).toHaveLength(3);
    for (const id of ids) {
      for (const plane of ['v1', 'v2', 'admin/v2']) {
        const { body } = await server.request('GET', `/${plane}/logs/${id.toUpperCase()}`);
        expect(body).toMatchObject({ id, is_reported: false });
      }
    }
  });

  it('reads one row by primary key in one partition', async () => {
    const { ids } = await tell(completion);
    const bytes = ids[0]!.replaceAll('-', '');
    const { rows } = await sql<{ rows: string; key: string; partitions: string | null }>`
      EXPLAIN SELECT * FROM request_logs WHERE organisation_id = ${server.organisationId}
        AND ended_at = ${server.clock.now()} AND id = ${Buffer.from(bytes, 'hex')}`.execute(
      server.database.db,
    );
    // MariaDB returns columns, MySQL 9 a tree.
    expect(JSON.stringify(rows)).toMatch(/"type":"const".*"PRIMARY"|Rows fetched before execution/);
  });

  it('returns the same 404 for missing rows and for rows of others', async () => {
    const [mine, theirs] = [
      (await tell(completion)).ids[0]!,
      (await tell(completion, bound.send)).ids[0]!,
    ];
    const stranger = await addTenant(server);
    const answers = await Promise.all([
      read(randomUUID()),
      read('nothing'),
      read('0000000000000000000000000000'),
      read('ffffffff-ffff-7fff-bfff-ffffffffffff'),
      stranger.send('GET', `/v1/logs/${mine}`),
      bound.send('GET', `/v1/logs/${mine}`),
      server.request('GET', `/v1/logs/${theirs}?workspace_id=${other}`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect(new Set(answers.map(({ body }) => body.error.message)).size).toBe(1);
    expect((await bound.send('GET', `/v1/logs/${theirs}`)).status).toBe(200);
  });

  it('returns only rows that the workspace makes visible to the person', async () => {
    const user_id = await addUser(server);
    const users = [{ id: user_id, role: 'member' }];
    await server.request('POST', `/v1/admin/workspaces/${team}/users`, { body: { users } });
    const body = { name: 'k', user_id, workspace_id: team, scopes: ['logs.view', 'logs.write'] };
    const { key } = (await server.request('POST', '/v1/api-keys/workspace/user', { body })).body;
    const send: Send = (method, path, requested) =>
      server.request(method, path, {
        ...requested,
        auth: 'none',
        headers: { 'x-gateway-api-key': key },
      });
    const theirs = (await tell(completion, send)).ids[0]!;
    const others = (await tell(completion, bound.send)).ids[0]!;
    const seen = () =>
      Promise.all([theirs, others].map(async (id) => (await send('GET', `/v1/logs/${id}`)).status));
    const say = (security_settings: object) =>
      server.request('PUT', `/v2/workspaces/${team}`, { body: { security_settings } });
    expect(await seen()).toEqual([200, 200]);
    await say({ membersViewAllData: false });
    expect(await seen()).toEqual([200, 404]);
    await say({ membersViewLogs: false });
    expect(await seen()).toEqual([403, 403]);
  });
});
