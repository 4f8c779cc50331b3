/** Flushes new files and their folder to disk, sharing folder flushes among concurrent files. */
import { closeSync, constants, fsync, openSync } from 'node:fs';
import { SharedWork } from './shared-work.ts';

/** Concurrent requests cost a folder one flush; files are flushed in parallel. */
export class FileFlushes {
  /** Open files by folder, for the next flush of the folder. */
  readonly #waiting = new Map<string, number[]>();
  readonly #runs = new SharedWork((folder) => this.#run(folder));

  /**
   * Closes the file; content and name are on disk when this resolves.
   *
   * @throws the system error, also when another file of the folder failed to flush
   */
  flush(file: number, folder: string): Promise<void> {
    const files = this.#waiting.get(folder);
    if (files === undefined) this.#waiting.set(folder, [file]);
    else files.push(file);
    return this.#runs.run(folder);
  }

  /** Directory changes made before are on disk when this resolves. */
  flushFolder(folder: string): Promise<void> {
    return this.#runs.run(folder);
  }

  async #run(folder: string): Promise<void> {
    const files = this.#waiting.get(folder) ?? [];
    this.#waiting.delete(folder);
    // Waits for every file, so that none is closed while in use.
    const outcomes = await Promise.allSettled(files.map(flushAndClose));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    await flushAndClose(openSync(folder, constants.O_RDONLY));
  }
}

async function flushAndClose(file: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  fsync(file, (error) => (error === null ? resolve() : reject(error)));
  try {
    await promise;
  } finally {
    closeSync(file);
  }
}
