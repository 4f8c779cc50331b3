/** Knows which files a search of a vector store looks into: asked of the database again where one of them has changed. */
import type { Attributes } from '../../model/objects/vector-store.ts';
import type { Db } from '../../store/connection/db.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import type { ScannedMatrix } from './scans.ts';

/** A file of a store, and its embeddings. */
export interface SearchedFile extends ScannedMatrix {
  readonly id: string;
  readonly attributes: Attributes;
  readonly chunks: number;
}

interface Known {
  /** Of the store, when they were read. */
  readonly contents: number;
  readonly files: readonly SearchedFile[];
}

/** Of all stores; a file takes some 300 bytes. */
const filesMax = 100_000;

export class StoreContents {
  /** By store, those used last at the end. */
  readonly #known = new Map<string, Known>();
  #files = 0;

  /** Those that have anything to be found, by `store` as it was read now. */
  async of(db: Db, store: StoredVectorStore): Promise<readonly SearchedFile[]> {
    const key = `${store.organisation_id}/${store.id}`;
    const { contents } = store;
    const known = this.#known.get(key);
    const files = known?.contents === contents ? known.files : await read(db, store);
    this.#forget(key);
    this.#known.set(key, { contents, files });
    this.#files += files.length;
    for (const oldest of this.#known.keys()) {
      if (this.#files <= filesMax) break;
      this.#forget(oldest);
    }
    return files;
  }

  #forget(key: string): void {
    this.#files -= this.#known.get(key)?.files.length ?? 0;
    this.#known.delete(key);
  }
}

/** What has changed since the store was read is told with what comes after it: the next search asks again. */
async function read(db: Db, store: StoredVectorStore): Promise<SearchedFile[]> {
  const place = { organisationId: store.organisation_id, vectorStoreId: store.id };
  const rows = await storeFiles.listCompleted(db, place);
  return rows
    .filter(({ chunks }) => chunks > 0)
    .map(({ id, attributes, chunks, created_at: createdAt }) => ({
      ...{ id, chunks, attributes: JSON.parse(attributes) as Attributes },
      key: `${store.organisation_id}/${store.id}/${id}/${createdAt}`,
      bytes: chunks * (store.dimensions ?? 0) * Float32Array.BYTES_PER_ELEMENT,
    }));
}
