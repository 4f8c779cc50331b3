/** Downloads a database server from Debian packages into a folder without changing the machine. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import { watchArrival } from './arrival.ts';
import { reportWhile } from './long-step.ts';

const run = promisify(execFile);
const aptTimeoutMs = 900_000;
const configurationName = 'apt.conf';
const archivesPath = 'cache/archives';
const dpkgStatusPath = '/var/lib/dpkg/status';

/** Since Debian 12 and Ubuntu 24.04; then Ubuntu 22.04, whose package names contain the version. */
const packageSets: readonly (readonly string[])[] = [
  ['mariadb-server-core', 'mariadb-client-core'],
  ['mariadb-server-core-10.6', 'mariadb-client-core-10.6'],
];

export interface FetchOptions {
  /** Called with one line for each step. */
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Whether this machine uses Debian packages. */
export function hasDebianPackages(): boolean {
  return [findTool('apt-get'), findTool('dpkg-deb'), dpkgStatusPath].every(
    (path) => path !== null && existsSync(path),
  );
}

/**
 * Unpacks MariaDB's server, its tools and missing libraries into `root`, atomically. Nothing is
 * installed: apt uses separate lists and a separate cache beside `root`, verifies every package
 * against the signed index, and needs no root privileges.
 *
 * @throws Failure when the packages cannot be downloaded
 */
export async function fetchDebianServer(root: string, options: FetchOptions): Promise<void> {
  const work = `${root}.fetch-${process.pid}`;
  removeUnfinished(root);
  let listWarnings = '';
  try {
    prepareApt(work);
    options.progress('reading the package lists of Debian (apt, private to this folder)');
    // apt only warns about unreachable lists: others may contain the packages.
    const update = apt(work, ['update', '-qq'], options.signal);
    listWarnings = await reportWhile(options.progress, 'reading the package lists', update);
    const archives = await download(work, options);
    if (archives.length === 0) throw new Error('the packages are nowhere to be had');
    options.progress(`unpacking ${archives.length} packages into ${root}`);
    for (const archive of archives) {
      await run('dpkg-deb', ['-x', archive, 'root'], { cwd: work, signal: options.signal });
    }
    rmSync(root, { recursive: true, force: true });
    renameSync(join(work, 'root'), root);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw fetchFailure(error, listWarnings);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function findTool(name: string): string | null {
  const paths = ['/usr/bin', '/bin'].map((directory) => join(directory, name));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Removes remains of killed downloads beside `root`. */
function removeUnfinished(root: string): void {
  const parent = dirname(root);
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const prefix = `${root}.fetch-`;
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (path.startsWith(prefix)) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Writes apt's settings: separate state and cache, the machine's list of installed packages (read
 * only) without its lock, and no hooks, which would clean the machine's cache. Paths are relative to
 * `work`, because apt's settings cannot contain all characters of folder names.
 */
function prepareApt(work: string): void {
  for (const directory of ['state/lists/partial', 'cache/archives/partial', 'root']) {
    mkdirSync(join(work, directory), { recursive: true, mode: 0o700 });
  }
  const lines = [
    'Dir::State "./state/";',
    'Dir::Cache "./cache/";',
    `Dir::State::status "${dpkgStatusPath}";`,
    'Debug::NoLocking "true";',
    'APT::Sandbox::User "";',
    'Acquire::Retries "2";',
    'Acquire::http::Timeout "10";',
    'Acquire::https::Timeout "10";',
    'Acquire::Languages "none";',
    '#clear APT::Update::Pre-Invoke;',
    '#clear APT::Update::Post-Invoke;',
    '#clear APT::Update::Post-Invoke-Success;',
    '#clear DPkg::Pre-Install-Pkgs;',
    '#clear DPkg::Post-Invoke;',
  ];
  writeFileSync(join(work, configurationName), `${lines.join('\n')}\n`);
}

/** Returns the names of the package files, relative to `work`. */
async function download(work: string, options: FetchOptions): Promise<string[]> {
  const errors: unknown[] = [];
  for (const packages of packageSets) {
    options.progress(`downloading ${packages.join(', ')} and the libraries missing here`);
    try {
      const fetching = apt(
        work,
        [
          'install',
          '-qq',
          '-y',
          '--download-only',
          '--reinstall',
          '--no-install-recommends',
        ].concat(packages),
        options.signal,
      );
      await reportWhile(options.progress, 'downloading', fetching);
      return readdirSync(join(work, archivesPath))
        .filter((name) => name.endsWith('.deb'))
        .map((name) => join(archivesPath, name));
    } catch (error) {
      options.signal?.throwIfAborted();
      errors.push(error);
      // The next set can only work when the names of this one are unknown.
      if (!/Unable to locate|no installation candidate/.test(stderrOf(error))) break;
    }
  }
  throw errors[0];
}

/** Resolves with the warnings of apt. */
async function apt(
  work: string,
  commandArguments: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const settings = ['LC_ALL=C', 'DEBIAN_FRONTEND=noninteractive'];
  const silence = new AbortController();
  const signals = [silence.signal, ...(signal === undefined ? [] : [signal])];
  const running = run(
    '/usr/bin/env',
    [...settings, 'apt-get', '-c', `./${configurationName}`, ...commandArguments],
    {
      cwd: work,
      timeout: aptTimeoutMs,
      maxBuffer: 64 * 1024 * 1024,
      signal: AbortSignal.any(signals),
    },
  );
  using _ = watchArrival(work, running.child.pid, (reason) => silence.abort(reason));
  const { stderr } = await running.catch((error: unknown) => {
    silence.signal.throwIfAborted();
    throw error;
  });
  return stderr;
}

/** Warnings about the lists explain more than the error that a package is missing. */
function fetchFailure(error: unknown, listWarnings: string): Failure {
  const all = `${listWarnings}\n${stderrOf(error)}`.split('\n');
  const fetching = all.filter((line) => /^[EW]: Failed to fetch/.test(line));
  const reasons = fetching.length > 0 ? fetching : all.filter((line) => /^[EW]: /.test(line));
  return new Failure(
    'unreachable',
    [
      "no database server is installed, and fetching one from Debian's packages failed:",
      ...(reasons.length === 0 ? [`  ${String(error)}`] : reasons.map((line) => `  ${line}`)),
      'install it yourself (apt-get install mariadb-server-core mariadb-client-core), or set',
      'DB_HOST, DB_USER, DB_PASS and DB_NAME to use a server of yours',
    ].join('\n'),
    { cause: error },
  );
}

function stderrOf(error: unknown): string {
  return (error as { stderr?: string }).stderr ?? '';
}
