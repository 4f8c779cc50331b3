/** Knows how large bytes are kept so that nothing is lost and nothing is left: noted before they are written, and until nothing is left of them. */
import { createHash } from 'node:crypto';
import { BlobDamaged, type BlobKey, type BlobStore, BlobUnavailable } from '../blobs/blob-store.ts';
import type { Database, Db } from './connection/db.ts';
import * as blobs from './objects/blobs.ts';

export interface KeptBlobsOptions {
  readonly database: Pick<Database, 'db'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Where new ones are kept. */
  readonly writesTo: blobs.BlobLocation;
  readonly places: Readonly<Partial<Record<blobs.BlobLocation, BlobStore>>>;
}

/** What was written, and is not kept yet. */
export interface WrittenBlob extends BlobKey {
  readonly bytes: number;
  readonly sha256: Buffer;
}

export interface ReadBlob {
  readonly bytes: number;
  /** Throws at their end where they are others than were written. */
  readonly pieces: AsyncIterable<Buffer>;
}

export interface SweepCounts extends Record<string, number> {
  readonly deleted: number;
  /** Whose place did not do its part; they are tried again. */
  readonly failed: number;
}

/** Without a sign of life a writing is given up. */
const writingMs = 3_600_000;
const aliveMs = writingMs / 4;
/** Before an erasure that failed is tried again. */
const againMs = 600_000;
const lookedAtMax = 100;

/**
 * A row stands for all that may lie at a place: it is there before the first byte is, and goes when the
 * last one has. Between `write` and the transaction that calls `keep`, the process may die; then the row
 * falls due, and `sweep` erases what there is.
 */
export class KeptBlobs implements AsyncDisposable {
  readonly #options: KeptBlobsOptions;

  constructor(options: KeptBlobsOptions) {
    this.#options = options;
  }

  /**
   * Under a key that was never used. All of it would outlive the machine when this resolves; nothing is
   * left when it rejects, now or soon.
   *
   * @throws BlobUnavailable, or what `pieces` throw
   */
  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<WrittenBlob> {
    const { database, now, writesTo } = this.#options;
    const store = this.#at(writesTo);
    await blobs.insert(database.db, {
      ...{ organisation_id: key.organisationId, id: key.id, place: writesTo },
      ...{ status: 'writing', bytes: 0, sha256: null, due_at: now() + writingMs },
    });
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      await store.write(
        key,
        this.#alive(key, pieces, (piece) => {
          hash.update(piece);
          bytes += piece.length;
        }),
      );
    } catch (error) {
      // Where the place failed, something may still be on its way there: the row stays until it is due.
      const isOfPlace = error instanceof BlobUnavailable;
      await (isOfPlace ? store.delete(key) : this.discard(key)).catch(() => undefined);
      throw error;
    }
    return { ...key, bytes, sha256: hash.digest() };
  }

  /** @throws BlobUnavailable where it took so long that it was given up */
  async keep(tx: Db, written: WrittenBlob): Promise<void> {
    if (await blobs.keep(tx, written, written)) return;
    throw new BlobUnavailable('It took too long to be written');
  }

  /** What was written and is not to be kept after all. */
  async discard(key: BlobKey): Promise<void> {
    const { database, now } = this.#options;
    await blobs.markDeleted(database.db, key.organisationId, [key.id], now());
    await this.erase(key);
  }

  /** Null where nothing is kept under the key. */
  async read(key: BlobKey): Promise<ReadBlob | null> {
    const row = await blobs.find(this.#options.database.db, key);
    if (row?.status !== 'kept') return null;
    const pieces = this.#at(row.place).read(key, row.bytes);
    return { bytes: row.bytes, pieces: checked(pieces, row.sha256!) };
  }

  /** They are read no more from when the transaction ends; what lies at their place goes with `erase` or `sweep`. */
  async markDeleted(tx: Db, organisationId: string, ids: readonly string[]): Promise<void> {
    await blobs.markDeleted(tx, organisationId, ids, this.#options.now());
  }

  /** At once where the place does its part; else a sweep does it later. */
  async erase(key: BlobKey): Promise<void> {
    const row = await blobs.find(this.#options.database.db, key);
    if (row?.status === 'deleted') await this.#eraseDue(row).catch(() => undefined);
  }

  /** Erases what is due, and looks at each once. */
  async sweep(signal: AbortSignal): Promise<SweepCounts> {
    const { database, now } = this.#options;
    const counts = { deleted: 0, failed: 0 };
    while (!signal.aborted) {
      const due = await blobs.listDue(database.db, now(), lookedAtMax);
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

  /** Whether it was this one's to erase. */
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

  /** Says now and then that it is still being written. */
  async *#alive(
    key: BlobKey,
    pieces: AsyncIterable<Buffer>,
    take: (piece: Buffer) => void,
  ): AsyncGenerator<Buffer, void> {
    const { database, now } = this.#options;
    let sign = now();
    for await (const piece of pieces) {
      take(piece);
      yield piece;
      if (now() - sign < aliveMs) continue;
      sign = now();
      if (await blobs.putOff(database.db, key, sign + writingMs)) continue;
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
