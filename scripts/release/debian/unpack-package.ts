/** Unpacks a Debian package in memory, on any machine that has the program xz. */
import { spawnSync } from 'node:child_process';
import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { type FileTree, file, link } from '../file-tree.ts';

export interface UnpackedPackage {
  /** Files and symbolic links, with `bin`, `sbin` and `lib` moved below `usr`. */
  readonly tree: FileTree;
  /** The package's stanza, as dpkg records it. */
  readonly control: string;
}

const unpackedBytesMax = 2 ** 30;

/** @throws Error that says what of the package cannot be read */
export async function unpackPackage(bytes: Buffer, name: string): Promise<UnpackedPackage> {
  const members = readArchive(bytes, name);
  const tree: FileTree = new Map();
  for (const [path, entry] of await readTar(member(members, 'data.tar', name))) {
    tree.set(mergedPath(path), entry);
  }
  const control = (await readTar(member(members, 'control.tar', name))).get('control');
  if (control?.type !== 'file') throw new Error(`${name} has no control file`);
  return { tree, control: control.bytes.toString() };
}

const archiveStart = '!<arch>\n';
const memberHeaderBytes = 60;

/** Reads the members of an `ar` archive by their names. */
function readArchive(bytes: Buffer, name: string): ReadonlyMap<string, Buffer> {
  if (bytes.toString('latin1', 0, 8) !== archiveStart) throw new Error(`${name} is no package`);
  const members = new Map<string, Buffer>();
  for (let at = archiveStart.length; at + memberHeaderBytes <= bytes.length; ) {
    const title = bytes.toString('latin1', at, at + 16).replace(/[ /]+$/, '');
    const size = Number(bytes.toString('latin1', at + 48, at + 58));
    const start = at + memberHeaderBytes;
    members.set(title, bytes.subarray(start, start + size));
    at = start + size + (size % 2);
  }
  return members;
}

function member(members: ReadonlyMap<string, Buffer>, prefix: string, name: string): Buffer {
  const [title] = [...members.keys()].filter((key) => key.startsWith(prefix));
  if (title === undefined) throw new Error(`${name} has no ${prefix}`);
  const bytes = members.get(title)!;
  if (title === prefix) return bytes;
  if (title !== `${prefix}.xz`) throw new Error(`${name} has ${title}; only xz is supported`);
  const { stdout, status, error, stderr } = spawnSync('xz', ['--decompress', '--stdout'], {
    input: bytes,
    maxBuffer: unpackedBytesMax,
  });
  if (status !== 0) throw new Error(`xz cannot unpack ${name}: ${error?.message ?? stderr}`);
  return stdout;
}

async function readTar(bytes: Buffer): Promise<FileTree> {
  const tree: FileTree = new Map();
  const archive = extract();
  archive.end(bytes);
  for await (const entry of archive) {
    const { type, mode = 0o644, linkname } = entry.header;
    const path = entry.header.name.replace(/^\.?\//, '').replace(/\/$/, '');
    const content = await buffer(entry);
    if (type === 'file') tree.set(path, file(content, mode & 0o755));
    else if (type === 'symlink') tree.set(path, link(linkname!));
    else if (type === 'link') {
      const source = tree.get(linkname!.replace(/^\.?\//, ''));
      if (source !== undefined) tree.set(path, source);
    }
  }
  return tree;
}

/** Debian 12 merges these folders of the root into `usr` on every installed system. */
function mergedPath(path: string): string {
  return /^(?:bin|sbin|lib|lib64)\//.test(path) ? `usr/${path}` : path;
}

/** The path to which a symbolic link in a merged root points. */
export function linkedPath(path: string, target: string): string {
  const absolute = target.startsWith('/') ? target : posix.join('/', posix.dirname(path), target);
  return mergedPath(posix.normalize(absolute).slice(1));
}
