/** Owns a folder of one process by a lock that ends with the process, and takes over folders of dead ones. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const lockName = 'owner';
const ownedName = /^[0-9a-f]{16}$/;
const unfinishedPrefix = 'new-';
/** A younger folder may belong to a process that is starting. */
const unfinishedMsMin = 60_000;

/**
 * A folder that only this process writes. The lock is one of the operating system on the file `owner`,
 * taken by SQLite because Node has no function for it: it ends when the process dies, however it dies,
 * and it holds among containers that share a volume.
 */
export class OwnedDirectory {
  readonly path: string;
  #lock: DatabaseSync | null;
  #removing: Promise<boolean> | null = null;

  constructor(path: string, lock: DatabaseSync) {
    this.path = path;
    this.#lock = lock;
  }

  /** Gives the folder up; with its files, another process may take it over. */
  release(): void {
    this.#lock?.close();
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
function tryLock(folder: string): DatabaseSync | null {
  let lock: DatabaseSync | null = null;
  try {
    lock = new DatabaseSync(join(folder, lockName));
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const { errcode } = error as { readonly errcode?: number };
    if (errcode === sqliteBusy || errcode === sqliteCannotOpen) return null;
    throw error;
  }
}

const sqliteBusy = 5;
const sqliteCannotOpen = 14;

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
