/**
 * Verifies that old counters are deleted in whole windows, and never those of a window that still
 * counts.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deleteOldUsage } from '../../../src/jobs/delete-old-usage.ts';
import { RunLost } from '../../../src/jobs/runner/job.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import {
  endedWindows,
  endWindow,
  insertCounter,
  insertPolicy,
} from '../../support/rows/usage-rows.ts';
import { jobContext } from '../../support/server/job-context.ts';

const dayMs = 86_400_000;
const now = Date.parse('2026-11-23T12:00:00Z');
const organisationId = randomUUID();
const job = deleteOldUsage();
let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test[Symbol.asyncDispose]());

const counters = () =>
  test.database.db.selectFrom('usage_counters').select('window_start').execute();

async function policyWith(count: number, windowStart: number, endedAt: number | null) {
  const { db } = test.database;
  const subject = await insertPolicy(db, organisationId);
  if (endedAt !== null) await endWindow(db, subject, windowStart, endedAt);
  for (let at = 0; at < count; at += 1) {
    await insertCounter(db, subject, { windowStart, used: at, valueKey: `v${at}` });
  }
  return subject;
}

it('deletes windows that ended 90 days ago with their counters, and keeps newer and open ones', async () => {
  await policyWith(3, 1, now - 90 * dayMs - 1);
  const young = await policyWith(2, 2, now - 90 * dayMs);
  await policyWith(2, 3, null);
  expect(await job.run(jobContext(test.database, now))).toEqual({
    windows: 1,
    counters: 3,
    rateCounters: 0,
  });
  expect((await counters()).map((row) => row.window_start).toSorted()).toEqual([2, 2, 3, 3]);
  expect(await endedWindows(test.database.db)).toMatchObject([{ subject_id: young.id }]);
  expect(await job.run(jobContext(test.database, now))).toEqual({
    windows: 0,
    counters: 0,
    rateCounters: 0,
  });
});

it('keeps the record of a window until its last counter is deleted, wherever the run dies', async () => {
  await policyWith(1_200, 1, now - 100 * dayMs);
  const context = jobContext(test.database, now);
  let left = 1;
  const dying = job.run({
    ...context,
    transaction: (work) => {
      if (left === 0) throw new RunLost();
      left -= 1;
      return context.transaction(work);
    },
  });
  await expect(dying).rejects.toThrow(RunLost);
  expect(await counters()).toHaveLength(200);
  expect(await endedWindows(test.database.db)).toHaveLength(1);
  expect(await job.run(context)).toEqual({ windows: 1, counters: 200, rateCounters: 0 });
  expect(await endedWindows(test.database.db)).toEqual([]);
});

it('stops between two batches on its signal', async () => {
  await policyWith(3, 1, now - 100 * dayMs);
  const stopped = jobContext(test.database, now, AbortSignal.abort());
  expect(await job.run(stopped)).toEqual({ windows: 0, counters: 0, rateCounters: 0 });
  expect(await counters()).toHaveLength(3);
});
