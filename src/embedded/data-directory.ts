/** Knows how a server's data directory comes to be, whole or not at all, and which server may open it. */
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

/** Only ends what hangs: on a busy machine a second's work takes minutes. */
const initialiseTimeoutMs = 900_000;

const makerFileName = 'gatewright-server.json';

/** The server that initialised a data directory, and so the oldest that may open it. */
export type DataDirectoryMaker = Pick<DatabaseServerBinary, 'flavour' | 'version'>;

const DataDirectoryMaker: z.ZodType<DataDirectoryMaker> = z.object({
  flavour: z.enum(['mariadb', 'mysql']),
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
});

/**
 * Who made `dataDirectory`, or null when there is none yet. Where the file that says so is damaged it
 * is set aside, which `progress` tells, and the data itself is asked. Throws `Failure` when something
 * else lies there, because nothing of the user's is ever replaced.
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

/** MariaDB notes its version beside the data; a server refuses by itself what a newer one wrote. */
function makerByData(dataDirectory: string): DataDirectoryMaker {
  const notes = ['mariadb_upgrade_info', 'mysql_upgrade_info'].map((name) =>
    join(dataDirectory, name),
  );
  const note = notes.find((path) => existsSync(path));
  const version = note && /^\d+\.\d+\.\d+/.exec(readFileSync(note, 'utf8'))?.[0];
  const isMariadb = existsSync(join(dataDirectory, 'aria_log_control'));
  return { flavour: isMariadb ? 'mariadb' : 'mysql', version: version ?? '0.0.0' };
}

/** Data of one flavour is unreadable to the other, and an older server cannot read a newer one's. */
export function canOpen(binary: DatabaseServerBinary, maker: DataDirectoryMaker): boolean {
  const series = (version: string): number => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major * 1000 + minor;
  };
  return binary.flavour === maker.flavour && series(binary.version) >= series(maker.version);
}

/**
 * Makes the system tables in a folder beside `dataDirectory` and renames them into place, so that a
 * crash leaves nothing that looks finished. What earlier crashes left is removed first.
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
  /** Ends it, and all that it has started. */
  readonly signal?: AbortSignal;
}

/**
 * In `unfinished` lie `data`, `temporary` and, as `software`, the tree of an unpacked server. They are
 * named from within `data`, because MariaDB's script splits and interprets what a path may hold.
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

/** The lines that tell what went wrong, without the advice that MariaDB's script ends with. */
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
    // Else it refuses to work where the machine's own name cannot be looked up.
    '--force',
  ];
  const all = [...places, ...own, ...serverUserFlags(), ...flags];
  return commandLineOf(binary, binary.initialiserPath, all, '../software');
}

/**
 * A server started by root refuses to run until told that it may. In this form MariaDB's script hands
 * it on without taking it for a reason to give plugins of the machine another owner.
 */
export function serverUserFlags(): string[] {
  return process.getuid?.() === 0 ? ['-uroot'] : [];
}

/** Patiently, because what was killed a moment ago may still write. */
function removeTree(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
