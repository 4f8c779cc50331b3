/** Knows what was read of the database, and whether it still holds: one read for all who ask, none while nothing has changed. */
import type { Generations } from './generations.ts';

/** A value with the organisation it is of and the generation it was read in. */
export interface SnapshotEntry<T> {
  readonly organisationId: string;
  readonly generation: string;
  readonly value: T;
}

export interface SnapshotCacheOptions {
  readonly entriesMax: number;
  /** Whether an error means that the database cannot be asked now. */
  readonly isUnavailable: (error: unknown) => boolean;
}

/** Values by key, of which the least recently read go when there are too many. */
export class SnapshotCache<T> {
  readonly #generations: Generations;
  readonly #options: SnapshotCacheOptions;
  readonly #entries = new Map<string, SnapshotEntry<T>>();
  readonly #loading = new Map<string, Promise<T | undefined>>();

  constructor(generations: Generations, options: SnapshotCacheOptions) {
    this.#generations = generations;
    this.#options = options;
  }

  /** What is known and good without a word to the database; undefined where that has to be asked. */
  peek(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#isGood(entry) ? entry.value : undefined;
  }

  /**
   * The value, read anew where what is known may have changed; those who come meanwhile share the
   * read. While the database is away, what was known last is good within the grace. Nothing is kept of
   * a value that does not exist.
   *
   * @throws what `load` throws, where nothing stands in for it
   */
  get(key: string, load: () => Promise<SnapshotEntry<T> | undefined>): Promise<T | undefined> {
    const known = this.#loading.get(key);
    if (known !== undefined) return known;
    const loading = this.#load(key, load).finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }

  async #load(
    key: string,
    load: () => Promise<SnapshotEntry<T> | undefined>,
  ): Promise<T | undefined> {
    try {
      const read = await load();
      this.#entries.delete(key);
      if (read === undefined) return undefined;
      this.#generations.note(read.organisationId, read.generation);
      this.#entries.set(key, read);
      if (this.#entries.size > this.#options.entriesMax) {
        this.#entries.delete(this.#entries.keys().next().value!);
      }
      return read.value;
    } catch (error) {
      const last = this.#entries.get(key);
      const mayStandIn = last !== undefined && this.#generations.isWithinGrace();
      if (mayStandIn && this.#options.isUnavailable(error)) return last.value;
      throw error;
    }
  }

  #isGood({ organisationId, generation }: SnapshotEntry<T>): boolean {
    return (
      this.#generations.isCurrent(organisationId, generation) && this.#generations.isWithinGrace()
    );
  }
}
