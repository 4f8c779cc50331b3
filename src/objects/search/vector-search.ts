/** Searches a vector store: embeds the queries with the store's model and returns the nearest texts. */
import {
  type HybridWeights,
  matchesFilter,
  VectorStoreSearch,
} from '../../model/objects/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as files from '../../store/objects/files.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import type * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import { EmbeddingError, embed } from '../ingestion/embeddings.ts';
import { readParams } from '../object-params.ts';
import { ObjectError, type ObjectRequest, type ObjectResponse } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { TextMatch, TextQuery } from '../store-search.ts';
import { loadEmbeddings } from './embedding-reads.ts';
import type { EngineRanking } from './engine-ranking.ts';
import { bestRows, type NearestRow } from './nearest.ts';
import type { Scan, Scans } from './scans.ts';
import type { ScannableFile, StoreContents } from './store-contents.ts';
import { fuseRankings, rankByWords, rankingSize } from './word-ranking.ts';

export interface VectorSearchOptions {
  readonly database: Pick<Database, 'db'>;
  readonly contents: StoreContents;
  readonly scans: Scans;
  readonly ranking: EngineRanking;
}

export class VectorSearch {
  readonly #options: VectorSearchOptions;

  constructor(options: VectorSearchOptions) {
    this.#options = options;
  }

  /** @throws ObjectError */
  async respond(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectResponse> {
    const params = readParams(VectorStoreSearch, request.params);
    const { owner, models, now } = request;
    const { query, filters = null, max_num_results: limit, ranking_options: ranking } = params;
    const queries = typeof query === 'string' ? [query] : query;
    const scoreMin = ranking?.score_threshold ?? 0;
    const hybrid = ranking?.hybrid_search;
    const matches = await this.search(store, owner, {
      queries,
      filters,
      limit,
      scoreMin,
      models,
      now,
      ...(hybrid == null ? {} : { hybrid }),
    }).catch(rejectQuery);
    const data = matches.map(({ fileId, text, ...match }) => ({
      file_id: fileId,
      ...match,
      content: [{ type: 'text', text }],
    }));
    return {
      body: {
        object: 'vector_store.search_results.page',
        search_query: queries,
        data,
        has_more: false,
        next_page: null,
      },
    };
  }

  /**
   * Returns the matching texts, best first.
   *
   * @throws EmbeddingError or ObjectError
   */
  async search(store: StoredVectorStore, owner: Owner, query: TextQuery): Promise<TextMatch[]> {
    const { filters } = query;
    const all = await this.#options.contents.of(this.#options.database.db, store);
    const searched =
      filters === null ? all : all.filter(({ attributes }) => matchesFilter(attributes, filters));
    const nearest = searched.length === 0 ? [] : await this.#nearest(store, searched, query);
    return this.#matches(storeKey(store), searched, nearest, { owner, now: query.now });
  }

  /** Returns the nearest chunks over all queries, best first; a chunk has the score of its nearest query. */
  async #nearest(
    store: StoredVectorStore,
    searched: readonly ScannableFile[],
    { queries, limit, scoreMin, models, hybrid }: TextQuery,
  ): Promise<NearestRow[]> {
    const vectors = await embed(models, store.embedding_model, queries);
    const [{ length: dimensions }] = vectors as [Float32Array];
    if (store.dimensions !== null && dimensions !== store.dimensions) {
      const message = `The model returns ${dimensions} dimensions, but the store has ${store.dimensions}`;
      throw new ObjectError('invalid_request', message, 'query');
    }
    const scan = { queries: vectors, limit, scoreMin, matrices: searched };
    const place = storeKey(store);
    const results =
      hybrid === undefined
        ? await this.#scan(place, scan)
        : await this.#rankFused(place, scan, queries, hybrid);
    const byChunk = new Map<string, NearestRow>();
    for (const nearest of results.flat()) {
      const key = `${nearest.matrix}/${nearest.row}`;
      if ((byChunk.get(key)?.score ?? -1) < nearest.score) byChunk.set(key, nearest);
    }
    return bestRows([...byChunk.values()], limit);
  }

  /** Combines embeddings and words. The score limit applies to the combined score only. */
  async #rankFused(
    place: storeFiles.StoreKey,
    scan: Scan<ScannableFile>,
    questions: readonly string[],
    weights: HybridWeights,
  ): Promise<readonly (readonly NearestRow[])[]> {
    const { db } = this.#options.database;
    const byMeaning = await this.#scan(place, { ...scan, limit: rankingSize, scoreMin: -1 });
    const results: (readonly NearestRow[])[] = [];
    for (const [at, question] of questions.entries()) {
      const byWords =
        weights.text_weight === 0 ? [] : await rankByWords(db, place, scan.matrices, question);
      const combined = fuseRankings(byMeaning[at]!, byWords, weights);
      results.push(combined.filter(({ score }) => score >= scan.scoreMin));
    }
    return results;
  }

  /** Searches in memory, unless the embeddings do not fit and the database can rank them. */
  async #scan(
    place: storeFiles.StoreKey,
    scan: Scan<ScannableFile>,
  ): Promise<readonly (readonly NearestRow[])[]> {
    const { database, scans, ranking } = this.#options;
    const bytes = scan.matrices.reduce((sum, matrix) => sum + matrix.bytes, 0);
    const ranked = scans.fits(bytes) ? null : await ranking.rank(place, scan);
    return ranked ?? scans.scan(scan, (matrices) => loadEmbeddings(database.db, place, matrices));
  }

  /** Reads the texts of the nearest chunks; drops those deleted during the search. */
  async #matches(
    place: storeFiles.StoreKey,
    searched: readonly ScannableFile[],
    nearest: readonly NearestRow[],
    { owner, now }: { readonly owner: Owner; readonly now: number },
  ): Promise<TextMatch[]> {
    const { db } = this.#options.database;
    const chunks = nearest.map(({ matrix, row, score }) => ({
      fileId: searched[matrix]!.id,
      number: row,
      score,
      attributes: searched[matrix]!.attributes,
    }));
    const texts = await vectorChunks.listTexts(db, place, chunks);
    const names = await files.listNames(
      db,
      owner,
      [...new Set(chunks.map(({ fileId }) => fileId))],
      now,
    );
    return chunks.flatMap(({ fileId, number, score, attributes }) => {
      const text = texts.find((row) => row.file_id === fileId && row.number === number);
      if (text === undefined) return [];
      const filename = names.get(fileId) ?? '';
      return [{ fileId, filename, score: Math.min(1, score), attributes, text: text.content }];
    });
  }
}

function storeKey({ organisation_id, id }: StoredVectorStore): storeFiles.StoreKey {
  return { organisationId: organisation_id, vectorStoreId: id };
}

function rejectQuery(error: unknown): never {
  if (!(error instanceof EmbeddingError)) throw error;
  throw new ObjectError('invalid_request', error.message, 'query');
}
