/** Owns a folder of one process by a lock that ends with the process, and takes over folders of dead ones. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../durable-files.ts';
import { lockFile } from '../file-lock.ts';

const lockName = 'owner';
const ownedName = /^[0-9a-f]{16}$/;
const unfinishedPrefix = 'new-';
/** A younger folder may belong to a process that is starting. */
const unfinishedMsMin = 60_000;

/**
 * A folder that only this process writes. The lock on the file `owner` ends when the process dies, however it
 * dies, and it holds among containers that share a volume.
 */
export class OwnedDirectory {
  readonly path: string;
  #lock: Disposable | null;
  #removing: Promise<boolean> | null = null;

  constructor(path: string, lock: Disposable) {
    this.path = path;
    this.#lock = lock;
  }

  /** Gives the folder up; with its files, another process may take it over. */
  release(): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = null;
  }

  /** Removes the folder and gives it up if it holds nothing but the lock; returns whether it did. */
  remove(): Promise<boolean> {
    this.#removing ??= this.#remove().finally(() => {
      this.#removing = null;
    });
    return this.#removing;
  }

  async #remove(): Promise<boolean> {
    const names = await readdir(this.path).catch(() => []);
    if (names.some((name) => name !== lockName)) return false;
    await rm(join(this.path, lockName), { force: true });
    await rmdir(this.path).catch(() => undefined);
    this.release();
    return true;
  }
}

/** Creates a folder below `parent`. It gets its name once it is locked, so that nobody takes it over before. */
export async function createOwned(parent: string): Promise<OwnedDirectory> {
  const name = randomBytes(8).toString('hex');
  const unfinished = join(parent, `${unfinishedPrefix}${name}`);
  const path = join(parent, name);
  await mkdir(unfinished, { mode: 0o700 });
  const lock = tryLock(unfinished);
  if (lock === null) throw new Error(`${unfinished} is locked by another process`);
  await rename(unfinished, path);
  await syncFolder(parent);
  return new OwnedDirectory(path, lock);
}

/** Takes over every folder below `parent` whose process is dead, except `own`. */
export async function takeOverDead(
  parent: string,
  own: ReadonlySet<string>,
): Promise<OwnedDirectory[]> {
  const taken: OwnedDirectory[] = [];
  for (const name of (await readdir(parent)).sort()) {
    const path = join(parent, name);
    if (name.startsWith(unfinishedPrefix)) await removeUnfinished(path);
    if (!ownedName.test(name) || own.has(path)) continue;
    const lock = tryLock(path);
    if (lock !== null) taken.push(new OwnedDirectory(path, lock));
  }
  return taken;
}

/** A process that died while it created its folder has left nothing in it. */
async function removeUnfinished(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found === null || Date.now() - found.mtimeMs < unfinishedMsMin) return;
  const lock = tryLock(path);
  if (lock !== null) await new OwnedDirectory(path, lock).remove();
}

/** Null when another process holds the lock, or the folder has just gone. @throws any other error of SQLite */
function tryLock(folder: string): Disposable | null {
  try {
    return lockFile(join(folder, lockName));
  } catch (error) {
    if ((error as { readonly errcode?: number }).errcode === sqliteCannotOpen) return null;
    throw error;
  }
}

const sqliteCannotOpen = 14;
