/** Stores blobs in a bucket of an S3-compatible service, split into objects that are sent one by one. */
import type { Proxies } from '../remote/proxies.ts';
import {
  type BlobKey,
  BlobMissing,
  type BlobStore,
  BlobUnavailable,
  namesOf,
  repack,
} from './blob-store.ts';
import { objectBytesMax, S3Client, type S3Location } from './s3-client.ts';

interface ListPage {
  readonly objects: readonly { readonly name: string; readonly bytes: number }[];
  /** Token of the next page; null after the last one. */
  readonly next: string | null;
}

/**
 * Every S3-compatible service can put, get, list and delete objects. Multipart uploads are not used: some
 * services cannot list them, so parts of a killed process would remain unseen.
 */
export class S3 implements BlobStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  /** @param now returns milliseconds since the epoch */
  constructor(location: S3Location, proxies: Proxies | null, now: () => number) {
    this.#client = new S3Client(location, proxies, now);
    this.#bucket = location.bucket;
    this.#prefix = location.prefix;
  }

  async write(key: BlobKey, pieces: AsyncIterable<Buffer>): Promise<void> {
    const folder = this.#folderOf(key);
    let number = 0;
    for await (const body of repack(pieces, objectBytesMax)) {
      const response = await this.#client.request({
        method: 'PUT',
        name: folder + nameOf(number),
        body,
      });
      if (response.status !== 200)
        throw this.#client.failure('does not accept an object', response);
      number += 1;
    }
  }

  async *read(key: BlobKey, bytes: number): AsyncGenerator<Buffer, void> {
    const folder = this.#folderOf(key);
    for (let number = 0; number * objectBytesMax < bytes; number += 1) {
      const response = await this.#client.request({ method: 'GET', name: folder + nameOf(number) });
      if (response.status === 404) {
        throw new BlobMissing(`The bucket ${this.#bucket} lacks an object (404)`);
      }
      if (response.status !== 200)
        throw this.#client.failure('does not return an object', response);
      const expected = Math.min(objectBytesMax, bytes - number * objectBytesMax);
      if (response.body.length !== expected) {
        throw new BlobUnavailable(`An object of the bucket ${this.#bucket} is truncated`);
      }
      yield response.body;
    }
  }

  /** Lists the objects first, because an interrupted write may have left any of them. */
  async delete(key: BlobKey): Promise<void> {
    const prefix = this.#folderOf(key);
    for (let hasMore = true; hasMore; ) {
      const page = await this.#listPage(prefix, null);
      for (const { name } of page.objects) await this.#deleteOne(name);
      hasMore = page.objects.length > 0 && page.next !== null;
    }
  }

  /** Bytes of the blobs of an organisation by id, also of those that are being written. */
  async list(organisationId: string): Promise<Map<string, number>> {
    const prefix = this.#folderOf({ organisationId, id: '_' }).slice(0, -2);
    const found = new Map<string, number>();
    let next: string | null = null;
    do {
      const page = await this.#listPage(prefix, next);
      for (const { name, bytes } of page.objects) {
        const [id] = name.slice(prefix.length).split('/');
        found.set(id!, (found.get(id!) ?? 0) + bytes);
      }
      ({ next } = page);
    } while (next !== null);
    return found;
  }

  async #listPage(prefix: string, token: string | null): Promise<ListPage> {
    const query = {
      'list-type': '2',
      prefix,
      ...(token === null ? {} : { 'continuation-token': token }),
    };
    const listed = await this.#client.request({ method: 'GET', name: '', query });
    if (listed.status !== 200) throw this.#client.failure('does not list its objects', listed);
    const text = listed.body.toString('utf8');
    const objects = [...text.matchAll(/<Key>([^<]*)<\/Key>.*?<Size>(\d+)<\/Size>/gs)];
    const isTruncated = text.includes('<IsTruncated>true</IsTruncated>');
    const next = /<NextContinuationToken>([^<]*)</.exec(text)?.[1] ?? '';
    return {
      objects: objects.map(([, name, bytes]) => ({ name: name!, bytes: Number(bytes) })),
      next: isTruncated ? next : null,
    };
  }

  async #deleteOne(name: string): Promise<void> {
    const response = await this.#client.request({ method: 'DELETE', name });
    if ([200, 204, 404].includes(response.status)) return;
    throw this.#client.failure('does not delete an object', response);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client[Symbol.asyncDispose]();
  }

  #folderOf(key: BlobKey): string {
    return `${this.#prefix}${namesOf(key).join('/')}/`;
  }
}

function nameOf(number: number): string {
  return String(number).padStart(4, '0');
}
