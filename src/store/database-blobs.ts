/** Stores blobs in the database, in parts of one mebibyte. */
import { type BlobKey, type BlobStore, BlobUnavailable, repack } from '../blobs/blob-store.ts';
import type { Database } from './connection/db.ts';
import * as blobParts from './objects/blob-parts.ts';

/** Every server accepts statements of twice this size with its default configuration. */
const partBytes = 1024 * 1024;
const deleteBatchMax = 16;

export class DatabaseBlobs implements BlobStore {
  readonly #database: Pick<Database, 'db'>;

  constructor(database: Pick<Database, 'db'>) {
    this.#database = database;
  }

  async write({ organisationId, id }: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void> {
    let number = 0;
    for await (const content of repack(pieces, partBytes)) {
      const row = { organisation_id: organisationId, blob_id: id, number, content };
      await blobParts.insert(this.#database.db, row);
      number += 1;
    }
  }

  async *read({ organisationId, id }: BlobKey, bytes: number): AsyncGenerator<Buffer, void> {
    for (let number = 0; number * partBytes < bytes; number += 1) {
      const part = await blobParts.read(this.#database.db, { organisationId, id, number });
      if (part === undefined) throw new BlobUnavailable('It was deleted while it was read');
      yield part;
    }
  }

  async delete({ organisationId, id }: BlobKey): Promise<void> {
    const { db } = this.#database;
    while ((await blobParts.deleteSome(db, { organisationId, id }, deleteBatchMax)) > 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
