/** Knows how new files come to be on disk, name and all: those of one folder together. */
import { closeSync, constants, fsync, openSync } from 'node:fs';
import { SharedWork } from './shared-work.ts';

/** What is asked for at once costs the folder one flush; files are flushed beside each other. */
export class FileFlushes {
  /** Open files by their folder, for its next flush. */
  readonly #waiting = new Map<string, number[]>();
  readonly #runs = new SharedWork((folder) => this.#run(folder));

  /**
   * Closes the file; content and name are on disk once it returns.
   *
   * @throws what the system says, also where another file of the folder could not be flushed beside it
   */
  flush(file: number, folder: string): Promise<void> {
    const files = this.#waiting.get(folder);
    if (files === undefined) this.#waiting.set(folder, [file]);
    else files.push(file);
    return this.#runs.ask(folder);
  }

  /** Names that were given and taken before are on disk once it returns. */
  flushFolder(folder: string): Promise<void> {
    return this.#runs.ask(folder);
  }

  async #run(folder: string): Promise<void> {
    const files = this.#waiting.get(folder) ?? [];
    this.#waiting.delete(folder);
    // Each to its end: a file is closed when nothing is under way with it.
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
