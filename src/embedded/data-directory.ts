/** Knows how a server's data directory comes to be, whole or not at all, and which server may open it. */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import { commandLineOf, type DatabaseServerBinary } from './server-binary.ts';

const run = promisify(execFile);
const initialiseTimeoutMs = 120_000;

const makerFileName = 'gatewright-server.json';

/** The server that initialised a data directory, and so the oldest that may open it. */
export type DataDirectoryMaker = Pick<DatabaseServerBinary, 'flavour' | 'version'>;

/**
 * Who made `dataDirectory`, or null when there is none yet. Throws `Failure` when something else
 * lies there, because nothing of the user's is ever replaced.
 */
export function readDataDirectoryMaker(dataDirectory: string): DataDirectoryMaker | null {
  const path = join(dataDirectory, makerFileName);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as DataDirectoryMaker;
  if (!existsSync(dataDirectory) || readdirSync(dataDirectory).length === 0) return null;
  throw new Failure(
    'invalidInput',
    `${dataDirectory} was not made by gatewright: move it away, or pass another --home`,
  );
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
 * Makes the system tables in a directory beside `dataDirectory` and renames it into place, so that
 * a crash leaves nothing that looks finished. What earlier crashes left is removed first.
 * `flags` are server flags that must be the same at every start (`--innodb-log-file-size=16M`).
 */
export async function initialiseDataDirectory(
  binary: DatabaseServerBinary,
  dataDirectory: string,
  flags: readonly string[] = [],
): Promise<void> {
  const parent = dirname(dataDirectory);
  const prefix = `${basename(dataDirectory)}.new-`;
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (const left of readdirSync(parent).filter((name) => name.startsWith(prefix))) {
    rmSync(join(parent, left), { recursive: true, force: true });
  }
  const unfinished = join(parent, `${prefix}${process.pid}`);
  const [file, ...rest] = initialiseCommand(binary, unfinished, flags);
  try {
    await run(file, rest, { timeout: initialiseTimeoutMs, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new Failure(
      'unexpected',
      `the database could not be initialised in ${dataDirectory}\n${outputOf(error)}`,
      { cause: error },
    );
  }
  const maker: DataDirectoryMaker = { flavour: binary.flavour, version: binary.version };
  writeFileSync(join(unfinished, makerFileName), JSON.stringify(maker));
  renameSync(unfinished, dataDirectory);
}

function initialiseCommand(
  binary: DatabaseServerBinary,
  dataDirectory: string,
  flags: readonly string[],
): [string, ...string[]] {
  if (binary.initialiserPath === null) {
    return commandLineOf(binary, binary.serverPath, [
      '--no-defaults',
      '--initialize-insecure',
      `--datadir=${dataDirectory}`,
      '--secure-file-priv=NULL',
      ...serverUserFlags(),
      ...flags,
    ]);
  }
  return commandLineOf(binary, binary.initialiserPath, [
    '--no-defaults',
    ...(binary.baseDirectory === null ? [] : [`--basedir=${binary.baseDirectory}`]),
    `--datadir=${dataDirectory}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--skip-name-resolve',
    // Else it refuses to work where the machine's own name cannot be looked up.
    '--force',
    ...serverUserFlags(),
    ...flags,
  ]);
}

/** A server started by root refuses to run until told that it may. */
export function serverUserFlags(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : [];
}

/** The last lines a failed program printed. */
function outputOf(error: unknown): string {
  const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? String(error) : lines.slice(-12).join('\n');
}
