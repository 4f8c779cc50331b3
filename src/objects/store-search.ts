/** Interface for searching texts in the vector stores of an owner. */
import type { Attributes, HybridWeights, SearchFilter } from '../model/objects/vector-store.ts';
import type { ModelCalls } from './model-calls.ts';
import type { Owner } from './owner.ts';

export interface TextQuery {
  readonly queries: readonly string[];
  /** Filter on attributes of files; null for all files. */
  readonly filters: SearchFilter | null;
  /** Maximum number of texts. */
  readonly limit: number;
  /** From 0 to 1; texts with a lower score are dropped. */
  readonly scoreMin: number;
  /** Weights of words and embeddings; absent if only embeddings count. */
  readonly hybrid?: HybridWeights;
  /** Calls the model that embeds the queries. */
  readonly models: ModelCalls;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface TextMatch {
  readonly fileId: string;
  readonly filename: string;
  readonly score: number;
  readonly attributes: Attributes;
  readonly text: string;
}

export interface StoreSearchFailure {
  /** Status of the embedding model's response; null for another failure. */
  readonly status: number | null;
  readonly message: string;
}

export interface StoreSearch {
  /** Searches all the stores together; best results first. */
  search(
    owner: Owner,
    vectorStoreIds: readonly string[],
    query: TextQuery,
  ): Promise<readonly TextMatch[] | StoreSearchFailure>;
  /** Returns the ids of stores that the gateway stores for the owner and that have not expired. */
  listSearchable(
    owner: Owner,
    vectorStoreIds: readonly string[],
    now: number,
  ): Promise<readonly string[]>;
}
