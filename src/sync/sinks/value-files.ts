/** Searches a folder for values of API keys. */
import { lstat, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import { Secret } from '../../secret.ts';

/** A file that may contain the value of a key. */
export interface ValueFile {
  readonly path: string;
  readonly value: Secret;
}

/** Maximum number of entries that are visited. */
export const entriesMax = 10_000;
const fileBytesMax = 4_096;
const notDelivered = /\.kept-\d+$|\.pending$/;
/** Suffix of the marks of files that are deleted with their key. */
export const leavingEnding = '.leaving';

/**
 * Returns every plain file below a folder that contains a well-formed key value, without marks;
 * pending and kept ones last. In a folder with more than 10,000 entries it returns only the first ones found.
 */
export async function findValues(top: string): Promise<ValueFile[]> {
  const found: ValueFile[] = [];
  const folders = [top];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    // An unreadable folder contains nothing that a run could use.
    for (const name of await readdir(folder).catch(() => [])) {
      entries += 1;
      if (entries > entriesMax) return found.toSorted(byRank);
      const path = join(folder, name);
      const value = await valueOrFolder(path);
      if (value === 'folder') folders.push(path);
      else if (value !== null && !name.endsWith(leavingEnding)) found.push({ path, value });
    }
  }
  return found.toSorted(byRank);
}

/** Returns whether a file still contains the value that was read, which may be incomplete. */
export async function holdsValue({ path, value }: ValueFile): Promise<boolean> {
  try {
    const found = await lstat(path);
    if (!found.isFile() || found.size > fileBytesMax) return false;
    return (await readFile(path, 'utf8')).trim() === value.reveal();
  } catch {
    return false;
  }
}

/** A file that is already gone counts as removed. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Returns the value of a file; null when it has none or does not exist. */
export async function readValueFile(path: string): Promise<Secret | null> {
  const found = await valueOrFolder(path);
  return found instanceof Secret ? found : null;
}

function byRank(one: ValueFile, two: ValueFile): number {
  const rank = ({ path }: ValueFile): string => `${notDelivered.test(path) ? 1 : 0}${path}`;
  return rank(one) < rank(two) ? -1 : 1;
}

/** Returns the value of a file that could be a key's, or `folder`; null for anything else. */
async function valueOrFolder(path: string): Promise<Secret | 'folder' | null> {
  try {
    const found = await lstat(path);
    if (found.isDirectory()) return 'folder';
    if (!found.isFile() || found.size > fileBytesMax) return null;
    const text = (await readFile(path, 'utf8')).trim();
    return isWellFormedApiKey(text) ? new Secret(text, `file:${path}`) : null;
  } catch {
    // Removed meanwhile, or not readable for this user.
    return null;
  }
}
