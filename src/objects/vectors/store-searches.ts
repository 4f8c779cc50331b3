/** Searches several vector stores of one owner together, for runs and responses. */
import type { Database } from '../../store/connection/db.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';
import { EmbeddingError } from '../ingestion/embeddings.ts';
import { ObjectError } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { VectorSearch } from '../search/vector-search.ts';
import type { StoreSearch, StoreSearchFailure, TextMatch, TextQuery } from '../store-search.ts';
import { isExpired, recordUse } from './store-use.ts';

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
    query: TextQuery,
  ): Promise<readonly TextMatch[] | StoreSearchFailure> {
    const matches: TextMatch[] = [];
    for (const id of vectorStoreIds) {
      const store = await vectorStores.find(this.#database.db, owner, id);
      if (store === undefined || isExpired(store, query.now)) {
        return { status: null, message: `The vector store ${id} no longer exists` };
      }
      await recordUse(this.#database.db, store, query.now);
      const texts = await this.#search.search(store, owner, query).catch(failureOf);
      if ('message' in texts) return texts;
      matches.push(...texts);
    }
    return matches.sort((a, b) => b.score - a.score).slice(0, query.limit);
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
