/**
 * Checks that a body is read the same however its bytes arrive, and that the next request of the
 * connection is served.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BodyMemory } from '../../../src/gateway/transfer/body-memory.ts';
import { parseParams, readBody } from '../../../src/gateway/transfer/read-body.ts';

const bytesMax = 200;
const turns: Record<string, () => Promise<unknown>> = {
  'in the step of its headers': async () => undefined,
  'a turn later': () => nextTurn(),
};
/** The outcome of each request, in order, as its reader saw it. */
let read: string[] = [];
let wait = turns['a turn later']!;

const server = createServer(async (request, response) => {
  await wait();
  const reported = await bodyOf(request).catch((error: Error) => error.message);
  read.push(reported);
  response.end(reported);
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const body = await readBody(request, bytesMax, new BodyMemory(bytesMax, bytesMax).hold('a'));
  return body === null ? 'none' : `${body.length} ${body.toString('latin1')}`;
}

beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => server.close());

function head(...lines: readonly string[]): string {
  return ['POST / HTTP/1.1', 'host: a', ...lines, '', ''].join('\r\n');
}

const bounds = { valuesMax: 200_000, depthMax: 100 };

async function paramsOf(text: string) {
  return parseParams(Buffer.from(text), bounds);
}

const last = `GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`;

/**
 * Writes each piece after the previous one was taken, and returns the responses until the
 * connection closes.
 */
async function send(...pieces: readonly string[]): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
  let answered = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    answered += text;
  });
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await nextTurn();
  }
  await once(socket, 'close');
  return answered;
}

describe.each(Object.keys(turns))('a body requested %s', (name) => {
  beforeAll(() => {
    wait = turns[name]!;
  });

  test.each([
    ['with its headers', [`${head('content-length: 5')}hello${last}`], ['5 hello', 'none']],
    ['after its headers', [head('content-length: 5'), 'hello', last], ['5 hello', 'none']],
    ['in two pieces', [`${head('content-length: 5')}he`, `llo${last}`], ['5 hello', 'none']],
    [
      'in chunks',
      [`${head('transfer-encoding: chunked')}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n${last}`],
      ['5 hello', 'none'],
    ],
    [
      'in chunks, piece by piece',
      [`${head('transfer-encoding: chunked')}2\r\nhe\r\n`, `3\r\nllo\r\n0\r\n\r\n${last}`],
      ['5 hello', 'none'],
    ],
    [
      'without any chunk',
      [`${head('transfer-encoding: chunked')}0\r\n\r\n${last}`],
      ['0 ', 'none'],
    ],
    [
      'followed by two more requests',
      [`${head('content-length: 1')}a${head('content-length: 2')}bb${last}`],
      ['1 a', '2 bb', 'none'],
    ],
  ] as const)('reads a body that comes %s completely', async (_, pieces, expected) => {
    read = [];
    const answered = await send(...pieces);
    expect(read).toEqual(expected);
    expect(answered.match(/HTTP\/1.1 200/g)).toHaveLength(expected.length);
  });

  test.each([
    ['in one piece', head('transfer-encoding: chunked', 'connection: close')],
    ['by its length', head('content-length: 201', 'connection: close')],
  ])('rejects a body above the size limit, %s', async (_, headers) => {
    read = [];
    const isChunked = headers.includes('chunked');
    const body = 'x'.repeat(201);
    await send(headers + (isChunked ? `c9\r\n${body}\r\n0\r\n\r\n` : body));
    expect(read).toEqual(['The body has more than 200 bytes']);
  });

  test('stops waiting for a body when the caller disconnects', async () => {
    read = [];
    const gone = once(server, 'request') as Promise<[IncomingMessage]>;
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`${head('content-length: 5')}he`);
    const [request] = await gone;
    const ended = new Promise((resolve) => request.on('close', resolve));
    socket.destroy();
    await ended;
    await nextTurn();
    expect(read).toEqual([expect.stringMatching(/^(?:aborted|the caller disconnected)$/)]);
  });
});

test.each([
  ['{"role":"user","conten\\\\":1}', '{"role":"user","conten\\u0074":"x"}', ['role', 'content']],
  ['{"a":1,"\\\\":1}', '{"a":1,"\\u006e":128}', ['a', 'n']],
  ['{"b":1,"x_\\\\u0":1}', '{"b":1,"x_\\u0041y\\u005f":128}', ['b', 'x_Ay_']],
  ['{"c":1}', '{"c":1,"\\\\u0061":1,"\\\\\\u0061":2}', ['c', '\\u0061', '\\a']],
])('decodes member names correctly after the body %s', async (before, text, names) => {
  const pad = 'x'.repeat(10_000);
  await paramsOf(before);
  expect(Object.keys(await paramsOf(text))).toEqual(names);
  const nested = await paramsOf(`{"in":${text},"pad":"${pad}","ü":1}`);
  expect(Object.keys(nested.in as object)).toEqual(names);
  const outlined = await paramsOf(`{"in":${text},"pad":"ü${pad}"}`);
  expect(Object.keys(outlined.in as object)).toEqual(names);
});

test('rejects an escape outside a string', async () => {
  await expect(paramsOf('{"a":\\u0031}')).rejects.toThrow('not valid JSON');
});

/** More than is parsed in one step. */
const pad = `"pad":"${'x'.repeat(100_000)}"`;

test.each([
  ['{}', 'a small body'],
  [`{${pad}}`, 'a large body'],
])('reads the members around %j', async (text) => {
  const whole = text.replace('}', `${text === '{}' ? '' : ','}"é":["\\u0041",{"a":1}]}`);
  expect(await paramsOf(whole)).toEqual(JSON.parse(whole));
});

test.each([
  ['two members with one key', `{"a":1,${pad},"a":2}`, 'duplicate member'],
  ['two spellings of a key', `{"a":1,${pad},"\\u0061":2}`, 'duplicate member'],
  [
    'too many members',
    `{${pad},${Array.from({ length: 1000 }, (_, at) => `"${at}":0`).join(',')}}`,
    '1001 members',
  ],
  ['a list', `[${'0,'.repeat(50_000)}0]`, 'must be a JSON object'],
  ['another case of a name', `{"MODEL":1,${pad}}`, 'model must be in lower case'],
  ['no end', `{${pad}`, 'not valid JSON'],
  ['too many values', `{"a":[${'{},'.repeat(200_000)}{}]}`, 'more than 200000 values'],
  [
    'too much nesting in a small body',
    `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`,
    'deeper than 100 levels',
  ],
  ['too much nesting in a large body', `{${pad},"a":${'['.repeat(5e6)}`, 'deeper than 100 levels'],
])('rejects a body with %s', async (_, text, message) => {
  await expect(paramsOf(text)).rejects.toThrow(message);
});
