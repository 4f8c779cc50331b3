/** Caches values read from the database while their generation is current; concurrent reads share one query. */
import type { Generations } from './generations.ts';

/** A value with its organisation and the generation in which it was read. */
export interface SnapshotEntry<T> {
  readonly organisationId: string;
  readonly generation: string;
  readonly value: T;
}

export interface SnapshotCacheOptions {
  readonly entriesMax: number;
  /** Whether an error means that the database is unreachable. */
  readonly isUnavailable: (error: unknown) => boolean;
}

/** Evicts the entries that were read least recently from the database. */
export class SnapshotCache<T> {
  readonly #generations: Generations;
  readonly #options: SnapshotCacheOptions;
  readonly #entries = new Map<string, SnapshotEntry<T>>();
  readonly #loading = new Map<string, Promise<T | undefined>>();

  constructor(generations: Generations, options: SnapshotCacheOptions) {
    this.#generations = generations;
    this.#options = options;
  }

  /** Returns the value if it is current; undefined when the database must be queried. */
  peek(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#isCurrent(entry) ? entry.value : undefined;
  }

  /**
   * Reads the value with `load`; concurrent calls share the read. While the database is unreachable, the last
   * value is returned within the grace period, unless a newer snapshot lacks it. Missing values are not cached.
   *
   * @throws what `load` throws when no cached value replaces it
   */
  get(key: string, load: () => Promise<SnapshotEntry<T> | undefined>): Promise<T | undefined> {
    const running = this.#loading.get(key);
    if (running !== undefined) return running;
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
      const mayStandIn = last !== undefined && this.#mayStandIn(last);
      if (mayStandIn && this.#options.isUnavailable(error)) return last.value;
      throw error;
    }
  }

  /** A snapshot that lacks the value is right when it is newer than the value: a revoked key must not go on. */
  #mayStandIn({ organisationId, generation }: SnapshotEntry<T>): boolean {
    return (
      this.#generations.isWithinGrace() && !this.#generations.isReplaced(organisationId, generation)
    );
  }

  #isCurrent({ organisationId, generation }: SnapshotEntry<T>): boolean {
    return this.#generations.isValid(organisationId, generation);
  }
}
