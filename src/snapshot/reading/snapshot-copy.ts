/** Copies the snapshot of a process into its folder, for its next start. */
import { type HeldObject, type LiveSnapshot, snapshotContents } from './live-snapshot.ts';
import { type FiledSnapshot, SnapshotFiles } from './snapshot-files.ts';
import { SnapshotFolder } from './snapshot-folder.ts';

export interface LoadedCopy extends FiledSnapshot {
  /** Whether the copy was the newest snapshot at the last contact of the process that wrote it. */
  readonly wasCurrent: boolean;
}

export interface SnapshotCopy {
  /** Null when there is no copy. @throws SnapshotRefused for one that is damaged */
  load(): Promise<LoadedCopy | null>;
  /** `changed` null compares everything. False when another process writes the copy. */
  save(live: LiveSnapshot, changed: Iterable<HeldObject> | null): Promise<boolean>;
  /** Records whether the copy is the newest snapshot as far as this process knows. */
  setCurrent(isCurrent: boolean): Promise<void>;
}

/** Its absence says that newer changes exist, because a full disk lets files be deleted, not written. */
const currentName = 'current';

/** A copy in a folder; processes that share it read the same files, and one of them writes. */
export class FolderCopy implements SnapshotCopy, Disposable {
  readonly #folder: SnapshotFolder;
  readonly #files: SnapshotFiles;
  #isOpen = false;
  #isCurrent: boolean | null = null;

  constructor(path: string) {
    this.#folder = new SnapshotFolder(path);
    this.#files = new SnapshotFiles(this.#folder);
  }

  async load(): Promise<LoadedCopy | null> {
    await this.#open();
    const found = await this.#files.load();
    if (found === null) return null;
    const wasCurrent = (await this.#folder.read(currentName)) !== null;
    await this.#folder.deleteOthers(this.#files.packNames);
    return { ...found, wasCurrent };
  }

  async save(live: LiveSnapshot, changed: Iterable<HeldObject> | null): Promise<boolean> {
    await this.#open();
    if (!this.#folder.canWrite()) return false;
    await this.#files.save(snapshotContents(live), changed);
    return true;
  }

  async setCurrent(isCurrent: boolean): Promise<void> {
    if (this.#isCurrent === isCurrent || !this.#folder.canWrite()) return;
    this.#isCurrent = null;
    if (isCurrent) await this.#folder.write(currentName, Buffer.alloc(0));
    else await this.#folder.delete(currentName);
    this.#isCurrent = isCurrent;
  }

  async #open(): Promise<void> {
    if (this.#isOpen) return;
    await this.#folder.open();
    this.#isOpen = true;
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}
