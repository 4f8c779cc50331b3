/**
 * Verifies that unmodified OpenAI and Anthropic clients work with only another base URL and key.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type MockServer,
  startMockServer,
} from '../../../src/commands/mock-upstream/mock-server.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let mock: MockServer;
let server: TestServer;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  mock = await startMockServer('127.0.0.1', 0);
  const trusted = readTrustedHosts(new URL(mock.url).host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  const keyFor = async (provider: string): Promise<string> => {
    const config = { provider, api_key: 'any', custom_host: mock.url };
    const made = await server.request('POST', '/v2/configs', { body: { name: provider, config } });
    const { body } = await server.request('POST', '/v1/api-keys/organisation/service', {
      body: {
        name: provider,
        scopes: ['completions.write'],
        defaults: { config_id: made.body.slug },
      },
    });
    return body.key;
  };
  const options = { maxRetries: 0, timeout: 600_000 };
  const baseURL = server.inferenceUrl;
  openai = new OpenAI({ apiKey: await keyFor('openai'), baseURL: `${baseURL}/v1`, ...options });
  anthropic = new Anthropic({ apiKey: await keyFor('anthropic'), baseURL, ...options });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await mock[Symbol.asyncDispose]();
});

const messages = [{ role: 'user' as const, content: 'hello' }];

describe('an OpenAI client', () => {
  it('completes a chat, whole and streamed', async () => {
    const whole = await openai.chat.completions.create({ model: 'm', messages });
    expect(whole.choices[0]!.message.content).toBe('echo: hello');
    const stream = await openai.chat.completions.create({ model: 'm', messages, stream: true });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toBe('echo: hello');
  });

  it('creates embeddings, completions and responses, and lists models', async () => {
    const embedded = await openai.embeddings.create({
      model: 'm',
      input: ['a', 'b'],
      encoding_format: 'float',
    });
    expect(embedded.data).toHaveLength(2);
    const completed = await openai.completions.create({ model: 'm', prompt: 'hi' });
    expect(completed.choices[0]!.text).toBe('echo: hi');
    const responded = await openai.responses.create({ model: 'm', input: 'hi' });
    expect(responded.output_text).toBe('echo: hi');
    expect((await openai.models.list()).data[0]!.id).toBe('mock-echo');
  });

  it('receives errors as its own error classes', async () => {
    const stranger = new OpenAI({ apiKey: 'x', baseURL: openai.baseURL, maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await expect(openai.fineTuning.jobs.retrieve('none')).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
  });
});

describe('an Anthropic client', () => {
  it('sends messages, whole and streamed', async () => {
    const query = { model: 'm', max_tokens: 100, messages };
    const whole = await anthropic.messages.create(query);
    expect(whole.content).toMatchObject([{ type: 'text', text: 'echo: hello' }]);
    expect(await anthropic.messages.stream(query).finalText()).toBe('echo: hello');
  });

  it('receives errors as its own error classes', async () => {
    const { baseURL } = anthropic;
    const stranger = new Anthropic({ apiKey: 'x', baseURL, maxRetries: 0 });
    const asking = stranger.messages.create({ model: 'm', max_tokens: 1, messages });
    await expect(asking).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });
});
