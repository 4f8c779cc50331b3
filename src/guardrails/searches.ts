/** Knows where texts are searched: short ones at once, long ones in a thread that is ended when a search takes too long. */
import { TaskLost, TaskThread } from '../task-thread.ts';
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

/** What becomes of a task in the thread. */
export type SearchEnd =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly reason: string };

/** The dearest pattern that is accepted takes some 40 ms for so many. */
const shortCharactersMax = 2_000;
/** Of one search from when the thread has it; a usual pattern takes less than 200 ms for a MiB. */
const searchMsMax = 2_000;
const waitingMax = 1_000;
const memory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };
const isSource = import.meta.url.endsWith('.ts');
const body = new URL(isSource ? './search-thread.ts' : '../search-thread.js', import.meta.url);

/** Dispose of it when nobody asks any more; who still waits is told that it was not judged. */
export class Searches implements Disposable {
  readonly #thread = new TaskThread<SearchTask, SearchEnd>({
    ...{ body, memory, taskMsMax: searchMsMax },
  });

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

  async #ask<T>(task: SearchTask): Promise<T> {
    if (this.#thread.waiting >= waitingMax) {
      throw new CheckError('too many searches are waiting');
    }
    const end = await this.#thread.run(task).catch(unjudged);
    if (end.kind === 'failed') throw new CheckError(end.reason);
    return end.value as T;
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}

/** @throws CheckError in place of the one that a task was lost by */
function unjudged(error: unknown): never {
  if (!(error instanceof TaskLost)) throw error;
  switch (error.reason) {
    case 'late':
      throw new CheckError(`it took longer than ${searchMsMax} ms`);
    case 'broken':
      throw new CheckError(`the search failed: ${(error.cause as Error).message}`);
    case 'closed':
      throw new CheckError('the gateway ends');
  }
}

function isShort(text: string): boolean {
  return text.length <= shortCharactersMax;
}
