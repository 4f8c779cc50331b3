/**
 * Verifies log exports (1.21, 1.26, 1.28): contents, access, and resuming an interrupted export.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { type ExportOptions, writeLogExports } from '../../../src/jobs/write-log-exports.ts';
import { DatabaseBlobs } from '../../../src/store/database-blobs.ts';
import { StoredBlobs } from '../../../src/store/stored-blobs.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { addUser } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addTenant, bindToWorkspace, type Send } from '../../support/server/tenant.ts';

let server: TestServer;
let send: Send;
let workspace: { id: string; slug: string };
const path = '/v1/logs/exports';
const range = {
  time_of_generation_min: '2027-01-04T00:00:00Z',
  time_of_generation_max: '2027-01-05T00:00:00Z',
};
type Fields = Record<string, unknown>;

const post = async (at: string, body: object) => (await send('POST', at, { body })).body;
const make = (filters: object = {}, more: object = {}) =>
  post(path, { filters: { ...range, ...filters }, requested_data: ['id'], ...more });
const totalOf = async (filters: object) => {
  const { total } = await make(filters);
  return total as number;
};
/** Runs the job at a time of its own, because two runs at the same time count as one. */
const run = () => {
  server.clock.advance(1_000);
  return server.app.jobs.runNow('write-log-exports');
};
const get = async (id: string) => (await send('GET', `${path}/${id}`)).body;

/** Starts an export and returns its lines. */
async function linesOf(filters: object, fields: readonly string[]): Promise<Fields[]> {
  const { id } = await make(filters, { requested_data: fields });
  await send('POST', `${path}/${id}/start`);
  await run();
  return await fetchLines(id);
}

async function fetchLines(id: string): Promise<Fields[]> {
  const { body } = await send('GET', `${path}/${id}/download`);
  const answer = await fetch(body.signed_url);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/jsonl']);
  const text = await answer.text();
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
}

async function logRequests(records: readonly Parameters<typeof requestRecord>[1][]) {
  const log = new RequestLog({ database: server.database, onLoss: () => {} });
  const startedAt = server.clock.now();
  for (const record of records) {
    log.record(requestRecord(server.organisationId, { startedAt, durationMs: 20, ...record }));
  }
  await log.close(60_000);
}

beforeAll(async () => {
  server = await startTestServer();
  send = (...parameters) => server.request(...parameters);
  workspace = await post('/admin/v2/workspaces', { name: 'one' });
  await logRequests([
    { workspaceId: workspace.id, metadata: { team: 'blue' } },
    { workspaceId: workspace.id, metadata: { team: 'red' }, status: 429, id: 'order-17' },
    { workspaceId: null, metadata: {}, status: 503 },
  ]);
  server.clock.advance(60_000);
});
afterAll(() => server[Symbol.asyncDispose]());

describe('an export', () => {
  it('is a draft until it is started, and a file of JSON lines after the job has run', async () => {
    const made = await make({}, { description: 'for the month', requested_data: ['id', 'cost'] });
    expect(made).toMatchObject({ object: 'export', total: 3 });
    expect(await get(made.id)).toMatchObject({
      status: 'draft',
      description: 'for the month',
      requested_data: ['id', 'cost'],
      workspace_id: '',
      exported_records: 0,
      started_at: null,
    });
    const early = await send('GET', `${path}/${made.id}/download`);
    expect([early.status, early.body.error.message]).toEqual([409, expect.stringMatching('draft')]);
    const started = await send('POST', `${path}/${made.id}/start`);
    expect(started.body).toEqual({ object: 'export', message: expect.any(String) });
    expect(await run()).toMatchObject({ state: 'done', counts: { finished: 1 } });
    const done = await get(made.id);
    expect(done).toMatchObject({ status: 'success', exported_records: 3 });
    const lines = await fetchLines(made.id);
    expect(lines.map((line) => Object.keys(line))).toEqual(lines.map(() => ['id', 'cost']));
    expect(new Set(lines.map(({ id }) => id)).size).toBe(3);
  });

  it('contains each request as the log does, and null for fields that the log does not store', async () => {
    const fields = ['trace_id', 'response_status_code', 'is_success', 'metadata', 'request'];
    const [line] = await linesOf({ trace_id: 'order-17' }, [...fields, 'workspace_id']);
    expect(line).toEqual({
      trace_id: 'order-17',
      response_status_code: 429,
      is_success: false,
      metadata: { team: 'red' },
      request: null,
      workspace_id: workspace.id,
    });
  });

  it('contains what its filters select, including deployments (1.28.0)', async () => {
    const served = await post('/v1/deployments', {
      name: 'east',
      deployment_config: {},
      auth_settings: { workspaces_allowed: [workspace.slug] },
    });
    const content = { trace_id: 'order-17', value: 5, weight: 0.5 };
    expect((await send('POST', '/v1/feedback', { body: content })).status).toBe(200);
    const totals: [object, number][] = [
      [{}, 3],
      [{ status_code: '4xx,503' }, 2],
      [{ status_code: '200' }, 1],
      [{ trace_id: ['order-17', 'other'] }, 1],
      [{ ai_org: 'nobody' }, 0],
      [{ workspace_slug: workspace.slug }, 2],
      [{ cost_min: 1000 }, 0],
      [{ total_units_min: 0 }, 3],
      [{ total_units_min: 1e9 }, 0],
      [{ deployment_slug: served.slug }, 2],
      [{ api_key_ids: randomUUID() }, 0],
      [{ ai_org_model: 'a__b,c' }, 0],
      [{ ai_org_model: 'a__b, openai__gpt-4o', ai_model: 'gpt-4o , o3' }, 3],
      [{ page_size: 1, current_page: 1 }, 3],
      [{ virtual_keys: 'openai,other' }, 3],
      [{ virtual_keys: 'other' }, 0],
      [{ weighted_feedback_min: 4.5, weighted_feedback_max: 5 }, 1],
      [{ weighted_feedback_max: 4 }, 0],
      [{ metadata: { team: 'red,green' } }, 1],
      [{ metadata: { team: 'red' }, status_code: '200' }, 0],
      [{ time_of_generation_min: '2027-01-04', time_of_generation_max: '2027-01-04' }, 3],
      [{ time_of_generation_min: '2027-01-05', time_of_generation_max: '2027-01-05' }, 0],
    ];
    for (const [filters, total] of totals) {
      expect([filters, await totalOf(filters)]).toEqual([filters, total]);
    }
    expect(await linesOf({ metadata: { team: 'red,green' } }, ['trace_id'])).toEqual([
      { trace_id: 'order-17' },
    ]);
    const startedAt = Date.parse('2027-01-06T12:00:00Z');
    const later = { time_of_generation_min: '2027-01-06', time_of_generation_max: '2027-01-06' };
    const of = (team: string, length: number) =>
      Array.from({ length }, () => ({ workspaceId: null, startedAt, metadata: { team } }));
    await logRequests([...of('red', 3), ...of('blue', 450), ...of('red', 2)]);
    expect(await totalOf({ ...later, metadata: { team: 'red' } })).toBe(5);
    // A total above one thousand is not counted exactly.
    await logRequests(of('blue', 546));
    expect(await make({ ...later, metadata: { team: 'red' } })).not.toHaveProperty('total');
    expect(await totalOf({ ...later })).toBe(1_001);
    const past = { time_of_generation_max: '2027-01-04T00:00:01Z' };
    expect(await linesOf(past, ['id'])).toEqual([]);
  });

  it('returns its filters in canonical form whichever form was sent, and accepts them again', async () => {
    const written = {
      ...range,
      status_code: '4xx,503',
      ai_org_model: 'openai__gpt-4o',
      ai_model: 'a,b',
      workspace_slug: workspace.slug,
      virtual_keys: 'openai',
      weighted_feedback_min: 1,
      trace_id: 'order-17',
      metadata: { team: 'red,green', size: '5' },
      cost_max: 2,
    };
    const expected = {
      ...written,
      time_of_generation_min: '2027-01-04T00:00:00.000Z',
      time_of_generation_max: '2027-01-05T00:00:00.000Z',
    };
    const listed = {
      ...written,
      status_code: ['4xx', '503'],
      ai_model: ['a', 'b'],
      metadata: { team: ['red', 'green'], size: 5 },
    };
    for (const sent of [written, listed]) {
      const { id } = await make(sent);
      expect((await get(id)).filters).toEqual(expected);
      const again = await send('PUT', `${path}/${id}`, { body: { filters: expected } });
      expect([again.status, (await get(id)).filters]).toEqual([200, expected]);
    }
    const { id } = await make({ trace_id: ['one, of two', 'other'] });
    expect((await get(id)).filters.trace_id).toEqual(['one, of two', 'other']);
  });

  it.each([
    [{ deployment_slug: 'nowhere' }, 'nowhere'],
    [{ workspace_slug: 'nowhere' }, 'nowhere'],
    [{ configs: 'nowhere' }, 'nowhere'],
    [{ weighted_feedback_min: 11 }, 'weighted_feedback_min'],
    [{ time_of_generation_min: '2027-02-30' }, 'RFC 3339'],
    [{ status_code: 'fine' }, '429'],
    [{ time_of_generation_max: '2027-01-03T00:00:00Z' }, 'after the end'],
  ])('returns 400 for %j, which matches no request', async (filters, message) => {
    const refused = await send('POST', path, { body: { filters: { ...range, ...filters } } });
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining(message),
    ]);
  });

  it('follows its state machine, is editable only as a draft, and never both running and deleted (1.26.0)', async () => {
    const { id } = await make();
    const order = async (method: string, what: string, body?: object) =>
      (await send(method, `${path}/${id}${what}`, body && { body })).status;
    const { headers } = await send('GET', `${path}/${id}`);
    const stale = { body: { description: 'b' }, headers: { 'if-match': '"9"' } };
    expect((await send('PUT', `${path}/${id}`, stale)).status).toBe(412);
    const current = { body: { description: 'b' }, headers: { 'if-match': `${headers.etag}` } };
    expect((await send('PUT', `${path}/${id}`, current)).body).toMatchObject({ id, total: 3 });
    expect(await order('POST', '/cancel')).toBe(409);
    expect(await order('POST', '/start')).toBe(200);
    expect(await order('POST', '/start')).toBe(409);
    expect(await order('PUT', '', { description: 'c' })).toBe(409);
    expect(await order('DELETE', '')).toBe(409);
    expect(await order('POST', '/cancel')).toBe(200);
    await run();
    expect(await get(id)).toMatchObject({ status: 'stopped', description: 'b' });
    expect(await order('POST', '/start')).toBe(200);
    await run();
    expect(await get(id)).toMatchObject({ status: 'success', exported_records: 3 });
    const blobs = (await server.database.db.selectFrom('blobs').select('id').execute()).length;
    const { body: link } = await send('GET', `${path}/${id}/download`);
    expect(await order('DELETE', '')).toBe(200);
    for (const what of ['', '/download']) expect(await order('GET', what)).toBe(404);
    expect((await fetch(link.signed_url)).status).toBe(404);
    const { body } = await send('GET', path);
    expect(body.data.map((one: { id: string }) => one.id)).not.toContain(id);
    const { db } = server.database;
    const archived = db.selectFrom('log_exports').selectAll().where('id', '=', id);
    expect(await archived.executeTakeFirst()).toMatchObject({ status: 'archived' });
    expect(await db.selectFrom('blobs').select('id').execute()).toHaveLength(blobs - 1);
  });

  it('has a download link that is valid for 15 minutes, and is hidden from other tenants', async () => {
    const { id } = await make();
    await send('POST', `${path}/${id}/start`);
    await run();
    const { signed_url } = (await send('GET', `${path}/${id}/download`)).body;
    const other = await addTenant(server);
    for (const what of ['', '/download']) {
      expect((await other.send('GET', `${path}/${id}${what}`)).status).toBe(404);
    }
    expect((await other.send('DELETE', `${path}/${id}`)).status).toBe(404);
    expect((await other.send('GET', path)).body.total).toBe(0);
    expect((await fetch(signed_url, { headers: { 'x-request-id': 'file-1' } })).status).toBe(200);
    const { body: responseBody } = await send(
      'GET',
      `/v1/audit-logs?resource_id=${id}&action=read`,
    );
    const file = { told: 'file', source: '127.0.0.1' };
    expect(responseBody.data.map((one: { metadata: unknown }) => one.metadata)).toEqual([
      file,
      { told: 'link' },
    ]);
    expect(responseBody.records[0]).toMatchObject({
      request_id: 'file-1',
      method: 'GET',
      user_id: 'link',
    });
    expect(responseBody.records[1]).toMatchObject({ user_type: 'service_account' });
    const changed = signed_url.replace(/expires=\d/, 'expires=9');
    expect((await fetch(changed)).status).toBe(404);
    expect((await fetch(signed_url.replace(id, randomUUID()))).status).toBe(404);
    server.clock.advance(16 * 60_000);
    expect((await fetch(signed_url)).status).toBe(404);
  });
});

describe('a denied field', () => {
  const restrictions = async (query = '') =>
    (await send('GET', `${path}/field-restrictions${query}`)).body.deniedFields;

  it('is set by the organisation and by each included workspace, also at the start (1.21.0)', async () => {
    const { id } = await make({}, { requested_data: ['metadata'] });
    const settings = { export_settings: { deniedFields: ['metadata'] } };
    await send('PUT', `/admin/v2/workspaces/${workspace.id}`, { body: { settings } });
    await send('PUT', '/v1/admin/organisation/defaults', {
      body: { export_settings: { deniedFields: ['cost'] } },
    });
    const defaults = await send('GET', '/v1/admin/organisation/defaults');
    expect(defaults.body.export_settings).toEqual({ deniedFields: ['cost'] });
    expect(await restrictions(`?workspace_id=${workspace.slug}`)).toEqual(['cost', 'metadata']);
    expect(await restrictions()).toEqual(['cost', 'metadata']);
    expect((await send('POST', `${path}/${id}/start`)).status).toBe(400);
    for (const field of ['cost', 'metadata']) {
      const refused = await make({}, { requested_data: ['id', field] });
      expect(refused.error).toMatchObject({ code: 'AB01', param: 'requested_data' });
    }
    const usual = await post(path, { filters: range });
    const { requested_data } = await get(usual.id);
    expect(requested_data).toContain('trace_id');
    expect(requested_data).not.toContain('cost');
    await send('PUT', '/v1/admin/organisation/defaults', { body: { export_settings: null } });
    await send('PUT', `/admin/v2/workspaces/${workspace.id}`, { body: { settings: null } });
    expect(await restrictions()).toEqual([]);
  });

  it('excludes the requests of other workspaces for a credential bound to one', async () => {
    const bound = await bindToWorkspace(server, workspace.id);
    const made = await bound('POST', '/v2/logs/exports', {
      body: { filters: { ...range, workspace_slug: workspace.slug } },
    });
    expect(made.body.total).toBe(2);
    const { id } = await make();
    expect((await bound('GET', `/v2/logs/exports/${id}`)).status).toBe(404);
    const items = (await bound('GET', '/v2/logs/exports')).body.data;
    expect(items.map((one: { id: string }) => one.id)).toEqual([made.body.id]);
  });
});

describe('the job', () => {
  it('resumes a run that died at any of its steps, and writes no line twice', async () => {
    const database = server.database;
    await logRequests(Array.from({ length: 4_100 }, () => ({ workspaceId: null })));
    server.clock.advance(60_000);
    const now = server.clock.now();
    const stored = new StoredBlobs({
      database,
      now: () => now,
      writesTo: 'database',
      places: { database: new DatabaseBlobs(database) },
    });
    const { id } = await make();
    await send('POST', `${path}/${id}/start`);
    let steps = 0;
    /** Dies before each chunk is written, and before it is committed. */
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      steps += 1;
      if ([1, 3].includes(steps % 5)) throw new Error('killed');
      return await work();
    };
    const blobs: ExportOptions['blobs'] = {
      write: (...given) => step(() => stored.write(...given)),
      keep: (...given) => step(() => stored.keep(...given)),
    };
    const job = writeLogExports({ blobs });
    for (let runs = 0; runs < 20 && (await get(id)).status === 'in_progress'; runs += 1) {
      await job.run(jobContext(database, now)).catch(({ message }) => expect(message).toMatch(id));
    }
    expect(steps).toBe(15);
    const lines = await fetchLines(id);
    expect(lines).toHaveLength(4_103);
    expect(new Set(lines.map((line) => line.id)).size).toBe(4_103);
  });
});

describe('fields hidden from people', () => {
  it('is excluded from every export that they can see, whoever created it', async () => {
    const place = await post('/admin/v2/workspaces', { name: 'seen' });
    const user_id = await addUser(server);
    const users = [{ id: user_id, role: 'member' }];
    await send('POST', `/v1/admin/workspaces/${place.id}/users`, { body: { users } });
    const named = { name: 'own', workspace_id: place.id, user_id, scopes: ['logs.export'] };
    const own = await post('/v1/api-keys/workspace/user', named);
    await logRequests(
      [own.id, randomUUID()].map((apiKeyId) => ({ apiKeyId, workspaceId: place.id })),
    );
    server.clock.advance(60_000);
    const asMember: Send = (method, at, more = {}) =>
      server.request(method, at, {
        auth: 'none',
        headers: { 'x-gateway-api-key': own.key },
        ...more,
      });
    const allow = (security_settings: object) =>
      send('PUT', `/admin/v2/workspaces/${place.id}`, { body: { security_settings } });
    const body = { filters: range, requested_data: ['id'] };
    const started = async (by: Send, more: object) => {
      const { body: made } = await by('POST', path, { body: { ...body, ...more } });
      await by('POST', `${path}/${made.id}/start`);
      return made;
    };
    const ofAdmin = await started(send, { workspace_id: place.id });
    const early = await started(asMember, {});
    const draft = (await asMember('POST', path, { body })).body;
    await run();
    expect([ofAdmin, early, draft].map(({ total }) => total)).toEqual([2, 2, 2]);
    const seen = async () => {
      const { body: all } = await asMember('GET', path);
      const ids = [ofAdmin, early].map(({ id }) => id);
      const links = ids.map((id) => asMember('GET', `${path}/${id}/download`));
      return [all.total, ...(await Promise.all(links)).map(({ status }) => status)];
    };
    expect(await seen()).toEqual([3, 200, 200]);
    await allow({ membersViewAllData: false });
    const mine = await started(asMember, {});
    await run();
    expect([mine.total, await seen()]).toEqual([1, [1, 404, 404]]);
    expect((await asMember('GET', `${path}/${mine.id}/download`)).status).toBe(200);
    for (const [method, what] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/start'],
      ['POST', '/cancel'] as const,
    ]) {
      const change = method === 'PUT' ? { body: { description: 'mine' } } : {};
      const { status } = await asMember(method, `${path}/${draft.id}${what}`, change);
      expect([method, what, status]).toEqual([method, what, 404]);
    }
    await allow({ membersViewAllData: null, membersViewLogs: false });
    expect(await seen()).toEqual([undefined, 403, 403]);
    expect((await asMember('POST', path, { body })).status).toBe(403);
    expect((await send('GET', `${path}/${draft.id}`)).status).toBe(200);
  });
});
