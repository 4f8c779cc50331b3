/**
 * Verifies that an unmodified Google client works with providers of every format, and that clients of
 * OpenAI and Anthropic work with Google in its own format.
 */

import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import { type GenerateContentResponse, GoogleGenAI, ThinkingLevel, Type } from '@google/genai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { sendJson, startUpstream, type TestUpstream } from '../../../support/upstream/upstream.ts';

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

/** The mock speaks the format that the provider has. */
function target(provider: string, more: object = {}): object {
  const face = provider === 'google' ? '/v1beta/openai' : '/v1';
  return { provider, api_key: 'any', custom_host: `${mock.url}${face}`, ...more };
}

function scripted(provider: string, more: object = {}): object {
  const face = provider === 'google' ? '/v1beta/openai' : '/v1';
  const custom_host = `http://${upstream.host}${face}`;
  return { provider, api_key: 'secret', custom_host, ...more };
}

function google(config: object): GoogleGenAI {
  return new GoogleGenAI({
    apiKey: key,
    httpOptions: {
      baseUrl: server.inferenceUrl,
      headers: { 'x-gateway-config': JSON.stringify(config) },
    },
  });
}

const weather = {
  name: 'weather',
  description: 'now',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } } },
};

async function textOf(stream: AsyncIterable<GenerateContentResponse>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.text ?? '';
  return text;
}

describe.each(['google', 'openai', 'anthropic'])('a Google client at %s', (provider) => {
  it('generates content with its usage, whole and streamed', async () => {
    mock.onMessage('hello', { content: 'Hi, 世界! 👋', usage });
    const client = google(target(provider));
    const query = { model: 'gemini-2.5-pro', contents: 'hello', config: { maxOutputTokens: 50 } };
    const whole = await client.models.generateContent(query);
    expect(whole.text).toBe('Hi, 世界! 👋');
    expect(whole.candidates![0]!.finishReason).toBe('STOP');
    expect(whole.usageMetadata!.promptTokenCount).toBeGreaterThan(0);
    expect(await textOf(await client.models.generateContentStream(query))).toBe('Hi, 世界! 👋');
  });

  it('calls tools and sends their results', async () => {
    mock.on({ hasToolResult: true }, { content: 'It is 20 °C.', usage });
    const called = { name: 'weather', arguments: '{"city":"Łódź"}', id: 'call_1' };
    mock.onMessage(/weather/, { toolCalls: [called], usage });
    const client = google(target(provider));
    const config = { tools: [{ functionDeclarations: [weather] }] };
    const question = { role: 'user', parts: [{ text: 'the weather in Łódź?' }] };
    const first = await client.models.generateContent({ model: 'm', contents: [question], config });
    const [call] = first.functionCalls!;
    expect(call).toMatchObject({ name: 'weather', args: { city: 'Łódź' } });
    const result = { name: 'weather', ...(call!.id === undefined ? {} : { id: call!.id }) };
    const contents = [
      question,
      first.candidates![0]!.content!,
      { role: 'user', parts: [{ functionResponse: { ...result, response: { output: '20' } } }] },
    ];
    const second = await client.models.generateContent({ model: 'm', contents, config });
    expect(second.text).toBe('It is 20 °C.');
  });

  it('receives streamed tool calls as whole calls', async () => {
    const toolCalls = ['Rome', 'Oslo'].map((city, at) => ({
      name: 'weather',
      arguments: JSON.stringify({ city }),
      id: `call_${at}`,
    }));
    mock.onMessage(/weather/, { toolCalls, usage });
    const stream = await google(target(provider)).models.generateContentStream({
      model: 'm',
      contents: 'the weather?',
      config: { tools: [{ functionDeclarations: [weather] }] },
    });
    const calls = [];
    for await (const chunk of stream) calls.push(...(chunk.functionCalls ?? []));
    expect(calls.map(({ args }) => args)).toEqual([{ city: 'Rome' }, { city: 'Oslo' }]);
  });
});

describe('a Google client', () => {
  it('reaches Google in its own format with the members as they are', async () => {
    upstream.script = (_, response) =>
      sendJson(response, { candidates: [{ content: { parts: [{ text: 'hi' }] } }] });
    const config = {
      temperature: 1.5,
      safetySettings: [],
      thinkingConfig: { thinkingLevel: ThinkingLevel.LOW },
    };
    const query = { model: 'gemini-3-pro-preview', contents: 'hello', config };
    await google(scripted('google')).models.generateContent(query);
    const [sent] = upstream.reached;
    expect(sent!.url).toBe('/v1beta/models/gemini-3-pro-preview:generateContent');
    expect(sent!.headers['x-goog-api-key']).toBe('secret');
    expect(sent!.headers.authorization).toBeUndefined();
    const { temperature, thinkingConfig } = config;
    expect(JSON.parse(sent!.body.toString())).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
      safetySettings: [],
      generationConfig: { temperature, thinkingConfig },
    });
  });

  it('receives errors of the gateway as its own error class', async () => {
    const stranger = new GoogleGenAI({
      apiKey: 'x',
      httpOptions: { baseUrl: server.inferenceUrl },
    });
    const asking = stranger.models.generateContent({ model: 'm', contents: 'hello' });
    await expect(asking).rejects.toMatchObject({ name: 'ApiError', status: 401 });
  });

  it('receives errors of a provider of another format with its status', async () => {
    const error = { message: 'too many', type: 'rate_limit_error' };
    upstream.script = (_, response) => sendJson(response, { error }, 429);
    const asking = google(scripted('openai')).models.generateContent({ model: 'm', contents: 'a' });
    const expected = { code: 429, message: 'too many', status: 'RESOURCE_EXHAUSTED' };
    await expect(asking).rejects.toMatchObject({
      status: 429,
      message: JSON.stringify({ error: expected }),
    });
  });
});

/** Sends a request in Gemini's form without a client. */
function send(path: string, body: unknown, config: object, headers: Record<string, string> = {}) {
  return exchange('POST', `${server.inferenceUrl}${path}`, body, {
    'x-goog-api-key': key,
    'x-gateway-config': JSON.stringify(config),
    ...headers,
  });
}

const hello = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] };

describe('a request in the form of Gemini', () => {
  it('receives the events as one JSON list without alt=sse', async () => {
    mock.onMessage('hello', { content: 'Hi there', usage });
    for (const provider of ['google', 'openai']) {
      const path = '/v1beta/models/m:streamGenerateContent';
      const answer = await send(path, hello, target(provider));
      expect(answer.headers['content-type']).toBe('application/json');
      const events: GenerateContentResponse[] = answer.body;
      const texts = events.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
      expect(texts.map(({ text }) => text).join('')).toBe('Hi there');
    }
  });

  it.each(['v1', 'v1beta'])(
    'takes its key from the query below /%s, which no provider receives',
    async (version) => {
      const config = JSON.stringify(scripted('google'));
      upstream.script = (_, response) => sendJson(response, { candidates: [] });
      const url = `${server.inferenceUrl}/${version}/models/m:generateContent?key=${key}`;
      const answer = await exchange('POST', url, hello, { 'x-gateway-config': config });
      expect(answer.status).toBe(200);
      expect(JSON.stringify(upstream.reached)).not.toContain(key);
      const twice = await exchange('POST', `${url}&key=x`, hello, { 'x-gateway-config': config });
      expect(twice.body.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
    },
  );

  it('sends members in both spellings to Google in the usual one', async () => {
    upstream.script = (_, response) => sendJson(response, { candidates: [] });
    const body = {
      system_instruction: { parts: [{ text: 'be brief' }] },
      contents: [
        { role: 'model', parts: [{ function_call: { name: 'f', args: { a_b: 1 } } }] },
        { role: 'user', parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
      ],
      generation_config: { max_output_tokens: 5 },
    };
    await send('/v1beta/models/m:generateContent', body, scripted('google'));
    expect(JSON.parse(upstream.reached[0]!.body.toString())).toEqual({
      systemInstruction: { parts: [{ text: 'be brief' }] },
      contents: [
        { role: 'model', parts: [{ functionCall: { name: 'f', args: { a_b: 1 } } }] },
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      ],
      generationConfig: { maxOutputTokens: 5 },
    });
    const both = { ...hello, generationConfig: {}, generation_config: {} };
    const refused = await send('/v1beta/models/m:generateContent', both, scripted('google'));
    expect(refused.status).toBe(400);
    expect(refused.body.error.details[0].metadata.param).toBe('generation_config');
  });

  it('is 404 below /v1beta where the path is not listed', async () => {
    for (const path of [
      '/v1beta/models/m:predictLongRunning',
      '/v1beta/x',
      '/v1beta/tunedModels/m:generateContent',
    ]) {
      const answer = await send(path, hello, scripted('google'));
      expect(answer.body.error).toMatchObject({ code: 404, status: 'NOT_FOUND' });
    }
    const below = await send('/v1/v1beta/models', hello, scripted('google'));
    expect(below.status).toBe(404);
    expect(upstream.reached).toEqual([]);
  });

  it('is refused when the body contradicts the path', async () => {
    for (const more of [{ model: 'models/other' }, { stream: true }]) {
      const body = { ...hello, ...more };
      const answer = await send('/v1beta/models/m:generateContent', body, scripted('google'));
      expect(answer.status).toBe(400);
    }
    const same = { ...hello, model: 'models/m' };
    const served = await send('/v1beta/models/m:generateContent', same, scripted('google'));
    expect(served.status).toBe(200);
  });

  it('is 404 for files and cached contents of the account', async () => {
    const file = (fileUri: string) => ({
      contents: [{ role: 'user', parts: [{ fileData: { fileUri } }] }],
    });
    const foreign = [
      { ...hello, cachedContent: 'cachedContents/abc' },
      file('https://generativelanguage.googleapis.com/v1beta/files/abc'),
      file('gs://bucket/secret.pdf'),
      { ...hello, tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'] } }] },
    ];
    const config = await sharedConfig();
    for (const body of foreign) {
      const answer = await send('/v1beta/models/m:generateContent', body, config);
      expect([answer.status, body]).toEqual([404, body]);
    }
    const own = file('https://www.youtube.com/watch?v=abc');
    expect((await send('/v1beta/models/m:generateContent', own, config)).status).toBe(200);
  });
});

/** A config whose account several callers share. */
async function sharedConfig(): Promise<object> {
  const custom_host = `http://${upstream.host}/v1beta/openai`;
  const { body: integration } = await server.request('POST', '/v1/integrations', {
    body: { name: 'g', ai_provider_id: 'google', key: 'secret', configurations: { custom_host } },
  });
  const { body: workspace } = await server.request('POST', '/v2/workspaces', {
    body: { name: 'w' },
  });
  const { body: provider } = await server.request('POST', '/v1/providers', {
    body: { name: 'g', integration_id: integration.id, workspace_id: workspace.id },
  });
  upstream.script = (_, response) => sendJson(response, { candidates: [] });
  return { provider: `@${provider.slug}` };
}

describe('a client of another format at Google with google_api_format: gemini', () => {
  const options = () => {
    const config = target('google', { google_api_format: 'gemini' });
    const defaultHeaders = { 'x-gateway-config': JSON.stringify(config) };
    return { apiKey: key, maxRetries: 0, timeout: 600_000, defaultHeaders };
  };
  const openai = () => new OpenAI({ ...options(), baseURL: `${server.inferenceUrl}/v1` });
  const anthropic = () => new Anthropic({ ...options(), baseURL: server.inferenceUrl });
  const messages = [{ role: 'user' as const, content: 'hello' }];

  it('completes chats, messages and responses, whole and streamed', async () => {
    mock.onMessage('hello', { content: 'Hi, 世界! 👋', usage });
    const model = 'gemini-2.5-flash';
    const chat = await openai().chat.completions.create({ model, messages });
    expect(chat.choices[0]!.message.content).toBe('Hi, 世界! 👋');
    const stream = openai().chat.completions.stream({ model, messages });
    expect(await stream.finalContent()).toBe('Hi, 世界! 👋');
    const message = { model, max_tokens: 50, messages };
    expect((await anthropic().messages.create(message)).content).toMatchObject([
      { type: 'text', text: 'Hi, 世界! 👋' },
    ]);
    expect(await anthropic().messages.stream(message).finalText()).toBe('Hi, 世界! 👋');
    const response = await openai().responses.create({ model, input: 'hello' });
    expect(response.output_text).toBe('Hi, 世界! 👋');
    expect(mock.getLastRequest()!.path).toContain('/v1beta/models/gemini-2.5-flash:');
  });

  it('calls tools in streams', async () => {
    mock.on({ hasToolResult: true }, { content: 'It is 20 °C.', usage });
    const toolCalls = [{ name: 'weather', arguments: '{"city":"Łódź"}', id: 'call_1' }];
    mock.onMessage(/hello/, { toolCalls, usage });
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
    const first = await openai()
      .chat.completions.stream({ model: 'm', messages, tools })
      .finalChatCompletion();
    const { message, finish_reason } = first.choices[0]!;
    expect(finish_reason).toBe('tool_calls');
    const [call] = message.tool_calls!;
    const called = call as OpenAI.Chat.ChatCompletionMessageFunctionToolCall;
    expect(JSON.parse(called.function.arguments)).toEqual({ city: 'Łódź' });
    const history = [
      ...messages,
      message,
      { role: 'tool' as const, tool_call_id: call!.id, content: '20' },
    ];
    const second = await openai().chat.completions.create({ model: 'm', messages: history, tools });
    expect(second.choices[0]!.message.content).toBe('It is 20 °C.');
  });
});
