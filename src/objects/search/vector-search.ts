/** Knows how a vector store is searched: the question is embedded as its texts were, and the nearest of them are told. */
import { fulfils, type HybridWeights, VectorStoreSearch } from '../../model/objects/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as files from '../../store/objects/files.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import type * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import { readParams } from '../object-params.ts';
import { type ObjectAnswer, ObjectError, type ObjectRequest } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { FoundText, TextsAsked } from '../store-search.ts';
import { readEmbeddings } from './embedding-reads.ts';
import { EmbeddingError, embed } from '../ingestion/embeddings.ts';
import type { EngineRanking } from './engine-ranking.ts';
import { best, type Nearest } from './nearest.ts';
import type { Scan, Scans } from './scans.ts';
import type { SearchedFile, StoreContents } from './store-contents.ts';
import { fused, rankByWords, rankedMax } from './word-ranking.ts';

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
  async answer(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectAnswer> {
    const params = readParams(VectorStoreSearch, request.params);
    const { owner, models, now } = request;
    const { query, filters = null, max_num_results: limit, ranking_options: ranking } = params;
    const queries = typeof query === 'string' ? [query] : query;
    const scoreMin = ranking?.score_threshold ?? 0;
    const hybrid = ranking?.hybrid_search;
    const found = await this.search(store, owner, {
      ...{ queries, filters, limit, scoreMin, models, now },
      ...(hybrid == null ? {} : { hybrid }),
    }).catch(refused);
    const data = found.map(({ fileId, text, ...told }) => ({
      ...{ file_id: fileId, ...told, content: [{ type: 'text', text }] },
    }));
    return {
      body: {
        ...{ object: 'vector_store.search_results.page', search_query: queries, data },
        ...{ has_more: false, next_page: null },
      },
    };
  }

  /**
   * Best first.
   *
   * @throws EmbeddingError or ObjectError
   */
  async search(store: StoredVectorStore, owner: Owner, asked: TextsAsked): Promise<FoundText[]> {
    const { filters } = asked;
    const all = await this.#options.contents.of(this.#options.database.db, store);
    const searched =
      filters === null ? all : all.filter(({ attributes }) => fulfils(attributes, filters));
    const nearest = searched.length === 0 ? [] : await this.#nearest(store, searched, asked);
    return this.#told(placeOf(store), searched, nearest, { owner, now: asked.now });
  }

  /** Of all the questions together, best first; a chunk counts by the question that it is nearest to. */
  async #nearest(
    store: StoredVectorStore,
    searched: readonly SearchedFile[],
    { queries, limit, scoreMin, models, hybrid }: TextsAsked,
  ): Promise<Nearest[]> {
    const vectors = await embed(models, store.embedding_model, queries);
    const [{ length: dimensions }] = vectors as [Float32Array];
    if (store.dimensions !== null && dimensions !== store.dimensions) {
      const message = `The model gives ${dimensions} numbers, but the store holds ${store.dimensions}`;
      throw new ObjectError('invalid_request', message, 'query');
    }
    const scan = { queries: vectors, limit, scoreMin, matrices: searched };
    const place = placeOf(store);
    const found =
      hybrid === undefined
        ? await this.#scan(place, scan)
        : await this.#fused(place, scan, queries, hybrid);
    const byChunk = new Map<string, Nearest>();
    for (const one of found.flat()) {
      const key = `${one.matrix}/${one.row}`;
      if ((byChunk.get(key)?.score ?? -1) < one.score) byChunk.set(key, one);
    }
    return best([...byChunk.values()], limit);
  }

  /** By meaning and words; what is nearest in meaning may be far all the same. */
  async #fused(
    place: storeFiles.StorePlace,
    scan: Scan<SearchedFile>,
    questions: readonly string[],
    weights: HybridWeights,
  ): Promise<readonly (readonly Nearest[])[]> {
    const { db } = this.#options.database;
    const byMeaning = await this.#scan(place, { ...scan, limit: rankedMax, scoreMin: -1 });
    const found: (readonly Nearest[])[] = [];
    for (const [at, question] of questions.entries()) {
      const byWords =
        weights.text_weight === 0 ? [] : await rankByWords(db, place, scan.matrices, question);
      const together = fused(byMeaning[at]!, byWords, weights);
      found.push(together.filter(({ score }) => score >= scan.scoreMin));
    }
    return found;
  }

  /** In memory, unless there is no room for them and the engine tells without. */
  async #scan(
    place: storeFiles.StorePlace,
    scan: Scan<SearchedFile>,
  ): Promise<readonly (readonly Nearest[])[]> {
    const { database, scans, ranking } = this.#options;
    const bytes = scan.matrices.reduce((sum, matrix) => sum + matrix.bytes, 0);
    const ranked = scans.fits(bytes) ? null : await ranking.rank(place, scan);
    return ranked ?? scans.scan(scan, (some) => readEmbeddings(database.db, place, some));
  }

  /** Without what was deleted while it was searched. */
  async #told(
    place: storeFiles.StorePlace,
    searched: readonly SearchedFile[],
    nearest: readonly Nearest[],
    { owner, now }: { readonly owner: Owner; readonly now: number },
  ): Promise<FoundText[]> {
    const { db } = this.#options.database;
    const named = nearest.map((one) => ({
      ...{ fileId: searched[one.matrix]!.id, number: one.row, score: one.score },
      attributes: searched[one.matrix]!.attributes,
    }));
    const texts = await vectorChunks.listTexts(db, place, named);
    const names = await files.listNames(
      db,
      owner,
      [...new Set(named.map((one) => one.fileId))],
      now,
    );
    return named.flatMap(({ fileId, number, score, attributes }) => {
      const text = texts.find((one) => one.file_id === fileId && one.number === number);
      if (text === undefined) return [];
      const filename = names.get(fileId) ?? '';
      return [{ fileId, filename, score: Math.min(1, score), attributes, text: text.content }];
    });
  }
}

function placeOf({ organisation_id, id }: StoredVectorStore): storeFiles.StorePlace {
  return { organisationId: organisation_id, vectorStoreId: id };
}

function refused(error: unknown): never {
  if (!(error instanceof EmbeddingError)) throw error;
  throw new ObjectError('invalid_request', error.message, 'query');
}
