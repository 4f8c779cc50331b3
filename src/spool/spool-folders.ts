/** The folder of this process below that of all spools, and the folders that it took over from dead processes. */
import { access, constants, readdir } from 'node:fs/promises';
import { createOwned, type OwnedDirectory, takeOverDead } from './owned-directory.ts';

export class SpoolFolders {
  readonly #parent: string;
  /** Returns whether a folder contains anything to deliver. */
  readonly #adopt: (directory: string) => Promise<boolean>;
  #own: OwnedDirectory | null = null;
  readonly #adopted = new Map<string, OwnedDirectory>();
  /** Whether what dead processes have left was taken over at least once. */
  isSearched = false;

  constructor(parent: string, adopt: (directory: string) => Promise<boolean>) {
    this.#parent = parent;
    this.#adopt = adopt;
  }

  /** Null until it is open. */
  get ownPath(): string | null {
    return this.#own?.path ?? null;
  }

  /** Creates the folder of this process; again, and returns true, when somebody has removed it. */
  async open(): Promise<boolean> {
    await readdir(this.#parent);
    await access(this.#parent, constants.W_OK | constants.X_OK);
    const removed = this.#own;
    if (removed !== null && (await exists(removed.path))) return false;
    this.#own = await createOwned(this.#parent);
    removed?.release();
    return removed !== null;
  }

  /** Returns whether it was the first time. */
  async takeOver(): Promise<boolean> {
    const known = new Set([this.#own!.path, ...this.#adopted.keys()]);
    for (const dead of await takeOverDead(this.#parent, known)) {
      this.#adopted.set(dead.path, dead);
      if (!(await this.#adopt(dead.path))) await this.removeAdopted(dead.path);
    }
    const isFirst = !this.isSearched;
    this.isSearched = true;
    return isFirst;
  }

  /** Does nothing for a folder with files that this build does not know. */
  async removeAdopted(directory: string): Promise<void> {
    if (await this.#adopted.get(directory)?.remove()) this.#adopted.delete(directory);
  }

  /** Leaves what is not delivered to other processes. */
  async close(): Promise<void> {
    const owned = this.#own;
    this.#own = null;
    for (const one of [owned, ...this.#adopted.values()]) {
      if (one !== null && !(await one.remove())) one.release();
    }
    this.#adopted.clear();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
