/**
 * Verifies the writer of the request log: one row a request whatever happens to the database, and a
 * count of lost ones.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RequestLog, type RequestLogOptions } from '../../../src/gateway/logs/request-log.ts';
import { DatabaseUnavailable } from '../../../src/store/connection/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { eventually } from '../../support/server/eventually.ts';

const organisationId = randomUUID();
let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test[Symbol.asyncDispose]());

const rows = () => test.database.db.selectFrom('request_logs').selectAll().execute();
const totals = () => test.database.db.selectFrom('request_totals').selectAll().execute();

function openLog(more: Partial<RequestLogOptions> = {}) {
  const losses: [unknown, number][] = [];
  const log = new RequestLog({
    database: test.database,
    onLoss: (error, requests) => losses.push([error, requests]),
    ...more,
    bounds: { flushEveryMs: 1, retryMs: 1, ...more.bounds },
  });
  return { log, losses };
}

/** Runs each transaction, then lets the test decide the result that the writer sees. */
function answering(each: (call: number) => void): RequestLogOptions['database'] {
  let calls = 0;
  return {
    transaction: async (work) => {
      const result = await test.database.transaction(work);
      calls += 1;
      each(calls);
      return result;
    },
  };
}

describe('the request log writer', () => {
  it('writes a row for each request, and counts equal requests by hour and tenant', async () => {
    const { log } = openLog();
    const other = randomUUID();
    log.record(requestRecord(organisationId));
    log.record(requestRecord(organisationId, { durationMs: 70_000, status: 500, tokens: null }));
    log.record(requestRecord(organisationId, { durationMs: 99.6, cacheStatus: 'HIT' }));
    log.record(requestRecord(other));
    log.record(requestRecord('', { organisationId: null }));
    await log.close(60_000);
    expect(log.figures()).toEqual({ written: 4, lost: 0, waiting: 0 });
    expect(await rows()).toHaveLength(4);
    const [first] = (await rows()).filter((row) => row.organisation_id === other);
    expect(first).toMatchObject({
      trace_id: 'trace-1',
      duration_ms: 240,
      first_byte_ms: 121,
      metadata: '{"team":"a"}',
      requested_model: 'gpt',
      model: 'gpt-4o',
      input_tokens: 10,
      cost_units: 125,
      ended_at: Date.parse('2026-11-22T08:15:00.240Z'),
    });
    const own = (await totals()).filter((row) => row.organisation_id === organisationId);
    expect(own.toSorted((a, b) => a.status - b.status)).toMatchObject([
      {
        status: 200,
        requests: 2,
        cache_hits: 1,
        input_tokens: 20,
        cost_units: 250,
        within_100_ms: 1,
        within_250_ms: 2,
        within_60000_ms: 2,
        duration_ms: 340,
        began_at: Date.parse('2026-11-22T08:00:00Z'),
      },
      { status: 500, requests: 1, within_60000_ms: 0, input_tokens: 0, duration_ms: 70_000 },
    ]);
  });

  it('writes and counts each request once when write acknowledgements are lost', async () => {
    const database = answering((call) => {
      if (call % 3 !== 0) throw new DatabaseUnavailable('lost');
    });
    const { log } = openLog({ database });
    for (let at = 0; at < 1_200; at += 1) log.record(requestRecord(organisationId));
    await log.close(60_000);
    expect(log.figures()).toEqual({ written: 1_200, lost: 0, waiting: 0 });
    expect(await rows()).toHaveLength(1_200);
    expect(await totals()).toMatchObject([{ requests: 1_200, unlogged_requests: 0 }]);
  });

  it('writes one transaction per organisation for a full queue', async () => {
    let transactions = 0;
    const database: RequestLogOptions['database'] = {
      transaction: (work) => {
        transactions += 1;
        if (transactions === 1) log.record(requestRecord(organisationId));
        return test.database.transaction(work);
      },
    };
    const { log } = openLog({ database, bounds: { flushEveryMs: 3_600_000 } });
    const others = [randomUUID(), randomUUID()];
    for (let at = 0; at < 499; at += 1) {
      for (const id of [organisationId, ...others]) log.record(requestRecord(id));
    }
    expect({ transactions, ...log.figures() }).toMatchObject({ transactions: 0, waiting: 1_497 });
    // Rows are created 32 at a time.
    while (log.figures().waiting < 47 * 32) log.record(requestRecord(organisationId));
    await eventually(() => expect(log.figures().written).toBe(500));
    expect({ transactions, ...log.figures() }).toMatchObject({ transactions: 1, waiting: 1_005 });
    await log.close(60_000);
    expect({ transactions, ...log.figures() }).toMatchObject({ transactions: 4, written: 1_505 });
    expect(await rows()).toHaveLength(1_505);
  });

  it('queues a limited number of rows while the database is unavailable, and counts the lost ones', async () => {
    let isAway = true;
    const database: RequestLogOptions['database'] = {
      transaction: async (work) => {
        if (isAway) throw new DatabaseUnavailable('away');
        return test.database.transaction(work);
      },
    };
    const { log } = openLog({ database, bounds: { waitingMax: 3 } });
    for (let at = 0; at < 10; at += 1) log.record(requestRecord(organisationId));
    await eventually(() => expect(log.figures()).toEqual({ written: 0, lost: 7, waiting: 3 }));
    isAway = false;
    await eventually(() => expect(log.figures().waiting).toBe(0));
    await log.close(60_000);
    expect(await rows()).toHaveLength(3);
    const reported = (await totals()).map((row) => [row.requests, row.unlogged_requests]);
    expect(reported.toSorted()).toEqual([
      [0, 7],
      [3, 0],
    ]);
  });

  it('limits the bytes of queued text', async () => {
    const database: RequestLogOptions['database'] = {
      transaction: () => Promise.reject(new DatabaseUnavailable('away')),
    };
    const { log, losses } = openLog({ database, bounds: { waitingCharsMax: 2_000 } });
    const metadata = { note: 'x'.repeat(300) };
    for (let at = 0; at < 10; at += 1) log.record(requestRecord(organisationId, { metadata }));
    await eventually(() => expect(log.figures()).toEqual({ written: 0, lost: 7, waiting: 3 }));
    await log.close(1);
    expect(log.figures()).toMatchObject({ written: 0, lost: 10 });
    expect(losses).toEqual([[null, 3]]);
  });

  it('omits a row that the database rejects, and no other', async () => {
    const { log, losses } = openLog();
    for (let at = 0; at < 20; at += 1) {
      log.record(requestRecord(organisationId, at === 13 ? { status: 99_999 } : {}));
    }
    await log.close(60_000);
    expect(log.figures()).toEqual({ written: 19, lost: 1, waiting: 0 });
    expect(losses).toHaveLength(1);
    expect(await rows()).toHaveLength(19);
    const reported = (await totals()).map((row) => [row.requests, row.unlogged_requests]);
    expect(reported.toSorted()).toEqual([
      [0, 1],
      [19, 0],
    ]);
  });

  it('accepts any text of callers and providers', async () => {
    const { log } = openLog();
    const tokens = { cachedInputTokens: 0.5, cacheWriteTokens: 1e300 };
    log.record(
      requestRecord(organisationId, {
        model: '\ud83d'.repeat(300),
        requestedModel: `'"\\\0${'é'.repeat(400)}`,
        durationMs: 1e15,
        firstByteMs: -1,
        costUnits: 1e300,
        metadata: { "a'": '\u0000' },
        tokens: { inputTokens: -1, outputTokens: 1e300, ...tokens },
      }),
    );
    await log.close(60_000);
    expect(log.figures()).toEqual({ written: 1, lost: 0, waiting: 0 });
  });
});
