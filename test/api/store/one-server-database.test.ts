/** Verifies connections that depend on one server: `KILL`, lock waits and logins. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { Secret } from '../../../src/secret.ts';
import { createConnector } from '../../../src/store/connection/connect.ts';
import { type Database, type Db, openDatabase } from '../../../src/store/connection/db.ts';
import { killConnection } from '../../../src/store/connection/kill.ts';
import { isUnavailable } from '../../../src/store/connection/unavailable.ts';
import { add, counterValue, eachWithCounters } from '../../support/database/counters.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { eventually } from '../../support/server/eventually.ts';

let test: TestDatabase;
let database: Database;

eachWithCounters((made) => {
  test = made;
  database = made.database;
});

/**
 * Does not use information_schema.innodb_trx, which is not refreshed more than ten times a second.
 */
async function waits(db: Db, statement: RegExp): Promise<void> {
  await eventually(async () => {
    const engine = await sql<{ Status: string }>`SHOW ENGINE INNODB STATUS`.execute(db);
    expect(engine.rows[0]!.Status).toMatch(statement);
  });
}

it('leaves it to a single statement to retry after a deadlock with a transaction', async () => {
  const { db } = database;
  let alone: Promise<unknown> = Promise.resolve();
  await database.transaction(async (tx) => {
    // The server aborts the lighter of the two.
    await sql`INSERT INTO counters SELECT 100 + seq, 0 FROM (
      SELECT a.id * 10 + b.id AS seq FROM counters AS a JOIN counters AS b) AS rows_`.execute(tx);
    await add(tx, 1);
    alone = sql`
      UPDATE counters SET value = value + 1 WHERE id < 3 ORDER BY id DESC`.execute(db);
    await waits(db, /LOCK WAIT.*id < 3 ORDER BY id DESC/s);
    await add(tx, 2);
  });
  await alone;
  expect([await counterValue(db, 1), await counterValue(db, 2)]).toEqual([2, 2]);
});

it('reads current rows before locking them, also on a server that rejects changed rows', async () => {
  const { db } = database;
  await using strict = openDatabase({ ...test.settings, poolSize: 1 });
  await refuseChangedRows(strict.db);
  await sql`CREATE TABLE chosen (id INT PRIMARY KEY)`.execute(db);
  await sql`INSERT INTO chosen VALUES (1)`.execute(db);
  const chosen = sql`id IN (SELECT id FROM chosen)`;
  let late: Promise<unknown> = Promise.resolve();
  for (const run of [
    () => sql`UPDATE counters SET value = value + 10 WHERE ${chosen}`.execute(strict.db),
    () =>
      strict.transaction(async (tx) => {
        await sql`SELECT value FROM counters WHERE ${chosen} FOR UPDATE`.execute(tx);
        await sql`UPDATE counters SET value = value + 10 WHERE id = 1`.execute(tx);
      }),
  ]) {
    await database.transaction(async (tx) => {
      await add(tx, 1);
      late = run();
      await waits(db, /LOCK WAIT.*id IN \(SELECT id FROM chosen\)/s);
    });
    await late;
  }
  expect(await counterValue(db, 1)).toBe(22);
});

/** Where the server supports it: MariaDB does so by default from 11.6.2. */
async function refuseChangedRows(db: Db): Promise<void> {
  const name = 'innodb_snapshot_isolation';
  const known = await sql`SHOW VARIABLES LIKE ${name}`.execute(db);
  if (known.rows.length > 0) await sql.raw(`SET SESSION ${name} = ON`).execute(db);
}

it('ends a transaction as unavailable and without effect when its connection is killed', async () => {
  const killed = database.transaction(async (tx) => {
    await add(tx, 1);
    const own = await sql<{ id: number }>`SELECT CONNECTION_ID() AS id`.execute(tx);
    await sql.raw(`KILL ${own.rows[0]!.id}`).execute(database.db);
    await add(tx, 2);
  });
  expect(isUnavailable(await killed.catch((error: unknown) => error))).toBe(true);
  expect(await counterValue(database.db, 1)).toBe(0);
});

it('kills nothing when the id of a timed-out statement belongs to another one', async () => {
  await using innocent = openDatabase({ ...test.settings, poolSize: 1 });
  const own = async () =>
    (await sql<{ id: number }>`SELECT CONNECTION_ID() AS id, SLEEP(0.2)`.execute(innocent.db))
      .rows[0]!.id;
  const threadId = await own();
  const busy = own();
  // As behind a load balancer that leads to another server of a cluster.
  await killConnection(createConnector(test.settings), { threadId, ranMs: 10_000 });
  expect(await busy).toBe(threadId);
  expect(await own()).toBe(threadId);
});

it('reports a database that rejects the user or password as unreachable, without the password', async () => {
  const password = new Secret('canary-pass', 'test');
  await using other = openDatabase({ ...test.settings, password });
  const error = await other.ping().catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    kind: 'unreachable',
    message: expect.stringContaining('check DB_USER and DB_PASS'),
  });
  expect(isUnavailable(error)).toBe(true);
  expect((error as Error).message).not.toContain('canary-pass');
});
