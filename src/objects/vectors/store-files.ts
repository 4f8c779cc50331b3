/** Knows the files of vector stores: how they are put there, told, changed and taken away. */
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
import { notInList, objectList, objectPageOf } from '../object-page.ts';
import { readParams } from '../object-params.ts';
import { type ObjectAnswer, ObjectError, type ObjectRequest } from '../object-request.ts';
import type { Owner } from '../owner.ts';
import { vectorStoreFileRecord } from './vector-store-record.ts';

interface PutFile {
  readonly file_id: string;
  readonly attributes?: Attributes | null | undefined;
  readonly chunking_strategy?: ChunkingStrategy | undefined;
}

interface PutTerms {
  readonly files: readonly PutFile[];
  /** Of files that say none. */
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

  /** To a request about files of the store. @throws ObjectError */
  async answer(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectAnswer> {
    const [part, id, ...rest] = request.rest;
    const asked = [request.method, ...rest].join(' ');
    if (part === 'files') {
      if (id === undefined) return this.#answerForFiles(store, request);
      return this.#answerForFile(store, id, asked, request);
    }
    throw new ObjectError('not_found', `A vector store has no ${request.rest.join('/')}`);
  }

  /** @throws ObjectError for a file that is not the owner's */
  async requireOwned(owner: Owner, put: readonly PutFile[], now: number): Promise<void> {
    const ids = [...new Set(put.map(({ file_id: id }) => id))];
    if (ids.length === 0) return;
    const known = await files.listNames(this.#database.db, owner, ids, now);
    const unknown = ids.find((id) => !known.has(id));
    if (unknown === undefined) return;
    throw new ObjectError('not_found', 'There is no such file, as file_id names one', 'file_id');
  }

  /** Into the store, to be worked on; those that are there begin anew. */
  async put(tx: Db, store: StoredVectorStore, terms: PutTerms): Promise<void> {
    for (const file of new Map(terms.files.map((one) => [one.file_id, one])).values()) {
      await storeFiles.put(tx, rowOf(store, file, terms));
    }
  }

  async #answerForFiles(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectAnswer> {
    if (request.method === 'GET') return this.list(store, request, null);
    if (request.method !== 'POST') throw new ObjectError('not_found', 'Files are put by POST');
    const params = readParams(VectorStoreFileCreate, request.params);
    await this.requireOwned(request.owner, [params], request.now);
    const terms = { files: [params], now: request.now };
    await this.#database.transaction((tx) => this.put(tx, store, terms));
    return this.#tell(placeOf(store, params.file_id));
  }

  async #answerForFile(
    store: StoredVectorStore,
    id: string,
    asked: string,
    request: ObjectRequest,
  ): Promise<ObjectAnswer> {
    const place = placeOf(store, id);
    switch (asked) {
      case 'GET':
        return this.#tell(place);
      case 'POST': {
        const { attributes } = readParams(VectorStoreFileUpdate, request.params);
        const text = JSON.stringify(attributes ?? {});
        await this.#database.transaction((tx) => storeFiles.setAttributes(tx, place, text));
        return this.#tell(place);
      }
      case 'DELETE': {
        const isDeleted = await this.#database.transaction((tx) =>
          storeFiles.deleteById(tx, place),
        );
        if (!isDeleted) throw noFile();
        return { body: { id, object: 'vector_store.file.deleted', deleted: true } };
      }
      case 'GET content':
        return this.#content(place);
      default:
        throw new ObjectError('not_found', `A file of a vector store has no ${asked}`);
    }
  }

  async #tell(place: storeFiles.FilePlace): Promise<ObjectAnswer> {
    const row = await storeFiles.find(this.#database.db, place);
    if (row === undefined) throw noFile();
    return { body: vectorStoreFileRecord(row) };
  }

  /** Its text as it is searched, chunk by chunk. */
  async #content(place: storeFiles.FilePlace): Promise<ObjectAnswer> {
    const { db } = this.#database;
    if ((await storeFiles.find(db, place)) === undefined) throw noFile();
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
  ): Promise<ObjectAnswer> {
    const { order, limit, after, before } = objectPageOf(query);
    const { db } = this.#database;
    const find = async (id: string | null, param: string) => {
      const row = id === null ? null : await storeFiles.find(db, placeOf(store, id));
      if (row !== undefined) return row;
      throw notInList(param);
    };
    const page = {
      ...{ order, limit, batchId, status: statusOf(query) },
      after: await find(after, 'after'),
      before: await find(before, 'before'),
    };
    const rows = await storeFiles.list(db, placeOf(store, ''), page);
    const shown = rows.slice(0, limit).map(vectorStoreFileRecord);
    return { body: objectList(shown, rows.length > limit) };
  }
}

export function placeOf({ organisation_id, id: vectorStoreId }: StoredVectorStore, id: string) {
  return { organisationId: organisation_id, vectorStoreId, id };
}

function noFile(): ObjectError {
  return new ObjectError('not_found', 'There is no such file in the vector store');
}

function statusOf(query: URLSearchParams): storeFiles.VectorStoreFileStatus | null {
  const asked = query.get('filter');
  const status = statuses.find((one) => one === asked) ?? null;
  if (asked === null || status !== null) return status;
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
    ...{ organisation_id, vector_store_id: id, id: file.file_id, batch_id: batchId ?? null },
    ...{ status: 'in_progress', error_code: null, error_message: null },
    attributes: JSON.stringify(file.attributes ?? attributes ?? {}),
    chunk_tokens: sizes?.max_chunk_size_tokens ?? autoChunkTokens,
    overlap_tokens: sizes?.chunk_overlap_tokens ?? autoOverlapTokens,
    ...{ usage_bytes: 0, chunks: 0, lease: null, leased_until: 0, created_at: now },
  };
}
