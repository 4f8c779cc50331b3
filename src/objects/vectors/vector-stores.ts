/** Knows the vector stores that the gateway keeps: how they are made, told, changed and deleted. */
import { VectorStoreCreate, VectorStoreUpdate } from '../../model/objects/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';
import { newObjectId } from '../object-id.ts';
import { notInList, objectList, objectPageOf } from '../object-page.ts';
import { readParams } from '../object-params.ts';
import {
  type ObjectAnswer,
  ObjectError,
  type ObjectFamily,
  type ObjectKind,
  type ObjectRequest,
} from '../object-request.ts';
import type { Owner } from '../owner.ts';
import type { FileBatches } from './file-batches.ts';
import type { Ingestion } from '../ingestion/ingestion.ts';
import type { StoreFiles } from './store-files.ts';
import { dayMs, isExpired, noteUse } from './store-use.ts';
import type { VectorSearch } from '../search/vector-search.ts';
import { vectorStoreRecord } from './vector-store-record.ts';

export interface VectorStoresOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly ingestion: Ingestion;
  readonly storeFiles: StoreFiles;
  readonly batches: FileBatches;
  readonly search: VectorSearch;
}

type Row = vectorStores.StoredVectorStore;

const embeddingModelUsual = 'text-embedding-3-small';

export class VectorStores implements ObjectFamily {
  readonly kinds: readonly ObjectKind[] = ['vector_stores'];
  readonly #options: VectorStoresOptions;

  constructor(options: VectorStoresOptions) {
    this.#options = options;
  }

  listOwned(owner: Owner, _: ObjectKind, ids: readonly string[]): Promise<readonly string[]> {
    return vectorStores.listIds(this.#options.database.db, owner, ids);
  }

  async answer(request: ObjectRequest): Promise<ObjectAnswer | null> {
    const { id, method, rest, owner, models, now } = request;
    if (id === null) return this.#answerForNone(request);
    const row = await vectorStores.find(this.#options.database.db, owner, id);
    if (row === undefined) return null;
    const [part] = rest;
    if (part === undefined) return this.#answerForStore(row, request);
    if (isExpired(row, now))
      throw new ObjectError('invalid_request', 'The vector store has expired');
    await noteUse(this.#options.database.db, row, now);
    if (part === 'search' && rest.length === 1 && method === 'POST') {
      return this.#options.search.answer(row, request);
    }
    const answerer = part === 'file_batches' ? this.#options.batches : this.#options.storeFiles;
    const answer = await answerer.answer(row, request);
    // Files of a process that was killed are gone on with by whoever asks next.
    this.#options.ingestion.start(owner, row, models);
    return answer;
  }

  #answerForNone(request: ObjectRequest): Promise<ObjectAnswer> {
    const { method, rest } = request;
    if (rest.length === 0 && method === 'POST') return this.#create(request);
    if (rest.length === 0 && method === 'GET') return this.#list(request);
    throw new ObjectError('not_found', 'Vector stores are made by POST and listed by GET');
  }

  async #answerForStore(row: Row, request: ObjectRequest): Promise<ObjectAnswer | null> {
    switch (request.method) {
      case 'GET':
        return this.#tell(row, request.now);
      case 'POST':
        return this.#update(row, request);
      case 'DELETE': {
        const isDeleted = await vectorStores.markDeleted(this.#options.database.db, row);
        const body = { id: row.id, object: 'vector_store.deleted', deleted: true };
        return isDeleted ? { body } : null;
      }
      default:
        throw new ObjectError('not_found', `A vector store has no ${request.method}`);
    }
  }

  async #create(request: ObjectRequest): Promise<ObjectAnswer> {
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
      embedding_model: params.embedding_model ?? embeddingModelUsual,
      dimensions: null,
      contents: 0,
      status: 'active',
      expires_after_days: days,
      created_at: now,
      last_active_at: now,
      expires_at: days === null ? null : now + days * dayMs,
    };
    const files = (params.file_ids ?? []).map((file_id) => ({ file_id }));
    const strategy = params.chunking_strategy;
    await this.#options.storeFiles.requireOwned(owner, files, now);
    await this.#options.database.transaction(async (tx) => {
      await vectorStores.insert(tx, { ...row });
      await this.#options.storeFiles.put(tx, row, { files, strategy, now });
    });
    this.#options.ingestion.start(owner, row, models);
    return this.#tell(row, now);
  }

  async #list({ owner, query, now }: ObjectRequest): Promise<ObjectAnswer> {
    const { order, limit, after, before } = objectPageOf(query);
    const { db } = this.#options.database;
    const place = async (id: string | null, param: string) => {
      const row = id === null ? null : await vectorStores.find(db, owner, id);
      if (row !== undefined) return row;
      throw notInList(param);
    };
    const rows = await vectorStores.list(db, owner, {
      ...{ order, limit },
      after: await place(after, 'after'),
      before: await place(before, 'before'),
    });
    const shown = rows.slice(0, limit);
    const ids = shown.map(({ id }) => id);
    const counts = await storeFiles.countByStatus(db, owner.organisationId, ids);
    const records = shown.map((row) => vectorStoreRecord(row, counts, now));
    return { body: objectList(records, rows.length > limit) };
  }

  async #update(row: Row, request: ObjectRequest): Promise<ObjectAnswer> {
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
    const held = expiresAfter === undefined ? row.expires_after_days : days;
    const expiry = { expires_at: held === null ? null : request.now + held * dayMs };
    await vectorStores.update(this.#options.database.db, row, { ...set, ...expiry });
    const found = await vectorStores.find(this.#options.database.db, request.owner, row.id);
    return this.#tell(found ?? row, request.now);
  }

  async #tell(row: Row, now: number): Promise<ObjectAnswer> {
    const { db } = this.#options.database;
    const counts = await storeFiles.countByStatus(db, row.organisation_id, [row.id]);
    return { body: vectorStoreRecord(row, counts, now) };
  }
}
