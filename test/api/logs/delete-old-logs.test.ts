/**
 * Verifies that request log rows are deleted by day after their retention, totals later, and
 * nothing newer.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import { deleteOldLogs } from '../../../src/jobs/delete-old-logs.ts';
import * as requestLogs from '../../../src/store/logs/request-logs.ts';
import * as organisations from '../../../src/store/resources/organisations.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { jobContext } from '../../support/server/job-context.ts';

const dayMs = 86_400_000;
const now = Date.parse('2026-11-22T12:00:00Z');
const stored = { logDays: 2, totalsDays: 5 };
const organisationId = randomUUID();
let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase();
  const row = { id: organisationId, tsg_id: '1234567890', name: 'test', created_at: now };
  const more = { parent_tsg_id: null, api_key_max_ttl_days: null };
  await organisations.insert(test.database.db, { ...row, ...more });
});
afterEach(() => test[Symbol.asyncDispose]());

async function logOneADay(days: number): Promise<void> {
  const log = new RequestLog({ database: test.database, onLoss: () => {} });
  for (let day = 0; day < days; day += 1) {
    log.record(requestRecord(organisationId, { startedAt: now - day * dayMs, durationMs: 1 }));
  }
  await log.close(60_000);
}

const daysLeft = async () =>
  (await test.database.db.selectFrom('request_logs').select('ended_at').execute())
    .map(({ ended_at }) => Math.floor((now + 1 - ended_at) / dayMs))
    .toSorted((a, b) => a - b);

it('deletes whole days of rows and totals after their retention, and nothing in a second run', async () => {
  await logOneADay(8);
  const first = await deleteOldLogs(stored).run(jobContext(test.database, now));
  expect(first).toMatchObject({ logs: 5, totals: 2 });
  expect(await daysLeft()).toEqual([0, 1, 2]);
  const again = await deleteOldLogs(stored).run(jobContext(test.database, now));
  expect(again).toEqual({ partitions: 0, logs: 0, feedback: 0, batches: 0, totals: 0 });
});

it('creates daily partitions in advance and drops them whole', async () => {
  await deleteOldLogs(stored).run(jobContext(test.database, now - 6 * dayMs));
  await logOneADay(5);
  const { partitions, logs } = await deleteOldLogs(stored).run(jobContext(test.database, now));
  expect({ partitions, logs }).toEqual({ partitions: 4, logs: 0 });
  expect(await daysLeft()).toEqual([0, 1, 2]);
  const ends = (await requestLogs.listPartitions(test.database.db)).map((one) => one.endsAt);
  expect(ends.slice(-2)).toEqual([Date.parse('2026-11-30'), null]);
});

it('deletes rows one by one when the table is not partitioned', async () => {
  await logOneADay(5);
  const { db } = test.database;
  const context = jobContext(test.database, now);
  const refusing = new Proxy(db, {
    get: (target, name) => {
      if (name === 'getExecutor') throw new Error('ALTER command denied');
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const counts = await deleteOldLogs(stored).run({ ...context, db: refusing });
  expect(counts).toMatchObject({ partitions: 0, logs: 2 });
  expect(await daysLeft()).toEqual([0, 1, 2]);
});

it('deletes nothing when retention is disabled', async () => {
  await logOneADay(8);
  const off = { logDays: null, totalsDays: null };
  const counts = await deleteOldLogs(off).run(jobContext(test.database, now));
  expect(counts).toEqual({ partitions: 0, logs: 0, feedback: 0, batches: 0, totals: 0 });
  expect(await daysLeft()).toHaveLength(8);
});
