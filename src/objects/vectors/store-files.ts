/** Handles the files of vector stores: add, read, change and remove. */
import {
  type Attributes,
  autoChunkTokens,
  autoOverlapTokens,
  type ChunkingStrategy,
  VectorStoreFileCreate,
  VectorStoreFileUpdate,
} from '../../model/objects/vector-store.ts';
import type { Database, Db } from '../../store/connection/db.ts';
import * as files from '../../store/objects/files.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import { objectList, pageCursorNotFound, parseObjectPage } from '../object-page.ts';
import { readParams } from '../object-params.ts';
import { ObjectError, type ObjectRequest, type ObjectResponse } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { vectorStoreFileRecord } from './vector-store-record.ts';

interface PutFile {
  readonly file_id: string;
  readonly attributes?: Attributes | null | undefined;
  readonly chunking_strategy?: ChunkingStrategy | undefined;
}

interface PutTerms {
  readonly files: readonly PutFile[];
  /** Default for files without a strategy. */
  readonly strategy?: ChunkingStrategy | undefined;
  readonly attributes?: Attributes | null | undefined;
  readonly batchId?: string;
  readonly now: number;
}

const statuses = ['in_progress', 'completed', 'failed', 'cancelled'] as const;

export class StoreFiles {
  readonly #database: Pick<Database, 'db' | 'transaction'>;

  constructor(database: Pick<Database, 'db' | 'transaction'>) {
    this.#database = database;
  }

  /** Handles a request about files of the store. @throws ObjectError */
  async handle(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectResponse> {
    const [part, id, ...rest] = request.rest;
    const operation = [request.method, ...rest].join(' ');
    if (part === 'files') {
      if (id === undefined) return this.#handleCollection(store, request);
      return this.#handleFile(store, id, operation, request);
    }
    throw new ObjectError('not_found', `A vector store does not support ${request.rest.join('/')}`);
  }

  /** @throws ObjectError for a file that does not belong to the owner */
  async requireOwned(owner: Owner, put: readonly PutFile[], now: number): Promise<void> {
    const ids = [...new Set(put.map(({ file_id: id }) => id))];
    if (ids.length === 0) return;
    const owned = await files.listNames(this.#database.db, owner, ids, now);
    const unknown = ids.find((id) => !owned.has(id));
    if (unknown === undefined) return;
    throw new ObjectError('not_found', 'The file that file_id refers to does not exist', 'file_id');
  }

  /** Adds files to the store for ingestion; files that it contains already are ingested again. */
  async put(tx: Db, store: StoredVectorStore, terms: PutTerms): Promise<void> {
    for (const file of new Map(terms.files.map((entry) => [entry.file_id, entry])).values()) {
      await storeFiles.put(tx, rowOf(store, file, terms));
    }
  }

  async #handleCollection(
    store: StoredVectorStore,
    request: ObjectRequest,
  ): Promise<ObjectResponse> {
    if (request.method === 'GET') return this.list(store, request, null);
    if (request.method !== 'POST') throw new ObjectError('not_found', 'Files are added by POST');
    const params = readParams(VectorStoreFileCreate, request.params);
    await this.requireOwned(request.owner, [params], request.now);
    const terms = { files: [params], now: request.now };
    await this.#database.transaction((tx) => this.put(tx, store, terms));
    return this.#respondWith(storeFileKey(store, params.file_id));
  }

  async #handleFile(
    store: StoredVectorStore,
    id: string,
    operation: string,
    request: ObjectRequest,
  ): Promise<ObjectResponse> {
    const place = storeFileKey(store, id);
    switch (operation) {
      case 'GET':
        return this.#respondWith(place);
      case 'POST': {
        const { attributes } = readParams(VectorStoreFileUpdate, request.params);
        const text = JSON.stringify(attributes ?? {});
        await this.#database.transaction((tx) => storeFiles.setAttributes(tx, place, text));
        return this.#respondWith(place);
      }
      case 'DELETE': {
        const isDeleted = await this.#database.transaction((tx) =>
          storeFiles.deleteById(tx, place),
        );
        if (!isDeleted) throw fileNotFound();
        return { body: { id, object: 'vector_store.file.deleted', deleted: true } };
      }
      case 'GET content':
        return this.#content(place);
      default:
        throw new ObjectError(
          'not_found',
          `A file of a vector store does not support ${operation}`,
        );
    }
  }

  async #respondWith(place: storeFiles.StoreFileKey): Promise<ObjectResponse> {
    const row = await storeFiles.find(this.#database.db, place);
    if (row === undefined) throw fileNotFound();
    return { body: vectorStoreFileRecord(row) };
  }

  /** The extracted text, chunk by chunk. */
  async #content(place: storeFiles.StoreFileKey): Promise<ObjectResponse> {
    const { db } = this.#database;
    if ((await storeFiles.find(db, place)) === undefined) throw fileNotFound();
    const texts = await vectorChunks.listContents(db, place);
    const data = texts.map((text) => ({ type: 'text', text }));
    return {
      body: { object: 'vector_store.file_content.page', data, has_more: false, next_page: null },
    };
  }

  async list(
    store: StoredVectorStore,
    { query }: ObjectRequest,
    batchId: string | null,
  ): Promise<ObjectResponse> {
    const { order, limit, after, before } = parseObjectPage(query);
    const { db } = this.#database;
    const find = async (id: string | null, param: string) => {
      const row = id === null ? null : await storeFiles.find(db, storeFileKey(store, id));
      if (row !== undefined) return row;
      throw pageCursorNotFound(param);
    };
    const page = {
      order,
      limit,
      batchId,
      status: statusOf(query),
      after: await find(after, 'after'),
      before: await find(before, 'before'),
    };
    const rows = await storeFiles.list(db, storeFileKey(store, ''), page);
    const records = rows.slice(0, limit).map(vectorStoreFileRecord);
    return { body: objectList(records, rows.length > limit) };
  }
}

export function storeFileKey(
  { organisation_id, id: vectorStoreId }: StoredVectorStore,
  id: string,
) {
  return { organisationId: organisation_id, vectorStoreId, id };
}

function fileNotFound(): ObjectError {
  return new ObjectError('not_found', 'The file does not exist in the vector store');
}

function statusOf(query: URLSearchParams): storeFiles.VectorStoreFileStatus | null {
  const filter = query.get('filter');
  const status = statuses.find((known) => known === filter) ?? null;
  if (filter === null || status !== null) return status;
  throw new ObjectError(
    'invalid_request',
    `filter must be one of ${statuses.join(', ')}`,
    'filter',
  );
}

function rowOf(
  { organisation_id, id }: StoredVectorStore,
  file: PutFile,
  { strategy, attributes, batchId, now }: PutTerms,
): storeFiles.StoredVectorStoreFile {
  const cut = file.chunking_strategy ?? strategy ?? { type: 'auto' };
  const sizes = cut.type === 'static' ? cut.static : null;
  return {
    organisation_id,
    vector_store_id: id,
    id: file.file_id,
    batch_id: batchId ?? null,
    status: 'in_progress',
    error_code: null,
    error_message: null,
    attributes: JSON.stringify(file.attributes ?? attributes ?? {}),
    chunk_tokens: sizes?.max_chunk_size_tokens ?? autoChunkTokens,
    overlap_tokens: sizes?.chunk_overlap_tokens ?? autoOverlapTokens,
    usage_bytes: 0,
    chunks: 0,
    lease: null,
    leased_until: 0,
    created_at: now,
  };
}
