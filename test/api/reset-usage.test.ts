/** Guarantees that usage starts again once a boundary, whatever the downtime, the clock and the replicas. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resetUsage } from '../../src/jobs/reset-usage.ts';
import { type Database, openDatabase } from '../../src/store/connection/db.ts';
import type { ApiKeyRow } from '../../src/store/tables/api-keys.ts';
import type { UsageEntityRow } from '../../src/store/tables/usage-entities.ts';
import { apiKeyRow } from '../api-key-row.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { jobContext } from '../job-context.ts';

const dayMs = 86_400_000;
const monday = Date.parse('2026-11-23T00:00:00Z');
const organisationId = randomUUID();
const job = resetUsage({ usageLimits: true, auditLogs: true });
let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test[Symbol.asyncDispose]());

const run = (now: number, database: Database = test.database) => job.run(jobContext(database, now));

const resets = () =>
  test.database.db.selectFrom('usage_resets').selectAll().orderBy('boundary_at').execute();

const entity = (id: string) =>
  test.database.db
    .selectFrom('usage_entities')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

describe('the budget of a key', () => {
  it('starts again at its boundary, not a millisecond before', async () => {
    const counter = await insertCounter({ used_micros: 7_000_000, next_reset_at: monday });
    expect(await run(monday - 1)).toMatchObject({ keys: 0 });
    expect(await run(monday)).toMatchObject({ keys: 1, skippedWindows: 0 });
    expect(await entity(counter.id)).toMatchObject({
      used_micros: 0,
      last_reset_at: monday,
      next_reset_at: monday + 7 * dayMs,
      version: 2,
    });
    expect(await resets()).toMatchObject([
      { boundary_at: monday, reset_at: monday, skipped_windows: 0, used_micros: 7_000_000 },
    ]);
  });

  it('wakes an exhausted key, re-arms its alerts and keeps open reservations', async () => {
    const key = await insertKey({ status: 'exhausted' });
    const counter = await insertCounter({
      subject_id: key.id,
      status: 'exhausted',
      reserved_micros: 5,
      threshold_alert_sent: 1,
      exhausted_alert_sent: 1,
      next_reset_at: monday,
    });
    await run(monday + 30_000);
    expect(await entity(counter.id)).toMatchObject({
      status: 'active',
      reserved_micros: 5,
      threshold_alert_sent: 0,
      exhausted_alert_sent: 0,
    });
    expect(await findKey(key.id)).toMatchObject({
      status: 'active',
      last_reset_at: monday + 30_000,
    });
  });

  it('leaves an expired key expired', async () => {
    const key = await insertKey({ status: 'expired' });
    await insertCounter({ subject_id: key.id, next_reset_at: monday });
    await run(monday);
    expect(await findKey(key.id)).toMatchObject({ status: 'expired' });
  });

  it('stays exhausted when its limit is nought', async () => {
    const nought = { credit_limit_micros: 0, status: 'exhausted' as const };
    const counter = await insertCounter({ ...nought, next_reset_at: monday });
    await run(monday);
    expect((await entity(counter.id)).status).toBe('exhausted');
  });

  it('is audited with the boundary, the missed windows and the workspace', async () => {
    const workspaceId = randomUUID();
    const key = await insertKey({ workspace_id: workspaceId });
    await insertCounter({ subject_id: key.id, used_micros: 3, next_reset_at: monday });
    await run(monday + 15 * dayMs);
    const rows = await test.database.db.selectFrom('audit_log').selectAll().execute();
    expect(rows).toMatchObject([
      {
        workspace_id: workspaceId,
        actor_kind: 'job',
        actor_id: 'reset-usage',
        action: 'reset',
        resource_kind: 'ApiKey',
        resource_id: key.id,
      },
    ]);
    expect(JSON.parse(rows[0]!.changes)).toEqual({
      boundary_at: monday,
      next_reset_at: monday + 21 * dayMs,
      skipped_windows: 2,
      used_micros: 3,
    });
  });

  it('resets once however many boundaries were missed, and records each of those as skipped', async () => {
    const outages = fc.integer({ min: 0, max: 12 });
    const periods = fc.integer({ min: 1, max: 365 });
    await fc.assert(
      fc.asyncProperty(outages, periods, fc.nat(dayMs - 1), async (missed, days, late) => {
        const schedule = { periodic_reset: null, periodic_reset_days: days };
        const counter = await insertCounter({ ...schedule, next_reset_at: monday, used_micros: 1 });
        const now = monday + missed * days * dayMs + late;
        expect(await run(now)).toMatchObject({ keys: 1, skippedWindows: missed });
        expect((await entity(counter.id)).next_reset_at).toBe(monday + (missed + 1) * days * dayMs);
        expect(await run(now)).toMatchObject({ keys: 0 });
        await test.database.db.deleteFrom('usage_entities').execute();
      }),
      { numRuns: 25 },
    );
  });

  it('is not reset again when the clock goes back and forth', async () => {
    await insertCounter({ next_reset_at: monday });
    for (const now of [monday + 60_000, monday - 3_600_000, monday + 30_000, monday])
      await run(now);
    expect(await resets()).toHaveLength(1);
  });

  it('keeps its usage when somebody sets the schedule back to a boundary already applied', async () => {
    const counter = await insertCounter({ next_reset_at: monday });
    await run(monday);
    await test.database.db
      .updateTable('usage_entities')
      .set({ next_reset_at: monday, used_micros: 9 })
      .where('id', '=', counter.id)
      .execute();
    expect(await run(monday + dayMs)).toMatchObject({ keys: 0 });
    expect(await entity(counter.id)).toMatchObject({
      used_micros: 9,
      next_reset_at: monday + 7 * dayMs,
    });
  });

  it('resets a last time and then never when its schedule was taken away', async () => {
    const schedule = { periodic_reset: null, periodic_reset_days: null };
    const counter = await insertCounter({ ...schedule, next_reset_at: monday });
    await run(monday);
    expect((await entity(counter.id)).next_reset_at).toBeNull();
  });
});

describe('the budget of a workspace', () => {
  it('starts again, and the workspace says when', async () => {
    const id = await insertWorkspace();
    await insertCounter({ subject_kind: 'workspace', subject_id: id, next_reset_at: monday });
    expect(await run(monday)).toMatchObject({ workspaces: 1, keys: 0 });
    const row = await test.database.db
      .selectFrom('workspaces')
      .select('last_reset_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(row.last_reset_at).toBe(monday);
  });
});

describe('a usage-limit policy', () => {
  it('empties all its counters together at its boundary, and no other policy’s', async () => {
    const policyId = await insertPolicy({ periodic_reset: 'monthly' });
    const other = await insertCounter({
      subject_kind: 'policy',
      subject_id: await insertPolicy({ next_reset_at: monday + 365 * dayMs }),
      used_micros: 4,
    });
    for (const value of ['a', 'b', 'c']) {
      await insertCounter({
        subject_kind: 'policy',
        subject_id: policyId,
        value_key: value,
        used_micros: 10,
      });
    }
    expect(await run(monday)).toMatchObject({ policies: 1 });
    const counters = await test.database.db
      .selectFrom('usage_entities')
      .selectAll()
      .where('subject_id', '=', policyId)
      .execute();
    expect(counters.map((counter) => counter.used_micros)).toEqual([0, 0, 0]);
    expect((await entity(other.id)).used_micros).toBe(4);
    expect(await resets()).toMatchObject([
      { subject_kind: 'policy', used_micros: 30, next_reset_at: Date.parse('2026-12-01T00:00Z') },
    ]);
  });

  it('is left alone once archived', async () => {
    await insertPolicy({ status: 'archived' });
    expect(await run(monday)).toMatchObject({ policies: 0 });
  });

  it('keeps its usage when set back to a boundary already applied', async () => {
    const policyId = await insertPolicy({});
    await run(monday);
    await test.database.db
      .updateTable('usage_limit_policies')
      .set({ next_reset_at: monday })
      .where('id', '=', policyId)
      .execute();
    expect(await run(monday + dayMs)).toMatchObject({ policies: 0 });
    expect(await run(monday + dayMs)).toMatchObject({ policies: 0 });
  });
});

describe('several replicas', () => {
  it('apply each boundary once between them', async () => {
    for (let at = 0; at < 1200; at += 1) await insertCounter({ next_reset_at: monday - at });
    for (let at = 0; at < 40; at += 1) await insertPolicy({});
    const replicas = Array.from({ length: 4 }, () => openDatabase(test.settings));
    const counts = await Promise.all(replicas.map((database) => run(monday, database)));
    await Promise.all(replicas.map((database) => database[Symbol.asyncDispose]()));
    const sum = (name: string) => counts.reduce((total, count) => total + count[name]!, 0);
    expect(sum('keys')).toBe(1200);
    expect(sum('policies')).toBe(40);
    expect(await resets()).toHaveLength(1240);
  });
});

it('is idle where usage limits are off, and says so', () => {
  const off = resetUsage({ usageLimits: false, auditLogs: true });
  expect(off.idleBecause).toMatch(/USAGE_LIMITS_ENABLED/);
});

async function insertCounter(fields: Partial<UsageEntityRow>): Promise<{ id: string }> {
  const row = {
    id: randomUUID(),
    organisation_id: organisationId,
    subject_kind: 'api_key' as const,
    subject_id: randomUUID(),
    value_key: '',
    credit_limit_micros: 100_000_000,
    alert_threshold_micros: null,
    used_micros: 0,
    reserved_micros: 0,
    status: 'active' as const,
    threshold_alert_sent: 0,
    exhausted_alert_sent: 0,
    periodic_reset: 'weekly' as const,
    periodic_reset_days: null,
    next_reset_at: null,
    last_reset_at: null,
    created_at: 0,
    ...fields,
    version: 1,
  };
  await test.database.db.insertInto('usage_entities').values(row).execute();
  return { id: row.id };
}

async function insertKey(fields: Partial<ApiKeyRow>): Promise<{ id: string }> {
  const row = apiKeyRow({ organisation_id: organisationId, ...fields });
  await test.database.db.insertInto('api_keys').values(row).execute();
  return { id: row.id };
}

const findKey = (id: string) =>
  test.database.db
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

async function insertWorkspace(): Promise<string> {
  const id = randomUUID();
  await test.database.db
    .insertInto('workspaces')
    .values({
      id,
      organisation_id: organisationId,
      slug: 'support',
      name: 'Support',
      description: null,
      icon: null,
      scope_name: null,
      defaults: null,
      usage_limits: null,
      rate_limits: null,
      status: 'active',
      is_default: 0,
      api_key_max_ttl_days: null,
      created_by: 'test',
      last_reset_at: null,
      created_at: 0,
      last_updated_at: 0,
    })
    .execute();
  return id;
}

async function insertPolicy(fields: {
  periodic_reset?: 'weekly' | 'monthly';
  next_reset_at?: number;
  status?: 'active' | 'archived';
}): Promise<string> {
  const id = randomUUID();
  await test.database.db
    .insertInto('usage_limit_policies')
    .values({
      id,
      organisation_id: organisationId,
      workspace_id: null,
      name: null,
      description: null,
      conditions: '[]',
      group_by: '[]',
      type: 'cost',
      credit_limit_micros: 100_000_000,
      alert_threshold_micros: null,
      periodic_reset: 'weekly',
      periodic_reset_days: null,
      next_reset_at: monday,
      last_reset_at: null,
      status: 'active',
      created_at: 0,
      last_updated_at: 0,
      ...fields,
    })
    .execute();
  return id;
}
