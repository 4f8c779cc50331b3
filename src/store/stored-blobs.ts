/** Stores blobs so that none is lost or orphaned: a row exists from before the first byte until after the last is erased. */
import { createHash } from 'node:crypto';
import { BlobDamaged, type BlobKey, type BlobStore, BlobUnavailable } from '../blobs/blob-store.ts';
import type { Database, Db } from './connection/db.ts';
import * as blobs from './objects/blobs.ts';

export interface StoredBlobsOptions {
  readonly database: Pick<Database, 'db'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Location of new blobs. */
  readonly writesTo: blobs.BlobLocation;
  readonly places: Readonly<Partial<Record<blobs.BlobLocation, BlobStore>>>;
}

/** A written blob that is not committed yet. */
export interface WrittenBlob extends BlobKey {
  readonly bytes: number;
  readonly sha256: Buffer;
}

export interface ReadBlob {
  readonly bytes: number;
  /** Throws at the end when the bytes differ from those written. */
  readonly pieces: AsyncIterable<Buffer>;
}

export interface SweepCounts extends Record<string, number> {
  readonly deleted: number;
  /** Blobs whose location failed; they are retried. */
  readonly failed: number;
}

/** An upload without progress for this long is abandoned. */
const writingMs = 3_600_000;
const reportIntervalMs = writingMs / 4;
/** Delay before a failed erasure is retried. */
const againMs = 600_000;
const sweepBatchMax = 100;

/**
 * A row represents everything that may be stored under a key: it is inserted before the first byte is
 * written and deleted after the last byte is erased. If the process dies between `write` and the
 * transaction that calls `keep`, the row becomes due and `sweep` erases the bytes.
 */
export class StoredBlobs implements AsyncDisposable {
  readonly #options: StoredBlobsOptions;

  constructor(options: StoredBlobsOptions) {
    this.#options = options;
  }

  /**
   * Writes under a key that was never used. The bytes are durable when this resolves; when it rejects,
   * they are erased now or by a later sweep.
   *
   * @throws BlobUnavailable, or the error of `pieces`
   */
  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<WrittenBlob> {
    const { database, now, writesTo } = this.#options;
    const store = this.#at(writesTo);
    await blobs.insert(database.db, {
      organisation_id: key.organisationId,
      id: key.id,
      place: writesTo,
      status: 'writing',
      bytes: 0,
      sha256: null,
      due_at: now() + writingMs,
    });
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      await store.write(
        key,
        this.#withProgress(key, pieces, (piece) => {
          hash.update(piece);
          bytes += piece.length;
        }),
      );
    } catch (error) {
      // After a failure of the location, bytes may still arrive there: the row stays until it is due.
      const isLocationFailure = error instanceof BlobUnavailable;
      await (isLocationFailure ? store.delete(key) : this.discard(key)).catch(() => undefined);
      throw error;
    }
    return { ...key, bytes, sha256: hash.digest() };
  }

  /** Commits a written blob. @throws BlobUnavailable when the upload was abandoned */
  async keep(tx: Db, written: WrittenBlob): Promise<void> {
    if (await blobs.keep(tx, written, written)) return;
    throw new BlobUnavailable('It took too long to be written');
  }

  /** Erases a written blob that is not committed. */
  async discard(key: BlobKey): Promise<void> {
    const { database, now } = this.#options;
    await blobs.markDeleted(database.db, key.organisationId, [key.id], now());
    await this.erase(key);
  }

  /** Null when the key has no committed blob. */
  async read(key: BlobKey): Promise<ReadBlob | null> {
    const row = await blobs.find(this.#options.database.db, key);
    if (row?.status !== 'kept') return null;
    const pieces = this.#at(row.place).read(key, row.bytes);
    return { bytes: row.bytes, pieces: checked(pieces, row.sha256!) };
  }

  /** Makes blobs unreadable once the transaction commits; `erase` or `sweep` erases the bytes. */
  async markDeleted(tx: Db, organisationId: string, ids: readonly string[]): Promise<void> {
    await blobs.markDeleted(tx, organisationId, ids, this.#options.now());
  }

  /** Erases a deleted blob at once; if the location fails, a sweep does so later. */
  async erase(key: BlobKey): Promise<void> {
    const row = await blobs.find(this.#options.database.db, key);
    if (row?.status === 'deleted') await this.#eraseDue(row).catch(() => undefined);
  }

  /** Erases due blobs, each at most once in a call. */
  async sweep(signal: AbortSignal): Promise<SweepCounts> {
    const { database, now } = this.#options;
    const counts = { deleted: 0, failed: 0 };
    while (!signal.aborted) {
      const due = await blobs.listDue(database.db, now(), sweepBatchMax);
      if (due.length === 0) break;
      for (const row of due) {
        if (signal.aborted) break;
        const isErased = await this.#eraseDue(row).catch((error) => {
          if (!(error instanceof BlobUnavailable)) throw error;
          counts.failed += 1;
          return false;
        });
        if (isErased) counts.deleted += 1;
      }
    }
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { places } = this.#options;
    await Promise.all(Object.values(places).map((place) => place[Symbol.asyncDispose]()));
  }

  /** Returns false when another process has claimed the blob. */
  async #eraseDue(row: blobs.StoredBlob): Promise<boolean> {
    const { database, now } = this.#options;
    if (!(await blobs.takeDue(database.db, row, now() + againMs))) return false;
    const key = { organisationId: row.organisation_id, id: row.id };
    await this.#at(row.place).delete(key);
    await blobs.deleteErased(database.db, key);
    return true;
  }

  #at(place: blobs.BlobLocation): BlobStore {
    const store = this.#options.places[place];
    if (store !== undefined) return store;
    const setting = place === 's3' ? 'GATEWRIGHT_BLOB_S3_BUCKET' : 'GATEWRIGHT_BLOB_DIR';
    throw new BlobUnavailable(`It is kept where ${setting} no longer leads`);
  }

  /** Postpones the cleanup of the row while the upload makes progress. */
  async *#withProgress(
    key: BlobKey,
    pieces: AsyncIterable<Buffer>,
    take: (piece: Buffer) => void,
  ): AsyncGenerator<Buffer, void> {
    const { database, now } = this.#options;
    let reportedAt = now();
    for await (const piece of pieces) {
      take(piece);
      yield piece;
      if (now() - reportedAt < reportIntervalMs) continue;
      reportedAt = now();
      if (await blobs.putOff(database.db, key, reportedAt + writingMs)) continue;
      throw new BlobUnavailable('It took too long to be written');
    }
  }
}

async function* checked(
  pieces: AsyncIterable<Buffer>,
  sha256: Buffer,
): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256');
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  if (!hash.digest().equals(sha256)) throw new BlobDamaged();
}
