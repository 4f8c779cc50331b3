/** Runs searches: in short texts directly, in long ones in a worker thread with a time limit. */
import { TaskLost, TaskThread, threadModule } from '../task-thread.ts';
import { CheckError } from './check.ts';
import { hasMatch, keysIn, type MatchRange, matchRanges, replaceMatches } from './search.ts';

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
  | {
      readonly kind: 'ranges';
      readonly pattern: string;
      readonly flags: string;
      readonly text: string;
    }
  | { readonly kind: 'keys'; readonly text: string; readonly keys: readonly string[] }
  | { readonly kind: 'schema'; readonly text: string; readonly schema: string }
  | { readonly kind: 'language'; readonly text: string };

/** Validity of the JSON in a text; `none` without JSON. */
export type Validity = 'valid' | 'invalid' | 'none';

/** Result of a task in the worker thread. */
export type SearchResult =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly reason: string };

/** The most expensive accepted pattern takes about 40 ms for this many characters. */
const shortCharactersMax = 2_000;
/** Time limit of one search in the thread; a typical pattern takes less than 200 ms per MiB. */
const searchMsMax = 2_000;
const waitingMax = 1_000;
const memory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

/** Disposal rejects the searches that are still waiting. */
export class Searches implements Disposable {
  readonly #thread = new TaskThread<SearchTask, SearchResult>({
    body: threadModule('search-thread', import.meta.url),
    memory,
    taskMsMax: searchMsMax,
  });

  find(pattern: string, flags: string, text: string): boolean | Promise<boolean> {
    if (isShort(text)) return hasMatch(pattern, flags, text);
    return this.#run({ kind: 'find', pattern, flags, text });
  }

  replace(pattern: string, flags: string, text: string, by: string): string | Promise<string> {
    if (isShort(text)) return replaceMatches(pattern, flags, text, by);
    return this.#run({ kind: 'replace', pattern, flags, text, by });
  }

  /** The ranges of all matches; null when a match is empty. */
  ranges(
    pattern: string,
    flags: string,
    text: string,
  ): MatchRange[] | null | Promise<MatchRange[] | null> {
    if (isShort(text)) return matchRanges(pattern, flags, text);
    return this.#run({ kind: 'ranges', pattern, flags, text });
  }

  /** For each JSON object in the text, which of the keys it has. */
  keysIn(text: string, keys: readonly string[]): boolean[][] | Promise<boolean[][]> {
    if (isShort(text)) return keysIn(text, keys);
    return this.#run({ kind: 'keys', text, keys });
  }

  /** Always runs in the thread, because the cost of compiling a schema does not depend on its length. */
  validityIn(text: string, schema: string): Promise<Validity> {
    return this.#run({ kind: 'schema', text, schema });
  }

  /** The label of the most probable language; always runs in the thread, which loads a model for it. */
  languageOf(text: string): Promise<string | null> {
    return this.#run({ kind: 'language', text });
  }

  async #run<T>(task: SearchTask): Promise<T> {
    if (this.#thread.waiting >= waitingMax) {
      throw new CheckError('too many searches are waiting');
    }
    const end = await this.#thread.run(task).catch(throwCheckError);
    if (end.kind === 'failed') throw new CheckError(end.reason);
    return end.value as T;
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}

/** @throws CheckError for a lost task, and the error itself otherwise */
function throwCheckError(error: unknown): never {
  if (!(error instanceof TaskLost)) throw error;
  switch (error.reason) {
    case 'late':
      throw new CheckError(`the search took longer than ${searchMsMax} ms`);
    case 'broken':
      throw new CheckError(`the search failed: ${(error.cause as Error).message}`);
    case 'closed':
      throw new CheckError('the gateway is shutting down');
  }
}

function isShort(text: string): boolean {
  return text.length <= shortCharactersMax;
}
