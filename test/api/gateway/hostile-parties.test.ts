/** Verifies that hostile callers and providers damage nothing but their own requests. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addActiveRequest,
  removeActiveRequest,
  waitForTurn,
} from '../../../src/gateway/transfer/turn-batches.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await inference[Symbol.asyncDispose]();
});

/** Responds with these bytes and closes the connection. */
function answerRaw(bytes: string): void {
  inference.upstream.script = (_, response) => {
    response.socket!.end(Buffer.from(bytes, 'latin1'));
  };
}

const codeOf = ({ status, body }: { status: number; body: { error?: { code?: string } } }) =>
  [status, body.error?.code] as const;
const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const body = 'content-length: 2\r\n\r\n{}';

describe('a hostile response of the provider', () => {
  it.each([
    ['is no HTTP', 'hello\r\n\r\n'],
    ['has a control character in a header', `${head}x-a: a\u0001b\r\n${body}`],
    ['has a blank in the name of a header', `${head}x a: b\r\n${body}`],
    ['says its length twice', `${head}content-length: 3\r\n${body}`],
    ['says its length in two ways', `${head}transfer-encoding: chunked\r\n${body}`],
    ['says its type in two ways', `${head}content-type: text/event-stream\r\n${body}`],
    ['is in a coding within another', `${head}${'content-encoding: gzip\r\n'.repeat(2)}${body}`],
    ['leads to two places', `${head}${'location: /a\r\nlocation: /b\r\n'}${body}`],
    ['has a chunk of no length', `${head}transfer-encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`],
    ['ends before its length', `${head}content-length: 20\r\n\r\n{"a":`],
    ['ends within a chunk', `${head}transfer-encoding: chunked\r\n\r\n20\r\n{"a":`],
    ['changes the protocol', 'HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['has headers without end', `${head}${'x-a: aaaaaaaaaaaaaaaa\r\n'.repeat(5_000)}${body}`],
    ['ends before it begins', ''],
  ])('returns 502 when it %s', async (_, bytes) => {
    answerRaw(bytes);
    expect(codeOf(await inference.chat(key))).toEqual([502, 'upstream_unreachable']);
  });

  it('is reduced to one copy of each repeated header', async () => {
    const twice = ['content-type: application/json', 'etag: a', 'etag: b', 'date: x', 'date: y'];
    answerRaw(`${head}${twice.map((line) => `${line}\r\n`).join('')}x-a: 1\r\nx-a: 2\r\n${body}`);
    const { status, headers } = await inference.chat(key);
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'content-type': 'application/json', etag: 'a', date: 'x' });
    expect(headers['x-a']).toEqual(['1', '2']);
  });

  it('is not completed for the caller when it has no length and ends by a reset', async () => {
    const provider = Promise.withResolvers<Socket>();
    inference.upstream.script = (_, response) => {
      const socket = response.socket!;
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n');
      provider.resolve(socket);
    };
    const caller = await openChat();
    await eventually(() => expect(caller.text()).toContain('data: 1'));
    const closed = once(caller.socket, 'close');
    (await provider.promise).resetAndDestroy();
    await closed;
    expect(caller.text()).not.toContain('\r\n0\r\n');
  });

  it('sets no header of the gateway', async () => {
    const spoofed = [
      'gateway-exception: true',
      'provider: x',
      'cost: 0',
      'usage-remaining: cost=9',
    ];
    answerRaw(`${head}${spoofed.map((line) => `x-gateway-${line}\r\n`).join('')}${body}`);
    const { headers } = await inference.chat(key);
    expect(headers['x-gateway-provider']).toBe('mock-upstream');
    expect(headers['x-gateway-gateway-exception']).toBeUndefined();
    expect(headers['x-gateway-usage-remaining']).toBeUndefined();
  });

  it.each(['application/json', 'text/event-stream'])(
    'keeps the bytes of its headers in %s',
    async (type) => {
      answerRaw(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nx-a: h\u00c3\u00a9\r\n\r\n{}`);
      expect((await inference.chat(key)).headers['x-a']).toBe('h\u00c3\u00a9');
    },
  );

  it('is passed on in tiny chunks before it fills the memory', async () => {
    const crumbs = 10_000;
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).flushHeaders();
      response.socket!.write('1\r\nx\r\n'.repeat(crumbs));
    };
    const caller = await openChat();
    await eventually(() => expect(caller.text()).toContain('x\r\n'));
    caller.socket.destroy();
    expect(caller.text()).toContain('200 OK');
  });

  it('arrives complete when a stream declares a length and the gateway removes a part', async () => {
    const limited = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    });
    const [first, usage, last] = [
      'data: {"choices":[{}]}\n\n',
      'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n',
      'data: [DONE]\n\n',
    ];
    inference.upstream.script = (_, response) => {
      const text = first + usage + last;
      const headers = { 'content-type': 'text/event-stream', 'content-length': text.length };
      response.writeHead(200, headers).end(text);
    };
    const answer = await inference.chat(limited.key, { params: { stream: true } });
    expect(answer.body).toBe(first + last);
  });
});

describe('a hostile request', () => {
  it('is rejected before it fills the memory when its body has too many chunks', async () => {
    const caller = await openChat({ 'transfer-encoding': 'chunked' });
    caller.socket.write('1\r\nx\r\n'.repeat(4_200));
    await once(caller.socket, 'close');
    expect(caller.text()).toContain('400 Bad Request');
    expect(caller.text()).toContain('chunks that are too small');
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('is served when its body arrives byte by byte in fewer chunks than the limit', async () => {
    const text = JSON.stringify({ model: 'm', messages: [] });
    const caller = await openChat({ 'content-length': String(text.length) });
    for (const letter of text) {
      caller.socket.write(letter);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(caller.text()).toContain('chatcmpl-1'));
    expect(inference.upstream.reached[0]!.body.toString()).toBe(text);
  });

  it('reaches the provider byte for byte at the maximum body size', async () => {
    const { bodyBytesMax } = inference.server.settings.inference;
    const frame = '{"model":"m","messages":[{"role":"user","content":""}]}';
    const text = frame.replace('""', `"${'x'.repeat(bodyBytesMax - frame.length)}"`);
    expect((await post(text)).status).toBe(200);
    expect(inference.upstream.reached[0]!.body.equals(Buffer.from(text))).toBe(true);
  });

  it('is forwarded unchanged up to the limit of nesting, and rejected beyond it', async () => {
    const nested = (levels: number): string =>
      `{"model":"m","messages":[],"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect((await post(nested(99))).status).toBe(200);
    expect(inference.upstream.reached[0]!.body.toString()).toBe(nested(99));
    for (const levels of [100, 200_000]) {
      expect(codeOf(await post(nested(levels)))).toEqual([400, 'invalid_json']);
    }
    expect(inference.upstream.reached).toHaveLength(1);
  });

  it('is rejected with more members than the limit, and served with as many in nested objects', async () => {
    const members = Array.from({ length: 20_000 }, (_, at) => `"k${at}":1`).join(',');
    const answer = await post(`{"model":"m","messages":[],${members}}`);
    expect(codeOf(answer)).toEqual([400, 'invalid_json']);
    expect(answer.body.error.message).toContain('20002 members');
    expect((await post(`{"model":"m","messages":[],"x":{${members}}}`)).status).toBe(200);
  });

  it.each(['MODEL', 'Max_Tokens', 'max_to\u212aens', '\u017ftream'])(
    'is rejected when it repeats a judged member: %s',
    async (name) => {
      const answer = await inference.chat(key, { params: { [name]: 'other' } });
      expect(codeOf(answer)).toEqual([400, 'invalid_json']);
    },
  );

  it('requires a number as its output limit when there is a budget', async () => {
    const limited = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    });
    const answer = await inference.chat(limited.key, { params: { n: '5' } });
    expect(answer).toMatchObject({ status: 400, body: { error: { param: 'n' } } });
    expect((await inference.chat(key, { params: { n: '5' } })).status).toBe(200);
  });

  it('loses the hop-by-hop headers between caller and gateway', async () => {
    const headers = {
      cookie: 'a=b',
      'x-forwarded-for': '10.0.0.1',
      via: '1.1 x',
      te: 'trailers',
      forwarded: 'for=10.0.0.1',
      'proxy-authorization': 'x',
      'x-real-ip': '10.0.0.1',
    };
    await inference.chat(key, { headers });
    const { rawHeaders } = inference.upstream.reached[0]!;
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    expect(names.toSorted()).toEqual(['connection', 'content-length', 'content-type', 'host']);
    expect(rawHeaders.join()).not.toContain(key);
  });

  it('is rejected with a thousand headers, and the next one is served', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`x-${at}`, '1']));
    await Promise.allSettled([inference.chat(key, { headers: many })]);
    expect((await inference.chat(key)).status).toBe(200);
    expect(inference.upstream.reached).toHaveLength(1);
  });
});

it('does not delay a single request while a stream stays open', async () => {
  inference.upstream.script = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  };
  const caller = await openChat();
  await eventually(() => expect(caller.text()).toContain('data: 1'));
  addActiveRequest();
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  await waitForTurn();
  expect(hasTurned).toBe(false);
  removeActiveRequest();
  caller.socket.destroy();
});

describe('a caller who disconnects', () => {
  it.each([0, 1, 3])('leaves nothing behind after %d chunks of a response', async (pieces) => {
    const sent = Promise.withResolvers<void>();
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < pieces; at += 1) response.write(`data: ${at}\n\n`);
      sent.resolve();
    };
    const reached = inference.upstream.next();
    const text = JSON.stringify({ model: 'm', messages: [], stream: true });
    const caller = await openChat({ 'content-length': String(text.length) });
    caller.socket.write(text);
    await sent.promise;
    if (pieces > 0) await eventually(() => expect(caller.text()).toContain(`data: ${pieces - 1}`));
    caller.socket.resetAndDestroy();
    await (await reached).closed;
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
    expect((await inference.chat(key)).status).toBe(200);
  });
});

/** Sends the head of a chat request without its body, and collects the response. */
async function openChat(headers: Record<string, string> = { 'content-length': '2' }) {
  const { hostname, port } = new URL(inference.server.inferenceUrl);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
  const all = {
    host: 'x',
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify(config),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join('')}\r\n`);
  if (headers['content-length'] === '2') socket.write('{}');
  return { socket, text: () => text };
}

/** Sends a chat request with this text as its body. */
function post(text: string, more: object = {}) {
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url, ...more };
  return exchange('POST', `${inference.server.inferenceUrl}/v1/chat/completions`, text, {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify(config),
  });
}
