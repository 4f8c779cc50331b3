/**
 * Verifies that migrations bring any database to the schema of this build once, in order, and only
 * when that is safe.
 */
import { randomUUID } from 'node:crypto';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { migrate, migrationStatus } from '../../../src/store/migrations/migrate.ts';
import {
  eachOnMigrations,
  failure,
  log,
  type OwnMigrations,
} from '../../support/database/own-migrations.ts';
import { eventually } from '../../support/server/eventually.ts';

let database: OwnMigrations['database'];
let directory: string;
const { write, remove, run } = eachOnMigrations((own) => {
  ({ database, directory } = own);
});

const status = () => migrationStatus(database.settings, { directory });

describe('the shipped migrations', () => {
  it('creates the newest schema in an empty database, and has nothing to do a second time', async () => {
    const first = await migrate(database.settings, { log });
    expect(first.applied.length).toBeGreaterThan(0);
    expect(first.applied.at(-1)).toBe(first.schemaVersion);
    expect(first.databaseVersion).toMatch(/^(MariaDB|MySQL) \d+\.\d+\.\d+$/);
    const second = await migrate(database.settings, { log });
    expect(second).toEqual({ ...first, applied: [] });
    expect((await migrationStatus(database.settings)).state).toBe('current');
  });

  it('runs once when five runners start together, and all five return', async () => {
    const reports = await Promise.all(
      Array.from({ length: 5 }, () => migrate(database.settings, { log })),
    );
    const runners = reports.filter((report) => report.applied.length > 0);
    expect(runners).toHaveLength(1);
    expect((await migrationStatus(database.settings)).state).toBe('current');
  });

  it('makes every text column binary-compared or document-sized, and every table InnoDB', async () => {
    await migrate(database.settings, { log });
    const loose = await select(`SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = DATABASE() AND data_type IN ('char', 'varchar')
        AND collation_name NOT LIKE '%\\_bin'`);
    expect(loose).toEqual([]);
    const engines = await select(`SELECT DISTINCT engine AS engine FROM information_schema.tables
      WHERE table_schema = DATABASE()`);
    expect(engines).toEqual([{ engine: 'InnoDB' }]);
  });
});

describe('a statement that fails', () => {
  it('is named with its file, line and number, and earlier statements remain', async () => {
    await write(
      '0001_shop',
      `CREATE TABLE a (id INT);
-- a comment; with a semicolon
INSERT INTO a VALUES (1);

INSERT INTO nowhere VALUES (';');
CREATE TABLE b (id INT);`,
    );
    await expect(run()).rejects.toEqual(
      failure('unexpected', /0001_shop\.sql:5 \(statement 3 of 4\).*nowhere/s),
    );
    expect(await select('SELECT * FROM a')).toEqual([{ id: 1 }]);
    expect(await status()).toMatchObject({
      state: 'behind',
      migrations: [{ name: '0001_shop', state: 'partial', stepsDone: 2, stepsTotal: 4 }],
    });
  });

  it('is where the next run resumes after the rest of the file is corrected', async () => {
    await write('0001_shop', 'CREATE TABLE a (id INT); INSERT INTO a VALUES (1); CREATE TABL b;');
    await write('0002_more', 'INSERT INTO a VALUES (2)');
    await expect(run()).rejects.toThrow(/statement 3 of 3/);
    await write(
      '0001_shop',
      'CREATE TABLE a (id INT); INSERT INTO a VALUES (1); CREATE TABLE b (id INT);',
    );
    expect((await run()).applied).toEqual(['0001_shop', '0002_more']);
    expect(await select('SELECT * FROM a ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await select('SELECT * FROM b')).toEqual([]);
  });

  it('leaves no partial change of rows', async () => {
    await write(
      '0001_a',
      'CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1), (2), (1)',
    );
    await expect(run()).rejects.toThrow(/statement 2 of 2/);
    expect(await select('SELECT * FROM a')).toEqual([]);
  });

  it('fails again instead of counting as done when its object existed before', async () => {
    await select('CREATE TABLE a (id INT)');
    await write('0001_a', 'CREATE TABLE a (id INT, name TEXT)');
    await expect(run()).rejects.toThrow(/already exists/);
    await expect(run()).rejects.toThrow(/already exists/);
  });
});

describe('an applied migration', () => {
  it('is rejected by name when it was edited', async () => {
    await write('0001_a', 'CREATE TABLE a (id INT)');
    await run();
    await write('0001_a', 'CREATE TABLE a (id BIGINT)');
    await expect(run()).rejects.toEqual(
      failure('refusedByGuard', /0001_a\.sql: .*edited.*new migration/s),
    );
    expect((await status()).state).toBe('edited');
  });

  it('is equal with other line endings of the checkout', async () => {
    await write('0001_a', 'CREATE TABLE a (\n  id INT\n)');
    await run();
    await write('0001_a', 'CREATE TABLE a (\r\n  id INT\r\n)');
    expect((await run()).applied).toEqual([]);
  });

  it('may not be edited in its applied part when it failed halfway', async () => {
    await write('0001_a', 'CREATE TABLE a (id INT); CREATE TABL b');
    await expect(run()).rejects.toThrow(/statement 2/);
    await write('0001_a', 'CREATE TABLE a (id BIGINT); CREATE TABLE b (id INT)');
    await expect(run()).rejects.toEqual(failure('refusedByGuard', /first 1 statement/));
  });
});

describe('a database of another build', () => {
  it('is left unchanged when it is ahead by compatible migrations', async () => {
    await write('0001_a', 'CREATE TABLE a (id INT)');
    await write('0002_b', 'CREATE TABLE b (id INT)');
    await run();
    await remove('0002_b');
    expect((await run()).applied).toEqual([]);
    expect(await status()).toMatchObject({
      state: 'ahead',
      migrations: [{ state: 'applied' }, { name: '0002_b', state: 'unknown' }],
    });
  });

  it('is rejected by name when it is ahead by a breaking migration', async () => {
    await write('0001_a', 'CREATE TABLE a (id INT)');
    await write('0002_b', '-- breaking\nALTER TABLE a DROP COLUMN id, ADD COLUMN name TEXT');
    await run();
    await remove('0002_b');
    await expect(run()).rejects.toEqual(failure('refusedByGuard', /newer than this build.*0002_b/));
    expect((await status()).state).toBe('too-new');
  });

  it('is rejected from the first statement of a breaking migration on', async () => {
    await write('0001_a', 'CREATE TABLE a (id INT)');
    await write('0002_b', '-- breaking\nALTER TABLE a ADD COLUMN name TEXT; ALTER TABL a');
    await expect(run()).rejects.toThrow(/0002_b/);
    await remove('0002_b');
    await expect(run()).rejects.toThrow(/newer than this build/);
  });

  it('is not given a migration that sorts before an applied one', async () => {
    await write('0002_b', 'CREATE TABLE b (id INT)');
    await run();
    await write('0001_a', 'CREATE TABLE a (id INT)');
    await expect(run()).rejects.toEqual(failure('refusedByGuard', /0001_a\.sql.*next free/));
  });
});

describe('a migration runner', () => {
  const slow = {
    migration: '0001_a',
    sql: 'CREATE TABLE a (id INT); INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)',
  };

  it('renews its lease during a statement of any length', async () => {
    const { host, port, user, password } = database.settings;
    await using gate = await createConnection({ host, port, user, password: password!.reveal() });
    const lock = randomUUID();
    await gate.query('SELECT GET_LOCK(?, 0)', [lock]);
    await write('0001_a', `CREATE TABLE a AS SELECT GET_LOCK('${lock}', 600) AS got`);
    const first = run({ heartbeatMs: 50 });
    const second = run({ heartbeatMs: 50 });
    const ends = new Set<string>();
    await eventually(async () => {
      const [lease] = await select('SELECT CAST(expires_at AS CHAR) AS ends FROM leases');
      ends.add(String(lease?.ends));
      expect(ends.size).toBeGreaterThan(4);
    });
    await gate.query('SELECT RELEASE_LOCK(?)', [lock]);
    const reports = await Promise.all([first, second]);
    expect(reports.filter((report) => report.applied.length > 0)).toHaveLength(1);
  });

  it('stops before its next statement when it lost its lease, and the successor finishes', async () => {
    await write(slow.migration, slow.sql);
    let successor: ReturnType<typeof run> | undefined;
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    const steps: number[] = [];
    const first = run({
      leaseTtlMs: 1,
      heartbeatMs: 60_000,
      onStep: ({ number }) => {
        steps.push(number);
        successor ??= run().finally(finish);
      },
    });
    await expect(first).rejects.toEqual(failure('retryable', /taken over/));
    await done;
    expect((await successor)?.applied).toEqual(['0001_a']);
    expect(await select('SELECT id FROM a ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('stops between two statements on request, and the next run continues', async () => {
    await write(slow.migration, slow.sql);
    const controller = new AbortController();
    const stopped = run({
      signal: controller.signal,
      onStep: ({ number }) => {
        if (number === 2) controller.abort();
      },
    });
    // The second statement is killed if it still runs when the signal reaches the server.
    await expect(stopped).rejects.toEqual(failure('retryable', /before statement [23] /));
    expect((await run()).applied).toEqual(['0001_a']);
    expect(await select('SELECT id FROM a ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
  });
});

async function connect(settings: DatabaseSettings) {
  return createConnection({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password?.reveal(),
    database: settings.name,
  });
}

async function select(sql: string): Promise<RowDataPacket[]> {
  const connection = await connect(database.settings);
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    await connection.end();
  }
}
