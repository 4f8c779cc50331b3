/** Knows where database servers lie on a machine, and which of them can serve us. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type DatabaseFlavour = 'mariadb' | 'mysql';

export interface DatabaseServerBinary {
  readonly flavour: DatabaseFlavour;
  /** As the server prints it: `10.11.19`. */
  readonly version: string;
  readonly serverPath: string;
  /** The script that makes MariaDB's system tables; MySQL's server makes its own. */
  readonly initialiserPath: string | null;
  /** Root of the unpacked tree (`ROOT/usr`), or null for an installed server, which knows its own. */
  readonly baseDirectory: string | null;
  /** Where an unpacked server finds its libraries; empty for an installed one. */
  readonly libraryDirectories: readonly string[];
}

/** Directories where packages put servers, beside those on the PATH. */
const usualServerDirectories: readonly string[] = [
  '/usr/sbin',
  '/usr/libexec',
  '/usr/bin',
  '/usr/local/sbin',
  '/usr/local/libexec',
  '/usr/local/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
  '/opt/homebrew/opt/mariadb/bin',
  '/opt/homebrew/opt/mysql/bin',
];

const oldestVersions: Record<DatabaseFlavour, readonly [number, number]> = {
  mariadb: [10, 6],
  mysql: [8, 0],
};

/** `usualServerDirectories` with the directories of the PATH before them. */
export async function installedServerDirectories(): Promise<string[]> {
  const { stdout } = await run('/bin/sh', ['-c', 'printf %s "$PATH"']);
  const onPath = stdout.split(':').filter((directory) => directory.startsWith('/'));
  return [...new Set([...onPath, ...usualServerDirectories])];
}

/** Every usable installed server in `directories`, in their order, each file once. */
export async function findInstalledServers(
  directories: readonly string[],
): Promise<DatabaseServerBinary[]> {
  const candidates = directories.flatMap((directory) =>
    ['mariadbd', 'mysqld'].map((name) => join(directory, name)),
  );
  const found: DatabaseServerBinary[] = [];
  for (const serverPath of candidates.filter((path) => existsSync(path))) {
    const binary = await inspectServer(serverPath, directories, null, []);
    if (binary !== null) found.push(binary);
  }
  return found;
}

/** The server in a tree of unpacked packages, or null when it has none that runs. */
export async function findUnpackedServer(root: string): Promise<DatabaseServerBinary | null> {
  const baseDirectory = join(root, 'usr');
  const directories = [join(baseDirectory, 'sbin'), join(baseDirectory, 'bin')];
  const serverPath = join(baseDirectory, 'sbin/mariadbd');
  if (!existsSync(serverPath)) return null;
  return await inspectServer(serverPath, directories, baseDirectory, libraryDirectoriesOf(root));
}

/** Arguments that run a program of `binary`, with its own libraries where it brings them. */
export function commandLineOf(
  binary: DatabaseServerBinary,
  program: string,
  programArguments: readonly string[],
): [string, ...string[]] {
  if (binary.libraryDirectories.length === 0) return [program, ...programArguments];
  const libraryPath = `LD_LIBRARY_PATH=${binary.libraryDirectories.join(':')}`;
  return ['/usr/bin/env', libraryPath, program, ...programArguments];
}

async function inspectServer(
  serverPath: string,
  directories: readonly string[],
  baseDirectory: string | null,
  libraryDirectories: readonly string[],
): Promise<DatabaseServerBinary | null> {
  const unknown: DatabaseServerBinary = {
    flavour: 'mysql',
    version: '',
    serverPath,
    initialiserPath: null,
    baseDirectory,
    libraryDirectories,
  };
  const [file, ...rest] = commandLineOf(unknown, serverPath, ['--no-defaults', '--version']);
  const banner = await run(file, rest, { timeout: 10_000 }).then(
    ({ stdout }) => stdout,
    () => null,
  );
  const version = banner === null ? null : parseServerVersion(banner);
  if (version === null) return null;
  if (version.flavour === 'mysql') return { ...unknown, ...version };
  const initialiserPath = [dirname(serverPath), ...directories]
    .flatMap((directory) => [directory, join(directory, '../bin'), join(directory, '../scripts')])
    .map((directory) => join(directory, 'mariadb-install-db'))
    .find((path) => existsSync(path));
  return initialiserPath === undefined ? null : { ...unknown, ...version, initialiserPath };
}

/** Reads `--version` output; null when it is no server or one too old for us. */
export function parseServerVersion(
  banner: string,
): { flavour: DatabaseFlavour; version: string } | null {
  const match = /\bVer\s+((\d+)\.(\d+)\.\d+)(-MariaDB)?/.exec(banner);
  if (match === null) return null;
  const flavour = match[4] === undefined ? 'mysql' : 'mariadb';
  const [major, minor] = [Number(match[2]), Number(match[3])];
  const [oldestMajor, oldestMinor] = oldestVersions[flavour];
  const usable = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  return usable ? { flavour, version: match[1]! } : null;
}

/** Debian keeps libraries below a directory named after the machine: `usr/lib/x86_64-linux-gnu`. */
function libraryDirectoriesOf(root: string): string[] {
  const machines: Partial<Record<NodeJS.Architecture, string>> = {
    x64: 'x86_64-linux-gnu',
    arm64: 'aarch64-linux-gnu',
    arm: 'arm-linux-gnueabihf',
    ppc64: 'powerpc64le-linux-gnu',
    riscv64: 'riscv64-linux-gnu',
    s390x: 's390x-linux-gnu',
  };
  const machine = machines[process.arch];
  const directories = ['usr/lib', 'lib'].flatMap((directory) => [
    ...(machine === undefined ? [] : [join(root, directory, machine)]),
    join(root, directory),
  ]);
  return directories.filter((directory) => existsSync(directory));
}
