/**
 * Verifies that unmodified clients work with third-party servers through the gateway as they do
 * directly, and are charged correctly.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LLMock } from '@copilotkit/aimock';
import { getDefaultConfig } from '@dwmkerr/mock-llm/dist/config.js';
import { createServer as createMockLlm } from '@dwmkerr/mock-llm/dist/server.js';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const usage = { prompt_tokens: 21, completion_tokens: 8 };
let mock: LLMock;
let server: TestServer;
const rules = getDefaultConfig();
const teapot = { path: '/v1/rerank', response: { status: 418, content: '{"error":"teapot"}' } };
const scripted = createServer(
  createMockLlm({ ...rules, rules: [...rules.rules, teapot] }, '127.0.0.1', 0),
);

beforeAll(async () => {
  mock = new LLMock({ port: 0, latency: 0 });
  await mock.start();
  mock.onMessage(/./, { content: 'Hello there.', usage });
  await new Promise<void>((resolve) => {
    scripted.listen(0, '127.0.0.1', resolve);
  });
  const trusted = readTrustedHosts(`${new URL(mock.url).host},127.0.0.1:${scriptedPort()}`);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await mock.stop();
  scripted.close();
  scripted.closeAllConnections();
});

function scriptedPort(): number {
  return (scripted.address() as AddressInfo).port;
}

async function client(customHost: string): Promise<{ openai: OpenAI; left(): Promise<number> }> {
  const { body } = await server.request('POST', '/v1/api-keys/organisation/service', {
    body: {
      name: 'caller',
      scopes: ['completions.write'],
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    },
  });
  const config = { provider: 'openai', api_key: 'any', custom_host: `${customHost}/v1` };
  const openai = new OpenAI({
    apiKey: body.key,
    maxRetries: 0,
    timeout: 600_000,
    baseURL: `${server.inferenceUrl}/v1`,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  });
  const left = async (): Promise<number> => {
    const { response } = await openai.chat.completions.create(question).withResponse();
    const [, tokens] = /tokens=(\d+)/.exec(response.headers.get('x-gateway-usage-remaining')!)!;
    return Number(tokens);
  };
  return { openai, left };
}

const question = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'hello' }] };

describe('an OpenAI client', () => {
  it('chats and streams, and is charged with the usage that the server counted', async () => {
    const { openai, left } = await client(mock.url);
    const answer = await openai.chat.completions.create(question);
    expect(answer.choices[0]!.message.content).toBe('Hello there.');
    const pieces: string[] = [];
    for await (const chunk of await openai.chat.completions.create({ ...question, stream: true })) {
      pieces.push(chunk.choices[0]?.delta.content ?? '');
    }
    expect(pieces.join('')).toBe('Hello there.');
    const counted = 3 * (usage.prompt_tokens + usage.completion_tokens);
    await expect(left()).resolves.toBe(100_000 - counted);
  });

  it('creates embeddings, responses and files, and lists models', async () => {
    const { openai } = await client(mock.url);
    const embedded = await openai.embeddings.create({ model: 'embed', input: 'hello' });
    expect(embedded.data[0]!.embedding.length).toBeGreaterThan(0);
    const response = await openai.responses.create({ model: 'gpt-4o', input: 'hello' });
    expect(response.output_text).toBe('Hello there.');
    const file = await openai.files.create({
      file: await toFile(Buffer.from('{"a": 1}\n'), 'lines.jsonl'),
      purpose: 'batch',
    });
    expect((await openai.files.retrieve(file.id)).filename).toBe('lines.jsonl');
    expect((await openai.models.list()).data.length).toBeGreaterThan(0);
  });

  it('receives the scripted responses unchanged, including errors of unknown paths', async () => {
    const { openai } = await client(`http://127.0.0.1:${scriptedPort()}`);
    const answer = await openai.chat.completions.create(question);
    expect(answer.choices[0]!.message.content).toBe('hello');
    await expect(openai.post('/rerank', { body: {} })).rejects.toMatchObject({
      status: 418,
      error: 'teapot',
    });
  });
});
