/** Builds the npm package from the exported sources. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import { type FileTree, file, tarOf } from './file-tree.ts';
import { licencesFile } from './licences.ts';
import type { ReleaseSource } from './source.ts';

/** Builds the program and its documentation, and packs what npm would publish. Returns the archive. */
export async function buildNpmPackage(
  { folder, committedAt }: ReleaseSource,
  licences: string,
): Promise<Buffer> {
  const run = (...words: string[]): void => {
    execFileSync(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  run('scripts/build.mjs');
  run('scripts/docs/build.ts', '--packed', 'dist/docs');
  writeFileSync(join(folder, licencesFile), licences);
  const words = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  const name = execFileSync('npm', words, { cwd: folder, encoding: 'utf8' }).trim();
  const packed = await readArchive(readFileSync(join(folder, name.split('\n').at(-1)!)));
  // npm's archive depends on the file modes of the machine and on the version of npm.
  const tree: FileTree = new Map();
  for (const [path, bytes] of packed) {
    tree.set(path, file(bytes, path === 'package/dist/main.js' ? 0o755 : 0o644));
  }
  return gzipSync(await tarOf(tree, committedAt), { level: 9 });
}

/** The files of a packed archive by their paths. */
export async function readArchive(packed: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const archive = extract();
  archive.end(gunzipSync(packed));
  const files = new Map<string, Buffer>();
  for await (const entry of archive) {
    const bytes = await buffer(entry);
    if (entry.header.type === 'file') files.set(entry.header.name, bytes);
  }
  return files;
}
