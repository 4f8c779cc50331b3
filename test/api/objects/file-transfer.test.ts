/**
 * Verifies that file uploads are streamed to providers: of any size, with backpressure, bounded,
 * and never partially.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { testSettings } from '../../support/server/server.ts';

const mebibyte = 1024 * 1024;
const content = randomBytes(12 * mebibyte);
let inference: Inference;
let provider: Server;
let openai: OpenAI;
let key: string;
let config: object;
/** How the provider handles an upload. */
let take: (request: IncomingMessage) => Promise<{ status: number; body: object }>;
let requested = 0;

const whole = async (request: IncomingMessage): Promise<Buffer> =>
  Buffer.concat((await request.toArray()) as Buffer[]);

beforeAll(async () => {
  provider = createServer(async (request, response) => {
    requested += 1;
    const { status, body } = await take(request).catch(() => ({ status: 499, body: {} }));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', () => resolve()));
  const host = `127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const { inference: usual, blobs } = testSettings();
  inference = await startInference({
    blobs: { ...blobs, fileBytesMax: 16 * mebibyte },
    inference: { ...usual, bodyBytesMax: mebibyte },
    ...trusting(host),
  });
  key = (await inference.addKey()).key;
  const target = { provider: 'openai', api_key: 'sk-any', custom_host: `http://${host}/v1` };
  config = { strategy: { mode: 'fallback' }, targets: [target, target], retry: { attempts: 2 } };
  openai = new OpenAI({
    apiKey: key,
    maxRetries: 0,
    baseURL: `${inference.server.inferenceUrl}/v1`,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  });
});

beforeEach(() => {
  requested = 0;
});

afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});

const trusting = (host: string) => {
  const trusted = readTrustedHosts(host);
  return { trustedHosts: 'hosts' in trusted ? trusted.hosts : [] };
};

const upload = async (bytes = content) =>
  openai.files.create({ file: await toFile(bytes, 'a.bin'), purpose: 'user_data' });

const pending = () =>
  inference.server.database.db.selectFrom('pending_objects').selectAll().execute();

it('arrives byte for byte above the body limit with its sender as owner, also as parts of an upload', async () => {
  let came: Buffer = Buffer.alloc(0);
  take = async (request) => {
    came = await whole(request);
    return { status: 200, body: { id: 'file-1', object: 'file' } };
  };
  expect(await upload()).toMatchObject({ id: 'file-1' });
  expect(came.includes(content)).toBe(true);
  expect(await pending()).toEqual([]);
  take = async () => ({ status: 200, body: { id: 'upload-1' } });
  const { id } = await openai.uploads.create({
    bytes: content.length,
    filename: 'a',
    mime_type: 'a/b',
    purpose: 'user_data',
  });
  take = async (request) => {
    came = await whole(request);
    return { status: 200, body: { id: 'part-1' } };
  };
  expect(await openai.uploads.parts.create(id, { data: await toFile(content, 'a') })).toEqual(
    expect.objectContaining({ id: 'part-1' }),
  );
  expect(came.includes(content)).toBe(true);
});

it('is retried when it is small, and sent once when it is large, because a stream cannot be replayed', async () => {
  take = async (request) => {
    await whole(request);
    return requested === 2 ? { status: 200, body: { id: 'file-2' } } : { status: 503, body: {} };
  };
  expect(await upload(content.subarray(0, 1000))).toMatchObject({ id: 'file-2' });
  requested = 0;
  await expect(upload()).rejects.toMatchObject({ status: 503 });
  expect(requested).toBe(1);
  // The provider may respond with an error before it has received everything.
  take = async () => ({ status: 413, body: { error: { message: 'too much' } } });
  const refused = upload();
  await expect(refused).rejects.toBeInstanceOf(Error);
});

it('is limited to the maximum file size, with and without a declared length', async () => {
  take = async (request) => {
    await whole(request);
    return { status: 200, body: { id: 'file-3' } };
  };
  // A client that still sends may see only that the connection has ended.
  await expect(upload(Buffer.concat([content, content]))).rejects.toBeInstanceOf(Error);
  expect(requested).toBe(0);
  const pieces = Array.from({ length: 17 }, () => randomBytes(mebibyte));
  const answer = await sendPieces(pieces).catch(() => 'cut off');
  expect([{ status: 413 }, 'cut off']).toContainEqual(answer);
  expect(await openai.files.list().then(({ data }) => data)).not.toContain('file-3');
});

it('is aborted when its caller disconnects, without leaving anything behind', async () => {
  const { promise: isRequested, resolve: began } = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  take = async (request) => {
    began();
    await whole(request).catch(ended.resolve);
    return { status: 200, body: { id: 'file-4' } };
  };
  await inference.server.database.db.deleteFrom('pending_objects').execute();
  const form = sending(15 * mebibyte);
  form.on('error', () => undefined).write(randomBytes(mebibyte));
  await isRequested;
  form.destroy();
  expect(await ended.promise).toBeInstanceOf(Error);
  await eventually(async () => expect(await pending()).toEqual([]));
});

const headers = () => ({
  authorization: `Bearer ${key}`,
  'content-type': 'multipart/form-data; boundary=b',
  'x-gateway-config': JSON.stringify(config),
});

/** An upload of this length, or of unknown length. */
function sending(bytes: number | null) {
  const length = bytes === null ? {} : { 'content-length': String(bytes) };
  const url = `${inference.server.inferenceUrl}/v1/files`;
  return send(url, { method: 'POST', headers: { ...headers(), ...length } });
}

async function sendPieces(pieces: readonly Buffer[]): Promise<{ status: number }> {
  const form = sending(null);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number }>();
  form.on('response', (response) => {
    response.resume();
    resolve({ status: response.statusCode! });
  });
  form.on('error', reject);
  for (const piece of pieces) form.write(piece);
  form.end();
  return promise;
}
