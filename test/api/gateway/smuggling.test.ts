/**
 * Verifies that every party sees the same requests: at the port of the gateway, at the provider,
 * and on the way back.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type RawUpstream, startRawUpstream } from '../../support/network/raw-upstream.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { testSettings } from '../../support/server/server.ts';

let upstream: RawUpstream;
let inference: Inference;
let key: string;
let headers: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  upstream = await startRawUpstream();
  const trusted = readTrustedHosts(upstream.host);
  inference = await startInference({
    trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
    inference: { ...testSettings().inference, headerAliases: ['x-portkey-', 'x-other-'] },
  });
  ({ key } = await inference.addKey());
  const config = JSON.stringify({ provider: 'mock-upstream', custom_host: upstream.url });
  headers = `Authorization: Bearer ${key}\r\nX-Gateway-Config: ${config}\r\n`;
});
beforeEach(() => {
  upstream.reached.length = 0;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await inference[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const json = '{"model":"m","messages":[]}';
const length = json.length;
const size = length.toString(16);
const chunks = `${size}\r\n${json}\r\n0\r\n\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n';

interface SentRequest {
  readonly line?: string;
  readonly host?: string;
  /** Headers beside credential and config, which also describe the body. */
  readonly more: string;
  readonly body?: string;
}

const path = '/v1/chat/completions';
const bytesOf = ({
  line = `POST ${path} HTTP/1.1`,
  host = 'Host: a\r\n',
  more,
  body,
}: SentRequest) => `${line}\r\n${host}${headers}${more}\r\n${body ?? json}`;
const ofLength = `Content-Length: ${length}\r\n`;
const plain = (line?: string) => bytesOf({ more: ofLength, ...(line && { line }) });
const last = () => bytesOf({ more: `${ofLength}Connection: close\r\n` });

/**
 * Returns all bytes received on one connection after sending these bytes, until the gateway closes
 * it.
 */
async function receiveAll(bytes: string): Promise<string> {
  const socket = dial();
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return Buffer.concat(pieces).toString('latin1');
}

function dial(): Socket {
  const { port } = new URL(inference.server.inferenceUrl);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

const statusesOf = (reported: string) =>
  [...reported.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
const lastErrorOf = (reported: string) =>
  JSON.parse(reported.slice(reported.lastIndexOf('\r\n\r\n'))).error;

/** Requests that two parsers could interpret differently, by the ambiguity. */
const doubtful: Readonly<Record<string, SentRequest>> = {
  'a length and chunks': { more: ofLength + chunked, body: chunks },
  'chunks and a length': { more: `${chunked}Content-Length: 4\r\n`, body: chunks },
  'its length twice': { more: ofLength + ofLength },
  'two lengths': { more: `${ofLength}Content-Length: 0\r\n` },
  'a list of lengths': { more: `Content-Length: ${length}, ${length}\r\n` },
  'a length with a sign': { more: `Content-Length: +${length}\r\n` },
  'a length below nothing': { more: 'Content-Length: -1\r\n' },
  'a length in other digits': { more: `Content-Length: 0x${size}\r\n` },
  'a length beyond all numbers': { more: 'Content-Length: 99999999999999999999999\r\n' },
  'a blank before the colon': { more: `Content-Length : ${length}\r\n` },
  'a blank before the colon of chunks': { more: 'Transfer-Encoding : chunked\r\n', body: chunks },
  'chunks behind a control character': {
    more: 'Transfer-Encoding: \u000bchunked\r\n',
    body: chunks,
  },
  'chunks in quotes': { more: 'Transfer-Encoding: "chunked"\r\n', body: chunks },
  'a coding that is like chunks': { more: 'Transfer-Encoding: xchunked\r\n', body: chunks },
  'chunks with a parameter': { more: 'Transfer-Encoding: chunked;q=1\r\n', body: chunks },
  'chunks before another coding': {
    more: 'Transfer-Encoding: chunked, identity\r\n',
    body: chunks,
  },
  'another coding before chunks': {
    more: 'Transfer-Encoding: gzip, chunked\r\n',
    body: chunks,
  },
  'no coding before chunks': {
    more: 'Transfer-Encoding: identity, chunked\r\n',
    body: chunks,
  },
  'another coding, and looks like chunks': {
    more: 'X-A: transfer-encoding\r\nchunked: a\r\nTransfer-Encoding: gzip, chunked\r\n',
    body: chunks,
  },
  'chunks twice': { more: chunked + chunked, body: chunks },
  'no coding': { more: `Transfer-Encoding: identity\r\n${ofLength}` },
  'an empty coding': { more: `Transfer-Encoding: \r\n${ofLength}` },
  'a coding on two lines': { more: 'Transfer-Encoding:\r\n chunked\r\n', body: chunks },
  'chunks of HTTP/1.0': {
    line: `POST ${path} HTTP/1.0`,
    more: `${chunked}Connection: keep-alive\r\n`,
    body: chunks,
  },
  'a header on two lines': { more: `X-A: a\r\n b\r\n${ofLength}` },
  'a header that ends in a line feed': { more: `X-A: a\n${ofLength}` },
  'a carriage return in a header': { more: `X-A: a\rX-B: b\r\n${ofLength}` },
  'a zero in a header': { more: `X-A: a\0b\r\n${ofLength}` },
  'a chunk that ends in a line feed': { more: chunked, body: `${size}\n${json}\r\n0\r\n\r\n` },
  'a line feed behind the size of a chunk': {
    more: chunked,
    body: `${size};a\nb\r\n${json}\r\n0\r\n\r\n`,
  },
  'a chunk in other digits': { more: chunked, body: `0x${size}\r\n${json}\r\n0\r\n\r\n` },
  'a chunk beyond all numbers': {
    more: chunked,
    body: `1000000000000001b\r\n${json}\r\n0\r\n\r\n`,
  },
  'a chunk longer than its size': { more: chunked, body: `${size}\r\n${json}XX0\r\n\r\n` },
  'a length behind its chunks': {
    more: chunked,
    body: `${size}\r\n${json}\r\n0\r\nContent-Length: 5\r\n\r\n`,
  },
  'another version': { line: `POST ${path} HTTP/2.0`, more: ofLength },
  'a version that is none': { line: `POST ${path} HTTP/3.0`, more: ofLength },
  'no version': { line: `POST ${path}`, more: ofLength },
  'no host': { host: '', more: ofLength },
  'two hosts': { host: 'Host: a\r\nHost: b\r\n', more: ofLength },
  'a whole address': { line: `POST http://a${path} HTTP/1.1`, more: ofLength },
  'two keys': { more: `Authorization: Bearer ${'a'.repeat(40)}\r\n${ofLength}` },
  'a key under each of two names': {
    more: `X-Portkey-Api-Key: a\r\nX-Gateway-Api-Key: b\r\n${ofLength}`,
  },
  'a config under each of two names': { more: `X-Portkey-Config: pc-other\r\n${ofLength}` },
  'a provider under each of two other names': {
    more: `X-Other-Provider: openai\r\nX-Portkey-Provider: anthropic\r\n${ofLength}`,
  },
  'a virtual key under each of two names': {
    more: `X-Gateway-Virtual-Key: a\r\nX-Other-Virtual-Key: b\r\n${ofLength}`,
  },
  'a method in small letters': { line: `post ${path} HTTP/1.1`, more: ofLength },
};

describe('an ambiguous request', () => {
  it.each(Object.entries(doubtful))(
    'is rejected when it has %s, and no later request on the connection starts',
    async (_, sent) => {
      const reported = await receiveAll(bytesOf(sent) + plain());
      expect(statusesOf(reported)).toEqual([400]);
      expect(lastErrorOf(reported).message).not.toBe('');
      expect(upstream.reached).toEqual([]);
    },
  );

  it.each(['TRACE', 'OPTIONS', 'PROPFIND', 'QUERY'])(
    'returns 405 for %s, which could make a provider return its credential',
    async (method) => {
      const reported = await receiveAll(plain(`${method} /v1/models HTTP/1.1`));
      expect(statusesOf(reported)).toEqual([405]);
      expect(reported).toContain('allow: GET, HEAD, POST, PUT, PATCH, DELETE\r\n');
      expect(upstream.reached).toEqual([]);
    },
  );

  it('returns 431 in the error format with more headers than the limit', async () => {
    for (const more of ['X-A: 1\r\n'.repeat(110), `X-A: ${'a'.repeat(70_000)}\r\n`]) {
      const reported = await receiveAll(bytesOf({ more: more + ofLength }));
      expect(statusesOf(reported)).toEqual([431]);
      expect(lastErrorOf(reported).code).toBe('headers_too_large');
    }
  });

  it.each([
    ['behind blank lines', () => `\r\n\r\n${last()}`, [200]],
    ['with an extension of chunks', () => `${trailed(';a=b')}${last()}`, [200, 200]],
    ['that expects to go on', () => `${expecting('100-continue')}${last()}`, [100, 200, 200]],
    ['that expects what nobody knows', () => `${expecting('more')}${last()}`, [200, 200]],
    ['that offers another protocol', () => `${offering()}`, [200]],
  ])('%s reaches the provider once, without hop-by-hop headers', async (_, bytes, statuses) => {
    const reported = await receiveAll(bytes());
    expect(statusesOf(reported)).toEqual(statuses);
    const served = statuses.filter((status) => status === 200);
    expect(upstream.reached.map(({ body }) => body)).toEqual(served.map(() => json));
    for (const { head } of upstream.reached) {
      expect(head.split('\r\n').slice(1).map(nameOf).toSorted()).toEqual([
        'connection',
        'content-length',
        'content-type',
        'host',
      ]);
      expect(head).not.toContain(key);
    }
  });

  it('contains the provider key neither in a header nor in its address', async () => {
    const more = `Accept: ${key}\r\nIdempotency-Key: <${key}>\r\n${ofLength}Connection: close\r\n`;
    expect(statusesOf(await receiveAll(bytesOf({ more })))).toEqual([200]);
    expect(upstream.reached[0]!.head).not.toContain(key);
    for (const address of [`${path}?api_key=${key}`, `/v1/models/${key}`]) {
      const reported = await receiveAll(bytesOf({ line: `POST ${address} HTTP/1.1`, more }));
      expect(statusesOf(reported)).toEqual([400]);
    }
    expect(upstream.reached).toHaveLength(1);
  });

  it('goes to the host of its provider, whatever host header was sent', async () => {
    const more = `X-Gateway-Forward-Headers: host\r\n${ofLength}Connection: close\r\n`;
    const reported = await receiveAll(bytesOf({ more }));
    expect([statusesOf(reported), upstream.reached.length]).toEqual([[400], 0]);
  });
});

const nameOf = (line: string) => line.slice(0, line.indexOf(':')).toLowerCase();
const trailed = (extension: string) => {
  const body = `${size}${extension}\r\n${json}\r\n0${extension}\r\nX-Trailer: 1\r\n\r\n`;
  return bytesOf({ more: `Trailer: X-Trailer\r\n${chunked}`, body });
};
const expecting = (what: string) => bytesOf({ more: `Expect: ${what}\r\n${ofLength}` });
const offering = () =>
  bytesOf({
    more: `Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n${ofLength}`,
  });

const upgrading = () =>
  bytesOf({ more: `Connection: Upgrade\r\nUpgrade: websocket\r\n${ofLength}` });

describe('a pending response', () => {
  it.each([
    ['bytes that are no request', () => `${plain()}GARBAGE\r\n\r\n`, [200, 400]],
    [
      'a request for a tunnel',
      () => `${plain()}CONNECT b:443 HTTP/1.1\r\nHost: b\r\n\r\n`,
      [200, 405],
    ],
    ['a request that comes behind the last', () => last() + plain(), [200]],
    ['a request behind one that offers another protocol', () => upgrading() + plain(), [426]],
    ['more requests than are taken at once', () => plain().repeat(6), [200, 200, 200, 200]],
  ])('is sent before %s end the connection', async (_, bytes, statuses) => {
    expect(statusesOf(await receiveAll(bytes()))).toEqual(statuses);
    const served = statuses.filter((status) => status === 200);
    expect(upstream.reached).toHaveLength(served.length);
  });
});

it('answers a request for a WebSocket with 426 and the protocol that is offered', async () => {
  const received = await receiveAll(upgrading());
  expect(statusesOf(received)).toEqual([426]);
  expect(received.toString()).toMatch(/^upgrade: HTTP\/1\.1\r$/im);
  expect(upstream.reached).toEqual([]);
});

const answer = (head: string, body: string) =>
  `HTTP/1.1 ${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const smuggled = answer('200 OK\r\ncontent-type: application/json', '{"id":"smuggled"}');
const first = answer('200 OK', '{"id":"first"}');

it('counts bytes that are no request by status, and logs none of them', async () => {
  const garbage = () => receiveAll('GET /secret-path\u0001 HTTP/1.1\r\n\r\n');
  expect(statusesOf(await garbage())).toEqual([400]);
  expect(statusesOf(await receiveAll('CONNECT b:443 HTTP/1.1\r\nHost: b\r\n\r\n'))).toEqual([405]);
  const { server } = inference;
  const { body } = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
  expect(body).toMatch(/gatewright_refused_bytes_total\{server="inference",status="405"\} [1-9]/);
  expect(body).toMatch(/gatewright_refused_bytes_total\{server="inference",status="400"\} [1-9]/);
  const lines = server.logLines.filter((line) => line.includes('that are not an HTTP request'));
  expect(JSON.parse(lines[0]!)).toMatchObject({ server: 'inference', others: 0 });
  expect(server.logLines.join('')).not.toContain('secret-path');
});

describe('bytes that a provider sends after its response', () => {
  it.each([
    ['another one', 'POST', first + smuggled, 200],
    ['more than its length', 'POST', `${answer('200 OK', '{}')}hello${smuggled}`, 200],
    ['the body of one that has none', 'POST', answer('204 No Content', 'hello') + smuggled, 204],
    [
      'the body of one that has not changed',
      'GET',
      answer('304 Not Modified', 'hello') + smuggled,
      304,
    ],
    ['the body of a head', 'HEAD', first + smuggled, 200],
    [
      'a chunk too many',
      'POST',
      `HTTP/1.1 200 OK\r\n${chunked}\r\n2\r\n{}\r\n0\r\n\r\n5\r\nhello\r\n${smuggled}`,
      200,
    ],
  ])('is discarded: %s', async (_, method, bytes, status) => {
    upstream.answers.push(bytes);
    const [to, more] = method === 'POST' ? [path, ofLength] : ['/v1/models', ''];
    const requested = bytesOf({
      line: `${method} ${to} HTTP/1.1`,
      more: `${more}Connection: close\r\n`,
      body: method === 'POST' ? json : '',
    });
    const reported = [await receiveAll(requested), await receiveAll(last())];
    expect(reported.map(statusesOf)).toEqual([[status], [200]]);
    expect(reported.join('')).not.toMatch(/smuggled|hello/);
    if (status === 204) expect(reported[0]).not.toMatch(/content-length/i);
  });

  it('is discarded when it arrives later, because the connection is closed', async () => {
    upstream.answers.push(first);
    expect(statusesOf(await receiveAll(last()))).toEqual([200]);
    upstream.say(smuggled);
    await upstream.reached[0]!.closed;
    expect(await receiveAll(last())).toContain('chatcmpl-1');
  });

  it('is not forwarded when a thousand interim responses precede the response', async () => {
    upstream.answers.push('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000) + first);
    expect(statusesOf(await receiveAll(last()))).toEqual([200]);
  });

  it('is not forwarded from hop-by-hop and cookie headers', async () => {
    const lines = [
      'Connection: close, X-Hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=9999',
      'Trailer: X-T',
      'Clear-Site-Data: "*"',
      'Set-Cookie: a=b',
      'Set-Cookie2: a=b',
      'Proxy-Authentication-Info: a',
    ];
    upstream.answers.push(answer(['200 OK', ...lines].join('\r\n'), '{}'));
    expect(await receiveAll(last())).not.toMatch(
      /x-hop|timeout=9999|trailer|clear-site|set-cookie|proxy-/i,
    );
  });
});

it('returns 400 to a caller who stops within a request, without affecting others', async () => {
  const socket = dial();
  const reported = once(socket, 'data');
  socket.write(bytesOf({ more: `Content-Length: ${length + 5}\r\n` }));
  socket.end();
  expect(String(await reported)).toMatch(/^HTTP\/1.1 400 /);
  expect(await receiveAll(last())).toContain('chatcmpl-1');
  expect(upstream.reached).toHaveLength(1);
});
