/**
 * Verifies connections on a real socket: bounded work, bounded memory, and an end for stalled
 * peers.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RawReply, type Route, route } from '../../../src/http/routes/route.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type HttpHarness, startHttp } from '../../support/server/http-server.ts';

const answerBytes = 100_000;
const answer = Buffer.alloc(answerBytes, 'a');

/** Requests as the routes have observed them. */
let seen: { entered: number; running: number; runningMax: number };
let holding: (() => void)[];
let http: HttpHarness;
const sockets: Socket[] = [];

const open = { mounts: { root: ['none'] }, response: z.unknown() } as const;
const counted = async <T>(work: () => Promise<T>): Promise<T> => {
  seen.entered += 1;
  seen.running += 1;
  seen.runningMax = Math.max(seen.runningMax, seen.running);
  try {
    return await work();
  } finally {
    seen.running -= 1;
  }
};

const routes: Route<null>[] = [
  route({
    ...open,
    method: 'GET',
    path: '/document',
    summary: 'Large, the same bytes for all',
    handle: () => counted(async () => new RawReply(200, answer)),
  }),
  route({
    ...open,
    method: 'GET',
    path: '/held',
    summary: 'Waits until it is let go',
    handle: () =>
      counted(async () => {
        await new Promise<void>((done) => holding.push(done));
        return 'done';
      }),
  }),
  route({
    ...open,
    method: 'GET',
    path: '/last',
    summary: 'Waits until it is let go, and closes',
    mayClose: true,
    handle: () =>
      counted(async () => {
        await new Promise<void>((done) => holding.push(done));
        return new RawReply(200, '"last"', { connection: 'close' });
      }),
  }),
  route({
    ...open,
    method: 'PUT',
    path: '/echo',
    summary: 'Says what was sent',
    body: z.unknown(),
    handle: ({ body }) => counted(async () => body),
  }),
];

async function start(limits: Parameters<typeof startHttp>[1] = {}): Promise<void> {
  seen = { entered: 0, running: 0, runningMax: 0 };
  holding = [];
  http = await startHttp([], limits, routes);
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const letGo of holding) letGo();
  await http.server.close(0);
});

function dial(): Socket {
  const socket = connect(Number(new URL(http.url).port), '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  return socket;
}

const get = (path: string, id: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`;

const put = (id: string, body: string): string =>
  `PUT /echo HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\nContent-Type: application/json\r\n` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Reads until the server closes. */
async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** Request ids of the 200 responses, in order. */
function answered(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 200 OK\r\nx-request-id: (\S+)/g)].map(([, id]) => id!);
}

/** Returns the status of the first response on a new connection. */
async function statusOf(request: string): Promise<string> {
  const socket = dial();
  socket.write(request);
  const [chunk] = await once(socket, 'data');
  socket.destroy();
  return String(chunk).slice(9, 12);
}

const probe = () => exchange('PUT', `${http.url}/echo`, 1, {});

describe('pipelined requests', () => {
  it('is not read further while nobody reads the responses, and is answered in order afterwards', async () => {
    await start();
    const socket = dial().pause();
    const ids = Array.from({ length: 1000 }, (_, at) => `r${at}`);
    socket.write(ids.map((id) => get('/document', id)).join(''));
    await expect.poll(() => seen.entered).toBeGreaterThan(0);
    for (let at = 0; at < 50; at++) expect((await probe()).status).toBe(200);
    // The kernel buffers some megabytes for both ends of a loopback connection.
    expect(seen.entered - 50).toBeLessThan(300);
    expect(seen.runningMax).toBeLessThanOrEqual(4);
    const text = await readAll(socket);
    expect(answered(text)).toEqual(ids);
    expect(text.length).toBeGreaterThan(ids.length * answerBytes);
    expect(seen.runningMax).toBeLessThanOrEqual(4);
  });

  it('is handled four at a time, however many there are', async () => {
    await start();
    const socket = dial();
    const ids = Array.from({ length: 50 }, (_, at) => `r${at}`);
    const text = readAll(socket);
    socket.write(ids.map((id) => get('/held', id)).join(''));
    for (let left = ids.length; left > 0; left -= 1) {
      const expected = Math.min(4, left);
      await expect.poll(() => [holding.length, seen.running]).toEqual([expected, expected]);
      holding.shift()!();
    }
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(answered(await text)).toEqual(ids);
    expect(seen.runningMax).toBe(4);
  });

  it.each([
    ['without bodies', get('/nowhere', 'flood')],
    ['with bodies', put('flood', '{}')],
  ])(
    'lets other connections proceed and answers them at once, for requests %s',
    async (_, request) => {
      await start();
      const greedy = Array.from({ length: 20 }, dial);
      const civil = dial();
      await Promise.all([...greedy, civil].map((socket) => once(socket, 'connect')));
      let floodAnswers = 0;
      for (const socket of greedy) {
        socket.on('data', (chunk: Buffer) => {
          floodAnswers += chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
        });
        socket.write(request.repeat(400));
      }
      civil.write(get('/document', 'civil'));
      await once(civil, 'data');
      expect(floodAnswers).toBeLessThan(2_000);
    },
  );

  it('is not served beyond the number that one connection may send', async () => {
    await start({ requestsPerSocketMax: 10 });
    const socket = dial();
    const ids = Array.from({ length: 2000 }, (_, at) => `r${at}`);
    socket.write(ids.map((id) => get('/document', id)).join(''));
    const text = await readAll(socket);
    expect(answered(text)).toEqual(ids.slice(0, 10));
    expect(text.match(/connection: close/gi)).toHaveLength(1);
    expect(seen.entered).toBe(10);
  });

  it('means the same however the bytes are split, including bodies full of line breaks', async () => {
    await start();
    // A list may contain line breaks that look like the end of the headers.
    const lists = [0, 1, 2, 3].map((at) => `[${'\r\n\r\n'.repeat(at * 100)}${at}]`);
    const requests = lists.map(
      (list, at) =>
        `PUT /echo HTTP/1.1\r\nHost: a\r\nX-Request-Id: r${at}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${list.length}\r\n` +
        `${at === lists.length - 1 ? 'Connection: close\r\n' : ''}\r\n${list}`,
    );
    const bytes = Buffer.from(requests.join(''), 'latin1');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: bytes.length }), { maxLength: 30 }),
        async (places) => {
          const socket = dial().setNoDelay(true);
          const text = readAll(socket);
          const cuts = [0, ...places.toSorted((one, other) => one - other), bytes.length];
          for (const [at, cut] of cuts.entries()) {
            const piece = bytes.subarray(cuts[at - 1] ?? 0, cut);
            await new Promise<void>((done) => socket.write(piece, () => done()));
          }
          const responseValue = await text;
          expect(answered(responseValue)).toEqual(['r0', 'r1', 'r2', 'r3']);
          expect(responseValue.match(/\[\d\]/g)).toEqual(['[0]', '[1]', '[2]', '[3]']);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('a pending response', () => {
  const nonsense = ['NONSENSE\r\n\r\n', 'GET /document HTTP/1.1\r\nHost : a\r\n\r\n'];
  const noMore = 'GET /held HTTP/1.1\r\nHost: a\r\nX-Request-Id: last\r\nConnection: close\r\n\r\n';

  it.each(nonsense)('is sent before the rejection of %j after its request', async (bytes) => {
    await start();
    const socket = dial();
    const text = readAll(socket);
    socket.write(`${get('/held', 'r0')}${get('/held', 'r1')}${bytes}`);
    await expect.poll(() => holding.length).toBe(2);
    for (const letGo of holding) letGo();
    expect(answered(await text)).toEqual(['r0', 'r1']);
    expect([...(await text).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)).toEqual([
      '200',
      '200',
      '400',
    ]);
  });

  it.each([
    ['HTTP/1.1 that closes', noMore],
    ['HTTP/1.0', 'GET /held HTTP/1.0\r\nX-Request-Id: last\r\n\r\n'],
  ])('is the only output for the last request of %s, whatever follows', async (_, request) => {
    await start();
    const socket = dial();
    const text = readAll(socket);
    socket.write(`${request}${get('/held', 'r1')}`);
    await expect.poll(() => holding.length).toBe(1);
    holding[0]!();
    expect(answered(await text)).toEqual(['last']);
    expect((await text).match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(seen.entered).toBe(1);
  });

  it('closes the connection when the pending response does: later requests wait and are not executed', async () => {
    await start();
    const socket = dial();
    const text = readAll(socket);
    socket.write(`${get('/held', 'r0')}${get('/last', 'r1')}${get('/held', 'r2')}`);
    await expect.poll(() => holding.length).toBe(2);
    for (let at = 0; at < 5; at++) expect((await probe()).status).toBe(200);
    for (const letGo of holding) letGo();
    expect(answered(await text)).toEqual(['r0', 'r1']);
    expect((await probe()).status).toBe(200);
    expect(seen.entered).toBe(2 + 5 + 1);
  });

  it('reaches a peer that closed its sending direction, with any number of pipelined requests', async () => {
    await start();
    const socket = connect({
      port: Number(new URL(http.url).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    sockets.push(socket);
    const ids = Array.from({ length: 20 }, (_, at) => `r${at}`);
    const text = readAll(socket);
    socket.end(ids.map((id) => get('/held', id)).join(''));
    for (let left = ids.length; left > 0; left -= 1) {
      await expect.poll(() => holding.length).toBe(Math.min(4, left));
      holding.shift()!();
    }
    expect(answered(await text)).toEqual(ids);
  });

  it('is not awaited by a request whose peer ended before sending the body', async () => {
    await start();
    const socket = connect({
      port: Number(new URL(http.url).port),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    sockets.push(socket);
    const text = readAll(socket);
    socket.end(
      `${get('/document', 'r0')}PUT /echo HTTP/1.1\r\nHost: a\r\n` +
        'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n1',
    );
    expect(answered(await text)).toEqual(['r0']);
    expect(await text).toMatch(/HTTP\/1\.1 400 .*"status_code":400/s);
    expect(seen.entered).toBe(1);
  });
});

describe('a rejection of malformed bytes', () => {
  it('reaches a peer that still has data to send, with its own status', async () => {
    await start();
    const socket = dial();
    const failed: string[] = [];
    socket.on('error', (error: NodeJS.ErrnoException) => failed.push(error.code ?? ''));
    const text = readAll(socket);
    socket.write(`GET /document HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`);
    socket.end();
    expect(await text).toMatch(/^HTTP\/1\.1 431 .*"status_code":431/s);
    expect(failed).toEqual([]);
    expect(JSON.parse(http.logLines.at(-1)!)).toMatchObject({
      status: 431,
      code: 'HPE_HEADER_OVERFLOW',
      msg: 'refused bytes that are not an HTTP request',
    });
  });

  it('ends the connection of a peer that keeps sending', async () => {
    await start({ lingerTimeoutMs: 200 });
    const socket = dial();
    const closed = once(socket.resume(), 'close');
    socket.write('NONSENSE\r\n\r\n');
    const sending = setInterval(() => socket.write('x'), 10);
    await closed.finally(() => clearInterval(sending));
    expect(seen.entered).toBe(0);
  });
});

describe('a request that Node would answer by itself', () => {
  it.each([
    ['with an unknown Expect header', 'GET /document HTTP/1.1\r\nHost: a\r\nExpect: x\r\n', '200'],
    ['without a host', 'GET /document HTTP/1.1\r\n', '400'],
  ])('logs and limits a request %s like any other', async (_, head, status) => {
    await start({ requestsPerSocketMax: 1 });
    const socket = dial();
    const text = readAll(socket);
    socket.write(`${head}\r\n${head}\r\n`);
    expect((await text).match(/HTTP\/1\.1 (\d+)/g)).toEqual([`HTTP/1.1 ${status}`]);
    expect(await text).toMatch(/x-request-id: \S+\r\ncontent-type: application\/json/);
    expect(http.exchanges.map((one) => String(one.status))).toEqual([status]);
  });
});

it('answers a request that offers another protocol, and closes the connection afterwards', async () => {
  await start();
  const socket = dial();
  const text = readAll(socket);
  const offer = 'Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Type';
  socket.write(put('first', '{}').replace('Content-Type', offer) + put('second', '{}'));
  expect(answered(await text)).toEqual(['first']);
  expect(await text).toMatch(/\r\nconnection: close\r\n/i);
  expect(seen.entered).toBe(1);
});

describe('a CONNECT request', () => {
  it('is rejected in order after pending responses, logged and counted, and ends the connection', async () => {
    await start();
    const socket = dial();
    const text = readAll(socket);
    socket.write(`${get('/held', 'first')}CONNECT a:1 HTTP/1.1\r\nX-Request-Id: t\r\n\r\n`);
    await expect.poll(() => seen.running).toBe(1);
    socket.write(get('/document', 'behind'));
    for (const letGo of holding) letGo();
    const lines = (await text).match(/HTTP\/1\.1 .+|X-Request-Id: .+/g);
    expect(lines).toEqual([
      'HTTP/1.1 200 OK',
      'HTTP/1.1 405 Method Not Allowed',
      'X-Request-Id: t',
    ]);
    expect(http.exchanges.map(({ method, status }) => [method, status]).toSorted()).toEqual([
      ['CONNECT', 405],
      ['GET', 200],
    ]);
    const logged = http.logLines.map((line) => JSON.parse(line));
    expect(logged).toContainEqual(
      expect.objectContaining({ method: 'CONNECT', status: 405, requestId: 't', msg: 'request' }),
    );
    expect(seen.entered).toBe(1);
  });
});

describe('a peer that stalls', () => {
  it('is closed when it does not read its response, and its request is logged as aborted', async () => {
    await start({ stallTimeoutMs: 3_000 });
    const socket = dial().pause();
    socket.write(Array.from({ length: 1000 }, (_, at) => get('/document', `r${at}`)).join(''));
    await expect.poll(() => http.logLines.join('')).toContain('"aborted":true');
    expect(seen.entered).toBeLessThan(300);
    expect(seen.running).toBe(0);
  });

  it('counts as a connection after the last response, and is closed as well', async () => {
    await start({ connectionsMax: 1, lingerTimeoutMs: 4_000 });
    const socket = dial().pause();
    socket.write(get('/document', 'r').replace(/(\r\n)+$/, '\r\nConnection: close\r\n\r\n'));
    await expect.poll(() => http.logLines.join('')).toContain('"route":"/document"');
    expect(await readAll(dial())).toMatch(/^HTTP\/1\.1 503 /);
    await expect.poll(() => statusOf(get('/echo', 'again'))).toBe('405');
  });

  it('is closed before it has sent anything, but not while its request is handled', async () => {
    await start({ stallTimeoutMs: 3_000 });
    const waiting = exchange('GET', `${http.url}/held`, undefined, {});
    await expect.poll(() => holding.length).toBe(1);
    const idle = dial().resume();
    await once(idle, 'close');
    holding[0]!();
    expect((await waiting).body).toBe('done');
  });
});

describe('connections', () => {
  it('receives 503 beyond the limit, and is accepted again when there is room', async () => {
    await start({ connectionsMax: 2 });
    const first = dial();
    const second = dial();
    for (const socket of [first, second]) {
      socket.write(get('/document', 'r'));
      await once(socket, 'data');
    }
    const refused = await readAll(dial());
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 1.*limit of 2 connections/s);
    expect(http.logLines.join('')).toContain('connection refused: the limit');
    first.destroy();
    await expect.poll(() => statusOf(get('/echo', 'again'))).toBe('405');
  });

  it('receives `connection: close` with each response once the server shuts down', async () => {
    await start();
    const held = dial();
    const idle = dial();
    idle.write(get('/echo', 'before'));
    expect(String((await once(idle, 'data'))[0])).not.toMatch(/connection: close/i);
    held.write(get('/held', 'during'));
    await expect.poll(() => holding.length).toBe(1);
    http.server.drain();
    idle.write(get('/echo', 'after'));
    expect(await readAll(idle)).toMatch(/connection: close/i);
    holding[0]!();
    expect(await readAll(held)).toMatch(/connection: close.*done/is);
  });
});

describe('shutdown', () => {
  it('waits for requests in progress, but not for slow senders or stalled readers', async () => {
    await start();
    const slow = dial().resume();
    slow.write('PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n');
    slow.write('Content-Length: 9\r\n\r\n1');
    const stalled = dial().pause();
    stalled.write(Array.from({ length: 500 }, (_, at) => get('/document', `r${at}`)).join(''));
    const waiting = exchange('GET', `${http.url}/held`, undefined, {});
    await expect.poll(() => [holding.length, seen.entered > 4]).toEqual([1, true]);
    const closed = http.server.close(3_600_000);
    await once(slow, 'close');
    holding[0]!();
    expect((await waiting).body).toBe('done');
    await closed;
  });
});
