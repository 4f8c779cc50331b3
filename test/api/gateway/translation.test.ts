/**
 * Verifies that an unmodified OpenAI client works with a provider of the Anthropic format, and the
 * other way round.
 */
import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { sendJson, startUpstream, type TestUpstream } from '../../support/upstream/upstream.ts';

let mock: LLMock;
let upstream: TestUpstream;
let server: TestServer;
let key: string;

beforeAll(async () => {
  mock = new LLMock({ port: 0, latency: 0 });
  await mock.start();
  upstream = await startUpstream();
  const trusted = readTrustedHosts(`${new URL(mock.url).host},${upstream.host}`);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  const { body } = await server.request('POST', '/v1/api-keys/organisation/service', {
    body: { name: 'caller', scopes: ['completions.write'] },
  });
  key = body.key;
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await mock.stop();
});

beforeEach(() => {
  mock.clearFixtures();
  mock.clearRequests();
  upstream.reached.length = 0;
});

const usage = { prompt_tokens: 21, completion_tokens: 8 };
const weather = { name: 'weather', arguments: { city: 'Łódź', unit: '°C' } };
const parameters = { type: 'object' as const, properties: { city: { type: 'string' } } };

function target(provider: string, more: object = {}): object {
  return { provider, api_key: 'any', custom_host: `${mock.url}/v1`, ...more };
}

function options(config: object) {
  const defaultHeaders = { 'x-gateway-config': JSON.stringify(config) };
  return { apiKey: key, maxRetries: 0, timeout: 600_000, defaultHeaders };
}

function openAi(config = target('anthropic')): OpenAI {
  return new OpenAI({ ...options(config), baseURL: `${server.inferenceUrl}/v1` });
}

function anthropic(config = target('openai')): Anthropic {
  return new Anthropic({ ...options(config), baseURL: server.inferenceUrl });
}

/** The path and body of the last request that reached the provider. */
function lastProviderRequest() {
  const { path, body } = mock.getLastRequest()!;
  return { path, body: body as unknown as Record<string, unknown> };
}

/** Lets the model call a tool first, and respond after the result. */
function scriptTools(): void {
  mock.on({ hasToolResult: true }, { content: 'It is 20 °C.', usage });
  mock.onMessage(/weather/, {
    toolCalls: [{ ...weather, arguments: JSON.stringify(weather.arguments), id: 'toolu_1' }],
    usage,
  });
}

describe('an OpenAI client at a provider with the Anthropic format', () => {
  const tools = [
    { type: 'function' as const, function: { name: 'weather', description: 'now', parameters } },
  ];
  const question = { role: 'user' as const, content: 'the weather in Łódź?' };
  const system = { role: 'system' as const, content: 'be brief' };

  it('completes a chat with its usage, whole and streamed', async () => {
    mock.onMessage('hello', { content: 'Hi, 世界! 👋', usage });
    const messages = [system, { role: 'user' as const, content: 'hello' }];
    const whole = await openAi().chat.completions.create({ model: 'claude', messages });
    expect(whole).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Hi, 世界! 👋' }, finish_reason: 'stop' }],
      usage: { ...usage, total_tokens: 29 },
    });
    expect(lastProviderRequest().path).toBe('/v1/messages');
    const stream = openAi().chat.completions.stream({
      model: 'claude',
      messages,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]!.message.content).toBe('Hi, 世界! 👋');
    expect(final.choices[0]!.finish_reason).toBe('stop');
    expect((await stream.totalUsage()).completion_tokens).toBe(8);
  });

  it('calls tools and sends their results, whole and streamed', async () => {
    scriptTools();
    const first = { model: 'claude', messages: [question], tools };
    const whole = await openAi().chat.completions.create(first);
    const streamed = await openAi().chat.completions.stream(first).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      const [choice] = choices;
      expect(choice!.finish_reason).toBe('tool_calls');
      const [call] = choice!.message.tool_calls!;
      if (call?.type !== 'function') throw new Error('no call of a function');
      expect(call.function.name).toBe('weather');
      expect(JSON.parse(call.function.arguments)).toEqual(weather.arguments);
      const result = { role: 'tool' as const, tool_call_id: call.id, content: '20' };
      const messages = [question, choice!.message, result];
      const second = await openAi().chat.completions.create({ model: 'claude', messages, tools });
      expect(second.choices[0]!.message.content).toBe('It is 20 °C.');
    }
  });

  it('receives errors in the OpenAI format with the status of the provider', async () => {
    mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
    const asking = openAi().chat.completions.create({ model: 'claude', messages: [question] });
    await expect(asking).rejects.toMatchObject({
      status: 529,
      error: { message: 'Overloaded', type: 'overloaded_error', code: null },
    });
  });

  it('is rejected with the JSON path of a member that has no translation, unless the target drops it', async () => {
    mock.onMessage(/weather/, { content: 'cold' });
    const request = { model: 'claude', messages: [question], seed: 7 };
    await expect(openAi().chat.completions.create(request)).rejects.toMatchObject({
      status: 400,
      code: 'not_translatable',
      param: 'seed',
    });
    expect(mock.getRequests()).toEqual([]);
    const dropping = openAi(target('anthropic', { drop_params: ['seed'] }));
    await dropping.chat.completions.create(request);
    expect(mock.getRequests()).toHaveLength(1);
  });
});

describe('a request with members without a counterpart', () => {
  const messages = [{ role: 'user', content: 'hello' }];
  const request = { model: 'm', messages, seed: 7, metadata: { a: 'b' }, n: null };

  async function ask(unsupported: object) {
    const headers = {
      authorization: `Bearer ${key}`,
      'x-gateway-config': JSON.stringify({ ...unsupported, targets: [target('anthropic')] }),
    };
    return exchange('POST', `${server.inferenceUrl}/v1/chat/completions`, request, headers);
  }

  it('is sent without them where the config says so, and a header and the log name them', async () => {
    mock.onMessage('hello', { content: 'hi', usage });
    const answer = await ask({ unsupported: 'drop' });
    expect(answer.status).toBe(200);
    expect(answer.headers['x-gateway-dropped-members']).toBe('seed, metadata');
    expect(lastProviderRequest().body).not.toHaveProperty('seed');
    const trace = answer.headers['x-gateway-trace-id'];
    const row = await eventually(async () => {
      const { body } = await server.request('GET', `/v1/logs?trace_id=${trace}`);
      expect(body.data).toHaveLength(1);
      return body.data[0];
    });
    expect(row.dropped_members).toEqual(['seed', 'metadata']);
  });

  it('is rejected where the config says so, also for a hint', async () => {
    const { status, body } = await ask({ unsupported: 'refuse', drop_params: ['seed'] });
    expect([status, body.error.code, body.error.param]).toEqual([
      400,
      'not_translatable',
      'metadata',
    ]);
  });
});

describe('an Anthropic client at a provider with the OpenAI format', () => {
  const tools = [{ name: 'weather', description: 'now', input_schema: parameters }];
  const question = { role: 'user' as const, content: 'the weather in Łódź?' };

  it('sends messages with their usage, whole and streamed', async () => {
    mock.onMessage('hello', { content: 'Hi, 世界! 👋', usage });
    const request = {
      model: 'gpt',
      max_tokens: 100,
      system: 'be brief',
      messages: [{ role: 'user' as const, content: 'hello' }],
    };
    const whole = await anthropic().messages.create(request);
    const streamed = await anthropic().messages.stream(request).finalMessage();
    for (const message of [whole, streamed]) {
      expect(message).toMatchObject({
        type: 'message',
        role: 'assistant',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: 'Hi, 世界! 👋' }],
        usage: { input_tokens: 21, output_tokens: 8 },
      });
    }
    expect(lastProviderRequest()).toMatchObject({
      path: '/v1/chat/completions',
      body: { max_completion_tokens: 100, stream_options: { include_usage: true } },
    });
  });

  it('calls tools and sends their results, whole and streamed', async () => {
    scriptTools();
    const first = { model: 'gpt', max_tokens: 100, messages: [question], tools };
    const whole = await anthropic().messages.create(first);
    const streamed = await anthropic().messages.stream(first).finalMessage();
    for (const { content, stop_reason: reason } of [whole, streamed]) {
      expect(reason).toBe('tool_use');
      const call = content.find(({ type }) => type === 'tool_use');
      if (call?.type !== 'tool_use') throw new Error('no call of a tool');
      expect(call).toMatchObject({ name: 'weather', input: weather.arguments });
      const results = [{ type: 'tool_result' as const, tool_use_id: call.id, content: '20' }];
      const second = await anthropic().messages.create({
        ...first,
        messages: [question, { role: 'assistant', content }, { role: 'user', content: results }],
      });
      expect(second.content).toMatchObject([{ type: 'text', text: 'It is 20 °C.' }]);
    }
  });

  it('receives errors in the Anthropic format with the status of the provider', async () => {
    mock.nextRequestError(429, { message: 'slow down', type: 'requests' });
    const asking = anthropic().messages.create({
      model: 'gpt',
      max_tokens: 1,
      messages: [question],
    });
    const error = await asking.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect(error).toMatchObject({
      error: { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } },
    });
  });
});

describe('a config with targets of both formats', () => {
  const hello = { model: 'm', messages: [{ role: 'user' as const, content: 'hello' }] };
  const both = (first: string, second: string) => ({
    strategy: { mode: 'fallback' },
    targets: [target(first), target(second)],
  });

  it('falls back from one format to the other', async () => {
    for (const [first, second] of [
      ['openai', 'anthropic'],
      ['anthropic', 'openai'],
    ] as const) {
      mock.clearFixtures();
      mock.clearRequests();
      mock.onMessage('hello', { content: 'after all', usage });
      mock.nextRequestError(500, { message: 'down' });
      const config = both(first, second);
      const chat = await openAi(config).chat.completions.create(hello);
      expect(chat.choices[0]!.message.content).toBe('after all');
      mock.nextRequestError(500, { message: 'down' });
      const message = await anthropic(config).messages.create({ ...hello, max_tokens: 10 });
      expect(message.content).toMatchObject([{ text: 'after all' }]);
      const paths = { openai: '/v1/chat/completions', anthropic: '/v1/messages' };
      const pair = [paths[first], paths[second]];
      expect(mock.getRequests().map(({ path }) => path)).toEqual([...pair, ...pair]);
    }
  });

  it('charges the usage that the provider reports in its own format', async () => {
    mock.onMessage('hello', { content: 'counted', usage });
    const made = await server.request('POST', '/v1/api-keys/organisation/service', {
      body: {
        name: 'limited',
        scopes: ['completions.write'],
        usage_limits: { type: 'tokens', credit_limit: 100_000 },
      },
    });
    const ask = async (path: string, provider: string, more: object = {}) => {
      const headers = {
        authorization: `Bearer ${made.body.key}`,
        'x-gateway-config': JSON.stringify(target(provider)),
      };
      const body = { ...hello, max_tokens: 50, ...more };
      const answer = await exchange('POST', server.inferenceUrl + path, body, headers);
      expect(answer.status).toBe(200);
      return answer;
    };
    for (const stream of [false, true]) {
      await ask('/v1/chat/completions', 'anthropic', { stream });
      await ask('/v1/messages', 'openai', { stream });
    }
    const last = await ask('/v1/messages', 'openai');
    expect(last.headers['x-gateway-usage-remaining']).toBe(`tokens=${100_000 - 5 * 29}`);
  });
});

describe('a request with unlimited nesting', () => {
  it('returns 400 instead of a server error', async () => {
    const nested = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const answer = await fetch(`${server.inferenceUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-gateway-config': JSON.stringify(target('anthropic')),
      },
      body: `{"model":"m","messages":[],"thinking":${nested}}`,
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_json' } });
  });
});

describe('a cached response', () => {
  it('is returned in the format of the caller with unchanged digits', async () => {
    const id = '12345678901234567890';
    upstream.script = (_, response) => {
      const body = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":
        "tool_use","id":"toolu_1","name":"f","input":{"id":${id}}}],"stop_reason":"tool_use",
        "usage":{"input_tokens":1,"output_tokens":1}}`;
      response.writeHead(200, { 'content-type': 'application/json', etag: '"1"' }).end(body);
    };
    const config = { provider: 'anthropic', custom_host: upstream.url, cache: { mode: 'simple' } };
    const ask = (path: string, body: object) => {
      const headers = {
        authorization: `Bearer ${key}`,
        'x-gateway-config': JSON.stringify(config),
      };
      return exchange('POST', server.inferenceUrl + path, body, headers);
    };
    const question = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
    const [first, second] = [
      await ask('/v1/chat/completions', question),
      await ask('/v1/chat/completions', question),
    ];
    expect(first.headers.etag).toBeUndefined();
    expect(first.headers['x-gateway-cache-status']).toBe('MISS');
    expect(second.headers['x-gateway-cache-status']).toBe('HIT');
    expect(second.body).toEqual(first.body);
    const [call] = second.body.choices[0].message.tool_calls;
    expect(call.function.arguments).toBe(`{"id":${id}}`);
    const sent = JSON.parse(upstream.reached[0]!.body.toString());
    const own = await ask('/v1/messages', sent);
    expect(own.headers['x-gateway-cache-status']).toBe('MISS');
    expect(own.body.type).toBe('message');
  });
});

describe('a response that violates the format of its provider', () => {
  it('returns 502 in the format of the caller, and ends a stream with an error', async () => {
    const config = { provider: 'anthropic', api_key: 'any', custom_host: upstream.url };
    const request = { model: 'm', messages: [{ role: 'user' as const, content: 'hello' }] };
    upstream.script = (_, response) => sendJson(response, { surprise: true });
    const asking = openAi(config).chat.completions.create(request);
    await expect(asking).rejects.toMatchObject({ status: 502, code: 'answer_not_translatable' });
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('event: message_start\ndata: {"type":"message_start"}\n\n');
    };
    const streamed = openAi(config).chat.completions.stream(request).finalChatCompletion();
    await expect(streamed).rejects.toThrow('message must be an object');
  });

  it('returns 502 when it is longer than the limit', async () => {
    const config = { provider: 'anthropic', api_key: 'any', custom_host: upstream.url };
    upstream.script = (_, response) => sendJson(response, { pad: 'x'.repeat(5 * 1024 * 1024) });
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const asking = openAi(config).chat.completions.create({ model: 'm', messages });
    await expect(asking).rejects.toMatchObject({ status: 502, code: 'answer_not_translatable' });
  });

  it('returns the status when it is an error of an intermediary', async () => {
    upstream.script = (_, response) => {
      response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>away</h1>');
    };
    const config = { provider: 'openai', api_key: 'any', custom_host: upstream.url };
    const asking = anthropic(config).messages.create({
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'hello' }],
    });
    await expect(asking).rejects.toMatchObject({
      status: 503,
      error: { error: { type: 'overloaded_error', message: 'The provider answered with 503' } },
    });
  });
});
