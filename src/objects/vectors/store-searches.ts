/** Knows how several vector stores of one owner are searched together, for what is not a request about one of them. */
import type { Database } from '../../store/connection/db.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';
import { ObjectError } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { FoundText, StoreSearch, StoreSearchFailure, TextsAsked } from '../store-search.ts';
import { EmbeddingError } from '../ingestion/embeddings.ts';
import { isExpired, noteUse } from './store-use.ts';
import type { VectorSearch } from '../search/vector-search.ts';

export class StoreSearches implements StoreSearch {
  readonly #database: Pick<Database, 'db'>;
  readonly #search: VectorSearch;

  constructor(database: Pick<Database, 'db'>, search: VectorSearch) {
    this.#database = database;
    this.#search = search;
  }

  async search(
    owner: Owner,
    vectorStoreIds: readonly string[],
    asked: TextsAsked,
  ): Promise<readonly FoundText[] | StoreSearchFailure> {
    const found: FoundText[] = [];
    for (const id of vectorStoreIds) {
      const store = await vectorStores.find(this.#database.db, owner, id);
      if (store === undefined || isExpired(store, asked.now)) {
        return { status: null, message: `The vector store ${id} is no longer there` };
      }
      await noteUse(this.#database.db, store, asked.now);
      const texts = await this.#search.search(store, owner, asked).catch(failureOf);
      if ('message' in texts) return texts;
      found.push(...texts);
    }
    return found.sort((a, b) => b.score - a.score).slice(0, asked.limit);
  }

  async listSearchable(
    owner: Owner,
    vectorStoreIds: readonly string[],
    now: number,
  ): Promise<readonly string[]> {
    const rows = await Promise.all(
      vectorStoreIds.map((id) => vectorStores.find(this.#database.db, owner, id)),
    );
    return rows.flatMap((row) => (row === undefined || isExpired(row, now) ? [] : [row.id]));
  }
}

function failureOf(error: unknown): StoreSearchFailure {
  if (error instanceof EmbeddingError) return { status: error.status, message: error.message };
  if (error instanceof ObjectError) return { status: null, message: error.message };
  throw error;
}
