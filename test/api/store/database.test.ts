/** Verifies database connections, sessions, transactions and outages. */
import { kill } from 'node:process';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { type Database, type Db, openDatabase } from '../../../src/store/connection/db.ts';
import { statement } from '../../../src/store/connection/statement.ts';
import { DatabaseUnavailable, isUnavailable } from '../../../src/store/connection/unavailable.ts';
import { readConsistently } from '../../../src/store/consistent-read.ts';
import { add, counterValue, eachWithCounters } from '../../support/database/counters.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { findFreePort, startTestDatabaseServer } from '../../support/database/database-server.ts';
import { eventually } from '../../support/server/eventually.ts';
import { freeze } from '../../support/server/process.ts';

let test: TestDatabase;
let database: Database;

eachWithCounters((made) => {
  test = made;
  database = made.database;
});

async function variable(db: Db, name: string): Promise<unknown> {
  const found = await sql<{ Value: unknown }>`SHOW SESSION VARIABLES LIKE ${name}`.execute(db);
  return found.rows[0]?.Value;
}

it('finds nothing for a text that an ASCII column cannot store, and hides no other row', async () => {
  await sql`CREATE TABLE named (
    id VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY, title VARCHAR(9) NOT NULL)`.execute(
    database.db,
  );
  await sql`INSERT INTO named VALUES ('a', 'é'), ('b', '')`.execute(database.db);
  const idsOf = async (db: Db, condition: ReturnType<typeof sql>) => {
    const requested = sql<{ id: string }>`SELECT id FROM named WHERE ${condition} ORDER BY id`;
    return (await requested.execute(db)).rows.map(({ id }) => id);
  };
  const ask = async (db: Db) => [
    await idsOf(db, sql`id = ${'é'}`),
    await idsOf(db, sql`id IN (${'b'}, ${"\\'\u{1f600}"})`),
    await idsOf(db, sql`id <> ${'?é'} AND title = ${'é'}`),
  ];
  expect(await ask(database.db)).toEqual([[], ['b'], ['a']]);
  expect(await database.transaction(ask)).toEqual([[], ['b'], ['a']]);
});

describe('a database session', () => {
  it('has the same settings whatever the defaults of the server are', async () => {
    expect(await variable(database.db, 'character_set_connection')).toBe('utf8mb4');
    expect(await variable(database.db, 'time_zone')).toBe('+00:00');
    const isolation = await sql<{ Value: string }>`
      SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')
    `.execute(database.db);
    expect(new Set(isolation.rows.map((row) => row.Value))).toEqual(new Set(['READ-COMMITTED']));
    expect((await variable(database.db, 'innodb_snapshot_isolation')) ?? 'OFF').toBe('OFF');
    expect(
      String(await variable(database.db, 'sql_mode'))
        .split(',')
        .sort(),
    ).toEqual([
      'ERROR_FOR_DIVISION_BY_ZERO',
      'NO_ENGINE_SUBSTITUTION',
      'NO_ZERO_DATE',
      'NO_ZERO_IN_DATE',
      'STRICT_ALL_TABLES',
    ]);
  });

  it('waits for a lock for three tenths of the statement timeout', async () => {
    const { statementSeconds: _, ...usual } = test.settings;
    const waited = async (settings: DatabaseSettings) => {
      await using other = openDatabase({ ...settings, poolSize: 1 });
      return await variable(other.db, 'innodb_lock_wait_timeout');
    };
    expect(await waited(usual)).toBe('3');
    expect(await waited({ ...usual, statementSeconds: 1 })).toBe('1');
    expect(await waited({ ...usual, statementSeconds: 600 })).toBe('180');
  });

  it('loses its locks when its process falls silent in a transaction', async () => {
    await using link = await startDatabaseLink();
    const settings = await link.lead({ ...test.settings, statementSeconds: 1 });
    await using silent = openDatabase(settings);
    const locked = Promise.withResolvers<void>();
    const cutOff = silent.transaction(async (tx) => {
      await add(tx, 1);
      link.freeze();
      locked.resolve();
      // Its next statement is sent when the link is mended.
      await eventually(() => expect(link.isWhole()).toBe(true));
      await add(tx, 2);
    }, 1);
    await locked.promise;
    await using other = openDatabase({ ...test.settings, statementSeconds: 1 });
    await eventually(() => add(other.db, 1));
    link.mend();
    await expect(cutOff).rejects.toSatisfy(isUnavailable);
    expect([await counterValue(database.db, 1), await counterValue(database.db, 2)]).toEqual([
      1, 0,
    ]);
  });

  it('uses no connection that the server may be ending because it was unused for long', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      await using other = openDatabase({ ...test.settings, poolSize: 1 });
      const connectionId = async () => {
        const { rows } = await sql<{ id: number }>`SELECT CONNECTION_ID() AS id`.execute(other.db);
        return rows[0]!.id;
      };
      const waitSeconds = Number(await variable(other.db, 'wait_timeout'));
      const first = await connectionId();
      vi.advanceTimersByTime(waitSeconds * 400);
      expect(await connectionId()).toBe(first);
      vi.advanceTimersByTime(waitSeconds * 600);
      expect(await connectionId()).not.toBe(first);
    } finally {
      vi.useRealTimers();
    }
  });

  it('returns documents as text', async () => {
    const found = await sql`SELECT JSON_OBJECT('a', 1) AS document`.execute(database.db);
    expect(found.rows).toEqual([{ document: '{"a": 1}' }]);
  });

  it('binds an object parameter as text, never as assignments', async () => {
    const found = await sql`SELECT ${{ id: 1 }} AS given`.execute(database.db);
    expect(found.rows).toEqual([{ given: '[object Object]' }]);
  });
});

describe('a transaction', () => {
  it('rolls back when its callback throws, and rethrows the same error', async () => {
    const mistake = new Error('mistake');
    const failing = database.transaction(async (tx) => {
      await add(tx, 1);
      throw mistake;
    });
    await expect(failing).rejects.toBe(mistake);
    expect(await counterValue(database.db, 1)).toBe(0);
  });

  it('rolls back when a statement fails, so that the connection is returned clean', async () => {
    const failing = database.transaction(async (tx) => {
      await add(tx, 1);
      await sql`INSERT INTO counters VALUES (1, 9)`.execute(tx);
    });
    await expect(failing).rejects.toMatchObject({ errno: 1062 });
    expect(await counterValue(database.db, 1)).toBe(0);
    expect(database.pool()).toEqual({ size: 1, used: 0, pending: 0 });
  });

  it('is retried after a deadlock, with nothing counted twice', async () => {
    const meeting = Promise.withResolvers<void>();
    let arrived = 0;
    let runs = 0;
    const meet = async (): Promise<void> => {
      arrived += 1;
      if (arrived === 2) meeting.resolve();
      await meeting.promise;
    };
    const both = [
      [1, 2],
      [2, 1],
    ].map(([first, second]) =>
      database.transaction(async (tx) => {
        runs += 1;
        await add(tx, first!);
        await meet();
        await add(tx, second!);
      }),
    );
    await Promise.all(both);
    expect(runs).toBe(3);
    expect([await counterValue(database.db, 1), await counterValue(database.db, 2)]).toEqual([
      2, 2,
    ]);
  });

  it('is retried when a snapshot read meets a table that a migration has changed since', async () => {
    await sql`CREATE TABLE others (id INT PRIMARY KEY)`.execute(database.db);
    let runs = 0;
    const read = await readConsistently(database.db, async (tx) => {
      runs += 1;
      const before = await counterValue(tx, 1);
      // The snapshot is older than the table that this creates.
      if (runs === 1)
        await sql`ALTER TABLE others ADD COLUMN name TEXT, FORCE`.execute(database.db);
      const { rows } = await sql`SELECT * FROM others`.execute(tx);
      return [before, rows];
    });
    expect([runs, read]).toEqual([2, [0, []]]);
  });

  it('is retried after a lock wait timeout', async () => {
    const held = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holder = database.transaction(async (tx) => {
      await add(tx, 1);
      held.resolve();
      await release.promise;
    });
    await held.promise;
    let runs = 0;
    await using impatient = openDatabase({ ...test.settings, statementSeconds: 10 });
    const waiter = impatient.transaction(async (tx) => {
      runs += 1;
      if (runs === 2) release.resolve();
      await add(tx, 1);
    });
    await Promise.all([holder, waiter]);
    expect(runs).toBe(2);
    expect(await counterValue(database.db, 1)).toBe(2);
  });
});

describe('the connection pool', () => {
  it('opens at most poolSize connections, and reports the waiting callers', async () => {
    const release = Promise.withResolvers<void>();
    const work = Array.from({ length: 7 }, () => database.transaction(() => release.promise));
    await eventually(() => expect(database.pool()).toEqual({ size: 5, used: 5, pending: 2 }));
    release.resolve();
    await Promise.all(work);
    expect(database.pool()).toMatchObject({ used: 0, pending: 0 });
  });

  it('gives up waiting for a connection, and names the setting', async () => {
    await using single = openDatabase({ ...test.settings, poolSize: 1, poolWaitSeconds: 1 });
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // On a busy machine connecting takes longer than the wait timeout of this test.
    await eventually(() => single.ping());
    const holder = single.transaction(() => {
      held.resolve();
      return release.promise;
    });
    await held.promise;
    const error = await add(single.db, 1).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DatabaseUnavailable);
    expect((error as Error).message).toContain('DB_POOL_SIZE');
    await expect(single.ping()).rejects.toThrow(DatabaseUnavailable);
    release.resolve();
    await holder;
    await single.ping();
  });

  it('waits for running work when it is disposed, and then rejects new work', async () => {
    const other = openDatabase(test.settings);
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const work = other.transaction(async (tx) => {
      started.resolve();
      await release.promise;
      await add(tx, 1);
    });
    await started.promise;
    const disposed = other[Symbol.asyncDispose]();
    release.resolve();
    await Promise.all([work, disposed]);
    expect(await counterValue(database.db, 1)).toBe(1);
    await expect(add(other.db, 1)).rejects.toThrow('being closed');
  });
});

describe('an unreachable database', () => {
  const elsewhere = async (change: Partial<DatabaseSettings>): Promise<unknown> => {
    await using other = openDatabase({ ...test.settings, ...change });
    return await other.ping().catch((error: unknown) => error);
  };

  it.each([
    ['nothing listens there', async () => ({ port: await findFreePort() })],
    ['cannot be resolved', async () => ({ host: 'no-such-host.invalid' })],
    ['there is no such socket', async () => ({ socketPath: '/nowhere/sql.sock' })],
    ['it has no database missing_db', async () => ({ name: 'missing_db' })],
  ])('reports %s', async (text, change) => {
    const error = await elsewhere(await change());
    expect(error).toMatchObject({ kind: 'unreachable' });
    expect(isUnavailable(error)).toBe(true);
    expect((error as Error).message).toContain(text);
  });

  it('is cancelled on the server as well when it times out, with its locks', async () => {
    await using hasty = openDatabase(test.settings, { queryTimeoutMs: 300 });
    await sql`INSERT INTO counters VALUES (77, 0)`.execute(database.db);
    // Busy for minutes; unlike SLEEP, it does not check whether the client is still connected.
    const busy = sql`BENCHMARK(300000000, SHA2('x', 512))`;
    const slow = sql`UPDATE counters SET value = ${busy} WHERE id = 77`.execute(hasty.db);
    await expect(slow).rejects.toSatisfy(isUnavailable);
    const running = async (): Promise<string> =>
      JSON.stringify((await sql`SHOW FULL PROCESSLIST`.execute(database.db)).rows);
    await eventually(async () => expect(await running()).not.toContain('BENCHMARK'));
    await sql`DELETE FROM counters WHERE id = 77`.execute(database.db);
  });

  it('cancels the statements queued behind it on the same connection when it times out', async () => {
    await using hasty = openDatabase(test.settings, { queryTimeoutMs: 300 });
    const slow = statement((tx, _: Record<never, never>) =>
      tx.selectNoFrom(sql<number>`SLEEP(60)`.as('slept')),
    );
    const reasons: unknown[] = [];
    const failing = hasty.transaction(async (tx) => {
      const both = await Promise.allSettled([slow.all(tx, {}), slow.all(tx, {})]);
      for (const end of both) if (end.status === 'rejected') reasons.push(end.reason);
      throw reasons[0];
    });
    await expect(failing).rejects.toSatisfy(isUnavailable);
    expect(reasons.map(isUnavailable)).toEqual([true, true]);
    expect((await sql<{ one: number }>`SELECT 1 AS one`.execute(hasty.db)).rows).toEqual([
      { one: 1 },
    ]);
  });

  it('is reported when a statement exceeds the timeout of the settings', async () => {
    await using hasty = openDatabase({ ...test.settings, statementSeconds: 1 });
    await expect(sql`SELECT SLEEP(60)`.execute(hasty.db)).rejects.toSatisfy(isUnavailable);
  });

  it('differs from an error in a statement', async () => {
    const error = await sql`SELECT nonsense`
      .execute(database.db)
      .catch((caught: unknown) => caught);
    expect(isUnavailable(error)).toBe(false);
    expect(isUnavailable(new TypeError('mistake'))).toBe(false);
  });
});

/** Long timeouts for operations that must succeed on a busy machine. */
const patience = { poolWaitSeconds: 300, connectTimeoutSeconds: 20 };

describe('a server that fails', () => {
  /** Enough for a trivial statement on a busy machine. */
  const queryTimeoutMs = 2_000;
  let server: Awaited<ReturnType<typeof startTestDatabaseServer>>;
  let other: Database;
  let settings: DatabaseSettings;

  beforeAll(async () => {
    server = await startTestDatabaseServer();
    const { host, port, user } = server.server;
    settings = {
      host,
      port,
      socketPath: null,
      user,
      name: 'gatewright_test',
      poolSize: 2,
      password: new Secret(server.server.password, 'test'),
      tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
    };
    await using patient = openDatabase({ ...settings, ...patience });
    await sql`CREATE TABLE counters (id INT PRIMARY KEY, value INT NOT NULL)`.execute(patient.db);
    await sql`INSERT INTO counters VALUES (1, 0)`.execute(patient.db);
    other = openDatabase(settings, { queryTimeoutMs });
  });

  afterAll(async () => {
    kill(server.pid, 'SIGCONT');
    await other[Symbol.asyncDispose]();
    await server.stop();
  });

  const connectionId = async (): Promise<number> => {
    const found = await sql<{ id: number }>`SELECT CONNECTION_ID() AS id`.execute(other.db);
    return found.rows[0]!.id;
  };

  it('makes queries fail in bounded time when it freezes, and is used again afterwards', async () => {
    const before = await eventually(connectionId);
    await freeze(server.pid);
    // The query times out on the open connection; a new connection gets no handshake.
    expect(isUnavailable(await add(other.db, 1).catch((error: unknown) => error))).toBe(true);
    await expect(add(other.db, 1)).rejects.toThrow('does not answer');
    await expect(other.ping()).rejects.toSatisfy(isUnavailable);
    kill(server.pid, 'SIGCONT');
    await eventually(() => other.ping());
    const after = await eventually(connectionId);
    expect(after).not.toBe(before);
    expect(await eventually(() => counterValue(other.db, 1))).toBeLessThanOrEqual(1);
  });

  it('neither commits nor reuses the connection when it freezes in a transaction', async () => {
    const start = await eventually(() => counterValue(other.db, 1));
    const frozen = other.transaction(async (tx) => {
      await add(tx, 1);
      await freeze(server.pid);
      await sql`SELECT 1`.execute(tx);
    });
    expect(isUnavailable(await frozen.catch((error: unknown) => error))).toBe(true);
    kill(server.pid, 'SIGCONT');
    await eventually(() => other.ping());
    await eventually(async () => expect(await counterValue(other.db, 1)).toBe(start));
  });

  it('is replaced by the reader only while it is down', async () => {
    const reader = test.settings;
    const name = test.settings.name;
    await using writer = await startWithSchema(name);
    await using both = openDatabase(
      { ...settings, port: writer.port, password: writer.password, name },
      { reader, queryTimeoutMs },
    );
    // A server that does not respond in time counts as down, which may be either one on a busy
    // machine.
    await eventually(() => sql`UPDATE counters SET value = 7`.execute(both.db));
    await eventually(async () => expect(await counterValue(both.readable, 1)).toBe(7));
    await writer.stop();
    await eventually(async () => expect(await counterValue(both.readable, 1)).toBe(0));
    await expect(counterValue(both.db, 1)).rejects.toSatisfy(isUnavailable);
    await eventually(() => expect(both.ping()).rejects.toThrow('nothing listens there'));
  });

  it('logs one warning at the first connection when a crash could lose commits', async () => {
    const lines: string[] = [];
    const write = (line: unknown): boolean => lines.push(String(line)) > 0;
    const log = createLog({ level: 'info', destination: { write } });
    await using logged = openDatabase({ ...settings, ...patience }, { log });
    await Promise.all([counterValue(logged.db, 1), counterValue(logged.db, 1)]);
    // The check runs beside the first connection and delays nobody.
    await eventually(() => expect(lines.join()).toContain('may lose the latest changes'));
    expect(lines.filter((line) => line.includes('may lose the latest changes'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('database connected'))).toHaveLength(1);
  });
});

/** Starts a second server with the counters of the tests. */
async function startWithSchema(name: string) {
  const own = await startTestDatabaseServer();
  const password = new Secret(own.server.password, 'test');
  const { host, port, user } = own.server;
  const tls = { mode: 'DISABLED', ca: null, cert: null, key: null } as const;
  const endpoint = { host, port, socketPath: null, user, password, poolSize: 1, tls, ...patience };
  await using setup = openDatabase({ ...endpoint, name: 'gatewright_test' });
  await sql.raw(`CREATE DATABASE ${name}`).execute(setup.db);
  await sql.raw(`CREATE TABLE ${name}.counters (id INT PRIMARY KEY, value INT)`).execute(setup.db);
  await sql.raw(`INSERT INTO ${name}.counters VALUES (1, 0)`).execute(setup.db);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= own.stop();
    return stopped;
  };
  return { port, password, stop, [Symbol.asyncDispose]: stop };
}
