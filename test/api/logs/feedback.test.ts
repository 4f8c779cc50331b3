/**
 * Verifies feedback: who may create and update it, its scope, and its effect on graphs and charts.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant } from '../../support/server/tenant.ts';

const path = '/v1/feedback';
let server: TestServer;
let workspace: { id: string; slug: string };
let other: { id: string; slug: string };

beforeAll(async () => {
  server = await startTestServer();
  const make = async (name: string) =>
    (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
  [workspace, other] = [await make('Team'), await make('Other')];
  await logRequests();
});
afterAll(() => server[Symbol.asyncDispose]());

/**
 * Logs two requests of one trace with the same model, one of another trace, and one of another
 * workspace.
 */
async function logRequests(): Promise<void> {
  const log = new RequestLog({ database: server.database, onLoss: () => {} });
  const rows = [
    { id: 'first', startedAt: '03T10:10:00', model: 'gpt-4o', workspaceId: workspace.id },
    { id: 'first', startedAt: '03T10:20:00', model: 'gpt-4o', workspaceId: workspace.id },
    { id: 'second', startedAt: '04T07:00:00', model: 'claude', workspaceId: workspace.id },
    { id: 'elsewhere', startedAt: '04T07:10:00', model: 'claude', workspaceId: other.id },
  ];
  for (const { startedAt, ...row } of rows) {
    const at = Date.parse(`2027-01-${startedAt}Z`);
    log.record(requestRecord(server.organisationId, { ...row, startedAt: at, durationMs: 100 }));
  }
  await log.close(60_000);
}

const give = async (body: object): Promise<string[]> => {
  const { status, body: responseBody } = await server.request('POST', path, { body });
  expect([status, responseBody.status]).toEqual([200, 'success']);
  return responseBody.feedback_ids;
};
const stretch =
  'time_of_generation_min=2027-01-01T00:00:00Z&time_of_generation_max=2027-01-04T08:00:00Z';
const graph = async (name: string, place = workspace.slug) =>
  (await server.request('GET', `/v1/analytics/graphs/${name}?${stretch}&workspace_slug=${place}`))
    .body;
const chart = async (name: string) => {
  const query = `workspaceSlug=${workspace.slug}&timeOfGenerationMin=2027-01-01T00:00:00Z`;
  return (await server.request('GET', `/v2/logs/charts/${name}?${query}`)).body.data;
};

describe('feedback', () => {
  it('is created for one or several traces, and appears in graphs, charts and rows of the log', async () => {
    const [liked] = await give({ trace_id: 'first', value: 5, metadata: { by: 'anna' } });
    await give([
      { trace_id: 'first', value: -4, weight: 0.5 },
      { traceID: 'second', value: 10, weight: 0.25 },
      { trace_id: 'elsewhere', value: 10 },
      { trace_id: 'nowhere', value: 10 },
    ]);
    expect(await graph('feedbacks')).toMatchObject({
      summary: { total: 3 },
      data_points: [0, 0, 2, 1].map((total) => ({ total })),
    });
    const average = 5.5 / 1.75;
    expect((await graph('feedbacks/weighted')).summary).toEqual({ avg: average, total: 3 });
    for (const spelling of ['score', 'scores']) {
      expect(await graph(`feedbacks/${spelling}`)).toMatchObject({
        summary: { total: 3 },
        data_points: [-4, 5, 10].map((score) => ({ score, total: 1 })),
      });
    }
    expect((await graph('feedbacks/ai-models')).data_points).toEqual([
      { ai_model: 'claude', total: 1, avg: 10 },
      { ai_model: 'gpt-4o', total: 2, avg: 2 },
    ]);
    expect((await graph('feedbacks', other.slug)).summary).toEqual({ total: 1 });
    expect(await chart('feedback-trend')).toMatchObject({ total: 3 });
    expect(await chart('feedback-weighted')).toMatchObject({
      total: average,
      records: [{ y: 2 }, { y: 10 }],
    });
    expect((await chart('feedback-score-distribution')).records).toContainEqual({ x: -4, y: 1 });
    expect((await chart('feedback-models')).records).toContainEqual({
      x: 'claude',
      y: { avgWeightedFeedback: 10, feedbackCount: 1 },
    });
    const within = async (bounds: string) =>
      (await graph(`requests`, `${workspace.slug}&${bounds}`)).summary.total;
    expect(await within('weighted_feedback_min=2')).toBe(3);
    expect(await within('weighted_feedback_min=2.1&weighted_feedback_max=10')).toBe(1);
    expect(await within('weighted_feedback_max=-1')).toBe(0);
    const rows = await server.request('GET', `/v1/logs?trace_id=first&${stretch}`);
    expect(rows.body.data).toHaveLength(2);
    expect(rows.body.data[0].feedback).toMatchObject([
      { id: liked, value: 5, weight: 1, metadata: { by: 'anna' } },
      { value: -4, weight: 0.5 },
    ]);
    const query = `workspaceSlug=${workspace.slug}&traceId=second`;
    const { records } = (await server.request('GET', `/v2/logs?${query}`)).body.data;
    expect(records[0].feedback).toMatchObject([{ value: 10, weight: 0.25 }]);
  });

  it('is updated with version control, and not written when nothing differs', async () => {
    const [id] = await give({ trace_id: 'changed', value: 1 });
    const at = `${path}/${id}`;
    const put = async (body: object, headers = {}) =>
      (await server.request('PUT', at, { body, headers })).status;
    const read = async () => (await server.request('GET', at)) as { body: object; headers: object };
    expect([await put({ value: 1 }), await put({ weight: 1, metadata: {} })]).toEqual([200, 200]);
    expect((await read()).headers).toMatchObject({ etag: '"1"' });
    expect(await put({ value: -3, weight: 0.1, metadata: { a: 1 } })).toBe(200);
    const { body, headers } = await read();
    expect(body).toMatchObject({ trace_id: 'changed', value: -3, weight: 0.1, metadata: { a: 1 } });
    expect(headers).toMatchObject({ etag: '"2"' });
    expect(await put({ value: 2 }, { 'if-match': '"1"' })).toBe(412);
    expect(await put({})).toBe(400);
  });

  it.each([
    [{ value: 1 }, 'trace_id'],
    [{ trace_id: 'a', traceID: 'a', value: 1 }, 'trace_id'],
    [{ trace_id: 'a b', value: 1 }, 'trace_id'],
    [{ trace_id: 'x'.repeat(129), value: 1 }, 'trace_id'],
    [{ trace_id: 'a' }, 'value'],
    [{ trace_id: 'a', value: 11 }, 'value'],
    [{ trace_id: 'a', value: 0.5 }, 'value'],
    [{ trace_id: 'a', value: 1, weight: 1.1 }, 'weight'],
    [{ trace_id: 'a', value: 1, weight: 0.0000001 }, 'weight'],
  ])('returns 400 for %j', async (body, param) => {
    const refused = await server.request('POST', path, { body });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'AB01']);
    expect(JSON.stringify(refused.body.error)).toContain(param);
  });

  it('applies to requests of its workspace only, and is hidden from others', async () => {
    const bound = await addKeyCaller(server, ['completions.write'], other.id);
    const body = { trace_id: 'second', value: -10 };
    const made = await bound.send('POST', path, { body });
    expect(made.status).toBe(200);
    expect((await graph('feedbacks/ai-models')).data_points).toContainEqual({
      ai_model: 'claude',
      total: 1,
      avg: 10,
    });
    const at = `${path}/${made.body.feedback_ids[0]}`;
    expect((await bound.send('GET', at)).body.workspace_id).toBe(other.id);
    const stranger = await addKeyCaller(server, ['completions.write'], workspace.id);
    const tenant = await addTenant(server);
    for (const { send } of [stranger, tenant]) {
      expect((await send('GET', at)).status).toBe(404);
      expect((await send('PUT', at, { body: { value: 1 } })).status).toBe(404);
    }
    const unknown = { body: { value: 1 } };
    expect((await server.request('PUT', `${path}/${randomUUID()}`, unknown)).status).toBe(404);
    const scopeless = await addKeyCaller(server, ['logs.view']);
    expect((await scopeless.send('POST', path, { body })).status).toBe(403);
  });
});
