/** Verifies that requests to count tokens have an answer for every provider, and translated streams report usage. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type MockServer,
  startMockServer,
} from '../../../../src/commands/mock-upstream/mock-server.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

let inference: Inference;
let mock: MockServer;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  mock = await startMockServer('127.0.0.1', 0);
  stack.defer(() => mock[Symbol.asyncDispose]());
  inference = stack.use(await startInference({}, [new URL(mock.url).host]));
});

afterAll(() => stack.disposeAsync());

beforeEach(() => {
  inference.upstream.reached.length = 0;
});

async function clients(provider: string, url: string, more: object = {}) {
  const config = { provider, api_key: 'any', custom_host: url };
  const { key } = await inference.addKey(more);
  const base = inference.server.inferenceUrl;
  const options = {
    apiKey: key,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  };
  return {
    anthropic: new Anthropic({ ...options, baseURL: base }),
    openai: new OpenAI({ ...options, baseURL: `${base}/v1` }),
  };
}

const text =
  'A gateway counts what a request may use before it is sent, and charges what it used. ';
const request = {
  model: 'm',
  messages: [{ role: 'user' as const, content: text.repeat(20) }],
};

describe('POST /v1/messages/count_tokens', () => {
  it('is passed on to a provider of the Anthropic format', async () => {
    inference.upstream.script = (_, response) => sendJson(response, { input_tokens: 77 });
    const { anthropic } = await clients('anthropic', inference.upstream.url);
    const { data, response } = await anthropic.messages.countTokens(request).withResponse();
    expect(data.input_tokens).toBe(77);
    expect(response.headers.get('x-gateway-token-count')).toBeNull();
  });

  it('is an estimate for any other provider, marked as one, close to what the provider counts', async () => {
    const { anthropic } = await clients('openai', mock.url);
    const { data, response } = await anthropic.messages.countTokens(request).withResponse();
    expect(response.headers.get('x-gateway-token-count')).toBe('estimated');
    const { usage } = await anthropic.messages.create({ ...request, max_tokens: 10 });
    expect(data.input_tokens).toBeGreaterThanOrEqual(usage.input_tokens * 0.9);
    expect(data.input_tokens).toBeLessThanOrEqual(usage.input_tokens * 1.3);
  });

  it('counts as a request, and uses no tokens', async () => {
    const limits = { rate_limits: [{ type: 'requests', unit: 'rpm', value: 1 }] };
    const usage = {
      usage_limits: { type: 'tokens', credit_limit: 1, periodic_reset: 'monthly' },
    };
    const { anthropic } = await clients('openai', mock.url, { ...limits, ...usage });
    await anthropic.messages.countTokens(request);
    const second = anthropic.messages.countTokens(request);
    await expect(second).rejects.toBeInstanceOf(Anthropic.RateLimitError);
  });
});

describe('POST /v1/responses/input_tokens', () => {
  it('is passed on to a provider that has responses', async () => {
    inference.upstream.script = (_, response) =>
      sendJson(response, { object: 'response.input_tokens', input_tokens: 78 });
    const { openai } = await clients('openai', inference.upstream.url);
    const { input_tokens: count } = await openai.responses.inputTokens.count({
      model: 'm',
      input: text,
    });
    expect(count).toBe(78);
  });

  it.each(['mock-upstream', 'anthropic'])(
    'is an estimate for a provider without them: %s',
    async (provider) => {
      const { openai } = await clients(provider, inference.upstream.url);
      const { data, response } = await openai.responses.inputTokens
        .count({ model: 'm', input: text })
        .withResponse();
      expect(response.headers.get('x-gateway-token-count')).toBe('estimated');
      expect(data).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) });
      expect(inference.upstream.reached).toHaveLength(0);
    },
  );
});

describe('a translated stream', () => {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], ...more })}\n\n`;
  const chunks = [
    chunk({
      choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }],
    }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  ];

  async function usages(usage: object | null): Promise<{ first: unknown; last: unknown }> {
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const last = usage === null ? [] : [chunk({ usage })];
      response.end([...chunks, ...last, 'data: [DONE]\n\n'].join(''));
    };
    const { anthropic } = await clients('openai', inference.upstream.url);
    const stream = await anthropic.messages.create({ ...request, max_tokens: 9, stream: true });
    let [first, last]: unknown[] = [];
    for await (const event of stream) {
      if (event.type === 'message_start') first = event.message.usage;
      if (event.type === 'message_delta') last = event.usage;
    }
    return { first, last };
  }

  it('begins with an estimate of the input and ends with what the provider reports', async () => {
    const { first, last } = await usages({
      prompt_tokens: 500,
      completion_tokens: 20,
      total_tokens: 560,
      prompt_tokens_details: { cached_tokens: 100 },
    });
    const { input_tokens: estimate } = first as { input_tokens: number };
    expect(estimate).toBeGreaterThan(400);
    expect(estimate).toBeLessThan(600);
    // Reasoning that only the total contains is output.
    expect(last).toEqual({
      input_tokens: 400,
      output_tokens: 60,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 100,
    });
  });

  it('repeats the estimate where the provider reports nothing', async () => {
    const { first, last } = await usages(null);
    expect(last).toMatchObject({ input_tokens: (first as { input_tokens: number }).input_tokens });
  });
});
