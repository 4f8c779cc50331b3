/** Knows how a vector store is searched: the question is embedded as its texts were, and the nearest of them are told. */
import { type Attributes, fulfils, VectorStoreSearch } from '../../model/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as files from '../../store/tables/files.ts';
import * as vectorChunks from '../../store/tables/vector-chunks.ts';
import * as storeFiles from '../../store/tables/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/tables/vector-stores.ts';
import { readParams } from '../object-params.ts';
import { type ObjectAnswer, ObjectError, type ObjectRequest } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { FoundText, TextsAsked } from '../store-search.ts';
import { EmbeddingError, embed, numbersOf } from './embeddings.ts';
import type { Nearest } from './nearest.ts';
import type { Scans } from './scans.ts';

interface Searched {
  readonly row: storeFiles.SearchedFile;
  readonly attributes: Attributes;
}

export class VectorSearch {
  readonly #database: Pick<Database, 'db'>;
  readonly #scans: Scans;

  constructor(database: Pick<Database, 'db'>, scans: Scans) {
    this.#database = database;
    this.#scans = scans;
  }

  /** @throws ObjectError */
  async answer(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectAnswer> {
    const params = readParams(VectorStoreSearch, request.params);
    const { owner, models, now } = request;
    const { query, filters = null, max_num_results: limit, ranking_options: ranking } = params;
    const queries = typeof query === 'string' ? [query] : query;
    const scoreMin = ranking?.score_threshold ?? 0;
    const found = await this.search(store, owner, {
      ...{ queries, filters, limit, scoreMin, models, now },
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
    const place = { organisationId: store.organisation_id, vectorStoreId: store.id };
    const rows = await storeFiles.listCompleted(this.#database.db, place);
    const searched = rows
      .map((row): Searched => ({ row, attributes: JSON.parse(row.attributes) }))
      .filter(({ attributes }) => filters === null || fulfils(attributes, filters))
      .filter(({ row }) => row.chunks > 0);
    const nearest = searched.length === 0 ? [] : await this.#nearest(store, searched, asked);
    return this.#told(place, searched, nearest, { owner, now: asked.now });
  }

  /** Of all the questions together, best first; a chunk counts by the question that it is nearest to. */
  async #nearest(
    store: StoredVectorStore,
    searched: readonly Searched[],
    { queries, limit, scoreMin, models }: TextsAsked,
  ): Promise<Nearest[]> {
    const vectors = await embed(models, store.embedding_model, queries);
    const [{ length: dimensions }] = vectors as [Float32Array];
    if (store.dimensions !== null && dimensions !== store.dimensions) {
      const message = `The model gives ${dimensions} numbers, but the store holds ${store.dimensions}`;
      throw new ObjectError('invalid_request', message, 'query');
    }
    const place = { organisationId: store.organisation_id, vectorStoreId: store.id };
    const found = await this.#scans.scan({
      ...{ queries: vectors, limit, scoreMin },
      matrices: searched.map(({ row }) => ({
        key: [store.organisation_id, store.id, row.id, row.created_at].join('/'),
        bytes: row.chunks * dimensions * 4,
        read: async () =>
          numbersOf(await vectorChunks.readEmbeddings(this.#database.db, { ...place, id: row.id })),
      })),
    });
    const best = new Map<string, Nearest>();
    for (const one of found.flat()) {
      const key = `${one.matrix}/${one.row}`;
      if ((best.get(key)?.score ?? -1) < one.score) best.set(key, one);
    }
    return [...best.values()].sort((a, b) => b.score - a.score).slice(0, limit);
  }

  /** Without what was deleted while it was searched. */
  async #told(
    place: storeFiles.StorePlace,
    searched: readonly Searched[],
    nearest: readonly Nearest[],
    { owner, now }: { readonly owner: Owner; readonly now: number },
  ): Promise<FoundText[]> {
    const { db } = this.#database;
    const named = nearest.map((one) => ({
      ...{ fileId: searched[one.matrix]!.row.id, number: one.row, score: one.score },
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

function refused(error: unknown): never {
  if (!(error instanceof EmbeddingError)) throw error;
  throw new ObjectError('invalid_request', error.message, 'query');
}
