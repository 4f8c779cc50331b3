/** Knows how bytes lie in a folder: a file each, whole or not there, in a folder an organisation. */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BlobKey, type BlobStore, BlobUnavailable, namesOf } from './blob-store.ts';

const readBytes = 256 * 1024;

/** The folder is there already: one that is missing is a volume that is missing. */
export class Directory implements BlobStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void> {
    const { whole, begun } = this.#placesOf(key);
    await this.#told(makeFolder(dirname(whole)));
    const file = await this.#told(open(begun, 'wx', 0o600));
    try {
      for await (const piece of pieces) await this.#told(writeAll(file, piece));
      await this.#told(file.sync());
    } finally {
      await file.close();
    }
    await this.#told(rename(begun, whole));
    await this.#told(syncFolder(dirname(whole)));
  }

  async *read(key: BlobKey, bytes: number): AsyncGenerator<Buffer, void> {
    const file = await this.#told(open(this.#placesOf(key).whole, 'r'));
    try {
      for (let at = 0; at < bytes; ) {
        const piece = Buffer.allocUnsafe(Math.min(readBytes, bytes - at));
        const { bytesRead } = await this.#told(file.read(piece, 0, piece.length, at));
        if (bytesRead === 0) throw new BlobUnavailable('A file in the folder for blobs is cut off');
        yield piece.subarray(0, bytesRead);
        at += bytesRead;
      }
    } finally {
      await file.close();
    }
  }

  async delete(key: BlobKey): Promise<void> {
    const { whole, begun } = this.#placesOf(key);
    await this.#told(rm(begun, { force: true }));
    await this.#told(rm(whole, { force: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Who writes has the key to itself, so that what is begun has one name. */
  #placesOf(key: BlobKey) {
    const [organisationId, id] = namesOf(key);
    const whole = join(this.#path, organisationId, id);
    return { whole, begun: `${whole}.part` };
  }

  async #told<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      const reason = reasons[String(code)] ?? `it answers ${code ?? 'an error'}`;
      throw new BlobUnavailable(`The folder for blobs (GATEWRIGHT_BLOB_DIR): ${reason}`, { cause });
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its quota is used up',
  EROFS: 'it is read-only',
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  ENOENT: 'what is looked for is not there',
};

/** A write may take less than it is given. */
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

/** So that names in it outlive the machine, too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
