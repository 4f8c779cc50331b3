/** Tests that changes, migrations, leases and limits stay exact on three Galera nodes, one of which is killed under load. */
import { randomUUID } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { afterEach, expect, inject, it } from 'vitest';
import { resetUsage } from '../../src/jobs/reset-usage.ts';
import { createLog } from '../../src/log.ts';
import type { DatabaseSettings } from '../../src/settings.ts';
import { type Database, openDatabase } from '../../src/store/connection/db.ts';
import * as leases from '../../src/store/migrations/leases.ts';
import { migrate, migrationStatus } from '../../src/store/migrations/migrate.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/database/database.ts';
import { startDatabaseLink } from '../support/database/database-link.ts';
import { endedWindows, insertBudget } from '../support/rows/usage-rows.ts';
import { jobContext } from '../support/server/job-context.ts';
import { startTestServer, type TestServer } from '../support/server/server.ts';
import { type GaleraNode, killNode, restartNode } from './galera-cluster.ts';

const nodes = inject('galeraNodes');
const log = createLog({ level: 'silent' });
const killed: GaleraNode[] = [];

afterEach(async () => {
  for (const node of killed.splice(0)) await restartNode(node);
});

async function kill(at: number): Promise<void> {
  killed.push(nodes[at]!);
  await killNode(nodes[at]!);
}

/** The same database through another node. */
const through = (at: number, settings: DatabaseSettings): DatabaseSettings => ({
  ...settings,
  port: nodes[at]!.server.port,
});

it('keeps acknowledged and repeated changes exactly once when the node that all write to is killed', async () => {
  await using link = await startDatabaseLink();
  let real: DatabaseSettings | undefined;
  const between = (settings: DatabaseSettings): Promise<DatabaseSettings> => {
    real = settings;
    return link.lead(settings);
  };
  const server = await startTestServer({ between });
  const acknowledged: string[] = [];
  let isOver = false;
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let number = 0; !isOver; number += 1) {
      const name = `w-${writer}-${number}`;
      await createOnce(server, name);
      acknowledged.push(name);
    }
  });
  await reach(acknowledged, 60);
  await kill(0);
  link.cut();
  await link.lead(through(1, real!));
  link.mend();
  await reach(acknowledged, acknowledged.length + 60);
  isOver = true;
  await Promise.all(writers);
  await using second = openDatabase(through(1, real!));
  const rows = await second.db.selectFrom('workspaces').select('name').execute();
  const stored = rows.map(({ name }) => name).filter((name) => name.startsWith('w-'));
  expect(stored.toSorted()).toEqual(acknowledged.toSorted());
  // Resources are disposed of through the first node.
  await restartNode(killed.pop()!);
  await server[Symbol.asyncDispose]();
});

/** Like a client that wants one creation: repeats the same key until it gets a response. */
async function createOnce(server: TestServer, name: string): Promise<void> {
  const headers = { 'idempotency-key': randomUUID() };
  for (;;) {
    const { status } = await server.request('POST', '/v2/workspaces', { body: { name }, headers });
    if (status === 200) return;
    expect([409, 503]).toContain(status);
  }
}

async function reach(list: readonly unknown[], length: number): Promise<void> {
  await expect.poll(() => list.length).toBeGreaterThanOrEqual(length);
}

it('gives a lease exactly one winner when two nodes compete while the third is killed', async () => {
  await using test = await createTestDatabase();
  const callers = await Promise.all(
    nodes
      .slice(0, 2)
      .map(({ server: { host, port, user, password } }) =>
        createConnection({ host, port, user, password, database: test.settings.name }),
      ),
  );
  const winners: number[] = [];
  let death: Promise<void> | undefined;
  for (let round = 0; round < 100; round += 1) {
    if (round === 30) death = kill(2);
    const held = await Promise.all(
      callers.map((caller) => leases.acquire(caller, `round-${round}`, randomUUID(), 60_000)),
    );
    winners.push(held.filter((lease) => lease !== null).length);
  }
  await death;
  for (const caller of callers) caller.destroy();
  expect(winners).toEqual(Array.from({ length: 100 }, () => 1));
});

it('migrations that three nodes run at once are each made once, and finished by the others, when one node dies', async () => {
  await using empty = await createEmptyDatabase();
  let death: Promise<void> | undefined;
  const runs = await Promise.allSettled(
    [0, 1, 2].map((at) =>
      migrate(through(at, empty.settings), {
        log,
        leaseTtlMs: 10_000,
        onStep: ({ number }) => {
          if (number === 3) death ??= kill(2);
        },
      }),
    ),
  );
  await death;
  expect(runs.slice(0, 2).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  const { state, migrations } = await migrationStatus(empty.settings);
  expect(state).toBe('current');
  expect(new Set(migrations.map((migration) => migration.state))).toEqual(new Set(['applied']));
  expect((await migrate(through(1, empty.settings), { log })).applied).toEqual([]);
});

it('resets a budget once, from either of two nodes, while the third is killed', async () => {
  const monday = Date.parse('2026-11-23T00:00:00Z');
  const windowStart = monday - 7 * 86_400_000;
  await using test = await createTestDatabase();
  const organisation = randomUUID();
  const due = { window_start: windowStart, next_reset_at: monday };
  for (let count = 0; count < 200; count += 1) {
    await insertBudget(test.database.db, organisation, due);
  }
  const job = resetUsage({ auditLogs: true });
  /** Like a scheduler: retries what failed. */
  const runToEnd = async (database: Database): Promise<void> => {
    for (;;) {
      try {
        await job.run(jobContext(database, monday));
        return;
      } catch {
        // The next run does the rest.
      }
    }
  };
  await using second = openDatabase(through(1, test.settings));
  await Promise.all([runToEnd(test.database), runToEnd(second), kill(2)]);
  await runToEnd(test.database);
  expect(await endedWindows(test.database.db)).toHaveLength(200);
});
