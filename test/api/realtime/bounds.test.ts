/** Verifies that realtime sessions stay within their bounds, and end when keys, settings or the process end. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type RealtimeServer, startRealtime } from '../../support/server/realtime.ts';
import { beginResponse, endResponse } from '../../support/upstream/realtime-provider.ts';

const mebibyte = 1024 * 1024;
let realtime: RealtimeServer;

beforeAll(async () => {
  realtime = await startRealtime();
});

afterAll(() => realtime[Symbol.asyncDispose]());

async function open(fields: object = {}) {
  const { key, id } = await realtime.addKey(fields);
  const opened = realtime.provider.next();
  const caller = await realtime.connect(key);
  const provider = await opened;
  await caller.event('session.created');
  return { key, id, caller, provider };
}

describe('an open session', () => {
  it('is closed with 1008 when its key is deleted', async () => {
    const { id, caller, provider } = await open();
    await realtime.server.request('DELETE', `/v1/api-keys/${id}`);
    expect(await caller.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining('invalid_api_key'),
    });
    expect(await provider.closed).toBe(1000);
  });

  it('is closed with 1008 when its key expires', async () => {
    const { server } = realtime;
    const expires_at = new Date(server.clock.now() + 60_000).toISOString();
    const { caller } = await open({ expires_at });
    server.clock.advance(61_000);
    expect(await caller.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining('api_key_expired'),
    });
  });

  it('is closed with 1001 when its process stops, after the response that runs', async () => {
    const { settings, clock } = realtime.server;
    const overrides = {
      clock,
      readSharedTime: async () => clock.now(),
      components: ['gateway'] as const,
    };
    const app = await createApp({ ...settings, logLevel: 'error' }, overrides);
    const url = (await app.listen()).inferenceUrl!;
    const { key } = await realtime.addKey();
    const running = Promise.withResolvers<string>();
    realtime.provider.answer = (session) => running.resolve(beginResponse(session));
    const idle = await realtime.connect(key, { url });
    const opened = realtime.provider.next();
    const busy = await realtime.connect(key, { url });
    const provider = await opened;
    busy.send({ type: 'response.create' });
    const id = await running.promise;
    await busy.event('response.created');
    const stopped = app[Symbol.asyncDispose]();
    expect(await idle.closed).toMatchObject({ code: 1001 });
    expect(busy.socket.readyState).toBe(1);
    endResponse(realtime.provider, provider, id, { input: 1, output: 1 });
    await busy.event('response.done');
    expect(await busy.closed).toMatchObject({ code: 1001 });
    await stopped;
  });

  it('is closed with 1008 when a limit is set that it was not opened with', async () => {
    const { id, caller } = await open();
    const body = { usage_limits: { type: 'tokens', credit_limit: 1_000 } };
    await realtime.server.request('PUT', `/v1/api-keys/${id}`, { body });
    expect(await caller.closed).toMatchObject({
      code: 1008,
      reason: expect.stringMatching(/limits/),
    });
  });

  it('ends with the code and the reason of the provider', async () => {
    const { caller, provider } = await open();
    provider.socket.close(4000, 'enough');
    expect(await caller.closed).toEqual({ code: 4000, reason: 'enough' });
  });

  it('reports a provider that breaks off as 1011', async () => {
    const { caller, provider } = await open();
    provider.socket.terminate();
    expect(await caller.closed).toMatchObject({ code: 1011 });
  });

  it('closes the side of the provider as soon as the caller is gone', async () => {
    const { caller, provider } = await open();
    caller.socket.terminate();
    expect(await provider.closed).toBe(1000);
  });

  it.each([
    ['a message beyond the bound', 'x'.repeat(5 * mebibyte), 1009],
    ['a binary message under a limit', Buffer.from('{"type":"response.create"}'), 1003],
  ])('ends after %s', async (_, message, code) => {
    const { caller, provider } = await open({
      usage_limits: { type: 'tokens', credit_limit: 9_000 },
    });
    caller.socket.send(message);
    expect(await caller.closed).toMatchObject({ code });
    await provider.closed;
  });

  it('reads no more from a provider than a caller that does not read can receive', async () => {
    const { caller, provider } = await open();
    caller.socket.pause();
    const delta = 'x'.repeat(mebibyte);
    for (let at = 0; at < 64; at += 1) provider.send({ type: 'something', delta });
    await eventually(() => expect(provider.socket.bufferedAmount).toBeGreaterThan(16 * mebibyte));
    caller.socket.resume();
    await eventually(() => expect(provider.socket.bufferedAmount).toBe(0));
    caller.socket.close();
  });
});

/** Sends raw bytes behind a valid handshake; resolves with what the gateway sends until the end. */
async function sendRaw(bytes: Buffer): Promise<Buffer> {
  const { key } = await realtime.addKey();
  const { port } = new URL(realtime.server.inferenceUrl);
  const config = JSON.stringify({ provider: 'mock-upstream', custom_host: realtime.provider.url });
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    [
      'GET /v1/realtime?model=m HTTP/1.1',
      'Host: gateway',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      'Sec-WebSocket-Extensions: permessage-deflate',
      `Authorization: Bearer ${key}`,
      `X-Gateway-Config: ${config}`,
      '\r\n',
    ].join('\r\n'),
  );
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** A masked frame with the mask 0. */
function frame(opcode: number, payload: Buffer, first = 0x80): Buffer {
  return Buffer.concat([Buffer.from([first | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

describe('a hostile frame', () => {
  it.each([
    ['that is not masked', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 1002],
    ['with invalid UTF-8', frame(1, Buffer.from([0xc3, 0x28])), 1007],
    ['that claims to be compressed', frame(1, Buffer.from('{}'), 0xc0), 1002],
    ['with an unknown opcode', frame(3, Buffer.from('{}')), 1002],
    [
      'that announces more bytes than are allowed',
      Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0]),
      1009,
    ],
    [
      'in more fragments than are allowed',
      Buffer.concat([
        frame(1, Buffer.from('{'), 0),
        ...Array.from({ length: 1_100 }, () => frame(0, Buffer.from(' '), 0)),
      ]),
      1008,
    ],
  ])('%s ends the session', async (_, bytes, code) => {
    const received = await sendRaw(bytes);
    expect(received.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
    expect(received.toString('latin1')).not.toContain('permessage-deflate');
    const close = received.lastIndexOf(0x88);
    expect(received.readUInt16BE(close + 2)).toBe(code);
  });
});
