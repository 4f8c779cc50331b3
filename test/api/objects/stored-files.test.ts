/**
 * Verifies that files are stored where the settings say, completely or not at all, and that nothing
 * remains of aborted, failed or deleted ones.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Directory } from '../../../src/blobs/directory.ts';
import { S3 } from '../../../src/blobs/s3.ts';
import { DatabaseBlobs } from '../../../src/store/database-blobs.ts';
import { StoredBlobs } from '../../../src/store/stored-blobs.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { testSettings } from '../../support/server/server.ts';
import { type Bucket, startBucket } from '../../support/upstream/bucket.ts';

const mebibyte = 1024 * 1024;
const hourMs = 3_600_000;
const content = randomBytes(9 * mebibyte + 5);
let bucket: Bucket;
let folder: string;
let inference: Inference;
let openai: OpenAI;

beforeAll(async () => {
  bucket = await startBucket();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-kept-'));
  const { inference: usual } = testSettings();
  inference = await startInference({
    blobs: {
      writesTo: 's3',
      directory: folder,
      s3: bucket.place,
      fileBytesMax: 10 * mebibyte,
    },
    // The body limit does not apply to files.
    inference: { ...usual, bodyBytesMax: mebibyte },
  });
  const { key } = await inference.addKey();
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
  openai = new OpenAI({
    apiKey: key,
    maxRetries: 0,
    baseURL: `${inference.server.inferenceUrl}/v1`,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  });
});

afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const upload = async (bytes = content) =>
  openai.files.create({ file: await toFile(bytes, 'a.bin'), purpose: 'user_data' });

const rows = () =>
  inference.server.database.db.selectFrom('blobs').select(['id', 'status', 'place']).execute();

const sweep = () => inference.server.app.jobs.runNow('delete-unused-blobs');

/** Nothing is left in the bucket, the folder and the database. */
const expectNothingLeft = async () => {
  expect(await rows()).toEqual([]);
  expect(bucket.objects()).toEqual([]);
  expect(
    readdirSync(folder, { recursive: true }).filter((name) => /file_/.test(`${name}`)),
  ).toEqual([]);
  const parts = inference.server.database.db.selectFrom('blob_parts').select('number');
  expect(await parts.execute()).toEqual([]);
};

const failure = (status: number, code: string) => expect.objectContaining({ status, code });

describe('a file in a bucket', () => {
  it('may exceed the body limit, is returned unchanged, and is erased on deletion', async () => {
    const file = await upload();
    expect(file.bytes).toBe(content.length);
    expect(bucket.objects().map((name) => name.slice(-4))).toEqual(['0000', '0001', '0002']);
    const read = await openai.files.content(file.id);
    expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
    await openai.files.delete(file.id);
    await expectNothingLeft();
  });

  it('returns 413 above the file limit, and leaves nothing', async () => {
    const large = Buffer.concat([content, content.subarray(0, mebibyte)]);
    await expect(upload(large)).rejects.toEqual(failure(413, 'body_too_large'));
    await expectNothingLeft();
  });

  it('is rejected when a field after the file is invalid, and leaves nothing', async () => {
    const form = new FormData();
    form.set('file', new File([content], 'a.bin'));
    form.set('purpose', 'none');
    await expect(openai.post('/files', { body: form })).rejects.toEqual(
      expect.objectContaining({ status: 400, param: 'purpose' }),
    );
    await expectNothingLeft();
  });

  it('returns 503 while the bucket fails, and leaves nothing an hour later', async () => {
    const file = await upload();
    bucket.interfere = (requested) => (/(?:PUT|GET).*0001/.test(requested) ? 503 : null);
    await expect(upload()).rejects.toEqual(failure(503, 'unavailable'));
    expect(inference.server.logLines.join()).toContain(
      'The bucket files does not accept an object',
    );
    await expect(
      openai.files.content(file.id).then((read) => read.arrayBuffer()),
    ).rejects.toThrow();
    bucket.interfere = (requested) => (requested.startsWith('DELETE') ? 503 : null);
    // It is deleted for its owner, and erased when the bucket is available again.
    await openai.files.delete(file.id);
    await expect(openai.files.retrieve(file.id)).rejects.toEqual(failure(404, 'not_found'));
    inference.server.clock.advance(hourMs);
    expect(await sweep()).toMatchObject({ state: 'failed', counts: { deleted: 1, failed: 1 } });
    bucket.interfere = () => null;
    inference.server.clock.advance(hourMs);
    expect(await sweep()).toMatchObject({ state: 'done', counts: { deleted: 1 } });
    await expectNothingLeft();
  });

  it('leaves nothing when its caller disconnects during the upload', async () => {
    const { hostname, port } = new URL(inference.server.inferenceUrl);
    const socket = connect(Number(port), hostname);
    socket.write(
      [
        'POST /v1/files HTTP/1.1',
        `host: ${hostname}`,
        `authorization: Bearer ${openai.apiKey}`,
        `x-gateway-config: ${JSON.stringify({ provider: 'mock-upstream', custom_host: inference.upstream.url })}`,
        'content-type: multipart/form-data; boundary=x',
        'content-length: 9000000',
        '',
        '--x',
        'content-disposition: form-data; name=file; filename=a',
        '',
        '',
      ].join('\r\n'),
    );
    socket.write(content.subarray(0, 5 * mebibyte));
    await eventually(async () => expect(bucket.objects()).toHaveLength(1));
    socket.destroy();
    await eventually(async () => expect(bucket.objects()).toEqual([]));
    inference.server.clock.advance(hourMs);
    await sweep();
    await expectNothingLeft();
  });
});

describe('an uncommitted file of a killed process', () => {
  const key = (id: string) => ({ organisationId: inference.server.organisationId, id });
  const blobsIn = (writesTo: 'database' | 'directory' | 's3') =>
    new StoredBlobs({
      database: inference.server.database,
      writesTo,
      now: () => inference.server.clock.now(),
      places: {
        database: new DatabaseBlobs(inference.server.database),
        directory: new Directory(folder),
        s3: new S3(bucket.place, null, Date.now),
      },
    });
  const pieces = (bytes = content) =>
    Readable.from([bytes.subarray(0, 500_000), bytes.subarray(500_000)]);

  it.each(['database', 'directory', 's3'] as const)(
    'is erased in the %s, and not earlier',
    async (place) => {
      await using blobs = blobsIn(place);
      const { database } = inference.server;
      const stored = await blobs.write(key('file_kept'), pieces());
      await database.transaction((tx) => blobs.keep(tx, stored));
      const lost = await blobs.write(key('file_lost'), pieces());
      inference.server.clock.advance(hourMs - 1);
      expect(await sweep()).toMatchObject({ counts: { deleted: 0 } });
      inference.server.clock.advance(1);
      expect(await sweep()).toMatchObject({ counts: { deleted: 1 } });
      await expect(database.transaction((tx) => blobs.keep(tx, lost))).rejects.toThrow('too long');
      expect(await blobs.read(lost)).toBeNull();
      const read = await blobs.read(stored);
      expect(Buffer.concat(await Array.fromAsync(read!.pieces)).equals(content)).toBe(true);
      await blobs.discard(stored);
      await expectNothingLeft();
    },
  );

  it('is either committed or erased, however often both happen at once', async () => {
    await using blobs = blobsIn('database');
    const { database, clock } = inference.server;
    const written = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        blobs.write(key(`file_${n}`), Readable.from([Buffer.from(`of ${n}`)])),
      ),
    );
    clock.advance(hourMs);
    const signal = new AbortController().signal;
    const keeping = written.map((one) => database.transaction((tx) => blobs.keep(tx, one)));
    const [ends] = await Promise.all([Promise.allSettled(keeping), blobs.sweep(signal)]);
    for (const [n, { status }] of ends.entries()) {
      const read = await blobs.read(written[n]!);
      const text = read && Buffer.concat(await Array.fromAsync(read.pieces)).toString();
      expect(text).toBe(status === 'fulfilled' ? `of ${n}` : null);
      if (read !== null) await blobs.discard(written[n]!);
    }
    await expectNothingLeft();
  });

  it('is rejected when its stored bytes were altered', async () => {
    await using blobs = blobsIn('database');
    const { database } = inference.server;
    const stored = await blobs.write(key('file_kept'), pieces());
    await database.transaction((tx) => blobs.keep(tx, stored));
    const part = { content: Buffer.alloc(mebibyte) };
    await database.db.updateTable('blob_parts').set(part).where('number', '=', 3).execute();
    const read = await blobs.read(stored);
    await expect(Array.fromAsync(read!.pieces)).rejects.toThrow('The stored bytes differ');
    await blobs.discard(stored);
  });
});
