/** Verifies the paths, members and credentials of requests to Vertex AI, Azure AI Foundry and the v1 form of Azure OpenAI. */
import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../../support/upstream/upstream.ts';

let inference: Inference;
let workspace: { id: string };
let key: string;

const messageAnswer = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 2 },
};
const events = [
  { type: 'message_start', message: { ...messageAnswer, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];

beforeAll(async () => {
  inference = await startInference();
  workspace = await post('/v2/workspaces', { name: 'Support' });
  ({ key } = await inference.addKey({ workspace_id: workspace.id }));
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = ({ url, body }, response) => {
    const isClaude = /anthropic/.test(url);
    if (/count-tokens|count_tokens/.test(url)) return sendJson(response, { input_tokens: 9 });
    if (!/"stream":\s*true/.test(body.toString())) {
      return sendJson(response, isClaude ? messageAnswer : chatAnswer);
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  };
});
afterAll(() => inference[Symbol.asyncDispose]());

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

/** Creates an integration of the service and returns the slug of a provider on it. */
async function providerOf(service: string, configurations: object, more: object = {}) {
  const integration = await post('/v1/integrations', {
    name: randomUUID(),
    ai_provider_id: service,
    key: 'sk-cloud',
    configurations: { custom_host: inference.upstream.url.replace(/\/v1$/, ''), ...configurations },
    ...more,
  });
  const made = { name: 'p', integration_id: integration.id, workspace_id: workspace.id };
  const { slug } = await post('/v1/providers', made);
  return slug as string;
}

const headersFor = (slug: string) => ({ 'x-gateway-provider': `@${slug}` });
const claude = (slug: string) =>
  new Anthropic({
    apiKey: key,
    baseURL: inference.server.inferenceUrl,
    defaultHeaders: headersFor(slug),
    maxRetries: 0,
  });
const openAi = (slug: string) =>
  new OpenAI({
    apiKey: key,
    baseURL: `${inference.server.inferenceUrl}/v1`,
    defaultHeaders: headersFor(slug),
    maxRetries: 0,
  });
const sent = () => {
  const { url, headers, body } = inference.upstream.reached.at(-1)!;
  return { url, headers, body: JSON.parse(body.toString() || 'null') };
};
const messages = [{ role: 'user' as const, content: 'hello' }];
const vertex = { vertex_project_id: 'our-project', vertex_region: 'us-east5' };
const place = '/projects/our-project/locations/us-east5';

describe('Claude on Vertex AI', () => {
  const model = 'claude-sonnet-4-5@20250929';

  it('receives messages with the model in the path and the version in the body', async () => {
    const slug = await providerOf('vertex-ai', vertex);
    const answer = await claude(slug).beta.messages.create({
      model,
      messages,
      max_tokens: 10,
      betas: ['context-1m-2025-08-07'],
    });
    expect(answer.content).toMatchObject([{ type: 'text', text: 'hi' }]);
    const { url, headers, body } = sent();
    const name = encodeURIComponent(model);
    expect(url).toBe(`${place}/publishers/anthropic/models/${name}:rawPredict`);
    expect(body).toEqual({ messages, max_tokens: 10, anthropic_version: 'vertex-2023-10-16' });
    expect(headers.authorization).toBe('Bearer sk-cloud');
    expect(headers['anthropic-beta']).toBe('context-1m-2025-08-07');
    expect(headers['x-api-key']).toBe(undefined);
  });

  it('streams messages, and chats in the format of OpenAI', async () => {
    const slug = await providerOf('vertex-ai', vertex);
    const streamed = claude(slug).messages.stream({ model, messages, max_tokens: 10 });
    expect(await streamed.finalText()).toBe('hi');
    expect(sent().url).toMatch(/:streamRawPredict$/);
    expect(sent().body.stream).toBe(true);
    const chat = openAi(slug).chat.completions.stream({ model, messages });
    expect((await chat.finalChatCompletion()).choices[0]!.message.content).toBe('hi');
    expect(sent().url).toMatch(/:streamRawPredict$/);
    const whole = await openAi(slug).chat.completions.create({ model, messages });
    expect(whole.choices[0]!.message.content).toBe('hi');
    expect(sent().body.model).toBe(undefined);
  });

  it('counts tokens with the model in the body', async () => {
    const slug = await providerOf('vertex-ai', vertex);
    const count = await claude(slug).messages.countTokens({ model, messages });
    expect(count.input_tokens).toBe(9);
    const { url, body } = sent();
    expect(url).toBe(`${place}/publishers/anthropic/models/count-tokens:rawPredict`);
    expect(body.model).toBe(model);
  });

  it('is metered, priced and bounded under a limit of cost', async () => {
    const slug = await providerOf('vertex-ai', vertex);
    const budget = { type: 'cost', credit_limit: 1 };
    const limited = await inference.addKey({ workspace_id: workspace.id, usage_limits: budget });
    const body = { model, messages, max_tokens: 1_000_000 };
    const response = await exchange('POST', `${inference.server.inferenceUrl}/v1/messages`, body, {
      authorization: `Bearer ${limited.key}`,
      ...headersFor(slug),
    });
    expect(response.status).toBe(200);
    // 5 tokens at 3 and 2 at 15 dollars a million.
    expect(Number(response.headers['x-gateway-cost'])).toBeCloseTo(0.000045, 9);
    const { max_tokens: most } = sent().body;
    expect(most).toBeLessThan(67_000);
  });
});

describe('another model on Vertex AI', () => {
  it('receives chats with its publisher', async () => {
    const slug = await providerOf('vertex-ai', vertex);
    for (const [model, named] of [
      ['gemini-2.5-flash', 'google/gemini-2.5-flash'],
      ['google/gemini-2.5-pro', 'google/gemini-2.5-pro'],
      [
        'meta/llama-4-maverick-17b-128e-instruct-maas',
        'meta/llama-4-maverick-17b-128e-instruct-maas',
      ],
    ]) {
      await openAi(slug).chat.completions.create({ model: model!, messages });
      expect([sent().url, sent().body.model]).toEqual([
        `${place}/endpoints/openapi/chat/completions`,
        named,
      ]);
    }
    const translated = await claude(slug).messages.create({
      model: 'gemini-2.5-flash',
      messages,
      max_tokens: 10,
    });
    expect(translated.content).toMatchObject([{ text: 'hi' }]);
    expect(sent().url).toBe(`${place}/endpoints/openapi/chat/completions`);
  });

  it('is refused with the reason for other paths, and without a valid project', async () => {
    const slug = await providerOf('vertex-ai', vertex);
    const refusal = async (at: string, path: string) => {
      const { status, body } = await exchange(
        'POST',
        `${inference.server.inferenceUrl}/v1${path}`,
        { model: 'gemini-2.5-flash', messages, input: 'x' },
        { authorization: `Bearer ${key}`, ...headersFor(at) },
      );
      return [status, body.error.code, body.error.param];
    };
    expect(await refusal(slug, '/completions')).toEqual([404, 'not_found', null]);
    const chat = '/chat/completions';
    const missing = await providerOf('vertex-ai', {});
    expect(await refusal(missing, chat)).toEqual([400, 'provider_missing', 'vertex_project_id']);
    for (const vertex_project_id of ['../x', 'a/b', 'a?b', 'a b', '']) {
      const hostile = await providerOf('vertex-ai', { vertex_project_id });
      expect((await refusal(hostile, chat))[0]).toBe(400);
    }
    expect(inference.upstream.reached).toEqual([]);
  });
});

describe('Azure AI Foundry', () => {
  it.each([
    ['claude-sonnet-4-5', {}, '/anthropic/v1/messages'],
    ['gpt-5', {}, '/openai/v1/chat/completions'],
    [
      'DeepSeek-V3.1',
      { azure_api_version: '2024-05-01-preview' },
      '/models/chat/completions?api-version=2024-05-01-preview',
    ],
  ])('receives a chat for %s with %o at %s', async (model, configurations, url) => {
    const slug = await providerOf('azure-ai', configurations);
    const answer = await openAi(slug).chat.completions.create({ model, messages });
    expect(answer.choices[0]!.message.content).toBe('hi');
    expect([sent().url, sent().body.model]).toEqual([url, model]);
    expect(sent().headers['api-key']).toBe('sk-cloud');
    expect(sent().headers.authorization).toBe(undefined);
  });

  it.each([
    ['/anthropic', 'our-claude', '/anthropic/v1/messages'],
    ['/models', 'gpt-5', '/models/chat/completions?api-version=2024-05-01-preview'],
    ['/openai/v1', 'gpt-5', '/openai/v1/chat/completions'],
  ])('follows the end %s of azure_foundry_url', async (end, model, url) => {
    const root = inference.upstream.url.replace(/\/v1$/, '');
    const slug = await providerOf('azure-ai', {
      custom_host: undefined,
      azure_foundry_url: `${root}${end}`,
    });
    await openAi(slug).chat.completions.create({ model, messages });
    expect(sent().url).toBe(url);
  });

  it('receives the name of the deployment, which sets the price', async () => {
    const slug = await providerOf('azure-ai', { azure_deployment_name: 'gpt-4o' });
    const { data, response } = await openAi(slug)
      .chat.completions.create({ model: 'any', messages })
      .withResponse();
    expect(data.choices).toHaveLength(1);
    expect(sent().body.model).toBe('gpt-4o');
    expect(Number(response.headers.get('x-gateway-cost'))).toBeGreaterThan(0);
  });
});

describe('the v1 form of Azure OpenAI', () => {
  it.each([
    ['v1', '/v1/chat/completions'],
    ['preview', '/v1/chat/completions?api-version=preview'],
  ])('has no deployment in the path for %s', async (azure_api_version, url) => {
    const slug = await providerOf('azure-openai', {
      azure_api_version,
      azure_deployment_config: [{ azure_deployment_name: 'our-gpt', alias: 'small' }],
    });
    await openAi(slug).chat.completions.create({ model: 'small', messages });
    expect([sent().url, sent().body.model]).toEqual([url, 'our-gpt']);
    expect(sent().headers['api-key']).toBe('sk-cloud');
  });
});

describe('Cohere and Voyage', () => {
  const rank = (slug: string, more: object = {}) =>
    exchange(
      'POST',
      `${inference.server.inferenceUrl}/v1/rerank`,
      { model: 'rerank-v3.5', query: 'q', documents: ['a', 'b'], top_n: 1, ...more },
      { authorization: `Bearer ${key}`, ...headersFor(slug) },
    );

  it('receives chats and embeddings at the face for clients of OpenAI', async () => {
    const slug = await providerOf('cohere', {});
    await openAi(slug).chat.completions.create({ model: 'command-a-03-2025', messages });
    expect(sent().url).toBe('/compatibility/v1/chat/completions');
    expect(sent().headers.authorization).toBe('Bearer sk-cloud');
    await openAi(slug).embeddings.create({ model: 'embed-v4.0', input: 'x' });
    expect(sent().url).toBe('/compatibility/v1/embeddings');
  });

  it('receives streams without stream_options, also under a limit', async () => {
    const slug = await providerOf('cohere', {});
    const limited = await inference.addKey({
      workspace_id: workspace.id,
      usage_limits: { type: 'cost', credit_limit: 1 },
    });
    for (const more of [{}, { stream_options: { include_usage: true } }]) {
      const response = await exchange(
        'POST',
        `${inference.server.inferenceUrl}/v1/chat/completions`,
        { model: 'command-a-03-2025', messages, stream: true, ...more },
        { authorization: `Bearer ${limited.key}`, ...headersFor(slug) },
      );
      expect(response.status).toBe(200);
      expect(sent().body).toMatchObject({ stream: true });
      expect(sent().body.stream_options).toBe(undefined);
    }
  });

  it('receives rankings with the members that the service has', async () => {
    const result = { id: 'r', results: [{ index: 1, relevance_score: 0.9 }] };
    const answer = { ...result, meta: { billed_units: { search_units: 1 } } };
    inference.upstream.script = (_, response) => sendJson(response, answer);
    const cohere = await providerOf('cohere', {});
    const { status, body } = await rank(cohere, { return_documents: true });
    const [ranked] = result.results;
    const results = [{ ...ranked, document: { text: 'b' } }];
    expect([status, body]).toEqual([200, { ...answer, model: 'rerank-v3.5', results }]);
    const { url, body: received } = sent();
    expect(url).toBe('/v2/rerank');
    expect(received).toEqual({
      model: 'rerank-v3.5',
      query: 'q',
      documents: ['a', 'b'],
      top_n: 1,
    });
    const voyage = await providerOf('voyage', {});
    expect((await rank(voyage)).status).toBe(200);
    expect(sent().url).toBe('/rerank');
    expect(sent().body).toMatchObject({ top_k: 1, documents: ['a', 'b'] });
    expect(sent().body.top_n).toBe(undefined);
  });
});

describe('a host that account fields decide', () => {
  it('is called from a config without an integration', async () => {
    const config = (fields: object) => ({
      config: { api_key: 'sk', custom_host: undefined, ...fields },
      headers: {},
    });
    const missing = await inference.chat(key, config({ provider: 'databricks' }));
    expect([missing.status, missing.body.error.param]).toEqual([400, 'databricks_workspace']);
    const hostile = { provider: 'cortex', snowflake_account: 'evil.example/' };
    const refused = await inference.chat(key, config(hostile));
    expect([refused.status, refused.body.error.param]).toEqual([400, 'snowflake_account']);
  });
});
