/** Stores blobs in a folder: one subfolder for each organisation, one file for each blob, complete or absent. */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { diskFaults, syncFolder } from '../durable-files.ts';
import { type BlobKey, type BlobStore, BlobUnavailable, namesOf } from './blob-store.ts';

const readBytes = 256 * 1024;

/** The folder must exist: a missing folder means a missing volume. */
export class Directory implements BlobStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void> {
    const { complete, partial } = this.#pathsOf(key);
    await this.#explained(makeFolder(dirname(complete)));
    const file = await this.#explained(open(partial, 'wx', 0o600));
    try {
      for await (const piece of pieces) await this.#explained(writeAll(file, piece));
      await this.#explained(file.sync());
    } finally {
      await file.close();
    }
    await this.#explained(rename(partial, complete));
    await this.#explained(syncFolder(dirname(complete)));
  }

  async *read(key: BlobKey, bytes: number): AsyncGenerator<Buffer, void> {
    const file = await this.#explained(open(this.#pathsOf(key).complete, 'r'));
    try {
      for (let at = 0; at < bytes; ) {
        const piece = Buffer.allocUnsafe(Math.min(readBytes, bytes - at));
        const { bytesRead } = await this.#explained(file.read(piece, 0, piece.length, at));
        if (bytesRead === 0)
          throw new BlobUnavailable('A file in the folder for blobs is truncated');
        yield piece.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await file.close();
    }
  }

  async delete(key: BlobKey): Promise<void> {
    const { complete, partial } = this.#pathsOf(key);
    await this.#explained(rm(partial, { force: true }));
    await this.#explained(rm(complete, { force: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Keys are used by one writer only, so the partial file has a fixed name. */
  #pathsOf(key: BlobKey) {
    const [organisationId, id] = namesOf(key);
    const complete = join(this.#path, organisationId, id);
    return { complete, partial: `${complete}.part` };
  }

  async #explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      const reason = reasons[String(code)] ?? `the error is ${code ?? 'unknown'}`;
      throw new BlobUnavailable(`The folder for blobs (GATEWRIGHT_BLOB_DIR): ${reason}`, { cause });
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  ...diskFaults,
  ENOENT: 'the file does not exist',
};

/** A single write may be partial. */
async function writeAll(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<void> {
  for (let at = 0; at < piece.length; ) {
    at += (await file.write(piece, at, piece.length - at)).bytesWritten;
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await syncFolder(dirname(path));
}
