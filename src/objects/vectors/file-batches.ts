/** Handles batches of files that one request adds to a vector store. */
import { FileBatchCreate } from '../../model/objects/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import { newObjectId } from '../object-id.ts';
import { readParams } from '../object-params.ts';
import { ObjectError, type ObjectRequest, type ObjectResponse } from '../object-request.ts';
import { type StoreFiles, storeFileKey } from './store-files.ts';
import { fileBatchRecord } from './vector-store-record.ts';

export class FileBatches {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #files: StoreFiles;

  constructor(database: Pick<Database, 'db' | 'transaction'>, files: StoreFiles) {
    this.#database = database;
    this.#files = files;
  }

  /** Handles a request about batches of the store. @throws ObjectError */
  async handle(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectResponse> {
    const [, id, ...rest] = request.rest;
    const operation = [request.method, ...rest].join(' ');
    if (id !== undefined) return this.#handleBatch(store, id, operation, request);
    if (operation === 'POST') return this.#put(store, request);
    throw new ObjectError('not_found', 'Batches of files are created by POST');
  }

  async #put(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectResponse> {
    const params = readParams(FileBatchCreate, request.params);
    const fileList = params.files ?? params.file_ids!.map((file_id) => ({ file_id }));
    await this.#files.requireOwned(request.owner, fileList, request.now);
    const batchId = newObjectId('vsfb');
    const { attributes, chunking_strategy: strategy } = params;
    const terms = { files: fileList, attributes, strategy, batchId, now: request.now };
    await this.#database.transaction((tx) => this.#files.put(tx, store, terms));
    return this.#respondWith(store, batchId);
  }

  async #handleBatch(
    store: StoredVectorStore,
    id: string,
    operation: string,
    request: ObjectRequest,
  ): Promise<ObjectResponse> {
    switch (operation) {
      case 'GET':
        return this.#respondWith(store, id);
      case 'POST cancel':
        await storeFiles.cancelBatch(this.#database.db, storeFileKey(store, ''), id);
        return this.#respondWith(store, id);
      case 'GET files':
        await this.#respondWith(store, id);
        return this.#files.list(store, request, id);
      default:
        throw new ObjectError('not_found', `A batch of files does not support ${operation}`);
    }
  }

  async #respondWith(store: StoredVectorStore, id: string): Promise<ObjectResponse> {
    const { db } = this.#database;
    const began = await storeFiles.batchBegan(db, storeFileKey(store, ''), id);
    if (began === null) throw new ObjectError('not_found', 'The batch of files does not exist');
    const counts = await storeFiles.countByStatus(db, store.organisation_id, [store.id], id);
    return { body: fileBatchRecord(id, store.id, counts, began) };
  }
}
