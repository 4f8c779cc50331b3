/** Caches which files of a vector store a search covers, and reads them again when the store's contents change. */
import type { Attributes } from '../../model/objects/vector-store.ts';
import type { Db } from '../../store/connection/db.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import type { StoredVectorStore } from '../../store/objects/vector-stores.ts';
import type { ScannedMatrix } from './scans.ts';

/** A file of a store with the key of its embeddings. */
export interface ScannableFile extends ScannedMatrix {
  readonly id: string;
  readonly attributes: Attributes;
  readonly chunks: number;
}

interface CachedContents {
  /** Version of the store's contents when the files were read. */
  readonly contents: number;
  readonly files: readonly ScannableFile[];
}

/** Maximum cached files of all stores; a file takes about 300 bytes. */
const filesMax = 100_000;

export class StoreContents {
  /** By store, most recently used last. */
  readonly #cache = new Map<string, CachedContents>();
  #files = 0;

  /** Returns the files with chunks; `store` must have been read just now. */
  async of(db: Db, store: StoredVectorStore): Promise<readonly ScannableFile[]> {
    const key = `${store.organisation_id}/${store.id}`;
    const { contents } = store;
    const cached = this.#cache.get(key);
    const files = cached?.contents === contents ? cached.files : await read(db, store);
    this.#forget(key);
    this.#cache.set(key, { contents, files });
    this.#files += files.length;
    for (const oldest of this.#cache.keys()) {
      if (this.#files <= filesMax) break;
      this.#forget(oldest);
    }
    return files;
  }

  #forget(key: string): void {
    this.#files -= this.#cache.get(key)?.files.length ?? 0;
    this.#cache.delete(key);
  }
}

/** A change after the store was read has a newer version, so the next search reads the files again. */
async function read(db: Db, store: StoredVectorStore): Promise<ScannableFile[]> {
  const place = { organisationId: store.organisation_id, vectorStoreId: store.id };
  const rows = await storeFiles.listCompleted(db, place);
  return rows
    .filter(({ chunks }) => chunks > 0)
    .map(({ id, attributes, chunks, created_at: createdAt }) => ({
      id,
      chunks,
      attributes: JSON.parse(attributes) as Attributes,
      key: `${store.organisation_id}/${store.id}/${id}/${createdAt}`,
      bytes: chunks * (store.dimensions ?? 0) * Float32Array.BYTES_PER_ELEMENT,
    }));
}
