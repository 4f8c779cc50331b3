/** Extracts and splits texts of files in a worker thread with limits on time and memory. */
import { TaskLost, TaskThread, threadModule } from '../../task-thread.ts';
import { FairQueue } from './fair-queue.ts';
import type { ChunkSizes } from './text-chunks.ts';

export interface FileReadTask {
  readonly name: string;
  readonly content: Uint8Array<ArrayBuffer>;
  readonly sizes: ChunkSizes;
}

/** The chunks of a file, or the reason of the failure. */
export type FileReadResult =
  | { readonly kind: 'done'; readonly chunks: readonly string[] }
  | {
      readonly kind: 'failed';
      readonly code: 'unsupported_file' | 'invalid_file';
      readonly message: string;
    };

/** One file is being read while the next is loaded. */
const filesInMemoryMax = 2;
/** A typical file of the maximum size takes a tenth of this. */
const readMsMax = 60_000;
const memory = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 64 };

/** Disposal rejects the files that are still waiting. */
export class FileReadPool implements Disposable {
  readonly #thread = new TaskThread<FileReadTask, FileReadResult>({
    body: threadModule('reading-thread', import.meta.url),
    memory,
    taskMsMax: readMsMax,
  });

  readonly #turns = new FairQueue(filesInMemoryMax);

  /** Fetches the content when it is the owner's turn; owners are served in turn. */
  read(owner: string, fetch: () => Promise<FileReadTask>): Promise<FileReadResult> {
    return this.#turns.run(owner, async () => this.#read(await fetch()));
  }

  /** Transfers the content to the thread; it is no longer usable here. */
  async #read(reading: FileReadTask): Promise<FileReadResult> {
    try {
      return await this.#thread.run(reading, [reading.content.buffer]);
    } catch (error) {
      if (!(error instanceof TaskLost) || error.reason === 'closed') throw error;
      const why = error.reason === 'late' ? 'took too long' : 'took too much memory';
      return { kind: 'failed', code: 'invalid_file', message: `Reading the file ${why}` };
    }
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
