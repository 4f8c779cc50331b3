/** Knows how texts are looked for in the vector stores of an owner by what does not keep them itself. */
import type { Attributes, HybridWeights, SearchFilter } from '../model/objects/vector-store.ts';
import type { ModelCalls } from './model-calls.ts';
import type { Owner } from './owner.ts';

export interface TextsAsked {
  readonly queries: readonly string[];
  /** Of attributes of files; null for all files. */
  readonly filters: SearchFilter | null;
  /** Of texts. */
  readonly limit: number;
  /** From 0 to 1; texts below are left out. */
  readonly scoreMin: number;
  /** By what weights words count, too; absent where only meaning does. */
  readonly hybrid?: HybridWeights;
  /** By which the queries are embedded. */
  readonly models: ModelCalls;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface FoundText {
  readonly fileId: string;
  readonly filename: string;
  readonly score: number;
  readonly attributes: Attributes;
  readonly text: string;
}

export interface StoreSearchFailure {
  /** Of the answer of the model for embeddings; null where that is not what failed. */
  readonly status: number | null;
  readonly message: string;
}

export interface StoreSearch {
  /** Of all the stores together, the best first. */
  search(
    owner: Owner,
    vectorStoreIds: readonly string[],
    asked: TextsAsked,
  ): Promise<readonly FoundText[] | StoreSearchFailure>;
  /** Those of the ids that the gateway keeps for the owner, and that have not expired. */
  listSearchable(
    owner: Owner,
    vectorStoreIds: readonly string[],
    now: number,
  ): Promise<readonly string[]>;
}
