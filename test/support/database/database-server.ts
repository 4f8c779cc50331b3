/**
 * Starts the database server that all tests of a run share: in memory, fast, deleted after the run.
 */
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { initialiseDataDirectory } from '../../../src/embedded/data-directory.ts';
import type { DatabaseServerBinary } from '../../../src/embedded/server-binary.ts';
import { chooseServer } from '../../../src/embedded/server-choice.ts';
import { type ServerProcess, startServerProcess } from '../../../src/embedded/server-process.ts';
import { lockFile } from '../../../src/file-lock.ts';
import { Secret } from '../../../src/secret.ts';
import type { KeyspacePool } from '../../engines/keyspaces.ts';
import { isRunning } from '../server/process.ts';

/** The connection of tests to the server. Plain data, because it is passed to the test workers. */
export interface TestDatabaseServer {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /**
   * The keyspaces of a sharded engine, which tests take because `CREATE DATABASE` creates nothing
   * there.
   */
  readonly keyspaces?: KeyspacePool;
}

/** The folder for a downloaded server when the machine has none; kept between runs. */
export const softwareDirectory = resolve(import.meta.dirname, '../../../.cache/database-server');

const directoryPrefix = 'gatewright-test-';
/** The size of the log of changes, by the name that each server has for it. */
const initialFlags = {
  mariadb: ['--innodb-log-file-size=16M'],
  mysql: ['--innodb-redo-log-capacity=32M'],
};
const fastFlags = [
  '--innodb-buffer-pool-size=64M',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-doublewrite=OFF',
  '--innodb-fast-shutdown=2',
  '--skip-log-bin',
  '--performance-schema=OFF',
  '--innodb-stats-persistent=OFF',
  // File growth is written at once.
  '--innodb-autoextend-increment=8',
  '--key-buffer-size=1M',
  '--max-connections=500',
  // Every test file connects at the same time, and a rejected client retries only after a second.
  '--back-log=1000',
];
const mariadbFlags = [
  '--innodb-flush-method=nosync',
  '--sync-frm=OFF',
  // Nearly every test file creates and drops all tables, and half of that time was spent on a file
  // and statistics for each table. MySQL has no partitioned tables without such files.
  '--innodb-file-per-table=OFF',
];

/**
 * Returns the server of TEST_DATABASE_URL (`mysql://user:password@127.0.0.1:port`, with an
 * unrestricted user), which runs the suites against another engine. Null when it is unset.
 */
export function externalDatabaseServer(
  url: string | undefined,
): { server: TestDatabaseServer; stop: () => Promise<void> } | null {
  if (url === undefined || url === '') return null;
  const { hostname, port, username, password } = new URL(url);
  if (hostname !== '127.0.0.1') throw new Error('TEST_DATABASE_URL must name 127.0.0.1');
  return {
    server: {
      host: hostname,
      port: Number(port),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
    },
    stop: () => Promise.resolve(),
  };
}

const turnPollMs = 200;
/**
 * Twice the bytes that a run has written at most, including servers that tests start for
 * themselves.
 */
const roomBytes = 1024 ** 3;

/**
 * Memory when there is enough of it, otherwise a folder on disk. Containers have 64 MB of shared
 * memory by default.
 */
export function folderOfData(memory = '/dev/shm'): string {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize < roomBytes ? tmpdir() : memory;
  } catch {
    return tmpdir();
  }
}

/** When several suites start in a fresh clone, one downloads the server and the others wait. */
async function chooseTestServer(): Promise<DatabaseServerBinary> {
  mkdirSync(dirname(softwareDirectory), { recursive: true });
  for (;;) {
    using turn = lockFile(`${softwareDirectory}.lock`);
    if (turn !== null) {
      return await chooseServer(softwareDirectory, null, {
        offline: false,
        progress: (line) => console.error(line),
      });
    }
    await delay(turnPollMs);
  }
}

/**
 * `extraFlags`, `parent`, the folder for the data, and `given`, another program, are for tests that need their own
 * server.
 */
export async function startTestDatabaseServer(
  extraFlags: readonly string[] = [],
  parent = folderOfData(),
  given: DatabaseServerBinary | null = null,
): Promise<{
  server: TestDatabaseServer;
  /** Process id of the server that was started last. */
  readonly pid: number;
  socketPath: string;
  /** Kills the server like `kill -9`. */
  kill: () => Promise<void>;
  /** Starts a killed server again on the same data and port. */
  start: () => Promise<void>;
  killAndStart: () => Promise<void>;
  stop: () => Promise<void>;
}> {
  const binary = given ?? (await chooseTestServer());
  removeAbandoned(parent);
  const directory = mkdtempSync(join(parent, `${directoryPrefix}${process.pid}-`));
  const dataDirectory = join(directory, 'data');
  const password = randomBytes(18).toString('base64url');
  await initialiseDataDirectory(binary, dataDirectory, { flags: initialFlags[binary.flavour] });
  const socketPath = join(directory, 'sql.sock');
  const startOn = (port: number): Promise<ServerProcess> =>
    startServerProcess({
      binary,
      dataDirectory,
      socketPath,
      temporaryDirectory: join(directory, 'temporary'),
      logPath: join(directory, 'server.log'),
      flags: [
        ...initialFlags[binary.flavour],
        ...fastFlags,
        ...(binary.flavour === 'mariadb' ? mariadbFlags : []),
        '--bind-address=127.0.0.1',
        `--port=${port}`,
        ...extraFlags,
      ],
      user: 'tester',
      password: new Secret(password, 'test'),
      databaseName: 'gatewright_test',
    });
  const started = await startOnFreePort(startOn);
  let running = started.process;
  const kill = async (): Promise<void> => {
    process.kill(running.pid, 'SIGKILL');
    await running.exited;
  };
  const start = async (): Promise<void> => {
    running = await startOn(started.port);
  };
  return {
    server: { host: '127.0.0.1', port: started.port, user: 'tester', password },
    get pid() {
      return running.pid;
    },
    socketPath,
    kill,
    start,
    killAndStart: async () => {
      await kill();
      await start();
    },
    stop: async () => {
      await running.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Deletes the data of killed runs from memory; each folder name contains the process id of its run.
 */
function removeAbandoned(memory: string): void {
  for (const name of readdirSync(memory)) {
    const pid = name.startsWith(directoryPrefix) ? name.slice(directoryPrefix.length) : '';
    const isAbandoned = /^\d+-/.test(pid) && !isRunning(Number.parseInt(pid, 10));
    if (isAbandoned) rmSync(join(memory, name), { recursive: true, force: true });
  }
}

/**
 * Retries with another port, because the server cannot choose one and another process may take it.
 */
async function startOnFreePort(
  start: (port: number) => Promise<ServerProcess>,
): Promise<{ port: number; process: ServerProcess }> {
  const port = await findFreePort();
  try {
    return { port, process: await start(port) };
  } catch {
    const another = await findFreePort();
    return { port: another, process: await start(another) };
  }
}

export async function findFreePort(): Promise<number> {
  const { promise, resolve: listening, reject } = Promise.withResolvers<void>();
  const probe = createServer().once('error', reject).listen(0, '127.0.0.1', listening);
  await promise;
  const address = probe.address();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  probe.close(() => close());
  await closed;
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
