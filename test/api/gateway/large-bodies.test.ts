/** Verifies that large and unfinished bodies take bounded memory and are released when their connections end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RawClient } from '../../support/network/raw-client.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';

const mebibyte = 1024 * 1024;
let inference: Inference;
let client: RawClient;
let keys: string[];

beforeAll(async () => {
  inference = await startInference({
    inference: { ...(await defaults()), bodiesBytesMax: 64 * mebibyte },
  });
  client = new RawClient(inference.server.inferenceUrl);
  keys = [];
  for (let at = 0; at < 3; at += 1) keys.push((await inference.addKey()).key);
});

afterAll(async () => {
  client[Symbol.dispose]();
  await inference[Symbol.asyncDispose]();
});

async function defaults() {
  const { readSettings } = await import('../../../src/settings.ts');
  return { ...readSettings({}, { cwd: '/nonexistent' }).inference, port: 0 };
}

/** Sends all of a body but its last byte. */
async function sendUnfinished(key: string, bytes: number): Promise<Socket> {
  const { port } = new URL(inference.server.inferenceUrl);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: ${bytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bytes - 1, 0x20));
  await once(socket, 'drain');
  return socket;
}

function send(key: string, bytes: number) {
  return client.send({
    method: 'POST',
    target: '/v1/chat/completions',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        provider: 'mock-upstream',
        custom_host: inference.upstream.url,
      }),
    },
    body: `{"model":"m","messages":[{"role":"user","content":"${'a'.repeat(bytes)}"}]}`,
  });
}

it('answers 503 with Retry-After beyond the share of a key, serves other keys, and releases what is abandoned', async () => {
  const sockets = [await sendUnfinished(keys[0]!, 31 * mebibyte)];
  const refused = await send(keys[0]!, 2 * mebibyte);
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect((await send(keys[1]!, 2 * mebibyte)).status).toBe(200);
  sockets.push(await sendUnfinished(keys[1]!, 31 * mebibyte));
  expect((await send(keys[2]!, 3 * mebibyte)).status).toBe(503);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => expect((await send(keys[0]!, 20 * mebibyte)).status).toBe(200));
  expect((await send(keys[2]!, 30 * mebibyte)).status).toBe(200);
});

it.each([
  ['escapes', `"${'\\n'.repeat(15 * mebibyte)}"`],
  ['nesting', '['.repeat(30 * mebibyte)],
  ['empty objects', `[${'{},'.repeat(10 * mebibyte)}{}]`],
])('rejects a body of 30 MiB of %s with 400 on every endpoint of models', async (_, value) => {
  for (const target of [
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/messages',
    '/v1/embeddings',
  ]) {
    const answer = await client.send({
      method: 'POST',
      target,
      headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
      body: `{"model":"m","input":${value},"messages":${value}}`.slice(0, 32 * mebibyte),
    });
    expect(answer.status).toBe(400);
  }
});
