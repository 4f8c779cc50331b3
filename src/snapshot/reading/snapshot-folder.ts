/** Keeps the files of a snapshot in a folder that one process writes. */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFaults, partSuffix, replaceFile } from '../../durable-files.ts';
import { isNotLockFile, lockFile } from '../../file-lock.ts';
import type { FileStore } from './snapshot-files.ts';

/** The message is for operators. */
export class SnapshotFolderUnusable extends Error {
  override name = 'SnapshotFolderUnusable';
}

const lockName = 'lock';

export class SnapshotFolder implements FileStore {
  readonly description: string;
  readonly #path: string;
  #lock: Disposable | null = null;

  constructor(path: string) {
    this.#path = path;
    this.description = `the folder ${path}`;
  }

  /** Creates the folder if missing, and removes what an interrupted write has left. */
  async open(): Promise<void> {
    await this.#explained(mkdir(this.#path, { recursive: true, mode: 0o700 }));
    // A folder that can only be read is still loaded.
    if (!this.#triesLock()) return;
    const names = await this.#explained(readdir(this.#path));
    for (const name of names) {
      if (name.endsWith(partSuffix)) await rm(join(this.#path, name), { force: true });
    }
  }

  /** Deletes packs that are not among the names: an interrupted save has left them. */
  async deleteOthers(names: ReadonlySet<string>): Promise<void> {
    if (!this.#triesLock()) return;
    for (const name of await this.#explained(readdir(this.#path))) {
      if (name.startsWith('pack-') && !names.has(name)) {
        await rm(join(this.#path, name), { force: true });
      }
    }
  }

  /** False while another process writes the folder; the lock ends with that process. */
  canWrite(): boolean {
    return this.#takeLock();
  }

  async read(name: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.#path, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw this.#explain(error);
    }
  }

  async write(name: string, bytes: Buffer): Promise<void> {
    await this.#explained(replaceFile(join(this.#path, name), bytes));
  }

  async delete(name: string): Promise<void> {
    await this.#explained(rm(join(this.#path, name), { force: true }));
  }

  [Symbol.dispose](): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = null;
  }

  #triesLock(): boolean {
    try {
      return this.#takeLock();
    } catch {
      return false;
    }
  }

  #takeLock(): boolean {
    if (this.#lock !== null) return true;
    const path = join(this.#path, lockName);
    try {
      this.#lock = lockFile(path);
    } catch (error) {
      if (!isNotLockFile(error)) throw this.#explain(error);
      throw new SnapshotFolderUnusable(
        `${path} is not a lock file of gatewright: set GATEWRIGHT_SNAPSHOT_DIRECTORY to a folder of its own`,
        { cause: error },
      );
    }
    return this.#lock !== null;
  }

  async #explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw this.#explain(error);
    }
  }

  #explain(cause: unknown): SnapshotFolderUnusable {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = reasons[String(code)] ?? code ?? message;
    return new SnapshotFolderUnusable(
      `The folder for the snapshot, ${this.#path} (GATEWRIGHT_SNAPSHOT_DIRECTORY), cannot be used: ${reason}`,
      { cause },
    );
  }
}

const reasons: Readonly<Record<string, string>> = {
  ...diskFaults,
  ENOTDIR: 'it is no folder',
  EEXIST: 'it is no folder',
  EIO: 'its disk fails',
};
