/** Tests the embedded database: complete or absent, private, durable, never orphaned. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type EmbeddedConnection,
  findRunningDatabase,
  startEmbeddedDatabase,
} from '../../../src/embedded/embedded-database.ts';
import { acquireHomeLock } from '../../../src/embedded/home-lock.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { eventually } from '../../support/server/eventually.ts';
import { createTestHome, lendSoftware, type TestHome } from '../../support/server/home.ts';
import { isRunning } from '../../support/server/process.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { fillUsedHome } from '../serve/used-home.ts';

const silent = { offline: true, progress: () => {} };
/** File names that a starting server would delete as its own temporary files. */
const foreignTemporaryFiles = ['#sql-temptable-1-1-0.MAD', '#sql-temptable-1-1-0.MAI'];
const holderScript = join(import.meta.dirname, 'embedded-holder.ts');
const children: ChildProcess[] = [];
let home: TestHome;

beforeEach(() => {
  home = createTestHome();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  home[Symbol.dispose]();
});

async function query(connection: EmbeddedConnection, sql: string): Promise<unknown> {
  const { socketPath, user, password, name } = connection;
  const session = await createConnection({
    socketPath,
    user,
    password: password.reveal(),
    database: name,
  });
  try {
    const [rows] = await session.query(sql);
    return rows;
  } finally {
    await session.end();
  }
}

/** Runs a script beside this one and reads the process id that it prints once it is ready. */
async function startHolder(
  script: string,
  env: Record<string, string> = {},
  ...words: string[]
): Promise<{ holder: ChildProcess; heldPid: number }> {
  const holder = spawnTestProcess([join(import.meta.dirname, script), ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  children.push(holder);
  const [line] = (await once(holder.stdout!, 'data')) as [Buffer];
  return { holder, heldPid: Number(line) };
}

describe('a start', () => {
  it('listens on a private socket only, not on the network, and requires the password', async () => {
    await fillUsedHome(home.path);
    const database = await startEmbeddedDatabase(home.path, silent);
    const { connection } = database;
    expect(await query(connection, 'SELECT @@skip_networking AS off')).toEqual([{ off: 1 }]);
    expect(statSync(join(connection.socketPath, '..')).mode & 0o077).toBe(0);
    expect(statSync(join(home.path, 'database.json')).mode & 0o077).toBe(0);
    for (const user of ['root', 'gatewright', '']) {
      const { socketPath } = connection;
      await expect(createConnection({ socketPath, user })).rejects.toMatchObject({ errno: 1045 });
    }
    await database.stop();
  });

  it('flushes what it acknowledges', async () => {
    await fillUsedHome(home.path);
    const database = await startEmbeddedDatabase(home.path, silent);
    const sql = 'SELECT @@innodb_flush_log_at_trx_commit AS flush, @@innodb_doublewrite AS twice';
    const [row] = (await query(database.connection, sql)) as [Record<string, unknown>];
    expect(row.flush).toBe(1);
    expect(String(row.twice)).toMatch(/^(1|ON)$/);
    await database.stop();
  });

  it('finds the data of the previous start', async () => {
    await fillUsedHome(home.path);
    const first = await startEmbeddedDatabase(home.path, silent);
    await query(first.connection, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    expect(isRunning(first.pid)).toBe(false);
    const second = await startEmbeddedDatabase(home.path, silent);
    expect(await query(second.connection, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    await second.stop();
  });

  it('removes what a killed initialisation left', async () => {
    const left = join(home.path, 'database.new-1');
    mkdirSync(left);
    writeFileSync(join(left, 'ibdata1'), 'half');
    const database = await startEmbeddedDatabase(home.path, silent);
    expect(readdirSync(home.path).filter((name) => name.includes('.new-'))).toEqual([]);
    await database.stop();
  });

  it('leaves the temporary folder of the system and foreign files in it unchanged', async () => {
    await fillUsedHome(home.path);
    const shared = join(home.path, 'shared');
    mkdirSync(shared);
    for (const name of foreignTemporaryFiles) writeFileSync(join(shared, name), 'in use');
    const { heldPid } = await startHolder('embedded-holder.ts', { TMPDIR: shared }, home.path);
    expect(readdirSync(shared).sort()).toEqual(foreignTemporaryFiles);
    expect(filesOpenedBy(heldPid).filter((path) => path.startsWith(shared))).toEqual([]);
    expect(filesOpenedBy(heldPid).join()).toContain(join(home.path, 'run/sql.temporary/'));
  });

  it('succeeds beside two other first starts', async () => {
    const homes = Array.from({ length: 3 }, createTestHome);
    const starts = homes.map(({ path }) => startEmbeddedDatabase(path, silent));
    const outcomes = await Promise.allSettled(starts);
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.stop();
    for (const one of homes) one[Symbol.dispose]();
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  it('works in a home whose path has special characters for shells, lists and loaders', async () => {
    const odd = join(home.path, `My Projects\\t\\;a:b=c\nd'"$HOME*`);
    lendSoftware(odd);
    const database = await startEmbeddedDatabase(odd, silent);
    expect(await query(database.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.stop();
    const again = await startEmbeddedDatabase(odd, silent);
    await again.stop();
  });

  it('works in a home whose path is too long for a socket', async () => {
    const deep = join(home.path, 'a-rather-long-folder-name'.repeat(6));
    lendSoftware(deep);
    const database = await startEmbeddedDatabase(deep, silent);
    const socketDirectory = join(database.connection.socketPath, '..');
    expect(await findRunningDatabase(deep)).toMatchObject({ name: 'gatewright' });
    expect(statSync(socketDirectory).mode & 0o077).toBe(0);
    await database.stop();
    expect(existsSync(socketDirectory)).toBe(false);
  });

  it('works next to a file that has the name of its run folder', async () => {
    await fillUsedHome(home.path);
    writeFileSync(join(home.path, 'run'), 'mine');
    mkdirSync(join(home.path, 'database.json'));
    const lines: string[] = [];
    const options = { offline: true, progress: (line: string) => void lines.push(line) };
    const database = await startEmbeddedDatabase(home.path, options);
    expect(await findRunningDatabase(home.path)).toMatchObject({ name: 'gatewright' });
    await database.stop();
    expect(readFileSync(join(home.path, 'run'), 'utf8')).toBe('mine');
    expect(lines.join()).toMatch(/database\.json was damaged: set aside/);
  });

  it('rejects a file or a foreign folder at its data path', async () => {
    const path = join(home.path, 'database');
    const refused = {
      kind: 'invalidInput',
      message: expect.stringMatching(/not made by gatewright/),
    };
    writeFileSync(path, 'mine');
    await expect(startEmbeddedDatabase(home.path, silent)).rejects.toMatchObject(refused);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    rmSync(path);
    mkdirSync(join(path, 'mine'), { recursive: true });
    await expect(startEmbeddedDatabase(home.path, silent)).rejects.toMatchObject(refused);
    expect(readdirSync(path)).toEqual(['mine']);
  });

  it('shows the reason from the log of a server that fails', async () => {
    await fillUsedHome(home.path);
    writeFileSync(join(home.path, 'database', 'ibdata1'), 'broken');
    await expect(startEmbeddedDatabase(home.path, silent)).rejects.toThrow(
      /did not start: it exited with 1[\s\S]*ERROR[\s\S]*database\.log/,
    );
  });

  it('names the packages to install without any server, and does not use the network', async () => {
    const start = startEmbeddedDatabase(join(home.path, 'bare'), { ...silent, searchPaths: [] });
    await expect(start).rejects.toMatchObject({
      kind: 'invalidInput',
      message: expect.stringMatching(
        /apt-get install mariadb-server-core[\s\S]*dnf install[\s\S]*apk add[\s\S]*brew install/,
      ),
    });
  });
});

const disk = mountSmallDisk(20);
it.skipIf(disk === null)(
  'reports a disk that is too full for a new database before creating one',
  async () => {
    await expect(startEmbeddedDatabase(join(disk!, 'home'), silent)).rejects.toMatchObject({
      kind: 'invalidInput',
      message: expect.stringMatching(/has \d+ MiB left; a new database needs 256 MiB/),
    });
    expect(readdirSync(join(disk!, 'home'))).toEqual([]);
  },
);
afterAll(() => disk !== null && unmountSmallDisk(disk));

it('reports a damaged address of the running database', async () => {
  writeFileSync(join(home.path, 'database.json'), '{"socketPath"');
  await expect(findRunningDatabase(home.path)).rejects.toMatchObject({
    kind: 'invalidInput',
    message: expect.stringMatching(/database\.json.*is damaged.*gatewright up/),
  });
});

describe('SIGKILL of the process that holds the database', () => {
  it('ends the server, and the next start has every acknowledged row', async () => {
    await fillUsedHome(home.path);
    const { holder, heldPid } = await startHolder('embedded-holder.ts', {}, home.path);
    const connection = (await findRunningDatabase(home.path))!;
    await query(connection, 'CREATE TABLE kept (id INT PRIMARY KEY)');
    for (let id = 0; id < 50; id += 1) await query(connection, `INSERT INTO kept VALUES (${id})`);
    holder.kill('SIGKILL');
    await eventually(() => expect(isRunning(heldPid)).toBe(false));
    expect(await findRunningDatabase(home.path)).toBeNull();
    const next = await startEmbeddedDatabase(home.path, silent);
    expect(await query(next.connection, 'SELECT count(*) AS n FROM kept')).toEqual([{ n: 50 }]);
    await next.stop();
  });

  it('leaves no lock behind', async () => {
    await fillUsedHome(home.path);
    const { holder } = await startHolder('embedded-holder.ts', {}, home.path);
    expect(() => acquireHomeLock(home.path)).toThrow(
      expect.objectContaining({
        kind: 'retryable',
        message: expect.stringContaining(`process ${holder.pid}`),
      }),
    );
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    acquireHomeLock(home.path)[Symbol.dispose]();
  });

  it('ends everything during initialisation, and does not block the next start', async () => {
    for (const written of ['ibdata1', 'aria_log_control', 'mysql']) {
      const holder = spawnTestProcess([holderScript, home.path], {
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      children.push(holder);
      await eventually(() => expect(unfinishedData()).toContain(written));
      holder.kill('SIGKILL');
      await eventually(() => expect(processesWithin(home.path)).toEqual([]));
    }
    const database = await startEmbeddedDatabase(home.path, silent);
    await database.stop();
    expect(readdirSync(home.path).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  it('ends what a leashed child has started, too', async () => {
    const { holder, heldPid } = await startHolder('leash-holder.ts');
    expect(isRunning(heldPid)).toBe(true);
    holder.kill('SIGKILL');
    await eventually(() => expect(isRunning(heldPid)).toBe(false));
  });
});

function filesOpenedBy(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).flatMap((name) => {
    try {
      return [readlinkSync(join(directory, name))];
    } catch {
      // The process has closed it meanwhile.
      return [];
    }
  });
}

/** Files in the data directory during initialisation. */
function unfinishedData(): string[] {
  const unfinished = readdirSync(home.path).find((name) => name.startsWith('database.new-'));
  return unfinished === undefined ? [] : readdirSync(join(home.path, unfinished, 'data'));
}

/** Ids of the processes whose working folder is below `parent`. */
function processesWithin(parent: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(parent);
      } catch {
        return false;
      }
    });
}

describe('the lock of a home', () => {
  it('creates a home that Git ignores, and leaves a folder with content unchanged', () => {
    const made = join(home.path, 'made');
    using _one = acquireHomeLock(made);
    expect(readFileSync(join(made, '.gitignore'), 'utf8')).toBe('*\n');
    const mine = join(home.path, 'mine');
    mkdirSync(mine);
    writeFileSync(join(mine, 'notes'), 'mine');
    using _two = acquireHomeLock(mine);
    expect(existsSync(join(mine, '.gitignore'))).toBe(false);
  });

  it('tells the second process who holds it and where', () => {
    using lock = acquireHomeLock(home.path);
    lock.publishAddress('http://127.0.0.1:8080');
    expect(() => acquireHomeLock(home.path)).toThrow(
      new RegExp(`process ${process.pid} \\(http://127\\.0\\.0\\.1:8080\\)[\\s\\S]*--home`),
    );
  });

  it('is never taken over from a file of another program', () => {
    writeFileSync(
      join(home.path, 'lock'),
      'mine, and longer than the header of a database: '.repeat(40),
    );
    expect(() => acquireHomeLock(home.path)).toThrow(/lock is not a lock file of gatewright/);
  });

  it('is free again once released', () => {
    acquireHomeLock(home.path)[Symbol.dispose]();
    expect(() => acquireHomeLock(home.path)[Symbol.dispose]()).not.toThrow();
  });
});
