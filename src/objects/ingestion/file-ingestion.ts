/** Adds one file to a vector store while its lease is held: reads, splits, embeds and stores it. */
import type { Database } from '../../store/connection/db.ts';
import * as files from '../../store/objects/files.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';
import type { ReadBlob, StoredBlobs } from '../../store/stored-blobs.ts';
import type { ModelCalls } from '../model-calls.ts';
import type { Owner } from '../owner.ts';
import { embed, vectorBytes } from './embeddings.ts';
import type { FileReadPool, FileReadTask } from './file-read-pool.ts';

export interface FileIngestionOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly blobs: StoredBlobs;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly readings: FileReadPool;
}

/** A file to ingest, with its owner and lease. */
export interface IngestionTask {
  readonly owner: Owner;
  readonly store: vectorStores.StoredVectorStore;
  readonly models: ModelCalls;
  readonly row: storeFiles.StoredVectorStoreFile;
  readonly place: storeFiles.StoreFileKey;
  readonly lease: Buffer;
  /** Whether the process is shutting down. */
  readonly isClosing: () => boolean;
}

/** After this time another process continues if this one was killed. */
export const leaseMs = 30_000;
const chunksPerCall = 32;
const chunksMax = 20_000;
const readBytesMax = 64 * 1024 * 1024;

/** A failure caused by the file or the model; its message is shown to the owner. */
export class IngestionError extends Error {
  override name = 'IngestionError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Another process works on the file, or the file was cancelled or deleted. */
export class LeaseLostError extends Error {
  override name = 'LeaseLost';
}

export class FileIngestion {
  readonly #options: FileIngestionOptions;
  readonly #task: IngestionTask;

  constructor(options: FileIngestionOptions, task: IngestionTask) {
    this.#options = options;
    this.#task = task;
  }

  /** @throws IngestionError, EmbeddingError or LeaseLost */
  async run(): Promise<void> {
    const { models, store } = this.#task;
    const chunks = await this.#chunksOf();
    // Chunks that are stored already have been embedded and paid for.
    const written = await this.#written();
    for (let from = written; from < chunks.length; from += chunksPerCall) {
      await this.renew();
      const texts = chunks.slice(from, from + chunksPerCall);
      const vectors = await embed(models, store.embedding_model, texts);
      await this.#write(from, texts, vectors);
    }
  }

  async #written(): Promise<number> {
    const { place, row } = this.#task;
    const stored = await storeFiles.find(this.#options.database.db, place);
    if (stored === undefined || stored.created_at !== row.created_at) throw new LeaseLostError();
    return stored.chunks;
  }

  async #chunksOf(): Promise<readonly string[]> {
    const { organisationId, workspaceId } = this.#task.owner;
    const ownerKey = `${organisationId}/${workspaceId}`;
    const end = await this.#options.readings.read(ownerKey, () => this.#fetch());
    if (end.kind === 'failed') throw new IngestionError(end.code, end.message);
    if (end.chunks.length <= chunksMax) return end.chunks;
    const message = `The file has more than ${chunksMax} chunks; use larger chunks`;
    throw new IngestionError('invalid_file', message);
  }

  async #fetch(): Promise<FileReadTask> {
    const { owner, row } = this.#task;
    const { blobs, database, now } = this.#options;
    // The file may have waited for a long time.
    await this.renew();
    const file = await files.find(database.db, owner, row.id, now());
    const blob = file && (await blobs.read({ organisationId: owner.organisationId, id: file.id }));
    if (file === undefined || blob === undefined || blob === null) {
      throw new IngestionError('invalid_file', 'The file was deleted');
    }
    return {
      name: file.name,
      content: await readContent(blob),
      sizes: { tokensMax: row.chunk_tokens, overlapTokens: row.overlap_tokens },
    };
  }

  /** Extends the lease, or ends it at once for other processes if this one is shutting down. */
  async renew(): Promise<void> {
    const { place, lease, isClosing } = this.#task;
    const { database, now } = this.#options;
    const until = isClosing() ? now() : now() + leaseMs;
    const isOurs = await storeFiles.updateLeased(database.db, place, lease, {
      leased_until: until,
    });
    if (!isOurs || isClosing()) throw new LeaseLostError();
  }

  async #write(
    before: number,
    texts: readonly string[],
    vectors: readonly Float32Array[],
  ): Promise<void> {
    const { database } = this.#options;
    const { store, place, lease } = this.#task;
    const dimensions = vectors[0]!.length;
    if (!(await vectorStores.holdDimensions(database.db, store, dimensions))) {
      const message = `The model returns ${dimensions} dimensions, but the store has others`;
      throw new IngestionError('invalid_file', message);
    }
    const rows = texts.map((content, n) => ({
      organisation_id: place.organisationId,
      vector_store_id: place.vectorStoreId,
      file_id: place.id,
      number: before + n,
      content,
      embedding: vectorBytes(vectors[n]!),
    }));
    const bytes = rows.reduce(
      (sum, row) => sum + Buffer.byteLength(row.content) + row.embedding.length,
      0,
    );
    await database.transaction(async (tx) => {
      const added = { before, chunks: rows.length, bytes };
      if (!(await storeFiles.addChunks(tx, place, lease, added))) throw new LeaseLostError();
      await vectorChunks.insert(tx, rows);
    });
  }
}

async function readContent({ bytes, pieces }: ReadBlob): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes > readBytesMax) {
    const message = `The file has more than ${readBytesMax} bytes, the maximum for text extraction`;
    throw new IngestionError('invalid_file', message);
  }
  const content = new Uint8Array(bytes);
  let at = 0;
  for await (const piece of pieces) {
    content.set(piece, at);
    at += piece.length;
  }
  return content;
}
