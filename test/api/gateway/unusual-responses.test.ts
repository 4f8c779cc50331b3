/**
 * Verifies how unusual responses are handled: forwarded when they are readable, and always charged
 * once.
 */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson, startUpstream } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
});

beforeEach(async () => {
  inference.upstream.reached.length = 0;
  answersAsUsual();
  ({ key } = await inference.addKey({
    usage_limits: { type: 'tokens', credit_limit: budget },
  }));
});

afterAll(() => inference[Symbol.asyncDispose]());

const budget = 1_000_000;
/** The tokens of `chatAnswer`. */
const answerTokens = 7;
const text = JSON.stringify(chatAnswer);
const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const whole = `${head}content-length: ${text.length}\r\n\r\n${text}`;

function answersAsUsual(): void {
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
}

/** Responds with these bytes and closes the connection. */
function answersRaw(bytes: string): void {
  inference.upstream.script = (_, response) => {
    response.socket!.end(Buffer.from(bytes, 'latin1'));
  };
}

/** Returns the tokens used before this request, which itself uses those of `chatAnswer`. */
async function usedBefore(): Promise<number> {
  answersAsUsual();
  const { headers } = await inference.chat(key);
  const [, left] = String(headers['x-gateway-usage-remaining']).split('=');
  return budget - Number(left) - answerTokens;
}

const chunk = (bytes: string, size = bytes.length.toString(16)) => `${size}\r\n${bytes}\r\n`;
const chunked = (...chunks: readonly string[]) =>
  `${head}transfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
const half = text.length >> 1;

describe('an unusual response', () => {
  it.each([
    ['after early hints', `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${whole}`],
    ['after two words that it is under way', `${'HTTP/1.1 102 X\r\n\r\n'.repeat(2)}${whole}`],
    ['without a reason in its first line', whole.replace('200 OK', '200 ')],
    ['of HTTP/1.0', whole.replace('HTTP/1.1', 'HTTP/1.0')],
    ['that ends with its connection', `${head}\r\n${text}`],
    ['in chunks of one byte', chunked(...Array.from(text, (letter) => chunk(letter)))],
    [
      'in chunks with extensions, capitals and noughts',
      chunked(
        chunk(text.slice(0, half), `000${half.toString(16).toUpperCase()};a="b;c"`),
        chunk(text.slice(half), `${(text.length - half).toString(16)};x`),
      ),
    ],
    [
      'with trailers',
      `${head}trailer: x-checksum\r\ntransfer-encoding: chunked\r\n\r\n${chunk(text)}0\r\nx-checksum: 1\r\n\r\n`,
    ],
  ])('%s is forwarded and charged', async (_, bytes) => {
    answersRaw(bytes);
    const { status, body, headers } = await inference.chat(key);
    expect({ status, body }).toEqual({ status: 200, body: chatAnswer });
    expect(headers.trailer).toBeUndefined();
    expect(headers['x-checksum']).toBeUndefined();
    expect(await usedBefore()).toBe(answerTokens);
  });

  it.each([
    ['that breaks off within its headers', 'HTTP/1.1 200 OK\r\ncontent-ty'],
    ['with a chunk that is longer than can be', `${chunked(chunk(text, 'f'.repeat(17)))}`],
    ['with a chunk of less than nothing', chunked(chunk(text, '-5'))],
    ['that is shorter than its length', whole.slice(0, -1)],
  ])('%s returns 502 and is charged with the reservation', async (_, bytes) => {
    answersRaw(bytes);
    const params = { max_tokens: 500 };
    const { status, body } = await inference.chat(key, { params });
    expect({ status, code: body.error.code }).toEqual({
      status: 502,
      code: 'upstream_unreachable',
    });
    const granted = inference.upstream.reached[0]!.body.length + 500;
    expect(await usedBefore()).toBe(granted);
  });

  it('is returned without surplus bytes after it, and the next request gets its own response', async () => {
    const other = JSON.stringify({ ...chatAnswer, id: 'of-nobody' });
    // The connection remains open and must not be reused.
    inference.upstream.script = (_, response) => {
      response.socket!.write(`${whole}${head}content-length: ${other.length}\r\n\r\n${other}`);
    };
    expect((await inference.chat(key)).body).toEqual(chatAnswer);
    expect(await usedBefore()).toBe(answerTokens);
  });

  it('is forwarded when it redirects, without following and without charging', async () => {
    await using elsewhere = await startUpstream();
    for (const status of [301, 302, 303, 307, 308]) {
      inference.upstream.script = (_, response) => {
        response.writeHead(status, { location: elsewhere.url }).end();
      };
      const answer = await inference.chat(key);
      expect(answer.status).toBe(status);
      expect(answer.headers.location).toBe(elsewhere.url);
    }
    expect(elsewhere.reached).toHaveLength(0);
    expect(await usedBefore()).toBe(0);
  });

  it('is charged with the bound of its input when it is a stream that breaks off before any text', async () => {
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[]}\n\n', () => response.destroy());
    };
    const params = { stream: true, max_tokens: 500 };
    await expect(inference.chat(key, { params })).rejects.toThrow();
    const requested = JSON.stringify(JSON.parse(String(inference.upstream.reached[0]!.body)));
    const used = await usedBefore();
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(requested.length);
  });
});

describe('an unusual provider', () => {
  it('is called over a new connection each time when it closes them after each response', async () => {
    for (let requested = 1; requested <= 3; requested += 1) {
      const ended = Promise.withResolvers<void>();
      inference.upstream.script = (_, response) => {
        const socket = response.socket!.once('close', () => ended.resolve());
        response.once('finish', () => socket.end());
        sendJson(response, chatAnswer);
      };
      expect((await inference.chat(key)).status).toBe(200);
      await ended.promise;
    }
    expect(inference.upstream.reached).toHaveLength(3);
    expect(await usedBefore()).toBe(3 * answerTokens);
  });

  it('is retried when it closes the connection as the next request arrives, and both calls are charged', async () => {
    const ending = (tries: number) => {
      let requested = 0;
      inference.upstream.script = (_, response) => {
        requested += 1;
        if (requested <= tries) response.socket!.destroy();
        else sendJson(response, chatAnswer);
      };
    };
    expect(await usedBefore()).toBe(0);
    ending(1);
    const config = { retry: { attempts: 1 } };
    const params = { max_tokens: 500 };
    const answer = await inference.chat(key, { config, params });
    expect(answer.status).toBe(200);
    expect(answer.headers['x-gateway-retry-attempt-count']).toBe('1');
    // The first request may have reached the model.
    const granted = inference.upstream.reached.at(-1)!.body.length + 500;
    expect(await usedBefore()).toBe(2 * answerTokens + granted);
    ending(1);
    expect((await inference.chat(key, { params })).status).toBe(502);
    expect(await usedBefore()).toBe(3 * answerTokens + 2 * granted);
  });

  it('is charged with the reservation when it responds after the fallback, which is charged with its reported usage', async () => {
    const hasAnswered = Promise.withResolvers<void>();
    inference.upstream.script = async ({ url }, response) => {
      if (url.startsWith('/v1/late/')) await hasAnswered.promise;
      sendJson(response, chatAnswer);
    };
    const target = { provider: 'mock-upstream', custom_host: inference.upstream.url };
    const config = {
      provider: undefined,
      custom_host: undefined,
      strategy: { mode: 'fallback' },
      targets: [
        { ...target, custom_host: `${target.custom_host}/late`, request_timeout: 50 },
        target,
      ],
    };
    const params = { max_tokens: 500 };
    const answer = await inference.chat(key, { config, params });
    hasAnswered.resolve();
    expect(answer).toMatchObject({ status: 200, body: chatAnswer });
    expect(answer.headers['x-gateway-last-used-option-index']).toBe('config.targets[1]');
    const granted = inference.upstream.reached[0]!.body.length + 500;
    expect(await usedBefore()).toBe(granted + answerTokens);
  });

  it("is retried and then skipped when an Anthropic service is overloaded, with errors in the caller's format", async () => {
    const overloaded = {
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
    };
    const contentValue = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'c',
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'hi' }],
      usage: { input_tokens: 5, output_tokens: 2 },
    };
    let failures = 1;
    inference.upstream.script = (_, response) => {
      failures -= 1;
      response.setHeader('retry-after', '0');
      if (failures >= 0) sendJson(response, overloaded, 529);
      else sendJson(response, contentValue);
    };
    const retry = { attempts: 1, use_retry_after_headers: true };
    const anthropic = { provider: 'anthropic', retry };
    const answer = await inference.chat(key, { config: anthropic });
    expect(answer).toMatchObject({
      status: 200,
      body: { choices: [{ message: { content: 'hi' } }], usage: { total_tokens: 7 } },
    });
    expect(answer.headers['x-gateway-retry-attempt-count']).toBe('1');
    failures = Number.POSITIVE_INFINITY;
    const target = { ...anthropic, custom_host: inference.upstream.url };
    const config = {
      provider: undefined,
      custom_host: undefined,
      strategy: { mode: 'fallback' },
      targets: [
        { ...target, cb_config: { failure_threshold: 1, cooldown_interval: 30_000 } },
        { ...target, retry: { attempts: 0 } },
      ],
    };
    const callsOf = async () => {
      inference.upstream.reached.length = 0;
      expect(await inference.chat(key, { config })).toMatchObject({
        status: 529,
        body: { error: { message: 'Overloaded', type: 'overloaded_error' } },
      });
      return inference.upstream.reached.length;
    };
    expect(await callsOf()).toBe(3);
    expect(await callsOf()).toBe(1);
    expect(await usedBefore()).toBe(answerTokens);
  });
});

describe('impossible usage', () => {
  const lies = [-1, 1.5, 1e12, '7', true, [7], { tokens: 7 }];
  const usages = lies.flatMap((lie) => [
    { prompt_tokens: lie, completion_tokens: 2 },
    { prompt_tokens: 5, completion_tokens: lie },
  ]);

  it.each(usages)('is not accepted whole or streamed: %j', async (usage) => {
    const params = { max_tokens: 500 };
    inference.upstream.script = (_, response) => sendJson(response, { ...chatAnswer, usage });
    expect((await inference.chat(key, { params })).status).toBe(200);
    const granted = inference.upstream.reached[0]!.body.length + 500;
    expect(await usedBefore()).toBe(granted);
    inference.upstream.script = (_, response) => {
      const event = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event);
    };
    const stream = { ...params, stream: true };
    expect((await inference.chat(key, { params: stream })).status).toBe(200);
    const both = 2 * granted + JSON.stringify({ stream: true }).length - 1;
    expect(await usedBefore()).toBe(both + answerTokens);
  });
});

describe('a compressed answer', () => {
  const codings = {
    gzip: gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  };
  const forbids = (word: string) => ({
    output_guardrails: [{ 'default.contains': { words: [word], operator: 'none' }, deny: true }],
  });

  function answersEncoded(encoding: string, bytes: Buffer): void {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    inference.upstream.script = (_, response) => {
      response.writeHead(200, headers).end(bytes);
    };
  }

  it.each(Object.entries(codings))(
    'is charged, judged and translated with %s',
    async (coding, encode) => {
      answersEncoded(coding, encode(Buffer.from(text)));
      const plain = await inference.chat(key);
      expect(plain.headers['content-encoding']).toBe(coding);
      expect(await usedBefore()).toBe(answerTokens);
      answersEncoded(coding, encode(Buffer.from(text)));
      expect((await inference.chat(key, { config: forbids('hi') })).status).toBe(446);
      const passed = await inference.chat(key, { config: forbids('bomb') });
      expect(passed).toMatchObject({ status: 200, body: { choices: chatAnswer.choices } });
      expect(passed.headers['content-encoding']).toBeUndefined();
      const translated = await inference.chat(key, {
        path: '/v1/messages',
        params: { max_tokens: 9 },
      });
      expect(translated).toMatchObject({ status: 200, body: { content: [{ text: 'hi' }] } });
      expect(translated.headers['content-encoding']).toBeUndefined();
    },
  );

  it.each([
    ['a coding that nobody knows', 'compress', Buffer.from(text)],
    ['two codings', 'gzip, br', brotliCompressSync(gzipSync(text))],
    ['a coding that it has not', 'gzip', Buffer.from(text)],
    ['more than is judged', 'gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
  ])(
    'is not returned unjudged with %s, and is charged with the reservation',
    async (_, coding, bytes) => {
      answersEncoded(coding, bytes);
      const params = { max_tokens: 500 };
      const refused = await inference.chat(key, { config: forbids('bomb'), params });
      expect(refused).toMatchObject({
        status: 502,
        body: { error: { code: 'answer_unreadable' } },
      });
      expect(await usedBefore()).toBe(inference.upstream.reached[0]!.body.length + 500);
      answersEncoded(coding, bytes);
      expect((await inference.chat(key)).status).toBe(200);
    },
  );

  it('is judged as a stream', async () => {
    const event = { choices: [{ index: 0, delta: { content: 'hi' } }] };
    const stream = gzipSync(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' };
    inference.upstream.script = (_, response) => {
      response.writeHead(200, headers).end(stream);
    };
    const params = { stream: true };
    expect((await inference.chat(key, { config: forbids('hi'), params })).status).toBe(446);
    const passed = await inference.chat(key, { config: forbids('bomb'), params });
    expect(passed.body).toContain('"hi"');
  });
});
