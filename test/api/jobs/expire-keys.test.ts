/** Verifies that each API key expires once, with one audit row, with any number of replicas. */
import { randomUUID } from 'node:crypto';
import { CompiledQuery, type RootOperationNode } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expireKeys } from '../../../src/jobs/expire-keys.ts';
import { type Database, openDatabase } from '../../../src/store/connection/db.ts';
import { listDue } from '../../../src/store/resources/api-key-expiry.ts';
import type { ApiKeyRow } from '../../../src/store/resources/api-keys.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import { insertWorkspace } from '../../support/rows/workspace-row.ts';
import { jobContext } from '../../support/server/job-context.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const organisationId = randomUUID();
const job = expireKeys({ auditLogs: true });
let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test[Symbol.asyncDispose]());

const run = (at: number = now, database: Database = test.database) =>
  job.run(jobContext(database, at));

const auditRows = () => test.database.db.selectFrom('audit_log').selectAll().execute();

describe('expire-keys', () => {
  it('expires what is due to the millisecond, and nothing else', async () => {
    const keys = {
      due: key({ expires_at: now }),
      overdue: key({ expires_at: now - 1 }),
      later: key({ expires_at: now + 1 }),
      never: key({ expires_at: null }),
      expired: key({ expires_at: now - 5, status: 'expired' }),
    };
    await insertApiKeys(test.database.db, Object.values(keys));
    expect(await run()).toEqual({ expired: 2 });
    const rows = await test.database.db.selectFrom('api_keys').selectAll().execute();
    const statusOf = (id: string) => rows.find((row) => row.id === id)?.status;
    expect(statusOf(keys.due.id)).toBe('expired');
    expect(statusOf(keys.overdue.id)).toBe('expired');
    expect(statusOf(keys.later.id)).toBe('active');
    expect(statusOf(keys.never.id)).toBe('active');
    const audited = (await auditRows()).map((row) => row.resource_id).sort();
    expect(audited).toEqual([keys.due.id, keys.overdue.id].sort());
  });

  it('records the actor, the key and its workspace in the audit row', async () => {
    const workspaceId = randomUUID();
    await insertWorkspace(test.database.db, organisationId, workspaceId);
    const due = key({ expires_at: now, workspace_id: workspaceId });
    await insertApiKeys(test.database.db, [due]);
    await run();
    expect(await auditRows()).toMatchObject([
      {
        organisation_id: organisationId,
        workspace_id: workspaceId,
        at: now,
        actor_kind: 'job',
        actor_id: 'expire-keys',
        action: 'expire',
        resource_kind: 'ApiKey',
        resource_id: due.id,
      },
    ]);
  });

  it('writes no audit rows when audit logs are disabled', async () => {
    await insertApiKeys(test.database.db, [key({ expires_at: now })]);
    const quiet = expireKeys({ auditLogs: false });
    expect(await quiet.run(jobContext(test.database, now))).toEqual({ expired: 1 });
    expect(await auditRows()).toEqual([]);
  });

  it('does nothing in a second run, also when the clock goes back', async () => {
    await insertApiKeys(test.database.db, [key({ expires_at: now })]);
    expect(await run()).toEqual({ expired: 1 });
    expect(await run()).toEqual({ expired: 0 });
    expect(await run(now - 3_600_000)).toEqual({ expired: 0 });
    expect(await auditRows()).toHaveLength(1);
  });

  it('skips a key that another transaction has locked, and expires it in a later run', async () => {
    const [held, ...free] = Array.from({ length: 30 }, () => key({ expires_at: now }));
    await insertApiKeys(test.database.db, [held!, ...free]);
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const holding = test.database.transaction(async (tx) => {
      await tx.updateTable('api_keys').set({ name: 'held' }).where('id', '=', held!.id).execute();
      lock();
      await released;
    });
    await locked;
    await using impatient = openDatabase({ ...test.settings, statementSeconds: 10 });
    await expect(run(now, impatient)).rejects.toMatchObject({
      message: expect.stringContaining(`ApiKey ${held!.id} could not be processed`),
      counts: { expired: 29, failed: 1 },
    });
    release();
    await holding;
    expect(await run()).toEqual({ expired: 1 });
    expect(await auditRows()).toHaveLength(30);
  });

  it('starts no further batch after its signal', async () => {
    await insertApiKeys(test.database.db, [key({ expires_at: now })]);
    const stopped = jobContext(test.database, now, AbortSignal.abort());
    expect(await job.run(stopped)).toEqual({ expired: 0 });
  });

  it('expires 10,000 keys exactly once with five concurrent replicas', async () => {
    const keys = Array.from({ length: 10_000 }, () => key({ expires_at: now - 1000 }));
    await insertApiKeys(test.database.db, keys);
    // A statement about a thousand keys takes long on a busy machine.
    const options = { queryTimeoutMs: 0 };
    const replicas = Array.from({ length: 5 }, () => openDatabase(test.settings, options));
    const counts = await Promise.all(replicas.map((database) => run(now, database)));
    await Promise.all(replicas.map((database) => database[Symbol.asyncDispose]()));
    expect(counts.reduce((sum, count) => sum + count.expired!, 0)).toBe(10_000);
    const audited = await auditRows();
    expect(audited).toHaveLength(10_000);
    expect(new Set(audited.map((row) => row.resource_id)).size).toBe(10_000);
  });

  it('finds due keys with the index, without a table scan', async () => {
    // The keys belong to many organisations, so that no shard is empty: an empty table allows any
    // plan.
    const organisations = Array.from({ length: 40 }, () => randomUUID());
    const keys = Array.from({ length: 2000 }, (_, at) =>
      key({ expires_at: now + 1000, organisation_id: organisations[at % 40]! }),
    );
    await insertApiKeys(test.database.db, keys);
    const queries: RootOperationNode[] = [];
    const watched = test.database.db.withPlugin({
      transformQuery: ({ node }) => {
        queries.push(node);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await listDue(watched, now, 1000, []);
    expect(queries).toHaveLength(1);
    const { db } = test.database;
    for (const node of queries) {
      const query = db.getExecutor().compileQuery(node, { queryId: 'explained' });
      const explain = CompiledQuery.raw(`EXPLAIN ${query.sql}`, [...query.parameters]);
      const { rows } = await db.executeQuery(explain);
      // MariaDB returns columns, MySQL 9 a tree; both name the access method and the index.
      expect(JSON.stringify(rows)).toMatch(
        /"type":"range".*"api_keys_expiry"|index range scan on api_keys using api_keys_expiry/,
      );
    }
  });
});

const key = (fields: Partial<ApiKeyRow>) =>
  apiKeyRow({ organisation_id: organisationId, ...fields });
