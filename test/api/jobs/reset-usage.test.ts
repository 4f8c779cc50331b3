/**
 * Verifies that usage is reset once per boundary, with any downtime, clock change and number of
 * replicas.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resetUsage } from '../../../src/jobs/reset-usage.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import { findState } from '../../../src/store/usage/usage-budgets.ts';
import type { UsageSubject } from '../../../src/store/usage/usage-counters.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import {
  endedWindows,
  insertBudget,
  insertCounter,
  insertPolicy,
} from '../../support/rows/usage-rows.ts';
import { hangMs } from '../../support/run/common-options.ts';
import { jobContext } from '../../support/server/job-context.ts';

const dayMs = 86_400_000;
const monday = Date.parse('2026-11-23T00:00:00Z');
const before = monday - 7 * dayMs;
const organisationId = randomUUID();
const job = resetUsage({ auditLogs: true });
let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test[Symbol.asyncDispose]());

const run = (now: number, database: Database = test.database) => job.run(jobContext(database, now));

/** A budget in the week before `monday`. */
const dueBudget = (fields: Parameters<typeof insertBudget>[2] = {}) =>
  insertBudget(test.database.db, organisationId, {
    window_start: before,
    next_reset_at: monday,
    ...fields,
  });

const duePolicy = (fields: Parameters<typeof insertPolicy>[2] = {}) =>
  insertPolicy(test.database.db, organisationId, {
    window_start: before,
    next_reset_at: monday,
    ...fields,
  });

const stored = ({ id }: UsageSubject) =>
  test.database.db
    .selectFrom('usage_budgets')
    .selectAll()
    .where('subject_id', '=', id)
    .executeTakeFirstOrThrow();

const stateAt = ({ id }: UsageSubject, now: number) =>
  findState(test.database.db, { organisationId, kind: 'api_key', id }, now);

describe('the budget of a key', () => {
  it('is reset at its boundary and not a millisecond earlier', async () => {
    const budget = await dueBudget();
    await insertCounter(test.database.db, budget, { windowStart: before, used: 7_000_000 });
    expect(await run(monday - 1)).toMatchObject({ keys: 0 });
    expect(await stateAt(budget, monday - 1)).toMatchObject({ usedUnits: 7_000_000n });
    expect(await run(monday + 30_000)).toMatchObject({ keys: 1, skippedWindows: 0 });
    expect(await stored(budget)).toMatchObject({
      window_start: monday,
      last_reset_at: monday,
      next_reset_at: monday + 7 * dayMs,
    });
    expect(await stateAt(budget, monday + 30_000)).toMatchObject({ usedUnits: 0n });
    expect(await endedWindows(test.database.db)).toMatchObject([
      {
        subject_kind: 'api_key',
        subject_id: budget.id,
        window_start: before,
        ended_at: monday,
        closed_at: monday + 30_000,
        skipped_windows: 0,
      },
    ]);
  });

  it('reads as zero from its boundary on, however late the job runs', async () => {
    const budget = await dueBudget({ credit_limit_units: 5 });
    await insertCounter(test.database.db, budget, { windowStart: before, used: 7 });
    expect(await stateAt(budget, monday - 1)).toMatchObject({ usedUnits: 7n, isExhausted: true });
    expect(await stateAt(budget, monday)).toMatchObject({
      usedUnits: 0n,
      isExhausted: false,
      windowStart: monday,
      nextResetAt: monday + 7 * dayMs,
      lastResetAt: monday,
    });
    const inTheThird = monday + 15 * dayMs;
    const early = await stateAt(budget, inTheThird);
    await run(inTheThird);
    expect(await stateAt(budget, inTheThird)).toEqual(early);
  });

  it('keeps used and reserved units in the window in which they were counted', async () => {
    const budget = await dueBudget();
    await insertCounter(test.database.db, budget, { windowStart: before, used: 7, reserved: 5 });
    await run(monday);
    const counters = await test.database.db.selectFrom('usage_counters').selectAll().execute();
    expect(counters).toMatchObject([{ window_start: before, used_units: 7, reserved_units: 5 }]);
  });

  it('leaves an expired key expired, and updates no key at all', async () => {
    const key = apiKeyRow({ organisation_id: organisationId, status: 'expired' });
    await insertApiKeys(test.database.db, [key]);
    await dueBudget({ subject_id: key.id });
    await run(monday);
    const rows = await test.database.db.selectFrom('api_keys').selectAll().execute();
    expect(rows).toMatchObject([{ status: 'expired', last_reset_at: null, version: 1 }]);
  });

  it('stays exhausted when its limit is zero', async () => {
    const budget = await dueBudget({ credit_limit_units: 0 });
    await run(monday);
    expect(await stateAt(budget, monday)).toMatchObject({ isExhausted: true });
  });

  it('is audited with the boundary, the missed windows and the workspace', async () => {
    const workspaceId = randomUUID();
    const budget = await dueBudget({ workspace_id: workspaceId });
    await run(monday + 15 * dayMs);
    const rows = await test.database.db.selectFrom('audit_log').selectAll().execute();
    expect(rows).toMatchObject([
      {
        organisation_id: organisationId,
        workspace_id: workspaceId,
        at: monday + 15 * dayMs,
        actor_kind: 'job',
        actor_id: 'reset-usage',
        action: 'reset',
        resource_kind: 'ApiKey',
        resource_id: budget.id,
      },
    ]);
    expect(JSON.parse(rows[0]!.changes)).toEqual({
      boundary_at: monday,
      window_start: monday + 14 * dayMs,
      next_reset_at: monday + 21 * dayMs,
      skipped_windows: 2,
    });
  });

  it('resets once after any number of missed boundaries, with contiguous windows', async () => {
    const outages = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 5 });
    const periods = fc.integer({ min: 1, max: 365 });
    await fc.assert(
      fc.asyncProperty(outages, periods, fc.nat(dayMs - 1), async (missed, days, late) => {
        const budget = await dueBudget({ periodic_reset: null, periodic_reset_days: days });
        let boundary = monday;
        for (const skipped of missed) {
          const now = boundary + skipped * days * dayMs + late;
          expect(await run(now)).toMatchObject({ keys: 1, skippedWindows: skipped });
          expect(await run(now)).toMatchObject({ keys: 0 });
          boundary += (skipped + 1) * days * dayMs;
          expect((await stored(budget)).next_reset_at).toBe(boundary);
        }
        const windows = await endedWindows(test.database.db);
        const starts = [...windows.map((window) => window.window_start), boundary - days * dayMs];
        for (const [at, window] of windows.entries()) {
          const successor = window.ended_at + window.skipped_windows * days * dayMs;
          expect(successor).toBe(starts[at + 1]);
        }
        await test.database.db.deleteFrom('usage_budgets').execute();
        await test.database.db.deleteFrom('usage_windows').execute();
      }),
      { numRuns: 15 },
    );
  });

  it('is not reset again when the clock moves back and forth', async () => {
    await dueBudget();
    for (const now of [monday + 60_000, monday - 3_600_000, monday + 30_000, monday])
      await run(now);
    expect(await endedWindows(test.database.db)).toHaveLength(1);
  });

  it('keeps its usage when the schedule is set back to a boundary that was applied', async () => {
    const budget = await dueBudget();
    await run(monday);
    await insertCounter(test.database.db, budget, { windowStart: monday, used: 9 });
    await test.database.db.updateTable('usage_budgets').set({ next_reset_at: monday }).execute();
    expect(await run(monday + dayMs)).toMatchObject({ keys: 0 });
    expect(await stateAt(budget, monday + dayMs)).toMatchObject({
      usedUnits: 9n,
      nextResetAt: monday + 7 * dayMs,
    });
    expect(await test.database.db.selectFrom('audit_log').selectAll().execute()).toHaveLength(1);
  });

  it('is reset one last time when its schedule is removed', async () => {
    const budget = await dueBudget({ periodic_reset: null, periodic_reset_days: null });
    await run(monday);
    expect(await stored(budget)).toMatchObject({ window_start: monday, next_reset_at: null });
  });

  it('counts exactly beyond the safe integer range', async () => {
    const beyond = 2n ** 62n + 1n;
    const budget = await dueBudget();
    await insertCounter(test.database.db, budget, { windowStart: before, used: beyond });
    expect(await stateAt(budget, before)).toMatchObject({ usedUnits: beyond, isExhausted: true });
  });
});

it('resets the budget of a workspace', async () => {
  await dueBudget({ subject_kind: 'workspace' });
  expect(await run(monday)).toMatchObject({ workspaces: 1, keys: 0 });
});

describe('a usage-limit policy', () => {
  it('begins a window with one write for any number of counters, and changes no other policy', async () => {
    const policy = await duePolicy({ periodic_reset: 'monthly' });
    const other = await duePolicy({ next_reset_at: monday + 365 * dayMs });
    const counters = [policy, policy, policy, other].map((subject, at) =>
      insertCounter(test.database.db, subject, {
        windowStart: before,
        valueKey: `v${at}`,
        // The sum exceeds a BIGINT.
        used: 2n ** 63n - 1n,
      }),
    );
    await Promise.all(counters);
    expect(await run(monday)).toMatchObject({ policies: 1 });
    const rows = await test.database.db.selectFrom('usage_limit_policies').selectAll().execute();
    expect(rows.find(({ id }) => id === policy.id)).toMatchObject({
      window_start: monday,
      last_reset_at: monday,
      next_reset_at: Date.parse('2026-12-01T00:00Z'),
      version: 1,
    });
    expect(rows.find(({ id }) => id === other.id)).toMatchObject({ window_start: before });
    expect(await endedWindows(test.database.db)).toMatchObject([{ subject_kind: 'policy' }]);
  });

  it('leaves 20,000 counters unchanged', async () => {
    const policy = await duePolicy();
    await sql`INSERT INTO usage_counters (organisation_id, subject_kind, subject_id, window_start,
        id, value_key, used_units)
      SELECT ${organisationId}, 'policy',
        UNHEX(REPLACE(${policy.id}, '-', '')), ${before}, UNHEX(LEFT(SHA2(n, 256), 32)), n, n
      FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n
        FROM ${digits('a')}, ${digits('b')}, ${digits('c')}, ${digits('e')},
          (SELECT 0 AS d UNION ALL SELECT 1) AS f) AS numbers`.execute(test.database.db);
    await run(monday);
    const moved = await test.database.db
      .selectFrom('usage_counters')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('window_start', '!=', before)
      .executeTakeFirstOrThrow();
    expect(Number(moved.n)).toBe(0);
  });

  it('is skipped when it is archived', async () => {
    await duePolicy({ status: 'archived' });
    expect(await run(monday)).toMatchObject({ policies: 0 });
  });

  it('keeps its usage when the schedule is set back to a boundary that was applied', async () => {
    await duePolicy();
    await run(monday);
    await test.database.db
      .updateTable('usage_limit_policies')
      .set({ next_reset_at: monday })
      .execute();
    expect(await run(monday + dayMs)).toMatchObject({ policies: 0 });
    expect(await run(monday + dayMs)).toMatchObject({ policies: 0 });
  });
});

describe('a subject that cannot be reset', () => {
  it('does not stop the others, and is named by the run', async () => {
    const broken = await dueBudget();
    const subjects = await Promise.all(Array.from({ length: 20 }, () => dueBudget()));
    const policy = await duePolicy();
    // Its window is recorded as ended already, so the primary key rejects a second record.
    await sql`INSERT INTO usage_windows VALUES (${organisationId}, 'api_key',
      UNHEX(REPLACE(${broken.id}, '-', '')), ${before}, ${monday}, ${monday}, 0)`.execute(
      test.database.db,
    );
    await expect(run(monday)).rejects.toMatchObject({
      name: 'PartialRun',
      message: expect.stringContaining(`ApiKey ${broken.id} could not be processed: `),
      counts: { keys: 20, workspaces: 0, policies: 1, skippedWindows: 0, failed: 1 },
    });
    expect(await stored(broken)).toMatchObject({ window_start: before });
    expect(await stored(subjects[0]!)).toMatchObject({ window_start: monday });
    expect((await endedWindows(test.database.db)).map((row) => row.subject_id)).toContain(
      policy.id,
    );
  });

  it('is reset by a later run when it was locked', async () => {
    const held = await dueBudget();
    const free = await dueBudget();
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const holding = test.database.transaction(async (tx) => {
      await tx
        .selectFrom('usage_budgets')
        .selectAll()
        .where('subject_id', '=', held.id)
        .where('organisation_id', '=', organisationId)
        .where('subject_kind', '=', 'api_key')
        .forUpdate()
        .execute();
      lock();
      await released;
    });
    await locked;
    await using impatient = openDatabase({ ...test.settings, statementSeconds: 10 });
    await expect(run(monday, impatient)).rejects.toMatchObject({ counts: { keys: 1, failed: 1 } });
    expect(await stored(free)).toMatchObject({ window_start: monday });
    release();
    await holding;
    expect(await run(monday)).toMatchObject({ keys: 1 });
  });
});

describe('several replicas', () => {
  it('applies each boundary once in total', async () => {
    // The replicas start in turn, because on a busy machine the last would exceed the connection
    // timeout.
    for (let at = 0; at < 1200; at += 40) {
      const next = (_: unknown, ahead: number) =>
        dueBudget({ next_reset_at: monday - ((at + ahead) % 6) * dayMs });
      await Promise.all(Array.from({ length: 40 }, next));
    }
    await Promise.all(Array.from({ length: 40 }, () => duePolicy()));
    const replicas = Array.from({ length: 4 }, () => openDatabase(test.settings));
    const counts = await Promise.all(replicas.map((database) => run(monday, database)));
    await Promise.all(replicas.map((database) => database[Symbol.asyncDispose]()));
    const sum = (name: string) => counts.reduce((total, count) => total + count[name]!, 0);
    expect(sum('keys')).toBe(1200);
    expect(sum('policies')).toBe(40);
    expect(await endedWindows(test.database.db)).toHaveLength(1240);
  });
});

describe('a hundred random interleavings', () => {
  /** Runs the job until it completes, each time dying before one of its statements. */
  async function runAndDie(database: Database, now: number, seed: number): Promise<void> {
    for (let statement = seed % 5; ; statement += 3) {
      let left = statement;
      const dying = database.db.withPlugin({
        transformQuery: ({ node }) => {
          left -= 1;
          if (left < 0) throw new Error('killed');
          return node;
        },
        transformResult: async ({ result }) => result,
      });
      const context = jobContext(database, now);
      try {
        await job.run({
          ...context,
          db: dying,
          transaction: (work) => dying.transaction().execute(work),
        });
        return;
      } catch {
        // The next run completes the rest.
      }
    }
  }

  it(
    'applies each boundary once when replicas die between any two statements during a schedule change',
    async () => {
      const { db } = test.database;
      await using other = openDatabase(test.settings);
      for (let round = 0; round < 100; round += 1) {
        const subjects = await Promise.all([dueBudget(), dueBudget(), duePolicy()]);
        const now = monday + round;
        const reschedule = db
          .updateTable('usage_budgets')
          .set({ periodic_reset: 'monthly', next_reset_at: monday + 8 * dayMs })
          .where('subject_id', '=', subjects[0]!.id)
          .execute();
        await Promise.all([
          runAndDie(test.database, now, round),
          runAndDie(other, now, round + 1),
          reschedule,
        ]);
        const ended = await endedWindows(db);
        const mine = ended.filter((row) => subjects.some(({ id }) => id === row.subject_id));
        const audited = await db.selectFrom('audit_log').select('resource_id').execute();
        const reported = audited.filter((row) => subjects.some(({ id }) => id === row.resource_id));
        // The rescheduled policy was reset before or not at all; each other one once, with one
        // audit row.
        expect(reported.map((row) => row.resource_id).toSorted()).toEqual(
          mine.map((row) => row.subject_id).toSorted(),
        );
        expect(new Set(mine.map((row) => row.subject_id)).size).toBe(mine.length);
        expect(mine.map((row) => row.subject_id)).toEqual(
          expect.arrayContaining([subjects[1]!.id, subjects[2]!.id]),
        );
        const stands = await stored(subjects[0]!);
        expect(stands.next_reset_at).toBeGreaterThan(now);
      }
    },
    hangMs,
  );
});

/** Ten rows, 0 to 9. */
function digits(name: string) {
  const rows = Array.from({ length: 9 }, (_, at) => sql`UNION ALL SELECT ${sql.lit(at + 1)}`);
  return sql`(SELECT 0 AS d ${sql.join(rows, sql` `)}) AS ${sql.ref(name)}`;
}
