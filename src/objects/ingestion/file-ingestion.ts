/** Knows how one file gets into a vector store: read, cut into chunks, embedded and written, as long as its lease is held. */
import type { Database } from '../../store/connection/db.ts';
import type { KeptBlobs, ReadBlob } from '../../store/kept-blobs.ts';
import * as files from '../../store/objects/files.ts';
import * as vectorChunks from '../../store/objects/vector-chunks.ts';
import * as storeFiles from '../../store/objects/vector-store-files.ts';
import * as vectorStores from '../../store/objects/vector-stores.ts';
import type { ModelCalls } from '../model-calls.ts';
import type { Owner } from '../owner.ts';
import { bytesOf, embed } from './embeddings.ts';
import type { Reading, Readings } from './readings.ts';

export interface FileIngestionOptions {
  readonly database: Pick<Database, 'db' | 'transaction'>;
  readonly blobs: KeptBlobs;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly readings: Readings;
}

/** Who works on what, in whose name. */
export interface IngestionTask {
  readonly owner: Owner;
  readonly store: vectorStores.StoredVectorStore;
  readonly models: ModelCalls;
  readonly row: storeFiles.StoredVectorStoreFile;
  readonly place: storeFiles.FilePlace;
  readonly lease: Buffer;
  /** Whether the process ends. */
  readonly isClosing: () => boolean;
}

/** After which others go on when the process was killed. */
export const leaseMs = 30_000;
const chunksPerCall = 32;
const chunksMax = 20_000;
const readBytesMax = 64 * 1024 * 1024;

/** That the file itself is to blame for, or the model; told to its owner. */
export class IngestionError extends Error {
  override name = 'IngestionError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Somebody else is at work on the file, or it was cancelled or deleted. */
export class LeaseLost extends Error {
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
    // What is written already was embedded and paid for.
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
    const found = await storeFiles.find(this.#options.database.db, place);
    if (found === undefined || found.created_at !== row.created_at) throw new LeaseLost();
    return found.chunks;
  }

  async #chunksOf(): Promise<readonly string[]> {
    const { organisationId, workspaceId } = this.#task.owner;
    const whose = `${organisationId}/${workspaceId}`;
    const end = await this.#options.readings.read(whose, () => this.#fetch());
    if (end.kind === 'failed') throw new IngestionError(end.code, end.message);
    if (end.chunks.length <= chunksMax) return end.chunks;
    const message = `The file has more than ${chunksMax} chunks; larger chunks are fewer`;
    throw new IngestionError('invalid_file', message);
  }

  async #fetch(): Promise<Reading> {
    const { owner, row } = this.#task;
    const { blobs, database, now } = this.#options;
    // It may have waited for long.
    await this.renew();
    const file = await files.find(database.db, owner, row.id, now());
    const blob = file && (await blobs.read({ organisationId: owner.organisationId, id: file.id }));
    if (file === undefined || blob === undefined || blob === null) {
      throw new IngestionError('invalid_file', 'The file was deleted');
    }
    return {
      name: file.name,
      content: await contentOf(blob),
      sizes: { tokensMax: row.chunk_tokens, overlapTokens: row.overlap_tokens },
    };
  }

  /** Longer to be at work on it; or for others at once, where this process ends. */
  async renew(): Promise<void> {
    const { place, lease, isClosing } = this.#task;
    const { database, now } = this.#options;
    const until = isClosing() ? now() : now() + leaseMs;
    const isOurs = await storeFiles.updateLeased(database.db, place, lease, {
      leased_until: until,
    });
    if (!isOurs || isClosing()) throw new LeaseLost();
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
      const message = `The model gives ${dimensions} numbers, but the store holds others`;
      throw new IngestionError('invalid_file', message);
    }
    const rows = texts.map((content, n) => ({
      organisation_id: place.organisationId,
      vector_store_id: place.vectorStoreId,
      file_id: place.id,
      number: before + n,
      content,
      embedding: bytesOf(vectors[n]!),
    }));
    const bytes = rows.reduce(
      (sum, row) => sum + Buffer.byteLength(row.content) + row.embedding.length,
      0,
    );
    await database.transaction(async (tx) => {
      const added = { before, chunks: rows.length, bytes };
      if (!(await storeFiles.addChunks(tx, place, lease, added))) throw new LeaseLost();
      await vectorChunks.insert(tx, rows);
    });
  }
}

async function contentOf({ bytes, pieces }: ReadBlob): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes > readBytesMax) {
    const message = `The file has more than ${readBytesMax} bytes, which is too much to be read`;
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
