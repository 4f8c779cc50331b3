/** Holds the files of an image in memory and writes them as a tar archive that depends on nothing else. */
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

export type TreeEntry =
  | { readonly type: 'file'; readonly bytes: Buffer; readonly mode: number }
  | { readonly type: 'link'; readonly target: string }
  | { readonly type: 'folder'; readonly mode: number; readonly uid: number; readonly gid: number };

/** Entries by their path without a leading slash: `usr/bin/git`. */
export type FileTree = Map<string, TreeEntry>;

export function file(bytes: Buffer | string, mode = 0o644): TreeEntry {
  return { type: 'file', bytes: Buffer.from(bytes), mode };
}

export function link(target: string): TreeEntry {
  return { type: 'link', target };
}

export function folder(mode = 0o755, uid = 0, gid = 0): TreeEntry {
  return { type: 'folder', mode, uid, gid };
}

/** Writes the entries in the order of their paths, with all parent folders and one time for all. */
export async function tarOf(tree: FileTree, mtime: Date): Promise<Buffer> {
  const whole: FileTree = new Map(tree);
  for (const path of tree.keys()) {
    for (const parent of parentsOf(path)) if (!whole.has(parent)) whole.set(parent, folder());
  }
  const archive = pack();
  const written = buffer(archive);
  const paths = [...whole.keys()].sort((a, b) => (a < b ? -1 : 1));
  for (const path of paths) {
    const entry = whole.get(path)!;
    const common = { name: path, mtime, uid: 0, gid: 0, uname: '', gname: '' };
    if (entry.type === 'folder') {
      const { mode, uid, gid } = entry;
      archive.entry({ ...common, name: `${path}/`, type: 'directory', mode, uid, gid });
    } else if (entry.type === 'link') {
      archive.entry({ ...common, type: 'symlink', linkname: entry.target, mode: 0o777 });
    } else {
      archive.entry({ ...common, type: 'file', mode: entry.mode }, entry.bytes);
    }
  }
  archive.finalize();
  return await written;
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
