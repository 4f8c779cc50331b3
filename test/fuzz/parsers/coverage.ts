/** Reads which blocks of the sources have run, from the coverage counters of V8. */
import { Session } from 'node:inspector';

interface BlockRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface CoverageResult {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly BlockRange[] }[];
  }[];
}

/** Takes coverage since the last call; costs about a millisecond, so callers take it once for many runs. */
export class CoverageProbe implements Disposable {
  readonly #session = new Session();
  readonly #sources: RegExp;
  readonly #seen = new Set<string>();

  /** `sources` selects the URLs of modules whose blocks count. */
  constructor(sources: RegExp) {
    this.#sources = sources;
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Number of different blocks that have run. */
  get blocks(): number {
    return this.#seen.size;
  }

  /** Returns the blocks that ran since the last call and never before. */
  takeNew(): string[] {
    const found: string[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error;
      for (const { url, functions } of (taken as CoverageResult).result) {
        if (!this.#sources.test(url)) continue;
        for (const { ranges } of functions) {
          for (const { startOffset, endOffset, count } of ranges) {
            const block = `${url}:${startOffset}-${endOffset}`;
            if (count > 0 && !this.#seen.has(block)) found.push(block);
          }
        }
      }
    });
    return found;
  }

  remember(blocks: readonly string[]): void {
    for (const block of blocks) this.#seen.add(block);
  }

  [Symbol.dispose](): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}
