/** Handles the vector stores that the gateway stores: create, read, update, delete and search. */

import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { VectorStoreCreate, VectorStoreUpdate } from '../../model/objects/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';
import type { Ingestion } from '../ingestion/ingestion.ts';
import { newObjectId } from '../object-id.ts';
import { objectList, pageCursorNotFound, parseObjectPage } from '../object-page.ts';
import { readParams } from '../object-params.ts';
import {
  ObjectError,
  type ObjectFamily,
  type ObjectRequest,
  type ObjectResponse,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { VectorSearch } from '../search/vector-search.ts';
import type { FileBatches } from './file-batches.ts';
import type { StoreFiles } from './store-files.ts';
import { isExpired, msPerDay, recordUse } from './store-use.ts';
import { vectorStoreRecord } from './vector-store-record.ts';

export interface VectorStoresOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly ingestion: Ingestion;
  readonly storeFiles: StoreFiles;
  readonly batches: FileBatches;
  readonly search: VectorSearch;
}

type Row = vectorStores.StoredVectorStore;

const defaultEmbeddingModel = 'text-embedding-3-small';

export class VectorStores implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['vector_stores'];
  readonly #options: VectorStoresOptions;

  constructor(options: VectorStoresOptions) {
    this.#options = options;
  }

  listOwned(owner: Owner, _: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    return vectorStores.listIds(this.#options.database.db, owner, ids);
  }

  async handle(request: ObjectRequest): Promise<ObjectResponse | null> {
    const { id, method, rest, owner, models, now } = request;
    if (id === null) return this.#handleCollection(request);
    const row = await vectorStores.find(this.#options.database.db, owner, id);
    if (row === undefined) return null;
    const [part] = rest;
    if (part === undefined) return this.#handleStore(row, request);
    if (isExpired(row, now))
      throw new ObjectError('invalid_request', 'The vector store has expired');
    await recordUse(this.#options.database.db, row, now);
    if (part === 'search' && rest.length === 1 && method === 'POST') {
      return this.#options.search.respond(row, request);
    }
    const handler = part === 'file_batches' ? this.#options.batches : this.#options.storeFiles;
    const response = await handler.handle(row, request);
    // Continues with files that a killed process has left behind.
    this.#options.ingestion.start(owner, row, models);
    return response;
  }

  #handleCollection(request: ObjectRequest): Promise<ObjectResponse> {
    const { method, rest } = request;
    if (rest.length === 0 && method === 'POST') return this.#create(request);
    if (rest.length === 0 && method === 'GET') return this.#list(request);
    throw new ObjectError('not_found', 'Vector stores are created by POST and listed by GET');
  }

  async #handleStore(row: Row, request: ObjectRequest): Promise<ObjectResponse | null> {
    switch (request.method) {
      case 'GET':
        return this.#respondWith(row, request.now);
      case 'POST':
        return this.#update(row, request);
      case 'DELETE': {
        const isDeleted = await vectorStores.markDeleted(this.#options.database.db, row);
        const body = { id: row.id, object: 'vector_store.deleted', deleted: true };
        return isDeleted ? { body } : null;
      }
      default:
        throw new ObjectError('not_found', `A vector store does not support ${request.method}`);
    }
  }

  async #create(request: ObjectRequest): Promise<ObjectResponse> {
    const { owner, now, models } = request;
    const params = readParams(VectorStoreCreate, request.params);
    const days = params.expires_after?.days ?? null;
    const row: Row = {
      organisation_id: owner.organisationId,
      id: newObjectId('vs'),
      workspace_id: owner.workspaceId,
      api_key_id: owner.apiKeyId,
      name: params.name ?? null,
      description: params.description ?? null,
      metadata: JSON.stringify(params.metadata ?? {}),
      embedding_model: params.embedding_model ?? defaultEmbeddingModel,
      dimensions: null,
      contents: 0,
      status: 'active',
      expires_after_days: days,
      created_at: now,
      last_active_at: now,
      expires_at: days === null ? null : now + days * msPerDay,
    };
    const files = (params.file_ids ?? []).map((file_id) => ({ file_id }));
    const strategy = params.chunking_strategy;
    await this.#options.storeFiles.requireOwned(owner, files, now);
    await this.#options.database.transaction(async (tx) => {
      await vectorStores.insert(tx, { ...row });
      await this.#options.storeFiles.put(tx, row, { files, strategy, now });
    });
    this.#options.ingestion.start(owner, row, models);
    return this.#respondWith(row, now);
  }

  async #list({ owner, query, now }: ObjectRequest): Promise<ObjectResponse> {
    const { order, limit, after, before } = parseObjectPage(query);
    const { db } = this.#options.database;
    const findCursor = async (id: string | null, param: string) => {
      const row = id === null ? null : await vectorStores.find(db, owner, id);
      if (row !== undefined) return row;
      throw pageCursorNotFound(param);
    };
    const rows = await vectorStores.list(db, owner, {
      order,
      limit,
      after: await findCursor(after, 'after'),
      before: await findCursor(before, 'before'),
    });
    const page = rows.slice(0, limit);
    const ids = page.map(({ id }) => id);
    const counts = await storeFiles.countByStatus(db, owner.organisationId, ids);
    const records = page.map((row) => vectorStoreRecord(row, counts, now));
    return { body: objectList(records, rows.length > limit) };
  }

  async #update(row: Row, request: ObjectRequest): Promise<ObjectResponse> {
    const params = readParams(VectorStoreUpdate, request.params);
    if (isExpired(row, request.now)) {
      throw new ObjectError('invalid_request', 'The vector store has expired');
    }
    const { name, description, metadata, expires_after: expiresAfter } = params;
    const days = expiresAfter?.days ?? null;
    const set = {
      last_active_at: request.now,
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata ?? {}) }),
      ...(expiresAfter === undefined ? {} : { expires_after_days: days }),
    };
    const newDays = expiresAfter === undefined ? row.expires_after_days : days;
    const expiry = { expires_at: newDays === null ? null : request.now + newDays * msPerDay };
    await vectorStores.update(this.#options.database.db, row, { ...set, ...expiry });
    const updated = await vectorStores.find(this.#options.database.db, request.owner, row.id);
    return this.#respondWith(updated ?? row, request.now);
  }

  async #respondWith(row: Row, now: number): Promise<ObjectResponse> {
    const { db } = this.#options.database;
    const counts = await storeFiles.countByStatus(db, row.organisation_id, [row.id]);
    return { body: vectorStoreRecord(row, counts, now) };
  }
}
