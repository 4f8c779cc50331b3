/** Verifies that programs that follow the log learn of every row, also of those that are stored late. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteOldLogs } from '../../../src/jobs/delete-old-logs.ts';
import { addManyKeys, addManyRequests } from '../../support/console/many-rows.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addTenant } from '../../support/server/tenant.ts';

interface LogBatch {
  readonly id: string;
  readonly stored_at: string;
  readonly first_ended_at: string;
  readonly last_ended_at: string;
}

const lateMs = 300_000;

let server: TestServer;
let apiKeyIds: readonly string[];
beforeAll(async () => {
  server = await startTestServer();
  server.clock.set(Date.now());
  apiKeyIds = await addManyKeys(server, 3);
});
afterAll(() => server[Symbol.asyncDispose]());

const list = async (query = ''): Promise<LogBatch[]> => {
  const { status, body } = await server.request('GET', `/v1/logs/batches${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
};

describe('the list of batches', () => {
  it('has the times of the rows of each transaction, however late it was', async () => {
    const lastEndedAt = server.clock.now();
    await addManyRequests(server, { count: 10, lastEndedAt, apiKeyIds });
    const first = await list();
    await addManyRequests(server, { count: 5, lastEndedAt: lastEndedAt - lateMs, apiKeyIds });
    const since = first.at(-1)!.stored_at;
    const known = new Set(first.map(({ id }) => id));
    const added = (await list(`?since=${since}`)).filter(({ id }) => !known.has(id));
    const ends = (ms: number) => new Date(ms).toISOString();
    expect(Math.max(...first.map((one) => Date.parse(one.last_ended_at)))).toBe(lastEndedAt);
    expect(added.map((one) => one.last_ended_at)).toContain(ends(lastEndedAt - lateMs));
    for (const one of added) expect(one.first_ended_at <= one.last_ended_at).toBe(true);
  });

  it('has a batch of a reported request, and nothing of other organisations', async () => {
    const before = (await list()).length;
    const request = {
      method: 'POST',
      url: 'https://api.example.com/v1/chat/completions',
      body: {},
    };
    const body = { request, response: { status: 200, body: {} } };
    expect((await server.request('POST', '/v1/logs', { body })).status).toBe(200);
    expect((await list()).length).toBe(before + 1);
    const other = await addTenant(server);
    expect((await other.send('GET', '/v1/logs/batches')).body.data).toEqual([]);
    expect((await server.request('GET', '/v1/logs/batches', { auth: 'none' })).status).toBe(401);
  });

  it('tells that there are more than a page', async () => {
    const { body } = await server.request('GET', '/v1/logs/batches?page_size=1');
    expect([body.data.length, body.has_more]).toEqual([1, true]);
  });

  it('ends after an hour', async () => {
    const context = jobContext(server.database, Date.now() + 3_700_000);
    await deleteOldLogs({ logDays: null, totalsDays: null }).run(context);
    expect(await list('?since=2026-01-01T00:00:00Z')).toEqual([]);
  });
});
