/** Knows how a folder is looked through for values of API keys, wherever in it they lie. */
import { lstat, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import { Secret } from '../../secret.ts';

/** A file that may hold the value of a key. */
export interface ValueFile {
  readonly path: string;
  readonly value: Secret;
}

/** More entries of a folder are not looked at. */
export const entriesMax = 10_000;
const fileBytesMax = 4_096;
const notDelivered = /\.kept-\d+$|\.pending$/;
/** How marks of files end that go with their key. */
export const leavingEnding = '.leaving';

/**
 * Every plain file in a folder and below it that holds what could be a key's value, save marks; those that wait
 * or are kept aside last. Of a folder with more than 10,000 entries the first that are met.
 */
export async function findValues(top: string): Promise<ValueFile[]> {
  const found: ValueFile[] = [];
  const folders = [top];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    // One that may not be read holds nothing that a run could make use of.
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

/** Whether a file still has the value that was found in it, which need not be a whole one. */
export async function holdsValue({ path, value }: ValueFile): Promise<boolean> {
  try {
    const found = await lstat(path);
    if (!found.isFile() || found.size > fileBytesMax) return false;
    return (await readFile(path, 'utf8')).trim() === value.reveal();
  } catch {
    return false;
  }
}

/** Gone already is as good. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** The value of a file; null for what holds none, or is gone. */
export async function readValueFile(path: string): Promise<Secret | null> {
  const found = await valueOrFolder(path);
  return found instanceof Secret ? found : null;
}

function byRank(one: ValueFile, two: ValueFile): number {
  const rank = ({ path }: ValueFile): string => `${notDelivered.test(path) ? 1 : 0}${path}`;
  return rank(one) < rank(two) ? -1 : 1;
}

/** The value of a file that could be a key's; null for anything else that is no folder. */
async function valueOrFolder(path: string): Promise<Secret | 'folder' | null> {
  try {
    const found = await lstat(path);
    if (found.isDirectory()) return 'folder';
    if (!found.isFile() || found.size > fileBytesMax) return null;
    const text = (await readFile(path, 'utf8')).trim();
    return isWellFormedApiKey(text) ? new Secret(text, `file:${path}`) : null;
  } catch {
    // Gone meanwhile, or not for this user.
    return null;
  }
}
