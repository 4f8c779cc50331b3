/** Builds the images for the pods of a test cluster, and archives them for its nodes. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { mariadbImage, missingImage, productImage } from '../../containers/images.ts';
import { programs } from './programs.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Returns why the images cannot be built here; null when they can. */
export async function missingImages(): Promise<string | null> {
  return (await missingImage(productImage)) ?? (await missingImage(mariadbImage));
}

/** Builds the pause image, which holds the network namespace of a pod. */
export function preparePause(): void {
  const target = join(programs, 'pause.tar');
  if (existsSync(target)) return;
  const folder = mkdtempSync(join(programs, 'pause-'));
  try {
    const busybox = ['bin', 'usr/bin']
      .map((folder) => join(programs, 'root', folder, 'busybox'))
      .find((path) => existsSync(path))!;
    const draft = join(folder, 'pause.tar');
    const rootfs = join(folder, 'rootfs');
    execFileSync('install', ['-D', busybox, join(rootfs, 'busybox')]);
    const layer = execFileSync('tar', ['-C', rootfs, '-c', 'busybox'], { maxBuffer: 2 ** 26 });
    const entrypoint = 'ENTRYPOINT ["/busybox", "sleep", "2147483647"]';
    const name = 'localhost/pause:1';
    execFileSync('docker', ['import', '--change', entrypoint, '-', name], { input: layer });
    execFileSync('docker', ['save', '-o', draft, name]);
    renameSync(draft, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Registry in the values of examples/3-private-cluster. */
export const registry = 'registry.internal.example';

/** Simulated future versions: the current program with additional migrations. */
const futures = {
  next: { '9001_more.sql': 'CREATE TABLE IF NOT EXISTS future (id INT NOT NULL PRIMARY KEY);\n' },
  broken: { '9002_broken.sql': 'CREATE TABLE future_of (id NO_SUCH_TYPE);\n' },
  breaking: { '9003_breaking.sql': '-- breaking\nDROP TABLE IF EXISTS future;\n' },
} as const;
export type Tag = 'now' | keyof typeof futures;

/**
 * Archives the current program, its simulated future versions and a database, under their names in the
 * registry of the example. `now` stands for the tag of the chart.
 */
export async function archiveImages(archive: string): Promise<void> {
  const product = await productImage();
  const names = new Map([[`${registry}/library/mariadb:10.11`, await mariadbImage()]]);
  names.set(`${registry}/gatewright/gatewright:${version()}`, product);
  for (const [tag, migrations] of Object.entries(futures)) {
    const name = `${registry}/gatewright/gatewright:${tag}`;
    await buildFuture(product, name, migrations);
    names.set(name, name);
  }
  for (const [name, source] of names) await docker(['tag', source, name]);
  await docker(['save', '--output', archive, ...names.keys()]);
}

function version(): string {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
}

async function buildFuture(
  product: string,
  name: string,
  migrations: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-future-'));
  try {
    for (const [file, text] of Object.entries(migrations)) writeFileSync(join(folder, file), text);
    const dockerfile = `FROM ${product}\nCOPY *.sql /opt/gatewright/migrations/\n`;
    writeFileSync(join(folder, 'Dockerfile'), dockerfile);
    await docker(['build', '--quiet', '--tag', name, folder]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function docker(words: readonly string[]): Promise<void> {
  await promisify(execFile)('docker', [...words], { maxBuffer: 2 ** 26 });
}
