/** Provides a MySQL server as a program: an installed one, or Debian's packages unpacked beside their own C library. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { hasDebianPackages } from '../../src/embedded/debian-packages.ts';
import {
  type DatabaseServerBinary,
  findInstalledServers,
  installedServerDirectories,
} from '../../src/embedded/server-binary.ts';

const run = promisify(execFile);
/** Kept between the runs of a clone; 330 MB. */
const directory = resolve(import.meta.dirname, '../../.cache/mysql-server');
const fetchMsMax = 10 * 60_000;
const loaders = ['usr/lib64/ld-linux-x86-64.so.2', 'usr/lib/ld-linux-aarch64.so.1'];

/** Only Debian's unstable suite has MySQL. Nothing is installed: apt uses lists and a cache in this folder. */
const configuration = `Dir::Etc::SourceList "./sources.list";
Dir::Etc::SourceParts "-";
Dir::State "./state/";
Dir::Cache "./cache/";
Dir::State::status "./status";
Debug::NoLocking "true";
APT::Sandbox::User "";
Acquire::Retries "2";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
`;

/** @throws Error that names what is missing */
export async function findOrFetchMysql(): Promise<DatabaseServerBinary> {
  const installed = await findMysql(await installedServerDirectories());
  if (installed !== undefined) return installed;
  const unpacked = await findMysql([directory]);
  if (unpacked !== undefined) return unpacked;
  if (!hasDebianPackages()) {
    throw new Error('there is no mysqld, and no apt-get to fetch one with: install MySQL 8 or 9');
  }
  await fetchPackages();
  const fetched = await findMysql([directory]);
  if (fetched === undefined)
    throw new Error(`the mysqld that was unpacked in ${directory} does not run`);
  return fetched;
}

async function findMysql(places: readonly string[]): Promise<DatabaseServerBinary | undefined> {
  const found = await findInstalledServers(places);
  return found.find(({ flavour }) => flavour === 'mysql');
}

async function fetchPackages(): Promise<void> {
  mkdirSync(resolve(directory, '..'), { recursive: true });
  const work = mkdtempSync(`${directory}.fetch-`);
  try {
    for (const name of ['state/lists/partial', 'cache/archives/partial', 'server/root']) {
      mkdirSync(join(work, name), { recursive: true });
    }
    writeFileSync(join(work, 'status'), '');
    writeFileSync(join(work, 'sources.list'), 'deb http://deb.debian.org/debian sid main\n');
    writeFileSync(join(work, 'apt.conf'), configuration);
    console.warn('fetching MySQL from the packages of Debian unstable (58 MB)');
    await apt(work, 'update', '-qq');
    const choice = ['-qq', '-y', '--download-only', '--no-install-recommends'];
    await apt(work, 'install', ...choice, 'mysql-server-core');
    const archives = readdirSync(join(work, 'cache/archives')).filter((name) =>
      name.endsWith('.deb'),
    );
    for (const name of archives) {
      await run('dpkg-deb', ['-x', `cache/archives/${name}`, 'server/root'], { cwd: work });
    }
    writeStarter(join(work, 'server'));
    rmSync(directory, { recursive: true, force: true });
    renameSync(join(work, 'server'), directory);
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string };
    const reason = (stderr.trim() || message).split('\n').at(-1);
    throw new Error(`MySQL cannot be fetched from Debian unstable (${reason})`, { cause: error });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function apt(work: string, ...words: readonly string[]): Promise<void> {
  await run('apt-get', ['-c', './apt.conf', ...words], { cwd: work, timeout: fetchMsMax });
}

/** Writes a program that starts the server with the libraries of its own suite, which are newer than those here. */
function writeStarter(server: string): void {
  const loader = loaders.find((path) => existsSync(join(server, 'root', path)));
  if (loader === undefined) throw new Error('its packages have no loader for this processor');
  const libraries = readdirSync(join(server, 'root/usr/lib')).find((name) =>
    name.endsWith('-linux-gnu'),
  );
  const root = join(directory, 'root');
  const starter = join(server, 'mysqld');
  writeFileSync(
    starter,
    `#!/bin/sh
root='${root}'
exec "$root/${loader}" --library-path "$root/usr/lib/${libraries}" "$root/usr/sbin/mysqld" "$@" \\
  --basedir="$root/usr" --lc-messages-dir="$root/usr/share/mysql" \\
  --character-sets-dir="$root/usr/share/mysql/charsets" --plugin-dir="$root/usr/lib/mysql/plugin"
`,
  );
  chmodSync(starter, 0o755);
}
