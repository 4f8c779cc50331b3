/**
 * Verifies that one of any number of replicas runs each job, and that another one takes over when
 * it dies.
 */
import { randomUUID } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createSharedClock, type SharedClock } from '../../../src/clock.ts';
import { allJobs } from '../../../src/jobs/all-jobs.ts';
import type { Job } from '../../../src/jobs/runner/job.ts';
import type { JobOutcome } from '../../../src/jobs/runner/job-run.ts';
import {
  createScheduler,
  type Scheduler,
  type SchedulerOptions,
} from '../../../src/jobs/runner/scheduler.ts';
import { createLog } from '../../../src/log.ts';
import type { Db } from '../../../src/store/connection/db.ts';
import { readServerTime } from '../../../src/store/connection/server-time.ts';
import * as jobRuns from '../../../src/store/sync/job-runs.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import { eventually } from '../../support/server/eventually.ts';

const unused = () => Promise.reject(new Error('unused'));
const untold = {
  sendMail: null,
  recipients: [],
  blobs: { sweep: unused, write: unused, keep: unused },
  lists: {
    has: () => {
      throw new Error('unused');
    },
    read: () => {
      throw new Error('unused');
    },
    lines: () => {
      throw new Error('unused');
    },
    pages: () => {
      throw new Error('unused');
    },
  },
};
const audit = { auditDays: null, auditKeyOf: () => Buffer.alloc(32) };
const stored = { logDays: 90, totalsDays: 365, responseDays: 30, threadDays: 60 };
const minute = Date.parse('2026-11-21T12:00:00Z');
let test: TestDatabase;
let clock: SharedClock & { set(ms: number): void };
let schedulers: Scheduler[];

beforeEach(async () => {
  test = await createTestDatabase();
  let ms = minute + 5_000;
  const shared = createSharedClock({ now: () => ms, monotonicMs: () => ms }, async () => ms);
  clock = { ...shared, set: (to) => (ms = to) };
  schedulers = [];
});
afterEach(async () => {
  await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
  await test[Symbol.asyncDispose]();
});

function replica(
  jobs: readonly Job[],
  overrides: Partial<Pick<SchedulerOptions, 'leaseMs' | 'onRun' | 'clock'>> = {},
): Scheduler {
  const scheduler = createScheduler({
    database: test.database,
    jobs,
    clock,
    log: createLog({ level: 'silent' }),
    owner: randomUUID(),
    ...overrides,
  });
  schedulers.push(scheduler);
  return scheduler;
}

/** A job that fires each second of real time; the test clock decides which minute that is. */
function job(run: Job['run'], fields: Partial<Job> = {}): Job {
  return {
    name: 'a-job',
    cron: '* * * * * *',
    summary: 'A job',
    feature: null,
    idleBecause: null,
    run,
    ...fields,
  };
}

const rows = () => test.database.db.selectFrom('job_runs').selectAll().orderBy('bucket').execute();

describe('a scheduled job', () => {
  it('runs once per scheduled time with three replicas', async () => {
    const runs: number[] = [];
    const ticking = job(async ({ now }) => {
      runs.push(now);
      return { things: 1 };
    });
    const replicas = [replica([ticking]), replica([ticking]), replica([ticking])];
    for (const scheduler of replicas) scheduler.start();
    await eventually(() => expect(runs).toHaveLength(1));
    clock.set(minute + 60_000);
    await eventually(() => expect(runs).toHaveLength(2));
    await Promise.all(replicas.map((scheduler) => scheduler.stop()));
    expect(runs).toEqual([minute + 5_000, minute + 60_000]);
    expect(await rows()).toMatchObject([
      { bucket: minute + 5_000, state: 'done', attempt: 1, counts: '{"things":1}' },
      { bucket: minute + 60_000, state: 'done', attempt: 1 },
    ]);
  });

  it('is not repeated for a past time when the clock goes back', async () => {
    const outcomes: JobOutcome[] = [];
    const runs = vi.fn(async () => ({}));
    const scheduler = replica([job(runs)], { onRun: (run) => outcomes.push(run) });
    await scheduler.runNow('a-job');
    clock.set(minute);
    await scheduler.runNow('a-job');
    clock.set(minute + 5_000);
    expect((await scheduler.runNow('a-job')).state).toBe('skipped');
    expect(runs).toHaveBeenCalledTimes(2);
    expect(outcomes).toHaveLength(2);
  });

  it('is skipped while another replica runs it', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    const slow = job(async () => {
      enter();
      await gate;
      return { things: 3 };
    });
    const first = replica([slow]).runNow('a-job');
    await entered;
    clock.set(minute + 60_000);
    expect(await replica([slow]).runNow('a-job')).toMatchObject({ state: 'skipped' });
    open();
    expect(await first).toMatchObject({ state: 'done', counts: { things: 3 }, attempt: 1 });
  });

  it('runs alone within one process', async () => {
    let running = 0;
    let most = 0;
    const counting = (name: string): Job =>
      job(
        async () => {
          running += 1;
          most = Math.max(most, running);
          await test.database.ping();
          running -= 1;
          return {};
        },
        { name },
      );
    const scheduler = replica([counting('one'), counting('two'), counting('three')]);
    await Promise.all(['one', 'two', 'three'].map((name) => scheduler.runNow(name)));
    expect(most).toBe(1);
  });
});

describe('a process whose clock is wrong', () => {
  const dayMs = 86_400_000;

  it.each([40 * dayMs, 6_000, -6_000])(
    'skips the run %d ms ahead of the database, logs the reason, and leaves the run to others',
    async (deviationMs) => {
      const runs = vi.fn(async () => ({}));
      const outcomes: JobOutcome[] = [];
      const now = (): number => minute + deviationMs;
      const wrong = createSharedClock({ now, monotonicMs: now }, async () => minute);
      const onRun = (run: JobOutcome): void => void outcomes.push(run);
      const refused = await replica([job(runs)], { clock: wrong, onRun }).runNow('a-job');
      expect(refused).toMatchObject({
        state: 'failed',
        attempt: 0,
        error: expect.stringMatching(/^the clock of this process is \d+ s (ahead of|behind) the/),
      });
      expect(outcomes).toEqual([refused]);
      expect(runs).not.toHaveBeenCalled();
      expect(await rows()).toEqual([]);
      expect(await replica([job(runs)]).runNow('a-job')).toMatchObject({ state: 'done' });
    },
  );

  it('uses the time of the database with a small deviation', async () => {
    const seen: number[] = [];
    const own = (): number => minute + 3_000;
    const ahead = createSharedClock({ now: own, monotonicMs: own }, async () => minute);
    const noting = job(async ({ now }) => ({ things: seen.push(now) }));
    await replica([noting], { clock: ahead }).runNow('a-job');
    expect(seen).toEqual([minute]);
  });

  it('expires no key by a wrong clock', async () => {
    const inTwentyDays = Date.now() + 20 * dayMs;
    await insertKeyExpiringAt(test.database, inTwentyDays);
    const now = (): number => Date.now() + 40 * dayMs;
    const ahead = createSharedClock({ now, monotonicMs: now }, () =>
      readServerTime(test.database.db),
    );
    const features = { usageLimits: true, auditLogs: true } as Parameters<typeof allJobs>[0];
    const outcome = await replica(allJobs(features, stored, untold, audit), {
      clock: ahead,
    }).runNow('expire-keys');
    expect(outcome.state).toBe('failed');
    const { db } = test.database;
    expect(await db.selectFrom('api_keys').select('status').execute()).toEqual([
      { status: 'active' },
    ]);
  });
});

describe('a run that fails', () => {
  it('is recorded with its error, and repeated at the next tick', async () => {
    let fail = true;
    const flaky = job(async () => {
      if (fail) throw new Error('the moon is in the wrong house');
      return { things: 1 };
    });
    const scheduler = replica([flaky]);
    expect(await scheduler.runNow('a-job')).toMatchObject({ state: 'failed' });
    expect(await rows()).toMatchObject([
      { state: 'failed', error: 'the moon is in the wrong house' },
    ]);
    fail = false;
    clock.set(minute + 60_000);
    expect(await scheduler.runNow('a-job')).toMatchObject({ state: 'done' });
  });

  it('renews its lease for as long as it lives', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const long = job(async () => {
      await gate;
      return {};
    });
    const first = replica([long], { leaseMs: 9_000 }).runNow('a-job');
    const leases = new Set<number>();
    await eventually(async () => {
      for (const row of await rows()) leases.add(row.lease_until);
      expect(leases.size).toBeGreaterThan(1);
    });
    expect(await jobRuns.findAbandoned(test.database.db, 'a-job')).toBeUndefined();
    open();
    expect(await first).toMatchObject({ state: 'done' });
  });

  it('is taken over by exactly one other replica when its owner dies', async () => {
    await insertDeadRun();
    const runs = vi.fn(async () => ({}));
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => replica([job(runs)]).runNow('a-job')),
    );
    const attempts = outcomes.map((outcome) => outcome.attempt);
    expect(attempts.filter((attempt) => attempt === 2)).toHaveLength(1);
    expect(await rows()).toMatchObject([
      { bucket: minute - 60_000, attempt: 2, state: 'done' },
      ...(runs.mock.calls.length > 1 ? [{ bucket: minute + 5_000 }] : []),
    ]);
  });

  it('is aborted when another replica takes over, and cannot close the run of its successor', async () => {
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
    const zombie = job(async ({ signal }) => {
      signal.addEventListener('abort', () => abort());
      await test.database.db
        .updateTable('job_runs')
        .set({ owner: 'successor', attempt: 2 })
        .execute();
      await aborted;
      return {};
    });
    const outcome = await replica([zombie], { leaseMs: 300 }).runNow('a-job');
    expect(outcome).toMatchObject({ state: 'failed', error: expect.stringContaining('took') });
    expect(await rows()).toMatchObject([{ owner: 'successor', state: 'running' }]);
  });
});

describe('a run that was taken over', () => {
  it('writes nothing more, even before its signal fires', async () => {
    const zombie = job(async ({ transaction }) => {
      await test.database.db
        .updateTable('job_runs')
        .set({ owner: 'successor', attempt: 2 })
        .execute();
      await transaction((tx) => insertKeyExpiringAt({ db: tx }, minute));
      return {};
    });
    const outcome = await replica([zombie]).runNow('a-job');
    expect(outcome).toMatchObject({ state: 'failed', error: expect.stringContaining('took') });
    expect(await test.database.db.selectFrom('api_keys').select('id').execute()).toEqual([]);
    expect(await rows()).toMatchObject([{ owner: 'successor', state: 'running' }]);
  });

  it('is taken over only between two of its transactions', async () => {
    const order: string[] = [];
    const { db } = test.database;
    const busy = job(async ({ transaction }) => {
      const [run] = await rows();
      await db.updateTable('job_runs').set({ lease_until: 1 }).execute();
      const heir = { owner: 'successor', startedAt: minute, leaseMs: 60_000 };
      let takeover: Promise<unknown> = Promise.resolve();
      await transaction(async () => {
        takeover = jobRuns.updateOwner(db, run!, heir).then(() => order.push('taken over'));
        await eventually(async () =>
          expect(await runningStatements()).toMatch(/update (?:\/\*.*?\*\/ )?.?job_runs/),
        );
        order.push('written');
      });
      await takeover;
      return {};
    });
    await replica([busy]).runNow('a-job');
    expect(order).toEqual(['written', 'taken over']);
  });
});

describe('stop', () => {
  it('waits for the current run, which sees the signal, and starts no other', async () => {
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    let ended = false;
    const stoppable = job(async ({ signal }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => resolve());
      enter();
      await promise;
      await test.database.ping();
      ended = true;
      return { things: 1 };
    });
    const scheduler = replica([stoppable]);
    const run = scheduler.runNow('a-job');
    await entered;
    await scheduler.stop();
    expect(ended).toBe(true);
    expect(await run).toMatchObject({ state: 'failed', error: expect.stringMatching(/^stopped/) });
  });
});

describe('list', () => {
  it('returns schedule, next run and the result of the last run', async () => {
    const scheduler = replica([job(async () => ({ things: 2 }), { cron: '*/5 * * * *' })]);
    expect(await scheduler.list()).toMatchObject([
      { name: 'a-job', lastRun: null, nextRunAt: minute + 300_000 },
    ]);
    await scheduler.runNow('a-job');
    expect(await scheduler.list()).toMatchObject([
      {
        lastRun: {
          state: 'done',
          counts: { things: 2 },
          attempt: 1,
          durationMs: expect.any(Number),
        },
      },
    ]);
  });

  it('reports a run whose owner died as abandoned', async () => {
    await insertDeadRun();
    const [listed] = await replica([job(async () => ({}))]).list();
    expect(listed?.lastRun?.state).toBe('abandoned');
  });

  it('reports a job as idle with its reason, and refuses to run it', async () => {
    const features = { usageLimits: false, auditLogs: true } as Parameters<typeof allJobs>[0];
    const scheduler = replica(allJobs(features, stored, untold, audit));
    const idle = (await scheduler.list()).find((listed) => listed.name === 'reset-usage');
    expect(idle).toMatchObject({ nextRunAt: null, idleBecause: 'USAGE_LIMITS_ENABLED is OFF' });
    await expect(scheduler.runNow('reset-usage')).rejects.toThrow(/idle/);
    await expect(scheduler.runNow('reset-usages')).rejects.toThrow(/jobs: expire-keys/);
  });
});

it('removes the records of finished runs after a week', async () => {
  const scheduler = replica([job(async () => ({}))]);
  await scheduler.runNow('a-job');
  clock.set(minute + 8 * 86_400_000);
  await scheduler.runNow('a-job');
  expect(await rows()).toMatchObject([{ bucket: minute + 8 * 86_400_000 }]);
});

/** Inserts the row of a replica that was killed a minute ago. */
async function insertDeadRun(): Promise<void> {
  await test.database.db
    .insertInto('job_runs')
    .values({
      name: 'a-job',
      bucket: minute - 60_000,
      owner: 'dead',
      state: 'running',
      attempt: 1,
      lease_until: 1,
      started_at: minute - 60_000,
      finished_at: null,
      counts: null,
      error: null,
    })
    .execute();
}

async function insertKeyExpiringAt({ db }: { db: Db }, expiresAt: number): Promise<void> {
  await insertApiKeys(db, [apiKeyRow({ expires_at: expiresAt })]);
}

async function runningStatements(): Promise<string> {
  const server = inject('databaseServer');
  // A sharded engine does not list statements, but the server behind its shards does.
  const { host, port, user, password } = server.keyspaces?.behind ?? server;
  await using connection = await createConnection({ host, port, user, password });
  return JSON.stringify((await connection.query('SHOW FULL PROCESSLIST'))[0]);
}
