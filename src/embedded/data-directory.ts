/** Initialises data directories atomically, and checks which server can open one. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../failure.ts';
import { spawnLeashed } from './leash.ts';
import { commandLineOf, type DatabaseServerBinary } from './server-binary.ts';
import { inspectStateFile, setAside, writeStateFile } from './state-file.ts';

/** Long enough for busy machines; ends only hanging processes. */
const initialiseTimeoutMs = 900_000;

const makerFileName = 'gatewright-server.json';

/** The server that initialised a data directory, which is the oldest that can open it. */
export type DataDirectoryMaker = Pick<DatabaseServerBinary, 'flavour' | 'version'>;

const DataDirectoryMaker: z.ZodType<DataDirectoryMaker> = z.object({
  flavour: z.enum(['mariadb', 'mysql']),
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
});

/**
 * The server that initialised `dataDirectory`; null if it does not exist. A damaged maker file is set
 * aside, reported to `progress`, and derived from the data instead.
 *
 * @throws Failure when the folder contains something else, because files of the user are never replaced
 */
export function readDataDirectoryMaker(
  dataDirectory: string,
  progress: (line: string) => void,
): DataDirectoryMaker | null {
  const path = join(dataDirectory, makerFileName);
  const found = inspectStateFile(path, DataDirectoryMaker);
  if (found?.isDamaged === false) return found.state;
  if (found !== null) {
    const maker = makerByData(dataDirectory);
    const aside = setAside(path);
    writeStateFile(path, JSON.stringify(maker));
    progress(`${path} was damaged: set aside as ${aside}; the data is of ${maker.flavour}`);
    return maker;
  }
  if (!existsSync(dataDirectory)) return null;
  if (statSync(dataDirectory).isDirectory() && readdirSync(dataDirectory).length === 0) return null;
  throw new Failure(
    'invalidInput',
    `${dataDirectory} was not made by gatewright: move it away, or pass another --home`,
  );
}

/** MariaDB writes its version beside the data; a server itself rejects data of a newer one. */
function makerByData(dataDirectory: string): DataDirectoryMaker {
  const notes = ['mariadb_upgrade_info', 'mysql_upgrade_info'].map((name) =>
    join(dataDirectory, name),
  );
  const note = notes.find((path) => existsSync(path));
  const version = note && /^\d+\.\d+\.\d+/.exec(readFileSync(note, 'utf8'))?.[0];
  const isMariadb = existsSync(join(dataDirectory, 'aria_log_control'));
  return { flavour: isMariadb ? 'mariadb' : 'mysql', version: version ?? '0.0.0' };
}

/** MariaDB and MySQL cannot read each other's data, and no server reads data of a newer version. */
export function canOpen(binary: DatabaseServerBinary, maker: DataDirectoryMaker): boolean {
  const series = (version: string): number => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major * 1000 + minor;
  };
  return binary.flavour === maker.flavour && series(binary.version) >= series(maker.version);
}

/**
 * Creates the system tables in a folder beside `dataDirectory` and renames it into place, so that a
 * crash leaves nothing that looks complete. Remains of earlier crashes are removed first.
 * `flags` are server flags that must be the same at every start (`--innodb-log-file-size=16M`).
 */
export async function initialiseDataDirectory(
  binary: DatabaseServerBinary,
  dataDirectory: string,
  { flags = [], signal }: InitialiseOptions = {},
): Promise<void> {
  const parent = dirname(dataDirectory);
  const prefix = `${basename(dataDirectory)}.new-`;
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const left of readdirSync(parent).filter((name) => name.startsWith(prefix))) {
    removeTree(join(parent, left));
  }
  const unfinished = join(parent, `${prefix}${process.pid}`);
  try {
    await runInitialiser(binary, unfinished, flags, signal);
    const maker: DataDirectoryMaker = { flavour: binary.flavour, version: binary.version };
    writeStateFile(join(unfinished, 'data', makerFileName), JSON.stringify(maker));
    renameSync(join(unfinished, 'data'), dataDirectory);
  } finally {
    removeTree(unfinished);
  }
}

export interface InitialiseOptions {
  readonly flags?: readonly string[];
  /** Kills the initialiser and all processes that it has started. */
  readonly signal?: AbortSignal;
}

/**
 * `unfinished` contains `data`, `temporary` and, as `software`, the tree of an unpacked server. Paths
 * are relative to `data`, because MariaDB's script splits and interprets special characters in paths.
 */
async function runInitialiser(
  binary: DatabaseServerBinary,
  unfinished: string,
  flags: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const dataDirectory = join(unfinished, 'data');
  const logPath = join(unfinished, 'log');
  for (const directory of [dataDirectory, join(unfinished, 'temporary')]) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }
  if (binary.root !== null) symlinkSync(binary.root, join(unfinished, 'software'));
  const log = openSync(logPath, 'w', 0o600);
  const command = initialiseCommand(binary, flags);
  const { exited, cut } = spawnLeashed(command, { cwd: dataDirectory, output: log });
  closeSync(log);
  signal?.addEventListener('abort', cut);
  const timer = setTimeout(cut, initialiseTimeoutMs);
  const how = await exited;
  clearTimeout(timer);
  signal?.removeEventListener('abort', cut);
  signal?.throwIfAborted();
  if (how === '0') return;
  throw new Failure(
    'unexpected',
    [
      `the database could not be initialised in ${dirname(unfinished)} (${how})`,
      ...reasonsIn(readFileSync(logPath, 'utf8')),
    ].join('\n'),
  );
}

/** The error lines, without the advice at the end of MariaDB's script. */
function reasonsIn(log: string): string[] {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.filter((line) => /error|fatal|denied|no space|not found|can't/i.test(line));
  return (telling.length > 0 ? telling : lines).slice(-8).map((line) => `  ${line}`);
}

function initialiseCommand(
  binary: DatabaseServerBinary,
  flags: readonly string[],
): [string, ...string[]] {
  const places = ['--no-defaults', '--datadir=./', '--tmpdir=../temporary'];
  if (binary.initialiserPath === null) {
    const own = ['--initialize-insecure', '--secure-file-priv=NULL'];
    const all = [...places, ...own, ...serverUserFlags(), ...flags];
    return commandLineOf(binary, binary.serverPath, all);
  }
  const own = [
    ...(binary.root === null ? [] : ['--basedir=../software/usr']),
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--skip-name-resolve',
    // Without it the script fails when the machine's own host name cannot be resolved.
    '--force',
  ];
  const all = [...places, ...own, ...serverUserFlags(), ...flags];
  return commandLineOf(binary, binary.initialiserPath, all, '../software');
}

/**
 * A server started by root requires an explicit user. In this form MariaDB's script passes the flag on
 * without changing the owner of the machine's plugins.
 */
export function serverUserFlags(): string[] {
  return process.getuid?.() === 0 ? ['-uroot'] : [];
}

/** Retries, because a process that was just killed may still write. */
function removeTree(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
