/** Knows batches of files of vector stores: what was put there by one request. */
import { FileBatchCreate } from '../../model/objects/vector-store.ts';
import type { Database } from '../../store/connection/db.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import { newObjectId } from '../object-id.ts';
import { readParams } from '../object-params.ts';
import { type ObjectAnswer, ObjectError, type ObjectRequest } from '../object-request.ts';
import { placeOf, type StoreFiles } from './store-files.ts';
import { fileBatchRecord } from './vector-store-record.ts';

export class FileBatches {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #files: StoreFiles;

  constructor(database: Pick<Database, 'db' | 'transaction'>, files: StoreFiles) {
    this.#database = database;
    this.#files = files;
  }

  /** To a request about batches of the store. @throws ObjectError */
  async answer(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectAnswer> {
    const [, id, ...rest] = request.rest;
    const asked = [request.method, ...rest].join(' ');
    if (id !== undefined) return this.#answerForOne(store, id, asked, request);
    if (asked === 'POST') return this.#put(store, request);
    throw new ObjectError('not_found', 'Batches of files are put by POST');
  }

  async #put(store: StoredVectorStore, request: ObjectRequest): Promise<ObjectAnswer> {
    const params = readParams(FileBatchCreate, request.params);
    const put = params.files ?? params.file_ids!.map((file_id) => ({ file_id }));
    await this.#files.requireOwned(request.owner, put, request.now);
    const batchId = newObjectId('vsfb');
    const { attributes, chunking_strategy: strategy } = params;
    const terms = { files: put, attributes, strategy, batchId, now: request.now };
    await this.#database.transaction((tx) => this.#files.put(tx, store, terms));
    return this.#tell(store, batchId);
  }

  async #answerForOne(
    store: StoredVectorStore,
    id: string,
    asked: string,
    request: ObjectRequest,
  ): Promise<ObjectAnswer> {
    switch (asked) {
      case 'GET':
        return this.#tell(store, id);
      case 'POST cancel':
        await storeFiles.cancelBatch(this.#database.db, placeOf(store, ''), id);
        return this.#tell(store, id);
      case 'GET files':
        await this.#tell(store, id);
        return this.#files.list(store, request, id);
      default:
        throw new ObjectError('not_found', `A batch of files has no ${asked}`);
    }
  }

  async #tell(store: StoredVectorStore, id: string): Promise<ObjectAnswer> {
    const { db } = this.#database;
    const began = await storeFiles.batchBegan(db, placeOf(store, ''), id);
    if (began === null) throw new ObjectError('not_found', 'There is no such batch of files');
    const counts = await storeFiles.countByStatus(db, store.organisation_id, [store.id], id);
    return { body: fileBatchRecord(id, store.id, counts, began) };
  }
}
