/** Marks files of keys that are about to be deleted with a second name. */
import { link, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { entriesMax, leavingEnding, readValueFile, type ValueFile } from './value-files.ts';

/** The second name of a file whose key was about to be deleted; it survives a dead run. */
export interface LeavingFile extends ValueFile {
  /** The marked file. */
  readonly of: string;
  /** Fence of the run that marked it. */
  readonly fence: number;
}

/** Gives a file the second name, where the file system supports hard links. */
export async function markLeaving(
  file: ValueFile,
  tag: string,
  fence: number,
): Promise<LeavingFile> {
  const path = `${file.path}.${tag}-${fence}${leavingEnding}`;
  await link(file.path, path).catch((error: NodeJS.ErrnoException) => {
    const passes = ['EEXIST', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'ENOENT'];
    if (!passes.includes(error.code ?? '')) throw error;
  });
  return { path, value: file.value, of: file.path, fence };
}

/** Finds marks of earlier runs of an owner anywhere in a folder; links are not followed. */
export async function findLeaving(top: string, tag: string): Promise<LeavingFile[]> {
  const form = new RegExp(`^(.+)\\.${tag}-(\\d{1,15})\\${leavingEnding}$`, 's');
  const found: LeavingFile[] = [];
  const folders = [top];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      entries += 1;
      if (entries > entriesMax) return found;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      const [, of, fence] = form.exec(entry.name) ?? [];
      const value = of === undefined ? null : await readValueFile(path);
      if (value !== null) found.push({ path, value, of: join(folder, of!), fence: Number(fence) });
    }
  }
  return found;
}
