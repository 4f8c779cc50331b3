/** Runs a database server as a child process: start, readiness, orderly stop. */

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { detach } from '../detached.ts';
import { Failure } from '../failure.ts';
import type { Secret } from '../secret.ts';
import { serverUserFlags } from './data-directory.ts';
import { type LeashedProcess, spawnLeashed } from './leash.ts';
import { commandLineOf, type DatabaseServerBinary, workingDirectoryOf } from './server-binary.ts';

/** Long enough for crash recovery; ends only hanging servers. */
const readyTimeoutMs = 900_000;
const stopTimeoutMs = 30_000;
const pollMs = 10;

export interface ServerProcessOptions {
  readonly binary: DatabaseServerBinary;
  /** Already initialised. */
  readonly dataDirectory: string;
  /** At most 107 bytes. */
  readonly socketPath: string;
  /** Not shared, because a starting server clears it; created if missing; must not contain a colon. */
  readonly temporaryDirectory: string;
  /** Log file of the server; replaced at each start. */
  readonly logPath: string;
  /** Server flags for durability, memory and network. */
  readonly flags: readonly string[];
  /** Created, or given this password, before the server accepts connections; has all privileges. */
  readonly user: string;
  readonly password: Secret;
  /** Created at start if missing. */
  readonly databaseName: string;
  /** Stops waiting for readiness. */
  readonly signal?: AbortSignal;
}

export interface ServerProcess {
  readonly pid: number;
  /** Resolves with the exit code or signal when the server has ended: `0`, `SIGKILL`. */
  readonly exited: Promise<string>;
  /** Shuts the server down and kills it after 30 seconds. */
  stop(): Promise<void>;
}

/**
 * Starts a server and resolves once it responds to a query. Ctrl-C in the terminal does not reach it;
 * it is killed when this process ends in any way.
 *
 * @throws Failure with the end of the server's log when it does not start
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  mkdirSync(options.temporaryDirectory, { recursive: true, mode: 0o700 });
  const statementsPath = `${options.logPath}.init.sql`;
  writeFileSync(statementsPath, accountStatements(options), { mode: 0o600 });
  rmSync(options.socketPath, { force: true });
  const server = spawnServer(options, statementsPath);
  const { exited } = server;
  try {
    await waitUntilReady(options, exited);
  } catch (error) {
    server.cut();
    await exited;
    throw error;
  } finally {
    rmSync(statementsPath, { force: true });
  }
  return {
    pid: server.pid!,
    exited,
    stop: async () => {
      server.kill('SIGTERM');
      const timer = setTimeout(server.cut, stopTimeoutMs);
      await exited;
      clearTimeout(timer);
      rmSync(options.socketPath, { force: true });
    },
  };
}

/**
 * One statement a line, as MySQL requires. Locks the accounts without a password that the
 * initialisation creates.
 */
function accountStatements({ user, password, databaseName }: ServerProcessOptions): string {
  const literal = `'${password.reveal().replaceAll(/['\\]/g, '\\$&')}'`;
  const accounts = [`'${user}'@'localhost'`, `'${user}'@'127.0.0.1'`];
  return [
    `CREATE DATABASE IF NOT EXISTS \`${databaseName}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;`,
    ...accounts.flatMap((account) => [
      `CREATE USER IF NOT EXISTS ${account} IDENTIFIED BY ${literal};`,
      `ALTER USER ${account} IDENTIFIED BY ${literal};`,
      `GRANT ALL PRIVILEGES ON *.* TO ${account} WITH GRANT OPTION;`,
    ]),
    `ALTER USER 'root'@'localhost' IDENTIFIED BY ${literal};`,
    "DROP USER IF EXISTS 'root'@'127.0.0.1', 'root'@'::1', ''@'localhost';",
    '',
  ].join('\n');
}

function spawnServer(options: ServerProcessOptions, statementsPath: string): LeashedProcess {
  const { binary } = options;
  const serverCommand = commandLineOf(binary, binary.serverPath, [
    '--no-defaults',
    ...(binary.root === null ? [] : baseDirectoryFlags(join(binary.root, 'usr'))),
    `--datadir=${options.dataDirectory}`,
    `--socket=${options.socketPath}`,
    `--pid-file=${options.socketPath}.pid`,
    `--tmpdir=${options.temporaryDirectory}`,
    `--init-file=${statementsPath}`,
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--collation-server=utf8mb4_bin',
    '--default-time-zone=+00:00',
    ...(binary.flavour === 'mysql' ? ['--secure-file-priv=NULL', '--mysqlx=OFF'] : []),
    ...serverUserFlags(),
    ...options.flags,
  ]);
  const log = openSync(options.logPath, 'w', 0o600);
  try {
    return spawnLeashed(serverCommand, { cwd: workingDirectoryOf(binary), output: log });
  } finally {
    closeSync(log);
  }
}

/** The built-in paths of messages and plugins are wrong for an unpacked server. */
function baseDirectoryFlags(baseDirectory: string): string[] {
  return [
    `--basedir=${baseDirectory}`,
    `--lc-messages-dir=${baseDirectory}/share/mysql`,
    `--character-sets-dir=${baseDirectory}/share/mysql/charsets`,
    `--plugin-dir=${baseDirectory}/lib/mysql/plugin`,
  ];
}

async function waitUntilReady(
  options: ServerProcessOptions,
  exited: Promise<string>,
): Promise<void> {
  const state: { gone: string | null; lastError: unknown } = { gone: null, lastError: undefined };
  const noted = exited.then((how) => {
    state.gone = how;
  });
  detach('the end of the database server', noted);
  for (let waitedMs = 0; waitedMs < readyTimeoutMs; waitedMs += pollMs) {
    options.signal?.throwIfAborted();
    if (state.gone !== null) {
      throw notStarted(options, `it exited with ${state.gone}`, state.lastError);
    }
    if (existsSync(options.socketPath)) {
      const error = await query(options).catch((reason: unknown) => reason);
      if (error === undefined) return;
      state.lastError = error;
    }
    await delay(pollMs);
  }
  throw notStarted(options, `it did not answer within ${readyTimeoutMs / 1000} s`, state.lastError);
}

async function query(options: ServerProcessOptions): Promise<void> {
  const connection = await createConnection({
    socketPath: options.socketPath,
    user: options.user,
    password: options.password.reveal(),
    database: options.databaseName,
    connectTimeout: 5_000,
  });
  try {
    await connection.query('SELECT 1');
  } finally {
    connection.destroy();
  }
}

function notStarted(options: ServerProcessOptions, what: string, cause: unknown): Failure {
  const log = existsSync(options.logPath) ? readFileSync(options.logPath, 'utf8') : '';
  const lines = log.split('\n').filter((line) => /ERROR|Fatal|abort/i.test(line));
  return new Failure(
    'unexpected',
    [
      `the database server ${options.binary.serverPath} did not start: ${what}`,
      ...lines.slice(-8).map((line) => `  ${line}`),
      `its whole log: ${options.logPath}`,
    ].join('\n'),
    { cause },
  );
}
