/** Builds one release for the suite, from a clone of the commit, and removes it afterwards. */
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The release of this commit, and the files with the key that signed it. */
    release: ReleaseFacts;
  }
}

export interface ReleaseFacts {
  readonly folder: string;
  readonly version: string;
  readonly commit: string;
  readonly keyPath: string;
  readonly publicKeyPath: string;
  /** A clone without the changes of the working folder, in which releases can be built. */
  readonly clone: string;
}

const root = resolve(import.meta.dirname, '../..');

export default async function setup(project: TestProject): Promise<() => void> {
  const work = mkdtempSync(join(tmpdir(), 'gatewright-release-suite-'));
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyPath = join(work, 'key.pem');
  const publicKeyPath = join(work, 'publisher.pub');
  writeFileSync(keyPath, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(publicKeyPath, publicKey.export({ type: 'spki', format: 'pem' }));
  const clone = cloneOf(join(work, 'clone'));
  const folder = join(work, 'release');
  buildRelease(clone, folder, keyPath);
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const { version } = await import(join(root, 'package.json'), { with: { type: 'json' } }).then(
    (loaded) => loaded.default as { version: string },
  );
  project.provide('release', { folder, version, commit, keyPath, publicKeyPath, clone });
  return () => rmSync(work, { recursive: true, force: true });
}

/** Clones the last commit; packages and downloads are those of this clone. */
export function cloneOf(folder: string): string {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, folder]);
  appendFileSync(join(folder, '.git/info/exclude'), 'node_modules\n');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const cache = join(root, '.cache/release');
  mkdirSync(cache, { recursive: true });
  mkdirSync(join(folder, '.cache'));
  symlinkSync(cache, join(folder, '.cache/release'));
  return folder;
}

/** @throws Error with the output when the release cannot be built */
export function buildRelease(
  clone: string,
  out: string,
  keyPath: string,
  options: { readonly words?: readonly string[]; readonly env?: Record<string, string> } = {},
): void {
  const script = join(clone, 'scripts/release/release.ts');
  const words = [script, '--out', out, '--key', keyPath, ...(options.words ?? [])];
  const { status, stderr, stdout } = spawnSync(process.execPath, words, {
    cwd: clone,
    encoding: 'utf8',
    env: { ...process.env, ...options.env },
  });
  if (status !== 0) throw new Error(`the release cannot be built: ${stdout}${stderr}`);
}

/** The reason why releases cannot be built here; null if they can. */
export function missingRelease(): string | null {
  for (const program of ['xz', 'tar', 'git']) {
    const { status } = spawnSync(program, ['--version'], { stdio: 'ignore' });
    if (status !== 0) return `there is no ${program}`;
  }
  return null;
}
