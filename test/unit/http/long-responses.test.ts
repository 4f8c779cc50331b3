/**
 * Verifies long responses on a real socket: the bytes of plain JSON, produced no faster than they
 * are read, without delaying others.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Route, route } from '../../../src/http/routes/route.ts';
import { listReply } from '../../../src/model/wire/paging.ts';
import { type HttpHarness, startHttp } from '../../support/server/http-server.ts';

const open = { mounts: { root: ['none'] }, response: z.unknown() } as const;
const item = { text: '"é"'.repeat(3_000) };
const itemBytes = Buffer.byteLength(JSON.stringify(item));
/** Far more than the kernel buffers for both ends of a connection. */
const endless = 20_000;

/** Number of items that the routes have produced. */
let made: number;
let letGo: number;
let madeAtProbe: number | null;
let http: HttpHarness;
const sockets: Socket[] = [];

function* items(count: number, faultAt = count): Generator<typeof item> {
  try {
    for (let at = 0; at < count; at += 1) {
      if (at === faultAt) throw new Error('the row is damaged');
      made += 1;
      yield item;
    }
  } finally {
    letGo += 1;
  }
}

const routes: Route<null>[] = [
  route({
    ...open,
    method: 'GET',
    path: '/list/:count',
    summary: 'A list of so many items',
    handle: async ({ params }) => listReply(items(Number(params.count)), Number(params.count)),
  }),
  route({
    ...open,
    method: 'GET',
    path: '/broken/:at',
    summary: 'A list whose making fails at an item',
    handle: async ({ params }) => listReply(items(endless, Number(params.at)), endless),
  }),
  route({
    ...open,
    method: 'GET',
    path: '/probe',
    summary: 'Sees how far others have got',
    handle: async () => {
      madeAtProbe = made;
      return 'seen';
    },
  }),
];

async function start(limits: Parameters<typeof startHttp>[1] = {}): Promise<void> {
  http = await startHttp([], limits, routes);
}

beforeEach(() => {
  [made, letGo, madeAtProbe] = [0, 0, null];
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await http.server.close(0);
});

function dial(...paths: string[]): Socket {
  const socket = connect(Number(new URL(http.url).port), '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  return socket;
}

const plain = (count: number): string =>
  JSON.stringify({ object: 'list', total: count, data: new Array(count).fill(item) });

/** Resolves with the number of items once none was produced for many turns of the event loop. */
async function settled(): Promise<number> {
  let before = -1;
  await expect
    .poll(() => {
      const isSettled = made === before && made > 0;
      before = made;
      return isSettled;
    })
    .toBe(true);
  return made;
}

describe('a streamed list', () => {
  it.each([0, 1, 4, 5, 6, 500])('equals plain JSON byte for byte with %i items', async (count) => {
    await start();
    const answer = await fetch(`${http.url}/list/${count}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    const text = await answer.text();
    expect(text === plain(count)).toBe(true);
    const length = answer.headers.get('content-length');
    expect(length).toBe(count < 5 ? String(Buffer.byteLength(text)) : null);
  });

  it('is not produced beyond its start for HEAD', async () => {
    await start();
    const answer = await fetch(`${http.url}/list/${endless}`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect([made < 20, letGo]).toEqual([true, 1]);
    expect((await fetch(`${http.url}/probe`)).status).toBe(200);
  });

  it('lets other requests be answered before it is complete', async () => {
    await start();
    const answer = await fetch(`${http.url}/list/${endless}`);
    const reader = answer.body!.getReader();
    await reader.read();
    expect(await (await fetch(`${http.url}/probe`)).json()).toBe('seen');
    expect(madeAtProbe).toBeLessThan(endless / 2);
    await reader.cancel();
    await expect.poll(() => letGo).toBe(1);
  });

  it('is produced no faster than it is read, in order when several wait on one connection', async () => {
    await start();
    const socket = dial('/list/2000', '/list/2000', '/probe').pause();
    expect((await settled()) * itemBytes).toBeLessThan(16 * 1024 * 1024);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
    await expect.poll(() => String(chunks.at(-1)).endsWith('"seen"')).toBe(true);
    const texts = Buffer.concat(chunks).toString().split('HTTP/1.1 200 OK').slice(1);
    expect(texts).toHaveLength(3);
    for (const text of texts.slice(0, 2)) {
      const body = text.slice(text.indexOf('\r\n\r\n') + 4);
      expect(unchunked(Buffer.from(body)) === plain(2000)).toBe(true);
    }
    expect([made, letGo]).toEqual([4000, 2]);
  });
});

/** Decodes chunks as in RFC 9112, 7.1, without extensions and trailers. */
function unchunked(bytes: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (length === 0) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}

describe('a reader of a long list', () => {
  it('is closed when it stops reading, and the remaining items are never produced', async () => {
    await start({ stallTimeoutMs: 4_000 });
    const readers = Array.from({ length: 10 }, () => dial(`/list/${endless}`).pause());
    await expect.poll(() => letGo).toBe(readers.length);
    expect(made * itemBytes).toBeLessThan(readers.length * 16 * 1024 * 1024);
    await expect.poll(() => http.exchanges.length).toBe(readers.length);
    expect(http.logLines.join('')).toContain('"aborted":true');
  });

  it('cancels the requests queued behind it when it disconnects', async () => {
    await start();
    const socket = dial(`/list/${endless}`, `/list/${endless}`).pause();
    await settled();
    socket.destroy();
    await expect.poll(() => letGo).toBe(2);
  });

  it('does not delay the shutdown of the server', async () => {
    await start();
    const socket = dial(`/list/${endless}`).pause();
    await settled();
    const closing = http.server.close(3_600_000);
    await closing;
    await expect.poll(() => letGo).toBe(1);
    socket.destroy();
  });
});

describe('a failure within a list', () => {
  it('returns an error response when it occurs at the start', async () => {
    await start();
    const answer = await fetch(`${http.url}/broken/3`);
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ success: false });
    expect(http.logLines.join('')).toContain('the row is damaged');
  });

  it('ends the connection without the final chunk when it occurs later, and is logged', async () => {
    await start();
    const socket = dial('/broken/3000', '/probe');
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('latin1')).slice(-100);
    });
    await once(socket, 'close');
    expect(tail).not.toContain('\r\n0\r\n\r\n');
    const [line] = http.logLines.filter((one) => one.includes('response aborted'));
    expect(line).toContain('the row is damaged');
    expect(letGo).toBe(1);
    expect((await fetch(`${http.url}/probe`)).status).toBe(200);
  });
});
