/** Knows where files are read: in a thread that is ended when one takes too long or too much memory. */
import { TaskLost, TaskThread } from '../../task-thread.ts';
import { FairTurns } from './fair-turns.ts';
import type { ChunkSizes } from './text-chunks.ts';

export interface Reading {
  readonly name: string;
  readonly content: Uint8Array<ArrayBuffer>;
  readonly sizes: ChunkSizes;
}

/** What became of a file. */
export type ReadingEnd =
  | { readonly kind: 'done'; readonly chunks: readonly string[] }
  | {
      readonly kind: 'failed';
      readonly code: 'unsupported_file' | 'invalid_file';
      readonly message: string;
    };

/** One that is read, and one that is at hand when it has been. */
const heldMax = 2;
/** A usual file of the largest size takes a tenth of that. */
const readingMsMax = 60_000;
const memory = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 64 };
const isSource = import.meta.url.endsWith('.ts');
const body = new URL(isSource ? './reading-thread.ts' : '../reading-thread.js', import.meta.url);

/** Dispose of it when nobody reads any more; who still waits is told by an error. */
export class Readings implements Disposable {
  readonly #thread = new TaskThread<Reading, ReadingEnd>({
    ...{ body, memory, taskMsMax: readingMsMax },
  });

  readonly #turns = new FairTurns(heldMax);

  /** Fetches the content when it is its turn; whose files are many waits behind whose are few. */
  read(whose: string, fetch: () => Promise<Reading>): Promise<ReadingEnd> {
    return this.#turns.take(whose, async () => this.#read(await fetch()));
  }

  /** Takes the content over: it is gone here afterwards. */
  async #read(reading: Reading): Promise<ReadingEnd> {
    try {
      return await this.#thread.run(reading, [reading.content.buffer]);
    } catch (error) {
      if (!(error instanceof TaskLost) || error.reason === 'closed') throw error;
      const why = error.reason === 'late' ? 'took too long' : 'took too much memory';
      return { kind: 'failed', code: 'invalid_file', message: `To read the file ${why}` };
    }
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
