/** Knows where files are read: in a thread that is ended when one takes too long or too much memory. */
import { Worker } from 'node:worker_threads';
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

interface Waiting {
  readonly reading: Reading;
  readonly resolve: (end: ReadingEnd) => void;
  readonly reject: (error: Error) => void;
}

/** A usual file of the largest size takes a tenth of that. */
const readingMsMax = 60_000;
const threadMemory = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 64 };

/** Dispose of it when nobody reads any more; who still waits is told by an error. */
export class Readings implements Disposable {
  #worker: Worker | null = null;
  #running: Waiting | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #waiting: Waiting[] = [];

  /** Takes the content over: it is gone here afterwards. */
  read(reading: Reading): Promise<ReadingEnd> {
    const { promise, resolve, reject } = Promise.withResolvers<ReadingEnd>();
    this.#waiting.push({ reading, resolve, reject });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#running !== null) return;
    this.#running = this.#waiting.shift() ?? null;
    // A thread that has nothing to do keeps no process alive.
    if (this.#running === null) {
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    const { reading } = this.#running;
    this.#worker.postMessage(reading, [reading.content.buffer]);
    this.#timer = setTimeout(() => this.#giveUp('took too long'), readingMsMax);
  }

  #start(): Worker {
    const isSource = import.meta.url.endsWith('.ts');
    const body = isSource ? './reading-thread.ts' : '../reading-thread.js';
    const worker = new Worker(new URL(body, import.meta.url), { resourceLimits: threadMemory });
    worker.on('message', (end: ReadingEnd) => {
      if (worker !== this.#worker) return;
      this.#end()?.resolve(end);
      this.#next();
    });
    worker.on('error', () => {
      if (worker === this.#worker) this.#giveUp('took too much memory');
    });
    return worker;
  }

  /** The thread is beyond help, and so is the file; the next one gets another. */
  #giveUp(reason: string): void {
    const message = `To read the file ${reason}`;
    this.#leaveThread()?.resolve({ kind: 'failed', code: 'invalid_file', message });
    this.#next();
  }

  #leaveThread(): Waiting | null {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
    return this.#end();
  }

  #end(): Waiting | null {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const ended = this.#running;
    this.#running = null;
    return ended;
  }

  [Symbol.dispose](): void {
    const running = this.#leaveThread();
    for (const { reject } of [...(running === null ? [] : [running]), ...this.#waiting.splice(0)]) {
      reject(new Error('the gateway ends'));
    }
  }
}
