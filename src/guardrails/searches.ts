/** Knows where texts are searched: short ones at once, long ones in a thread that is ended when a search takes too long. */
import { Worker } from 'node:worker_threads';
import { CheckError } from './check.ts';
import { isFound, keysIn, replaced } from './search.ts';

export type SearchTask =
  | {
      readonly kind: 'find';
      readonly pattern: string;
      readonly flags: string;
      readonly text: string;
    }
  | {
      readonly kind: 'replace';
      readonly pattern: string;
      readonly flags: string;
      readonly text: string;
      readonly by: string;
    }
  | { readonly kind: 'keys'; readonly text: string; readonly keys: readonly string[] }
  | { readonly kind: 'schema'; readonly text: string; readonly schema: string };

/** Of the JSON in a text; `none` where there is no JSON. */
export type Validity = 'valid' | 'invalid' | 'none';

/** What the thread tells of the task that it has. */
export type SearchNews =
  | { readonly kind: 'begun' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly reason: string };

interface Waiting {
  readonly task: SearchTask;
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** The dearest pattern that is accepted takes some 40 ms for so many. */
const shortCharactersMax = 2_000;
/** Of one search from when the thread has it; a usual pattern takes less than 200 ms for a MiB. */
const searchMsMax = 2_000;
const waitingMax = 1_000;

/** Dispose of it when nobody asks any more; who still waits is told that it was not judged. */
export class Searches implements Disposable {
  #worker: Worker | null = null;
  #running: Waiting | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #waiting: Waiting[] = [];

  find(pattern: string, flags: string, text: string): boolean | Promise<boolean> {
    if (isShort(text)) return isFound(pattern, flags, text);
    return this.#ask({ kind: 'find', pattern, flags, text });
  }

  replace(pattern: string, flags: string, text: string, by: string): string | Promise<string> {
    if (isShort(text)) return replaced(pattern, flags, text, by);
    return this.#ask({ kind: 'replace', pattern, flags, text, by });
  }

  /** For each JSON object in the text, which of the keys it has. */
  keysIn(text: string, keys: readonly string[]): boolean[][] | Promise<boolean[][]> {
    if (isShort(text)) return keysIn(text, keys);
    return this.#ask({ kind: 'keys', text, keys });
  }

  /** Always in the thread: what it takes to make a schema ready is told by no length. */
  validityIn(text: string, schema: string): Promise<Validity> {
    return this.#ask({ kind: 'schema', text, schema });
  }

  #ask<T>(task: SearchTask): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(new CheckError('too many searches are waiting'));
    }
    this.#waiting.push({ task, resolve, reject });
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
    this.#worker.postMessage(this.#running.task);
  }

  #startClock(): void {
    this.#timer = setTimeout(() => {
      this.#fail(new CheckError(`it took longer than ${searchMsMax} ms`));
    }, searchMsMax);
  }

  #start(): Worker {
    const isSource = import.meta.url.endsWith('.ts');
    const body = isSource ? './search-thread.ts' : '../search-thread.js';
    const worker = new Worker(new URL(body, import.meta.url), { resourceLimits: threadMemory });
    worker.on('message', (told: SearchNews) => {
      if (worker !== this.#worker) return;
      if (told.kind === 'begun') this.#startClock();
      else this.#settle(told);
    });
    worker.on('error', (error) => {
      if (worker === this.#worker)
        this.#fail(new CheckError(`the search failed: ${error.message}`));
    });
    return worker;
  }

  #settle(told: SearchNews): void {
    const { resolve, reject } = this.#end();
    if (told.kind === 'done') resolve(told.value as never);
    else if (told.kind === 'failed') reject(new CheckError(told.reason));
    this.#next();
  }

  #end(): Waiting {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const ended = this.#running!;
    this.#running = null;
    return ended;
  }

  /** The thread is beyond help; the next search gets another. */
  #fail(error: Error): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
    if (this.#running !== null) this.#end().reject(error);
    this.#next();
  }

  [Symbol.dispose](): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new CheckError('the gateway ends'));
    this.#fail(new CheckError('the gateway ends'));
  }
}

const threadMemory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

function isShort(text: string): boolean {
  return text.length <= shortCharactersMax;
}
