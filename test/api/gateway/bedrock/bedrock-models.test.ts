/** Verifies chats, messages and responses on models of Bedrock: addresses, bodies, streams, usage and limits. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { testSettings } from '../../../support/server/server.ts';
import {
  chunkFrame,
  eventFrame,
  exceptionFrame,
  verifySignature,
} from '../../../support/upstream/bedrock.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const nova = 'amazon.nova-pro-v1:0';
const usage = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
const answer = {
  output: { message: { role: 'assistant', content: [{ text: 'hi' }] } },
  stopReason: 'end_turn',
  usage,
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 2 },
};
let inference: Inference;
let key: string;

beforeAll(async () => {
  const settings = testSettings();
  inference = await startInference({
    inference: { ...settings.inference, enforcesLimits: true },
  });
  ({ key } = await inference.addKey());
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
});
afterAll(() => inference[Symbol.asyncDispose]());

const config = (more: object = {}) =>
  JSON.stringify({
    provider: 'bedrock',
    custom_host: inference.upstream.url.replace('/v1', ''),
    aws_region: 'us-east-1',
    aws_access_key_id: credentials.accessKeyId,
    aws_secret_access_key: credentials.secretAccessKey,
    ...more,
  });
const openAi = (apiKey = key, more: object = {}) =>
  new OpenAI({
    apiKey,
    baseURL: `${inference.server.inferenceUrl}/v1`,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': config(more) },
  });
const anthropic = () =>
  new Anthropic({
    apiKey: key,
    baseURL: inference.server.inferenceUrl,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': config() },
  });
const hello = [{ role: 'user' as const, content: 'hello' }];

function respondWith(...frames: readonly Buffer[]): void {
  inference.upstream.script = (_, response) => {
    response.setHeader('content-type', 'application/vnd.amazon.eventstream');
    for (const frame of frames) response.write(frame);
    response.end();
  };
}

const claudeStream = [
  {
    type: 'message_start',
    message: { ...message, content: [], usage: { input_tokens: 5, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
].map(chunkFrame);
const novaStream = [
  eventFrame('messageStart', { role: 'assistant' }),
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hi' } }),
  eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
  eventFrame('messageStop', { stopReason: 'end_turn' }),
  eventFrame('metadata', { usage, metrics: { latencyMs: 1 } }),
];

/** The last request, whose signature must be valid. */
async function signedRequest() {
  const request = inference.upstream.reached.at(-1)!;
  expect(await verifySignature(request, [credentials])).toMatchObject({ region: 'us-east-1' });
  return { url: request.url, headers: request.headers, body: JSON.parse(request.body.toString()) };
}

describe('a model of Anthropic on Bedrock', () => {
  it('answers messages by InvokeModel, with betas in the body', async () => {
    inference.upstream.script = (_, response) => sendJson(response, message);
    const betas = 'context-1m-2025-08-07,unknown-2026-01-01';
    const received = await anthropic().messages.create(
      { model: claude, max_tokens: 50, messages: hello },
      { headers: { 'anthropic-beta': betas } },
    );
    expect(received.content).toEqual(message.content);
    const { url, headers, body } = await signedRequest();
    expect(url).toBe(`/model/${encodeURIComponent(claude)}/invoke`);
    expect(headers['anthropic-beta']).toBeUndefined();
    expect(body).toEqual({
      max_tokens: 50,
      messages: hello,
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['context-1m-2025-08-07'],
    });
  });

  it('streams messages and chats from its binary frames', async () => {
    respondWith(...claudeStream);
    const stream = anthropic().messages.stream({ model: claude, max_tokens: 50, messages: hello });
    expect((await stream.finalMessage()).content).toMatchObject([{ text: 'hi' }]);
    const { url, body } = await signedRequest();
    expect(url).toBe(`/model/${encodeURIComponent(claude)}/invoke-with-response-stream`);
    expect(body.stream).toBeUndefined();
    const chunks = await openAi().chat.completions.create({
      model: claude,
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let total: number | undefined;
    for await (const { choices, usage: used } of chunks) {
      text += choices[0]?.delta.content ?? '';
      total = used?.total_tokens ?? total;
    }
    expect([text, total]).toEqual(['hi', 7]);
  });

  it('reports an exception within the stream as an error event', async () => {
    respondWith(...claudeStream.slice(0, 3), exceptionFrame('throttlingException', 'too many'));
    const stream = anthropic().messages.stream({ model: claude, max_tokens: 50, messages: hello });
    await expect(stream.finalMessage()).rejects.toThrow(/too many/);
  });

  it('is named by an ARN, which is encoded as signatures require', async () => {
    inference.upstream.script = (_, response) => sendJson(response, message);
    const arn = `arn:aws:bedrock:us-east-1:123456789012:inference-profile/${claude}`;
    await openAi().chat.completions.create({ model: arn, messages: hello });
    expect((await signedRequest()).url).toBe(`/model/${encodeURIComponent(arn)}/invoke`);
  });
});

describe('any other model on Bedrock', () => {
  it('answers chats, messages and responses by Converse', async () => {
    inference.upstream.script = (_, response) => sendJson(response, answer);
    const chat = await openAi().chat.completions.create({ model: nova, messages: hello });
    expect(chat.choices[0]!.message.content).toBe('hi');
    expect(chat.usage!.total_tokens).toBe(7);
    const { url, body } = await signedRequest();
    expect(url).toBe(`/model/${encodeURIComponent(nova)}/converse`);
    expect(body).toEqual({ messages: [{ role: 'user', content: [{ text: 'hello' }] }] });
    const created = await anthropic().messages.create({
      model: nova,
      max_tokens: 9,
      messages: hello,
    });
    expect(created.content).toMatchObject([{ type: 'text', text: 'hi' }]);
    const response = await openAi().responses.create({ model: nova, input: 'hello' });
    expect(response.output_text).toBe('hi');
  });

  it('streams chats under a limit of tokens, which bounds their output', async () => {
    respondWith(...novaStream);
    const { key: limited } = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 1_000_000 },
    });
    const chunks = await openAi(limited).chat.completions.create({
      model: nova,
      messages: hello,
      stream: true,
    });
    let text = '';
    for await (const { choices } of chunks) text += choices[0]?.delta.content ?? '';
    expect(text).toBe('hi');
    const { url, body } = await signedRequest();
    expect(url).toBe(`/model/${encodeURIComponent(nova)}/converse-stream`);
    expect(body.inferenceConfig.maxTokens).toBeGreaterThan(0);
    expect(body.stream_options).toBeUndefined();
    expect(body.stream).toBeUndefined();
  });

  it('receives no request that exceeds a limit of tokens', async () => {
    const { key: limited } = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 10 },
    });
    const refused = openAi(limited).chat.completions.create({ model: nova, messages: hello });
    await expect(refused).rejects.toMatchObject({ status: 412 });
    expect(inference.upstream.reached).toEqual([]);
  });

  it('shows errors of Bedrock in the form of the caller', async () => {
    inference.upstream.script = (_, response) => sendJson(response, { message: 'no access' }, 403);
    const refused = openAi().chat.completions.create({ model: nova, messages: hello });
    await expect(refused).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('no access'),
    });
  });

  it('serves no embeddings', async () => {
    const refused = openAi().embeddings.create({ model: nova, input: 'x' });
    await expect(refused).rejects.toMatchObject({ status: 404 });
  });

  it('counts tokens by an estimate', async () => {
    const { input_tokens: count } = await anthropic().messages.countTokens({
      model: nova,
      messages: hello,
    });
    expect(count).toBeGreaterThan(0);
    expect(inference.upstream.reached).toEqual([]);
  });
});

describe('a model of OpenAI on Bedrock', () => {
  it('answers chats below /openai/v1', async () => {
    inference.upstream.script = (_, response) => sendJson(response, { choices: [] });
    await openAi().chat.completions.create({ model: 'openai.gpt-oss-20b-1:0', messages: hello });
    expect((await signedRequest()).url).toBe('/openai/v1/chat/completions');
  });

  it('is called in the form that the account sets', async () => {
    inference.upstream.script = (_, response) => sendJson(response, answer);
    const client = openAi(key, { aws_bedrock_format: 'converse' });
    await client.chat.completions.create({ model: 'openai.gpt-oss-20b-1:0', messages: hello });
    expect((await signedRequest()).url).toContain('/converse');
  });
});
