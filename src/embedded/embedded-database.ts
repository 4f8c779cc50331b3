/** Starts and finds the embedded database of a home. */
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../failure.ts';
import { Secret } from '../secret.ts';
import { initialiseDataDirectory, readDataDirectoryMaker } from './data-directory.ts';
import { reportWhile } from './long-step.ts';
import type { DatabaseServerBinary } from './server-binary.ts';
import { chooseServer, type ServerChoiceOptions, softwareDirectoryOf } from './server-choice.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { inspectStateFile, setAside, writeStateFile } from './state-file.ts';

/** Maximum length of a unix socket path in bytes (104 on macOS, 108 on Linux, with the final NUL). */
const socketPathBytesMax = 103;
const connectTimeoutMs = 2_000;
const bytesInMebibyte = 1024 * 1024;
/** Disk space of a new database, mostly for its redo log. */
const newDatabaseMebibytes = 256;
const fallbackPrefix = 'gatewright-';
const socketName = 'sql.sock';
const temporaryName = 'sql.temporary';

/** Connection to a running database; the user has all privileges. */
export interface EmbeddedConnection {
  readonly socketPath: string;
  readonly user: string;
  readonly password: Secret;
  readonly name: string;
}

export interface EmbeddedDatabase {
  readonly connection: EmbeddedConnection;
  readonly pid: number;
  /** Resolves with the exit code or signal when the server has ended for any reason. */
  readonly exited: Promise<string>;
  /** Shuts the server down and deletes its connection file. */
  stop(): Promise<void>;
}

/** Connection file for other commands, mode 0600. */
const ConnectionRecord = z.object({
  socketPath: z.string(),
  user: z.string(),
  password: z.string(),
  name: z.string(),
});

/**
 * Starts the database of `home` (whose lock the caller holds), and creates it at the first start.
 * Acknowledged writes are on disk. It listens only on a unix socket in a folder that only this user
 * may enter, with a new password at every start.
 *
 * @throws Failure when no server is available or it does not start
 */
export async function startEmbeddedDatabase(
  home: string,
  options: ServerChoiceOptions,
): Promise<EmbeddedDatabase> {
  const dataDirectory = dataDirectoryOf(home);
  const maker = readDataDirectoryMaker(dataDirectory, options.progress);
  if (maker === null) assertRoom(home);
  const binary = await chooseServer(softwareDirectoryOf(home), maker, options);
  if (maker === null) {
    options.progress(`initialising the database in ${dataDirectory}`);
    const making = initialiseDataDirectory(binary, dataDirectory, { signal: options.signal });
    await reportWhile(options.progress, 'initialising the database', making);
  }
  options.progress(`starting ${describe(binary)}`);
  const runDirectory = makeRunDirectory(home, options.progress);
  const connection: EmbeddedConnection = {
    socketPath: join(runDirectory, socketName),
    user: 'gatewright',
    password: new Secret(randomBytes(24).toString('base64url'), 'embedded database'),
    name: 'gatewright',
  };
  const starting = startServerProcess({
    binary,
    dataDirectory,
    socketPath: connection.socketPath,
    temporaryDirectory: join(runDirectory, temporaryName),
    logPath: join(home, 'database.log'),
    flags: durableFlags(binary),
    user: connection.user,
    password: connection.password,
    databaseName: connection.name,
    signal: options.signal,
  });
  const server = await reportWhile(options.progress, 'starting the database', starting);
  writeRecord(home, connection);
  return {
    connection,
    pid: server.pid,
    exited: server.exited,
    stop: () => stopServer(home, server, runDirectory),
  };
}

/**
 * The data folder of the database of `home`; null before its first start.
 *
 * @throws Failure when the folder contains something else
 */
export function findData(home: string, progress: (line: string) => void): string | null {
  const directory = dataDirectoryOf(home);
  return readDataDirectoryMaker(directory, progress) === null ? null : directory;
}

/**
 * The running database of `home`, for commands beside `up`; null when none responds.
 *
 * @throws Failure when the connection file is damaged
 */
export async function findRunningDatabase(home: string): Promise<EmbeddedConnection | null> {
  const path = recordPathOf(home);
  const found = inspectStateFile(path, ConnectionRecord);
  if (found === null) return null;
  if (found.isDamaged) {
    throw new Failure(
      'invalidInput',
      `${path}, the connection file of the embedded database, is damaged. Start again ` +
        '(gatewright up): that sets it aside and writes a new one.',
    );
  }
  const record = found.state;
  if (!(await accepts(record.socketPath))) return null;
  return { ...record, password: new Secret(record.password, `file:${path}`) };
}

async function stopServer(
  home: string,
  server: ServerProcess,
  runDirectory: string,
): Promise<void> {
  rmSync(recordPathOf(home), { force: true });
  await server.stop();
  removeRunDirectory(runDirectory);
}

/** @throws Failure when the disk of `home` is too full for a new database */
function assertRoom(home: string): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const free = freeMebibytes(home);
  if (free >= newDatabaseMebibytes) return;
  throw new Failure(
    'invalidInput',
    `the disk of ${home} has ${free} MiB left; a new database needs ${newDatabaseMebibytes} MiB. ` +
      'Make room, or pass another folder by --home or GATEWRIGHT_HOME.',
  );
}

/** Free space on the disk of a folder. */
export function freeMebibytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return Math.floor((bavail * bsize) / bytesInMebibyte);
}

function describe({ flavour, version, serverPath }: DatabaseServerBinary): string {
  return `${flavour === 'mariadb' ? 'MariaDB' : 'MySQL'} ${version} (${serverPath})`;
}

function durableFlags({ flavour }: DatabaseServerBinary): string[] {
  return [
    '--skip-networking',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-doublewrite=ON',
    '--innodb-buffer-pool-size=128M',
    '--skip-log-bin',
    '--performance-schema=OFF',
    '--max-connections=200',
    '--back-log=1000',
    '--local-infile=OFF',
    ...(flavour === 'mariadb' ? ['--aria-pagecache-buffer-size=8M'] : []),
  ];
}

/**
 * Creates the folder of the socket and of temporary files: `HOME/run`, or a private folder in the
 * system's temporary folder when the path is too long for a socket, contains a colon (the separator of
 * temporary folders), or is taken by something else. Removes the remains of a crash: the holder of the
 * home lock owns them.
 */
function makeRunDirectory(home: string, progress: (line: string) => void): string {
  removeAbandonedRunDirectory(home, progress);
  const own = join(home, 'run');
  const isUsable =
    Buffer.byteLength(join(own, socketName)) <= socketPathBytesMax &&
    !own.includes(':') &&
    (!existsSync(own) || statSync(own).isDirectory());
  const directory = isUsable ? own : mkdtempSync(join(tmpdir(), fallbackPrefix));
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

function removeAbandonedRunDirectory(home: string, progress: (line: string) => void): void {
  removeRunDirectory(join(home, 'run'));
  const path = recordPathOf(home);
  const found = inspectStateFile(path, ConnectionRecord);
  if (found?.isDamaged === true) {
    progress(`${path} was damaged: set aside as ${setAside(path)}`);
    return;
  }
  if (found === null) return;
  const directory = dirname(found.state.socketPath);
  if (directory.startsWith(join(tmpdir(), fallbackPrefix))) removeRunDirectory(directory);
  rmSync(path, { force: true });
}

/** Removes only files of the server, because others may use the same folder. */
function removeRunDirectory(directory: string): void {
  if (!existsSync(directory) || !statSync(directory).isDirectory()) return;
  const names = readdirSync(directory);
  const own = names.filter((name) => name.startsWith(socketName) || name === temporaryName);
  for (const name of own) rmSync(join(directory, name), { recursive: true, force: true });
  if (own.length === names.length) rmdirSync(directory);
}

function dataDirectoryOf(home: string): string {
  return join(home, 'database');
}

function recordPathOf(home: string): string {
  return join(home, 'database.json');
}

function writeRecord(home: string, connection: EmbeddedConnection): void {
  const record: z.infer<typeof ConnectionRecord> = {
    ...connection,
    password: connection.password.reveal(),
  };
  writeStateFile(recordPathOf(home), JSON.stringify(record));
}

async function accepts(socketPath: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createConnection(socketPath)
    .setTimeout(connectTimeoutMs)
    .once('connect', () => resolve(true))
    .once('timeout', () => resolve(false))
    .once('error', () => resolve(false));
  const accepted = await promise;
  socket.destroy();
  return accepted;
}
