/** Verifies that a page of the log reads few rows, however many rows there are and however few match. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import type { RequestRecord } from '../../../src/gateway/logs/request-record.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import * as requestLogs from '../../../src/store/logs/request-logs.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { requestRecord } from '../../support/rows/request-records.ts';

const organisationId = randomUUID();
const rareKey = randomUUID();
const rareConfig = randomUUID();
const rows = 20_000;
const rowsOfPage = 51;
const rowsReadMax = 10 * rowsOfPage;
const firstAt = Date.parse('2026-11-22T08:00:00Z');
const stepMs = 1000;

/** Two early requests that differ from all others, so that a scan from the newest row would read them all. */
const rare: Partial<RequestRecord> = {
  apiKeyId: rareKey,
  configId: rareConfig,
  provider: '@rare',
  model: 'rare',
  status: 503,
  guardrailVerdict: 'failed',
};

let test: TestDatabase;
let one: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  one = openDatabase({ ...test.settings, poolSize: 1 });
  const log = new RequestLog({
    database: test.database,
    onLoss: (error) => {
      throw error;
    },
    bounds: { flushEveryMs: 1, retryMs: 1 },
  });
  for (let at = 0; at < rows; at++) {
    const startedAt = firstAt + at * stepMs;
    const isCall = at === 2 || at === 3;
    const call: Partial<RequestRecord> = {
      mcp: { server: 'rare-server', name: 'rare-tool' },
      endpoint: 'tools/call',
      provider: null,
      model: null,
    };
    const status = at % 10 === 9 ? 429 : 200;
    log.record(
      requestRecord(organisationId, {
        startedAt,
        status,
        ...(at < 2 ? rare : {}),
        ...(isCall ? call : {}),
      }),
    );
  }
  await log.close(60_000);
  // An engine without current statistics may choose another index.
  await sql`analyze table request_logs`.execute(one.db);
});
afterAll(async () => {
  await one[Symbol.asyncDispose]();
  await test[Symbol.asyncDispose]();
});

const every: requestLogs.RequestLogFilter = {
  from: firstAt,
  to: firstAt + rows * stepMs,
  equal: {},
  apiKeyIds: null,
  statusFrom: 0,
  statusTo: requestLogs.statusMax,
  type: undefined,
  before: null,
};

// A proxy in front of shards does not count the rows that its session has read.
describe.skipIf(inject('databaseServer').keyspaces !== undefined)('a page of the log', () => {
  async function rowsRead(work: () => Promise<unknown>): Promise<number> {
    const sum = async () => {
      const read = sql<{ Value: string }>`show session status like 'Handler_read%'`;
      const { rows: found } = await read.execute(one.db);
      return found.reduce((all, { Value: value }) => all + Number(value), 0);
    };
    const [start, before] = [await sum(), await sum()];
    await work();
    return (await sum()) - before - (before - start);
  }

  const filters: [string, Partial<requestLogs.RequestLogFilter>, number][] = [
    ['no property', {}, rowsOfPage],
    ['a key', { equal: { api_key_id: rareKey } }, 2],
    ['a config', { equal: { config_id: rareConfig } }, 2],
    ['a provider', { equal: { provider: '@rare' } }, 2],
    ['a model', { equal: { model: 'rare' } }, 2],
    ['a model without requests', { equal: { model: 'none' } }, 0],
    ['a status', { statusFrom: 503, statusTo: 503 }, 2],
    ['a class of statuses that few requests have', { statusFrom: 500, statusTo: 599 }, 2],
    ['a class of statuses that many requests have', { statusFrom: 400, statusTo: 499 }, rowsOfPage],
    ['a verdict', { equal: { guardrail_verdict: 'failed' } }, 2],
    ['calls of MCP servers', { type: 'mcp' }, 2],
    ['an MCP server', { equal: { mcp_server: 'rare-server' } }, 2],
    ['a tool', { equal: { mcp_name: 'rare-tool' } }, 2],
    ['a model and a frequent status', { equal: { model: 'rare' }, statusFrom: 500 }, 2],
  ];

  it.each(filters)('reads at most ten times its rows, by %s', async (_, filter, count) => {
    let found = 0;
    const read = await rowsRead(async () => {
      const page = await requestLogs.list(
        one.db,
        organisationId,
        { ...every, ...filter },
        rowsOfPage,
      );
      found = page.length;
    });
    expect(found).toBe(count);
    expect(read).toBeLessThanOrEqual(rowsReadMax);
  });
});
