/** Finds database servers on this machine and checks which are usable. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type DatabaseFlavour = 'mariadb' | 'mysql';

export interface DatabaseServerBinary {
  readonly flavour: DatabaseFlavour;
  /** As printed by the server: `10.11.19`. */
  readonly version: string;
  readonly serverPath: string;
  /** Script that creates MariaDB's system tables; null for MySQL, whose server creates them. */
  readonly initialiserPath: string | null;
  /** Absolute path of an unpacked server tree; null for an installed server. */
  readonly root: string | null;
  /** Library folders of an unpacked server, relative to `root`; empty for an installed one. */
  readonly libraryDirectories: readonly string[];
}

/** Folders where packages install servers, in addition to the PATH. */
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

/** Long enough for busy machines: a server that times out counts as absent and is downloaded. */
const versionTimeoutMs = 120_000;

/** The folders of the PATH followed by `usualServerDirectories`. */
export async function installedServerDirectories(): Promise<string[]> {
  const { stdout } = await run('/bin/sh', ['-c', 'printf %s "$PATH"']);
  const onPath = stdout.split(':').filter((directory) => directory.startsWith('/'));
  return [...new Set([...onPath, ...usualServerDirectories])];
}

/** All usable servers in `directories`, in that order, without duplicates. */
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

/** The server in a tree of unpacked packages; null if none runs. */
export async function findUnpackedServer(root: string): Promise<DatabaseServerBinary | null> {
  const directories = ['usr/sbin', 'usr/bin'].map((directory) => join(root, directory));
  const serverPath = join(root, 'usr/sbin/mariadbd');
  if (!existsSync(serverPath)) return null;
  return await inspectServer(serverPath, directories, resolve(root), libraryDirectoriesOf(root));
}

/** Default working directory for programs of `binary`. */
export function workingDirectoryOf({ root }: DatabaseServerBinary): string {
  return root ?? '/';
}

/**
 * Arguments that run a program of `binary`, with the libraries of an unpacked server. `root` is the
 * server tree relative to the working directory (default: `workingDirectoryOf`), because a library
 * path list cannot contain a colon or a semicolon.
 */
export function commandLineOf(
  binary: DatabaseServerBinary,
  program: string,
  programArguments: readonly string[],
  root = '.',
): [string, ...string[]] {
  if (binary.root === null) return [program, ...programArguments];
  const libraryPath = binary.libraryDirectories.map((directory) => join(root, directory)).join(':');
  const seen = join(root, relative(binary.root, program));
  return ['/usr/bin/env', `LD_LIBRARY_PATH=${libraryPath}`, seen, ...programArguments];
}

async function inspectServer(
  serverPath: string,
  directories: readonly string[],
  root: string | null,
  libraryDirectories: readonly string[],
): Promise<DatabaseServerBinary | null> {
  const unknown: DatabaseServerBinary = {
    flavour: 'mysql',
    version: '',
    serverPath,
    initialiserPath: null,
    root,
    libraryDirectories,
  };
  const [file, ...rest] = commandLineOf(unknown, serverPath, ['--no-defaults', '--version']);
  const cwd = workingDirectoryOf(unknown);
  const banner = await run(file, rest, { cwd, timeout: versionTimeoutMs }).then(
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

/** Parses `--version` output; null for other programs and unsupported versions. */
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

/** Relative to `root`. Debian has a folder for each architecture: `usr/lib/x86_64-linux-gnu`. */
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
    ...(machine === undefined ? [] : [join(directory, machine)]),
    directory,
  ]);
  return directories.filter((directory) => existsSync(join(root, directory)));
}
