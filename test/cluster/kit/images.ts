/** Knows the images that pods of a test cluster run: how they are made, and how they come to its nodes. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { programs } from './programs.ts';

const root = resolve(import.meta.dirname, '../../..');

/** What both images are built on; the one of the Dockerfile. */
const base = 'node:24-bookworm-slim';
const product = 'gatewright-test/product';
const database = 'gatewright-test/mariadb:10.11';

/** Null where images can be built; else why not. */
export function whyNoImages(): string | null {
  const { status, error } = spawnSync('docker', ['info']);
  if (error !== undefined) return 'docker is not installed';
  if (status !== 0) return 'no Docker engine answers';
  const isHad = ['image inspect', 'pull'].some(
    (words) => spawnSync('docker', [...words.split(' '), base]).status === 0,
  );
  return isHad ? null : `there is no image ${base}, and none can be pulled`;
}

/** What keeps the network of a pod: an image that sleeps. */
export function preparePause(): void {
  const target = join(programs, 'pause.tar');
  if (existsSync(target)) return;
  const folder = mkdtempSync(join(programs, 'pause-'));
  try {
    const busybox = ['bin', 'usr/bin']
      .map((place) => join(programs, 'root', place, 'busybox'))
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

/** Where the images are expected by the values of examples/3-private-cluster. */
export const registry = 'registry.internal.example';

/**
 * Builds the program as it stands here, and a database; writes both as one archive, under the names
 * that they have in the registry of the example.
 */
export async function buildImages(archive: string): Promise<void> {
  const mariadb = join(root, 'test/containers/mariadb');
  await build([...['--tag', product], root]);
  await build(['--build-arg', `BASE_IMAGE=${base}`, '--tag', database, mariadb]);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = {
    [`${registry}/gatewright/gatewright:${version}`]: product,
    [`${registry}/library/mariadb:10.11`]: database,
  };
  for (const [name, source] of Object.entries(names)) await docker(['tag', source, name]);
  await docker(['save', '--output', archive, ...Object.keys(names)]);
}

async function build(words: readonly string[]): Promise<void> {
  await docker(['build', '--quiet', '--network', 'host', ...words]);
}

async function docker(words: readonly string[]): Promise<void> {
  await promisify(execFile)('docker', [...words], { maxBuffer: 2 ** 26 });
}
