/** Knows the database a home carries with it: where its data lies, where it listens, how to reach it. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Secret } from '../secret.ts';
import { initialiseDataDirectory, readDataDirectoryMaker } from './data-directory.ts';
import type { DatabaseServerBinary } from './server-binary.ts';
import { chooseServer, type ServerChoiceOptions, softwareDirectoryOf } from './server-choice.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** Longest path the kernel takes for a unix socket, in bytes (104 on macOS, 108 with its end on Linux). */
const socketPathBytesMax = 103;
const connectTimeoutMs = 2_000;
const fallbackPrefix = 'gatewright-';

/** How to reach a running database; the user may do everything in it. */
export interface EmbeddedConnection {
  readonly socketPath: string;
  readonly user: string;
  readonly password: Secret;
  readonly name: string;
}

export interface EmbeddedDatabase {
  readonly connection: EmbeddedConnection;
  readonly pid: number;
  /** Settles when the server is gone, asked or not, with what it exited by. */
  readonly exited: Promise<string>;
  /** Shuts the server down and forgets its address. */
  stop(): Promise<void>;
}

/** What is written for other commands, mode 0600. */
interface ConnectionRecord {
  readonly socketPath: string;
  readonly user: string;
  readonly password: string;
  readonly name: string;
}

/**
 * Starts the database of `home` (whose lock the caller holds), making it at the first start.
 * Acknowledged writes are on disk. It listens on a unix socket in a folder only this user may
 * enter, on no network, and the password is new at every start. Throws `Failure` when no server
 * can be had or it does not start.
 */
export async function startEmbeddedDatabase(
  home: string,
  options: ServerChoiceOptions,
): Promise<EmbeddedDatabase> {
  const dataDirectory = join(home, 'database');
  const maker = readDataDirectoryMaker(dataDirectory);
  const binary = await chooseServer(softwareDirectoryOf(home), maker, options);
  if (maker === null) {
    options.progress(`initialising the database in ${dataDirectory}`);
    await initialiseDataDirectory(binary, dataDirectory);
  }
  options.progress(`starting ${describe(binary)}`);
  const socketDirectory = makeSocketDirectory(home);
  const connection: EmbeddedConnection = {
    socketPath: join(socketDirectory, 'sql.sock'),
    user: 'gatewright',
    password: new Secret(randomBytes(24).toString('base64url'), 'embedded database'),
    name: 'gatewright',
  };
  const server = await startServerProcess({
    binary,
    dataDirectory,
    socketPath: connection.socketPath,
    logPath: join(home, 'database.log'),
    flags: durableFlags(binary),
    user: connection.user,
    password: connection.password,
    databaseName: connection.name,
    signal: options.signal,
  });
  writeRecord(home, connection);
  return {
    connection,
    pid: server.pid,
    exited: server.exited,
    stop: () => stopServer(home, server, socketDirectory),
  };
}

/** The running database of `home`, or null when none answers; for commands beside `up`. */
export async function findRunningDatabase(home: string): Promise<EmbeddedConnection | null> {
  const path = recordPathOf(home);
  if (!existsSync(path)) return null;
  const record = JSON.parse(readFileSync(path, 'utf8')) as ConnectionRecord;
  if (!(await accepts(record.socketPath))) return null;
  return { ...record, password: new Secret(record.password, `file:${path}`) };
}

async function stopServer(
  home: string,
  server: ServerProcess,
  socketDirectory: string,
): Promise<void> {
  rmSync(recordPathOf(home), { force: true });
  await server.stop();
  rmSync(socketDirectory, { recursive: true, force: true });
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
    '--local-infile=OFF',
    ...(flavour === 'mariadb' ? ['--aria-pagecache-buffer-size=8M'] : []),
  ];
}

/**
 * `HOME/run`, or a private folder among the temporary ones when the home's path is too long for a
 * socket. One left by a crash is removed: whoever holds the lock of the home owns what lies here.
 */
function makeSocketDirectory(home: string): string {
  removeAbandonedSocketDirectory(home);
  const directory = join(home, 'run');
  if (Buffer.byteLength(join(directory, 'sql.sock')) > socketPathBytesMax) {
    return mkdtempSync(join(tmpdir(), fallbackPrefix));
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

function removeAbandonedSocketDirectory(home: string): void {
  const path = recordPathOf(home);
  if (!existsSync(path)) return;
  const { socketPath } = JSON.parse(readFileSync(path, 'utf8')) as ConnectionRecord;
  const directory = dirname(socketPath);
  const ours =
    directory === join(home, 'run') || directory.startsWith(join(tmpdir(), fallbackPrefix));
  if (ours) rmSync(directory, { recursive: true, force: true });
  rmSync(path, { force: true });
}

function recordPathOf(home: string): string {
  return join(home, 'database.json');
}

function writeRecord(home: string, connection: EmbeddedConnection): void {
  const record: ConnectionRecord = { ...connection, password: connection.password.reveal() };
  writeFileSync(recordPathOf(home), JSON.stringify(record), { mode: 0o600 });
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
