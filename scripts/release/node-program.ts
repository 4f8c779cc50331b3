/** Fetches the program of Node for an architecture from npm, verified by its integrity hash. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import type { Architecture } from './debian/package-lock.ts';
import nodePackages from './node-packages.json' with { type: 'json' };

/** The version of Node in the image, which also has to run the release. */
export const nodeVersion = nodePackages.version;

export interface NodeProgram {
  readonly bytes: Buffer;
  readonly licence: Buffer;
}

export function nodePackage(architecture: Architecture): {
  readonly name: string;
  readonly integrity: string;
} {
  return nodePackages[architecture];
}

/** @throws Error when npm cannot fetch the package or its bytes are others */
export async function fetchNode(architecture: Architecture, cache: string): Promise<NodeProgram> {
  const { name, integrity } = nodePackage(architecture);
  const bytes = fetchArchive(name, integrity, cache);
  const found = new Map<string, Buffer>();
  const archive = extract();
  archive.end(gunzipSync(bytes));
  for await (const entry of archive) {
    found.set(entry.header.name, await buffer(entry));
  }
  const program = found.get('package/bin/node');
  const licence = found.get('package/LICENSE');
  if (program === undefined || licence === undefined) {
    throw new Error(`${name} has no bin/node or no LICENSE`);
  }
  return { bytes: program, licence };
}

function fetchArchive(name: string, integrity: string, cache: string): Buffer {
  const path = join(cache, `${name}-${nodeVersion}.tgz`);
  if (!existsSync(path)) {
    mkdirSync(cache, { recursive: true });
    const draft = mkdtempSync(join(cache, 'node-'));
    try {
      const words = ['pack', '--silent', '--pack-destination', draft, `${name}@${nodeVersion}`];
      const { status, stderr } = spawnSync('npm', words, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`npm cannot fetch ${name}@${nodeVersion}: ${stderr}`);
      renameSync(join(draft, `${name}-${nodeVersion}.tgz`), path);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  const bytes = readFileSync(path);
  const actual = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (actual === integrity) return bytes;
  throw new Error(`${path} is not the package that node-packages.json names; delete it`);
}
