/** Tests that migrations survive the death of runner and server, and the output of the command. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { initialiseDataDirectory } from '../../../src/embedded/data-directory.ts';
import { chooseServer } from '../../../src/embedded/server-choice.ts';
import { type ServerProcess, startServerProcess } from '../../../src/embedded/server-process.ts';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import type { DatabaseSettings } from '../../../src/settings.ts';
import { migrate, migrationStatus } from '../../../src/store/migrations/migrate.ts';
import { readMigrations } from '../../../src/store/migrations/migration-files.ts';
import { createEmptyDatabase, createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseLink } from '../../support/database/database-link.ts';
import { softwareDirectory } from '../../support/database/database-server.ts';
import { eventually } from '../../support/server/eventually.ts';
import { createTestHome } from '../../support/server/home.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { loadedIn, runCli, sourceProgram, startCli, tellingLoads } from '../commands/run-cli.ts';

const log = createLog({ level: 'silent' });
const example = join(import.meta.dirname, '../../../examples/1-quickstart');
let directory: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gatewright-migrations-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

/** 200,000 rows, so that copying the table takes the server a moment. */
const manyRows = `CREATE TABLE many (id INT NOT NULL PRIMARY KEY, filler CHAR(200) NOT NULL);
INSERT INTO many SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n, REPEAT('x', 200)
  FROM (${digits(10)}) a, (${digits(10)}) b, (${digits(10)}) c, (${digits(10)}) d, (${digits(20)}) e`;

function digits(count: number): string {
  return Array.from({ length: count }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');
}

const write = (name: string, sql: string): void =>
  writeFileSync(join(directory, `${name}.sql`), sql);

interface Runner {
  readonly child: ChildProcess;
  /** Resolves when the runner is about to run that statement. */
  reached(migration: string, number: number): Promise<void>;
  /** All of its output, parsed. */
  readonly stated: Record<string, unknown>[];
}

function startRunner(settings: DatabaseSettings): Runner {
  const options = {
    settings,
    password: settings.password?.reveal(),
    directory,
    heartbeatMs: 200,
  };
  const program = join(import.meta.dirname, 'migrate-runner.ts');
  const child = spawnTestProcess([program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  const stated: Record<string, unknown>[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => stated.push(JSON.parse(line)));
  return {
    child,
    stated,
    reached: async (migration, number) => {
      const isThere = (): boolean =>
        stated.some((step) => step.migration === migration && step.number === number);
      while (!isThere()) await once(lines, 'line');
    },
  };
}

async function kill(runner: Runner): Promise<void> {
  const exited = once(runner.child, 'exit');
  runner.child.kill('SIGKILL');
  await exited;
}

describe('a runner killed by SIGKILL', () => {
  it('replaces a runner killed between two statements, and runs each statement once', async () => {
    await using database = await createEmptyDatabase();
    const inserts = Array.from({ length: 40 }, (_, n) => `INSERT INTO a VALUES (${n})`);
    write('0001_a', `CREATE TABLE a (id INT);\n${inserts.join(';\n')}`);
    const first = startRunner(database.settings);
    await first.reached('0001_a', 20);
    await kill(first);
    await endLease(database.settings);
    const report = await migrate(database.settings, { log, directory });
    expect(report.applied).toEqual(['0001_a']);
    const rows = await select(database.settings, 'SELECT id FROM a ORDER BY id');
    expect(rows.map((row) => row.id)).toEqual(inserts.map((_, n) => n));
  });

  it('replaces a runner killed during a long ALTER that the server completes, without repeating it', async () => {
    await using database = await createEmptyDatabase();
    write('0001_many', manyRows);
    write('0002_wide', 'ALTER TABLE many ADD COLUMN wide INT NOT NULL DEFAULT 7, ALGORITHM=COPY');
    const first = startRunner(database.settings);
    await first.reached('0002_wide', 1);
    await waitForStatement(database.settings, 'ALTER TABLE many%');
    await kill(first);
    await endLease(database.settings);
    expect((await migrationStatus(database.settings, { directory })).state).toBe('behind');
    const report = await migrate(database.settings, { log, directory });
    expect(report.applied).toEqual(['0002_wide']);
    const columns = await select(
      database.settings,
      'SELECT COUNT(*) AS n, MIN(wide) AS wide FROM many',
    );
    expect(columns).toEqual([{ n: 200_000, wide: 7 }]);
  });

  it('admits the waiting runner after the lease of the killed one expires', async () => {
    await using database = await createEmptyDatabase();
    write('0001_a', 'CREATE TABLE a (id INT); CREATE TABLE b AS SELECT SLEEP(600) AS slept');
    const first = startRunner(database.settings);
    await first.reached('0001_a', 2);
    await waitForStatement(database.settings, 'CREATE TABLE b%');
    await kill(first);
    await killStatement(database.settings, 'CREATE TABLE b%');
    write('0001_a', 'CREATE TABLE a (id INT); CREATE TABLE b (id INT)');
    const waiting = startRunner(database.settings);
    await endLease(database.settings);
    await once(waiting.child, 'exit');
    expect(waiting.stated.at(-1)).toMatchObject({ applied: ['0001_a'] });
    expect(waiting.stated[0]).toMatchObject({ migration: '0001_a', number: 2 });
  });
});

describe('a server killed by SIGKILL', () => {
  it('loses nothing during an ALTER: the next run continues at that statement', async () => {
    const home = mkdtempSync(join(tmpdir(), 'gw-'));
    const start = await prepareServer(home);
    let server = await start();
    try {
      const settings = settingsOf(home);
      write('0001_many', manyRows);
      write('0002_wide', 'ALTER TABLE many ADD COLUMN wide INT NOT NULL DEFAULT 7, ALGORITHM=COPY');
      const { promise: altering, resolve: alter } = Promise.withResolvers<void>();
      const run = migrate(settings, {
        log,
        directory,
        onStep: ({ migration }) => migration === '0002_wide' && alter(),
      });
      const outcome = expect(run).rejects.toMatchObject({
        name: 'Failure',
        kind: 'unreachable',
        message: expect.stringContaining('Run it again'),
      });
      await altering;
      await waitForStatement(settings, 'ALTER TABLE many%');
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
      await outcome;
      server = await start();
      await endLease(settings);
      const report = await migrate(settings, { log, directory });
      expect(report.applied).toEqual(['0002_wide']);
      const rows = await select(settings, 'SELECT COUNT(*) AS n, MIN(wide) AS wide FROM many');
      expect(rows).toEqual([{ n: 200_000, wide: 7 }]);
    } finally {
      await server.stop();
      rmSync(home, { recursive: true });
    }
  });
});

describe('gatewright migrate', () => {
  it('applies missing migrations once, and reports them', async () => {
    await using database = await createEmptyDatabase();
    const check = await runCli(['migrate', '--check'], database.settings);
    expect(check).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('not applied') });
    const first = await runCli(['migrate'], database.settings);
    expect(first).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/applied 0001_tenancy\n.*MariaDB|MySQL/s),
    });
    const second = await runCli(['migrate'], database.settings);
    expect(second).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^nothing to do\n/),
    });
    const after = await runCli(['migrate', '--check'], database.settings);
    expect(after).toMatchObject({ exitCode: 0, stdout: 'current: nothing is missing\n' });
  });

  it('shows the state of each migration, as a table and as JSON', async () => {
    await using database = await createEmptyDatabase();
    await migrate(database.settings, { log });
    const table = await runCli(['migrate', '--status'], database.settings);
    expect(table.stdout).toMatch(/MIGRATION +STATE +STATEMENTS +FINISHED\n0001_tenancy +applied/);
    const json = await runCli(['migrate', '--status', '-o', 'json'], database.settings);
    expect(JSON.parse(json.stdout)).toMatchObject({
      state: 'current',
      migrations: expect.arrayContaining([
        expect.objectContaining({ name: '0001_tenancy', state: 'applied' }),
      ]),
    });
  });

  it('rejects a database that is too new, in every output format, with exit code 4', async () => {
    await using database = await createEmptyDatabase();
    await migrate(database.settings, { log });
    await select(
      database.settings,
      `INSERT INTO schema_migrations VALUES ('9999_future', '', 1, 1, 1, '', 1, 1, 1)`,
    );
    const env = { GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64') };
    for (const words of [['migrate'], ['migrate', '--check'], ['serve'], ['serve', '--migrate']]) {
      const result = await runCli(words, database.settings, { env });
      expect(result).toMatchObject({
        exitCode: 4,
        stderr: expect.stringMatching(/newer than this build.*9999_future/),
      });
    }
    // No key of the deployment was created.
    expect(await select(database.settings, 'SELECT * FROM data_keys')).toEqual([]);
  });

  it('reaches the database of a running home, as jobs and bootstrap do', async () => {
    using home = createTestHome();
    const words = ['--home', home.path];
    const holder = spawnTestProcess([join(import.meta.dirname, 'embedded-holder.ts'), home.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(holder);
    await once(holder.stdout, 'data');
    expect(await runCli(['migrate', ...words], null)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('applied 0001_tenancy'),
    });
    expect(await runCli(['jobs', 'list', ...words], null)).toMatchObject({ exitCode: 0 });
    const made = await runCli(['bootstrap', '--file', '-', ...words], null);
    expect(JSON.parse(made.stdout)).toMatchObject({ clientSecret: expect.any(String) });
  });

  it.each([[['migrate']], [['migrate', '--status']], [['jobs', 'list']]])(
    'loads nothing that only migrating or clients need on a current schema: %j',
    async (words) => {
      await using test = await createTestDatabase();
      const { exitCode, stderr } = await runCli(words, test.settings, {
        env: tellingLoads,
        program: sourceProgram,
      });
      expect(exitCode).toBe(0);
      const loaded = loadedIn(stderr);
      expect(loaded.some((url) => url.includes('/node_modules/mysql2/'))).toBe(true);
      expect(loaded.filter((url) => /node_modules\/(umzug|@rushstack|undici)\//.test(url))).toEqual(
        [],
      );
    },
  );

  it('names the settings when there is no database', async () => {
    const result = await runCli(['migrate', '--home', directory], null);
    expect(result).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('DB_HOST') });
  });
});

describe('Ctrl-C while a migration waits for a lock', () => {
  const runs = {
    migrate: (home: string) => ['migrate', '--home', home],
    serve: (home: string) => ['serve', '--migrate', '--port', '0', '--home', home],
    up: (home: string) => ['up', '--home', home, '--port', '0', '--source', example],
  };

  it.each(
    (Object.keys(runs) as (keyof typeof runs)[]).flatMap((name) => [
      [name, 'SIGINT', 130] as const,
      [name, 'SIGTERM', 143] as const,
    ]),
  )('ends %s by %s at once with %i, and the next run continues', async (name, signal, code) => {
    await using test = await createTestDatabase();
    await undoFrom(test.settings, '0009_idempotency');
    const holder = await connect(test.settings);
    await holder.query('LOCK TABLES idempotency_keys WRITE');
    using home = createTestHome();
    const child = startCli(runs[name](home.path), test.settings, {
      GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
    });
    children.push(child);
    await waitForStatement(test.settings, 'CREATE TABLE IF NOT EXISTS idempotency_keys%');
    child.kill(signal);
    const [[status], reported] = await Promise.all([once(child, 'exit'), text(child.stderr!)]);
    expect({ status, reported }).toMatchObject({
      status: code,
      reported: expect.stringMatching(
        /gatewright: Stopped before statement 1 of .*continues there/,
      ),
    });
    await holder.end();
    expect(await runCli(['migrate'], test.settings)).toMatchObject({ exitCode: 0 });
  });
});

async function prepareServer(home: string): Promise<() => Promise<ServerProcess>> {
  const offline = { offline: true, progress: () => {} };
  const binary = await chooseServer(softwareDirectory, null, offline);
  const dataDirectory = join(home, 'data');
  await initialiseDataDirectory(binary, dataDirectory);
  return () =>
    startServerProcess({
      binary,
      dataDirectory,
      socketPath: join(home, 'sql.sock'),
      temporaryDirectory: join(home, 'temporary'),
      logPath: join(home, 'server.log'),
      flags: ['--skip-networking', '--skip-log-bin'],
      user: 'tester',
      password: new Secret('of the test', 'test'),
      databaseName: 'gatewright',
    });
}

function settingsOf(home: string): DatabaseSettings {
  return {
    host: 'localhost',
    port: 0,
    socketPath: join(home, 'sql.sock'),
    user: 'tester',
    password: new Secret('of the test', 'test'),
    name: 'gatewright',
    poolSize: 2,
    tls: { mode: 'DISABLED', ca: null, cert: null, key: null },
  };
}

/** Simulates elapsed time: the killed runner's lease expires. */
async function endLease(settings: DatabaseSettings): Promise<void> {
  await select(settings, "UPDATE leases SET expires_at = '1970-01-02'");
}

const statementPattern = 'SELECT id FROM information_schema.processlist WHERE info LIKE ?';

/** Makes the migrations from `first` on run again. Their tables may exist when they begin; their columns may not. */
async function undoFrom(settings: DatabaseSettings, first: string): Promise<void> {
  await select(settings, `DELETE FROM schema_migrations WHERE name >= '${first}'`);
  const statements = readMigrations()
    .filter(({ name }) => name >= first)
    .flatMap((migration) => migration.statements);
  // Generated columns and keys go before the columns that they use.
  for (const { text } of statements.toReversed()) {
    const table = /^ALTER TABLE (\w+)\s/.exec(text)?.[1];
    const additions = [...text.matchAll(/\bADD (COLUMN|KEY) (\w+)/g)].toReversed();
    for (const [, kind, name] of table === undefined ? [] : additions) {
      await select(settings, `ALTER TABLE ${table} DROP ${kind} ${name}`);
    }
  }
}

async function waitForStatement(settings: DatabaseSettings, pattern: string): Promise<void> {
  await expect
    .poll(() => select(settings, statementPattern, [pattern]), { interval: 5 })
    .toHaveLength(1);
}

async function killStatement(settings: DatabaseSettings, pattern: string): Promise<void> {
  for (const row of await select(settings, statementPattern, [pattern])) {
    await select(settings, `KILL ${Number(row.id)}`);
  }
}

async function connect(settings: DatabaseSettings) {
  const { host, port, user, name: database } = settings;
  const password = settings.password?.reveal() ?? '';
  return await createConnection({ host, port, user, password, database });
}

async function select(
  settings: DatabaseSettings,
  sql: string,
  values: string[] = [],
): Promise<RowDataPacket[]> {
  const connection = await createConnection({
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password?.reveal(),
    database: settings.name,
    ...(settings.socketPath === null ? {} : { socketPath: settings.socketPath }),
  });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql, values);
    return rows;
  } finally {
    await connection.end();
  }
}

describe('gatewright migrate --wait', () => {
  it('waits for a database that does not answer yet, and for migrations of another process', async () => {
    await using test = await createEmptyDatabase();
    await using link = await startDatabaseLink();
    const settings = await link.lead(test.settings);
    link.cut();
    const child = startCli(['migrate', '--check', '--wait', '10m'], settings, {});
    children.push(child);
    const exit = once(child, 'exit');
    const stated: string[] = [];
    createInterface({ input: child.stderr! }).on('line', (line) => stated.push(line));
    await eventually(() => expect(stated[0]).toMatch(/^waiting: Cannot use the database/));
    link.mend();
    await eventually(() => expect(stated.at(-1)).toBe('waiting: migrations are missing'));
    await migrate(test.settings, { log });
    expect(await exit).toEqual([0, null]);
  });
});
