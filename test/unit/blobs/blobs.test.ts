/**
 * Tests the folder and bucket stores: they keep bytes intact, return them, and report failures
 * clearly.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BlobStore, BlobUnavailable, repack } from '../../../src/blobs/blob-store.ts';
import { Directory } from '../../../src/blobs/directory.ts';
import { S3 } from '../../../src/blobs/s3.ts';
import { Secret } from '../../../src/secret.ts';
import { mountSmallDisk, unmountSmallDisk } from '../../support/database/small-disk.ts';
import { type Bucket, startBucket } from '../../support/upstream/bucket.ts';

const mebibyte = 1024 * 1024;
const key = { organisationId: 'b6e7a3f0-0000-4000-8000-000000000001', id: 'file_gw1' };
const twin = { ...key, id: 'file_gw10' };
/** Two objects of a bucket and a part of a third. */
const content = randomBytes(9 * mebibyte + 17);

let bucket: Bucket;
let folder: string;
const stores: Record<string, BlobStore> = {};

beforeAll(async () => {
  bucket = await startBucket();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-blobs-'));
  stores['a folder'] = new Directory(folder);
  stores['a bucket'] = new S3(bucket.place, null, Date.now);
});

afterAll(async () => {
  for (const store of Object.values(stores)) await store[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const inPieces = (bytes: Buffer, size: number) =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
  );

const wholeOf = async (pieces: AsyncIterable<Buffer>) =>
  Buffer.concat(await Array.fromAsync(pieces));

/** Fails after `after` bytes, like a caller who disconnects. */
async function* cutOff(after: number): AsyncGenerator<Buffer> {
  yield* inPieces(content.subarray(0, after), 100_000);
  throw new Error('the caller has gone');
}

const left = () => [...readdirSync(folder, { recursive: true }), ...bucket.objects()].map(String);

describe.each(['a folder', 'a bucket'])('%s', (name) => {
  it.each([0, 1, 4 * mebibyte, content.length])('returns %i bytes unchanged', async (size) => {
    const store = stores[name]!;
    const bytes = content.subarray(0, size);
    await store.write(key, inPieces(bytes, 70_001));
    expect((await wholeOf(store.read(key, size))).equals(bytes)).toBe(true);
    await store.delete(key);
    await store.delete(key);
    expect(left().filter((one) => one.includes(key.id))).toEqual([]);
  });

  it('removes everything of an interrupted write on deletion, and nothing of its neighbour', async () => {
    const store = stores[name]!;
    await store.write(twin, inPieces(content, mebibyte));
    const writing = store.write(key, cutOff(6 * mebibyte));
    await expect(writing).rejects.toThrow('the caller has gone');
    await store.delete(key);
    expect(left().filter((one) => one.endsWith(key.id) || one.includes(`${key.id}/`))).toEqual([]);
    expect((await wholeOf(store.read(twin, content.length))).equals(content)).toBe(true);
    await store.delete(twin);
  });

  it('rejects a key that would leave the store', async () => {
    for (const id of ['../a', 'a/b', '', '.', 'a\0']) {
      await expect(
        stores[name]!.write({ ...key, id }, inPieces(content, mebibyte)),
      ).rejects.toThrow(RangeError);
    }
  });

  it('reports a stored object that is missing or truncated', async () => {
    const store = stores[name]!;
    await expect(wholeOf(store.read(key, 5))).rejects.toThrow(BlobUnavailable);
    await store.write(key, inPieces(Buffer.from('hello'), 5));
    await expect(wholeOf(store.read(key, 6))).rejects.toThrow(/truncated/);
    await store.delete(key);
  });
});

describe('a folder', () => {
  it('is not created when missing, because a missing folder means a missing volume', async () => {
    const missing = new Directory(join(folder, 'missing'));
    await expect(missing.write(key, inPieces(content, 1_000))).rejects.toThrow(
      /GATEWRIGHT_BLOB_DIR/,
    );
  });

  it('reports a full disk, and accepts smaller objects afterwards', async (context) => {
    const disk = mountSmallDisk(4);
    if (disk === null) return context.skip('a small disk (mounting one takes root)');
    try {
      const store = new Directory(disk);
      await expect(store.write(key, inPieces(content, 50_000))).rejects.toThrow(
        'The folder for blobs (GATEWRIGHT_BLOB_DIR): its disk is full',
      );
      await store.delete(key);
      await store.write(key, inPieces(content.subarray(0, mebibyte), 50_000));
      expect(readdirSync(join(disk, key.organisationId))).toEqual([key.id]);
    } finally {
      unmountSmallDisk(disk);
    }
  });

  it('detects a file that was truncated from outside', async () => {
    const store = stores['a folder']!;
    await store.write(key, inPieces(content, mebibyte));
    truncateSync(join(folder, key.organisationId, key.id), 100);
    await expect(wholeOf(store.read(key, content.length))).rejects.toThrow(/truncated/);
    writeFileSync(join(folder, key.organisationId, `${key.id}.part`), 'left');
    await store.delete(key);
    expect(readdirSync(join(folder, key.organisationId))).toEqual([]);
  });
});

describe('a bucket', () => {
  it('is called again when busy, and reported when it stays busy', async () => {
    let failures = 2;
    bucket.interfere = () => (failures-- > 0 ? 503 : null);
    await stores['a bucket']!.write(key, inPieces(content, mebibyte));
    bucket.interfere = (requested) => (requested.startsWith('GET') ? 503 : null);
    const reading = wholeOf(stores['a bucket']!.read(key, content.length));
    await expect(reading).rejects.toThrow('The bucket files does not return an object (503, Busy)');
    bucket.interfere = () => null;
    await stores['a bucket']!.delete(key);
    expect(bucket.objects()).toEqual([]);
  });

  it('reports a wrong key or an unavailable service, without showing the key', async () => {
    const secretAccessKey = new Secret('wrong-secret', 'test');
    const credentials = { ...bucket.key, secretAccessKey };
    await using wrong = new S3({ ...bucket.place, credentials }, null, Date.now);
    await expect(wrong.write(key, inPieces(content, mebibyte))).rejects.toThrow(
      'The bucket files does not accept an object (403, SignatureDoesNotMatch)',
    );
    const endpoint = new URL('http://127.0.0.1:9');
    await using away = new S3({ ...bucket.place, endpoint }, null, Date.now);
    await expect(away.delete(key)).rejects.toThrow(
      'The bucket at http://127.0.0.1:9 is out of reach (ECONNREFUSED)',
    );
  });
});

describe('bytes that are divided into pieces', () => {
  it('returns the same bytes, in pieces of one size that nothing overwrites', async () => {
    for (const size of [1, 999, 1_000, 1_001, 5_000]) {
      const pieces = await Array.fromAsync(
        repack(inPieces(content.subarray(0, 3_500), size), 1_000),
      );
      expect(pieces.map(({ length }) => length)).toEqual([1_000, 1_000, 1_000, 500]);
      expect(Buffer.concat(pieces).equals(content.subarray(0, 3_500))).toBe(true);
    }
  });
});
