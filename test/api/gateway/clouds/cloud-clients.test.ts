/** Verifies that SDKs of Amazon Bedrock and Vertex AI work unmodified at the gateway, with providers of every format. */
import AnthropicBedrock from '@anthropic-ai/bedrock-sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  CountTokensCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from '@aws-sdk/client-bedrock-runtime';
import { GoogleGenAI } from '@google/genai';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../../support/network/exchange.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { testSettings } from '../../../support/server/server.ts';
import { chunkFrame, eventFrame } from '../../../support/upstream/bedrock.ts';
import { sendJson, type TestUpstream } from '../../../support/upstream/upstream.ts';

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const usage = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
const converseAnswer = {
  output: { message: { role: 'assistant', content: [{ text: 'hi' }] } },
  stopReason: 'end_turn',
  usage,
  metrics: { latencyMs: 1 },
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
const messageEvents = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const converseFrames = [
  eventFrame('messageStart', { role: 'assistant' }),
  eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'hi' } }),
  eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
  eventFrame('messageStop', { stopReason: 'end_turn' }),
  eventFrame('metadata', { usage, metrics: { latencyMs: 1 } }),
];
const chatChunk = (delta: object, finish: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const chatUsage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const geminiAnswer = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
};

/** A provider that answers in the format of the path. */
const provider: TestUpstream['script'] = ({ url, body }, response) => {
  const isStream = /stream/i.test(url) || /"stream":\s*true/.test(body.toString());
  const events = (list: readonly object[], done = '') => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const texts = list.map((one) => {
      const name = 'type' in one ? `event: ${one.type}\n` : '';
      return `${name}data: ${JSON.stringify(one)}\n\n`;
    });
    response.end(texts.join('') + done);
  };
  const frames = (list: readonly Buffer[]) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    response.end(Buffer.concat(list));
  };
  if (/titan-embed|embeddings/.test(url)) {
    const embedding = body.toString().includes('hello') ? [1, 0] : [0, 1];
    const data = [{ object: 'embedding', index: 0, embedding }];
    return sendJson(response, { embedding, inputTextTokenCount: 1, data, usage: chatUsage });
  }
  if (/count_tokens|count-tokens/.test(url)) return sendJson(response, { input_tokens: 9 });
  if (/countTokens/.test(url)) return sendJson(response, { totalTokens: 9 });
  if (/\/converse/.test(url)) {
    return isStream ? frames(converseFrames) : sendJson(response, converseAnswer);
  }
  if (/\/invoke/.test(url)) {
    return isStream ? frames(messageEvents.map(chunkFrame)) : sendJson(response, message);
  }
  if (/GenerateContent|generateContent/.test(url)) {
    return isStream ? events([geminiAnswer]) : sendJson(response, geminiAnswer);
  }
  if (/messages|rawPredict|RawPredict/.test(url)) {
    return isStream ? events(messageEvents) : sendJson(response, message);
  }
  const choice = { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' };
  if (!isStream)
    return sendJson(response, { id: 'c', model: 'm', choices: [choice], usage: chatUsage });
  const last = { ...chatChunk({}, 'stop'), usage: chatUsage };
  return events([chatChunk({ role: 'assistant', content: 'hi' }), last], 'data: [DONE]\n\n');
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
  inference.upstream.script = provider;
});
afterAll(() => inference[Symbol.asyncDispose]());

const address = () => inference.upstream.url.replace(/\/v1$/, '');
const services = {
  bedrock: () => ({
    provider: 'bedrock',
    custom_host: address(),
    aws_region: 'us-east-1',
    api_key: 'bedrock-key',
  }),
  anthropic: () => ({ provider: 'anthropic', custom_host: inference.upstream.url, api_key: 'sk' }),
  openai: () => ({ provider: 'openai', custom_host: inference.upstream.url, api_key: 'sk' }),
  vertex: () => ({
    provider: 'vertex-ai',
    custom_host: inference.upstream.url,
    vertex_project_id: 'our-project',
    vertex_region: 'us-east5',
    api_key: 'token',
  }),
  google: () => ({ provider: 'google', custom_host: address(), api_key: 'sk' }),
} as const;
type Service = keyof typeof services;
const names = Object.keys(services) as Service[];

async function keyFor(service: Service, more: object = {}, config: object = {}) {
  const { id: workspace_id } = (
    await inference.server.request('POST', '/v2/workspaces', { body: { name: service } })
  ).body;
  const made = await inference.server.request('POST', '/v2/configs', {
    body: {
      name: service,
      workspace_id,
      config: { ...services[service](), unsupported: 'drop', ...config },
    },
  });
  expect(made).toMatchObject({ status: 200 });
  return inference.addKey({ workspace_id, defaults: { config_id: made.body.slug }, ...more });
}

async function countStored(): Promise<number> {
  const { db } = inference.server.database;
  return (await db.selectFrom('semantic_answers').select('body').execute()).length;
}

const url = () => inference.server.inferenceUrl;
const bedrockSdk = (apiKey: string) =>
  new AnthropicBedrock({ baseURL: url(), apiKey, awsRegion: 'us-east-1', maxRetries: 0 });
const awsSdk = (apiKey: string) =>
  new BedrockRuntimeClient({
    endpoint: url(),
    region: 'us-east-1',
    // Its usual handler speaks HTTP/2, which a proxy with TLS serves.
    requestHandler: new NodeHttpHandler(),
    token: { token: apiKey },
    authSchemePreference: ['httpBearerAuth'],
    maxAttempts: 1,
  });
const vertexSdk = (apiKey: string) =>
  new AnthropicVertex({
    baseURL: `${url()}/v1`,
    projectId: 'their-project',
    region: 'europe-west1',
    authClient: {
      getRequestHeaders: async () => new Headers({ authorization: `Bearer ${apiKey}` }),
    } as never,
    maxRetries: 0,
  });
const hello = [{ role: 'user' as const, content: 'hello' }];
const converseHello = [{ role: 'user' as const, content: [{ text: 'hello' }] }];

describe.each(names)('a client of Bedrock at a provider of %s', (service) => {
  it('receives a message of InvokeModel, whole and as a stream in frames', async () => {
    const { key: own } = await keyFor(service);
    const sdk = bedrockSdk(own);
    const request = { model: claude, max_tokens: 50, messages: hello };
    const whole = await sdk.messages.create(request);
    expect(whole).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
      usage: { output_tokens: 2 },
    });
    const streamed = await sdk.messages.stream(request).finalMessage();
    expect(streamed).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
      usage: { output_tokens: 2 },
    });
  });

  it('receives a response of Converse, whole and as a stream', async () => {
    const { key: own } = await keyFor(service);
    const sdk = awsSdk(own);
    const request = {
      modelId: claude,
      messages: converseHello,
      inferenceConfig: { maxTokens: 50 },
    };
    const whole = await sdk.send(new ConverseCommand(request));
    expect(whole).toMatchObject({
      output: { message: { content: [{ text: 'hi' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 5, outputTokens: 2 },
    });
    const { stream } = await sdk.send(new ConverseStreamCommand(request));
    const events = await Array.fromAsync(stream!);
    const text = events.map((one) => one.contentBlockDelta?.delta?.text ?? '').join('');
    expect(text).toBe('hi');
    expect(events.find((one) => one.metadata)).toMatchObject({
      metadata: { usage: { inputTokens: 5, outputTokens: 2 } },
    });
    expect(events.find((one) => one.messageStop)).toMatchObject({
      messageStop: { stopReason: 'end_turn' },
    });
  });
});

describe.each(names)('a client of Vertex AI at a provider of %s', (service) => {
  it('receives messages by rawPredict, whole and as a stream', async () => {
    const { key: own } = await keyFor(service);
    const sdk = vertexSdk(own);
    const request = { model: 'claude-sonnet-4-5@20250929', max_tokens: 50, messages: hello };
    const whole = await sdk.messages.create(request);
    expect(whole).toMatchObject({ content: [{ text: 'hi' }], usage: { output_tokens: 2 } });
    const streamed = await sdk.messages.stream(request).finalMessage();
    expect(streamed).toMatchObject({ content: [{ text: 'hi' }], usage: { output_tokens: 2 } });
    const counted = await sdk.messages.countTokens({ model: request.model, messages: hello });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  it("receives Gemini's form", async () => {
    const { key: own } = await keyFor(service);
    const sdk = new GoogleGenAI({
      vertexai: true,
      apiKey: own,
      httpOptions: { baseUrl: url() },
    });
    const request = { model: 'gemini-2.5-flash', contents: 'hello' };
    const whole = await sdk.models.generateContent(request);
    expect(whole.text).toBe('hi');
    const events = await Array.fromAsync(await sdk.models.generateContentStream(request));
    expect(events.map((one) => one.text ?? '').join('')).toBe('hi');
    const { totalTokens } = await sdk.models.countTokens(request);
    expect(totalTokens).toBeGreaterThan(0);
  });
});

describe('the gateway for clients of clouds', () => {
  it('accepts the key as the access key of a signature', async () => {
    const { key: own } = await keyFor('bedrock');
    const sdk = new BedrockRuntimeClient({
      endpoint: url(),
      region: 'us-east-1',
      requestHandler: new NodeHttpHandler(),
      credentials: { accessKeyId: own, secretAccessKey: 'unused' },
      maxAttempts: 1,
    });
    const body = JSON.stringify({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 5,
      messages: hello,
      anthropic_beta: ['context-1m-2025-08-07', 'unknown-2026-01-01'],
    });
    const whole = await sdk.send(new InvokeModelCommand({ modelId: claude, body }));
    expect(JSON.parse(whole.body.transformToString())).toMatchObject({ content: message.content });
    const [sent] = inference.upstream.reached;
    expect(sent!.url).toBe(`/model/${encodeURIComponent(claude)}/invoke`);
    expect(JSON.parse(sent!.body.toString())).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 5,
      messages: hello,
      anthropic_beta: ['context-1m-2025-08-07'],
    });
    expect(sent!.headers.authorization).toBe('Bearer bedrock-key');
    const streaming = new InvokeModelWithResponseStreamCommand({ modelId: claude, body });
    const { body: chunks } = await sdk.send(streaming);
    const events = await Array.fromAsync(chunks!);
    const types = events.map(({ chunk }) => JSON.parse(Buffer.from(chunk!.bytes!).toString()).type);
    expect(types).toEqual(messageEvents.map(({ type }) => type));
  });

  it('counts the tokens of a request of InvokeModel', async () => {
    const { key: own } = await keyFor('anthropic');
    const body = Buffer.from(
      JSON.stringify({ anthropic_version: 'bedrock-2023-05-31', max_tokens: 5, messages: hello }),
    );
    const counting = new CountTokensCommand({ modelId: claude, input: { invokeModel: { body } } });
    expect((await awsSdk(own).send(counting)).inputTokens).toBe(9);
  });

  it.each([
    ['anthropic', 9],
    ['vertex', 9],
    ['bedrock', null],
    ['openai', null],
    ['google', null],
  ] as const)('counts the tokens of a request of Converse at %s', async (service, count) => {
    const model = service === 'vertex' ? 'claude-sonnet-4-5' : claude;
    const { key: own } = await keyFor(service, {}, { override_params: { model } });
    const image = { format: 'png' as const, source: { bytes: Buffer.from('picture') } };
    const converse = {
      system: [{ text: 'be short' }],
      messages: [{ role: 'user' as const, content: [{ text: 'hello' }, { image }] }],
    };
    const counting = new CountTokensCommand({ modelId: claude, input: { converse } });
    const { inputTokens } = await awsSdk(own).send(counting);
    // A picture counts 1,000 tokens in an estimate.
    if (count === null) expect(inputTokens).toBeGreaterThan(1000);
    else expect(inputTokens).toBe(count);
    const bodies = inference.upstream.reached.map(({ body }) => JSON.parse(body.toString()));
    expect(bodies.map(({ system }) => system)).toEqual(
      count === null ? [] : [[{ type: 'text', text: 'be short' }]],
    );
  });

  it('accepts the ARN of a model', async () => {
    const { key: own } = await keyFor('bedrock');
    const arn = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc';
    await awsSdk(own).send(new ConverseCommand({ modelId: arn, messages: converseHello }));
    expect(inference.upstream.reached[0]!.url).toBe(`/model/${encodeURIComponent(arn)}/converse`);
  });

  it('returns errors in the form of the client', async () => {
    const [aws, bedrock] = [awsSdk('unknown'), bedrockSdk('unknown')];
    const request = { modelId: claude, messages: converseHello };
    await expect(aws.send(new ConverseCommand(request))).rejects.toMatchObject({
      name: 'AccessDeniedException',
      $metadata: { httpStatusCode: 401 },
    });
    const body = { model: claude, max_tokens: 5, messages: hello };
    await expect(bedrock.messages.create(body)).rejects.toMatchObject({ status: 401 });
    await expect(vertexSdk('unknown').messages.create(body)).rejects.toMatchObject({
      status: 401,
      error: { error: { type: 'authentication_error' } },
    });
    inference.upstream.script = (_, response) => {
      const error = { type: 'rate_limit_error', message: 'slow' };
      sendJson(response, { type: 'error', error }, 429);
    };
    const { key: own } = await keyFor('anthropic');
    await expect(awsSdk(own).send(new ConverseCommand(request))).rejects.toMatchObject({
      name: 'ThrottlingException',
      message: 'slow',
    });
    await expect(bedrockSdk(own).messages.create(body)).rejects.toMatchObject({ status: 429 });
  });

  it('ends a stream that fails with an exception', async () => {
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const error = { type: 'error', error: { type: 'overloaded_error', message: 'busy' } };
      response.end(
        `data: ${JSON.stringify(messageEvents[0])}\n\ndata: ${JSON.stringify(error)}\n\n`,
      );
    };
    const { key: own } = await keyFor('anthropic');
    const request = { modelId: claude, messages: converseHello };
    const { stream } = await awsSdk(own).send(new ConverseStreamCommand(request));
    await expect(Array.fromAsync(stream!)).rejects.toMatchObject({
      name: 'InternalServerException',
      message: 'busy',
    });
  });

  it("reuses responses in Converse and in Gemini's form from the cache", async () => {
    const cached = { cache: { mode: 'simple', max_age: 600 } };
    const aws = awsSdk((await keyFor('bedrock', {}, cached)).key);
    const request = { modelId: claude, messages: converseHello };
    const first = await aws.send(new ConverseCommand(request));
    const second = await aws.send(new ConverseCommand(request));
    expect(second.output).toEqual(first.output);
    expect(inference.upstream.reached).toHaveLength(1);
    const google = new GoogleGenAI({
      apiKey: (await keyFor('openai', {}, cached)).key,
      httpOptions: { baseUrl: url() },
    });
    for (const contents of ['hello', 'hello', 'other']) {
      const answer = await google.models.generateContent({ model: 'gemini-2.5-flash', contents });
      expect(answer.text).toBe('hi');
    }
    expect(inference.upstream.reached).toHaveLength(3);
  });

  it.each([
    ['bedrock', 'amazon.titan-embed-text-v2:0'],
    ['google', 'gemini-embedding-001'],
  ] as const)(
    'replays streams of %s for questions with the same meaning',
    async (service, model) => {
      const cache = { mode: 'semantic', max_age: 600, embedding: { model } };
      const { key: own } = await keyFor(service, {}, { cache });
      const ask = async (text: string) => {
        if (service === 'google') {
          const google = new GoogleGenAI({ apiKey: own, httpOptions: { baseUrl: url() } });
          const request = { model: 'gemini-2.5-flash', contents: text };
          const events = await Array.fromAsync(await google.models.generateContentStream(request));
          return events.map((one) => one.text ?? '').join('');
        }
        const messages = [{ role: 'user' as const, content: [{ text }] }];
        const sending = new ConverseStreamCommand({ modelId: claude, messages });
        const { stream } = await awsSdk(own).send(sending);
        const events = await Array.fromAsync(stream!);
        return events.map((one) => one.contentBlockDelta?.delta?.text ?? '').join('');
      };
      const calls = () => inference.upstream.reached.filter((one) => /tream/.test(one.url)).length;
      const stored = await countStored();
      for (const question of ['hello', 'other']) expect(await ask(question)).toBe('hi');
      await eventually(async () => expect(await countStored()).toBe(stored + 2));
      expect(await ask('hello there')).toBe('hi');
      expect(calls()).toBe(2);
    },
  );

  const guardrail = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };

  it('applies guardrails, to streams in frames too', async () => {
    const input = await keyFor('bedrock', {}, { input_guardrails: [guardrail] });
    const messages = [{ role: 'user' as const, content: 'a canary' }];
    const denied = { model: claude, max_tokens: 5, messages };
    const sdk = bedrockSdk(input.key);
    await expect(sdk.messages.create(denied)).rejects.toMatchObject({ status: 446 });
    expect(inference.upstream.reached).toEqual([]);
    const hi = { 'default.contains': { words: ['hi'], operator: 'none' }, deny: true };
    const output = await keyFor('bedrock', {}, { output_guardrails: [hi] });
    const request = { modelId: claude, messages: converseHello };
    const converse = awsSdk(output.key).send(new ConverseStreamCommand(request));
    await expect(converse).rejects.toMatchObject({ $metadata: { httpStatusCode: 446 } });
    const passing = await keyFor('bedrock', {}, { output_guardrails: [guardrail] });
    const { stream } = await awsSdk(passing.key).send(new ConverseStreamCommand(request));
    const events = await Array.fromAsync(stream!);
    expect(events.map((one) => one.contentBlockDelta?.delta?.text ?? '').join('')).toBe('hi');
  });

  it('bounds the output under limits, and refuses members that could exceed them', async () => {
    const usage_limits = { type: 'tokens', credit_limit: 3000 };
    const { key: limited } = await keyFor('bedrock', { usage_limits });
    const nova = 'amazon.nova-pro-v1:0';
    const inferenceConfig = { maxTokens: 1_000_000 };
    const request = { modelId: nova, messages: converseHello, inferenceConfig };
    await awsSdk(limited).send(new ConverseCommand(request));
    const sent = JSON.parse(inference.upstream.reached[0]!.body.toString());
    expect(sent.inferenceConfig.maxTokens).toBeLessThan(3000);
    const raised = { ...request, additionalModelRequestFields: { max_gen_len: 1_000_000 } };
    await expect(awsSdk(limited).send(new ConverseCommand(raised))).rejects.toMatchObject({
      name: 'AccessDeniedException',
      $metadata: { httpStatusCode: 403 },
    });
    expect(inference.upstream.reached).toHaveLength(1);
  });

  it('reads no file of a bucket by the account of the gateway', async () => {
    const { id: workspace_id } = (
      await inference.server.request('POST', '/v2/workspaces', { body: { name: 'bucket' } })
    ).body;
    const integration = await inference.server.request('POST', '/v1/integrations', {
      body: {
        name: 'bedrock',
        ai_provider_id: 'bedrock',
        key: 'k',
        configurations: { aws_region: 'us-east-1', custom_host: address() },
      },
    });
    const { slug } = (
      await inference.server.request('POST', '/v1/providers', {
        body: { name: 'p', integration_id: integration.body.id, workspace_id },
      })
    ).body;
    const { key: own } = await inference.addKey({ workspace_id });
    const image = { format: 'png' as const, source: { s3Location: { uri: 's3://theirs/a.png' } } };
    const messages = [{ role: 'user' as const, content: [{ image }] }];
    const sending = awsSdk(own).send(
      new ConverseCommand({ modelId: `@${slug}/amazon.nova-pro-v1:0`, messages }),
    );
    await expect(sending).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    expect(inference.upstream.reached).toEqual([]);
  });

  it('refuses other bodies, and bodies that contradict the path', async () => {
    const bearer = { authorization: `Bearer ${key}` };
    const send = (path: string, body: object) => exchange('POST', url() + path, body, bearer);
    const version = { anthropic_version: 'bedrock-2023-05-31', messages: hello, max_tokens: 5 };
    const publisher = '/v1/projects/p/locations/l/publishers';
    for (const [path, body, status] of [
      ['/model/amazon.titan-text/invoke', { prompt: 'hello' }, 400],
      ['/model/m/count-tokens', { input: { converse: {}, invokeModel: { body: '' } } }, 400],
      ['/model/m/invoke', { ...version, stream: true }, 400],
      ['/model/m/invoke', { ...version, model: 'other' }, 400],
      ['/model/m/invoke', { ...version, anthropic_beta: 'a\r\nb' }, 400],
      ['/model/m/converse', { messages: [], model: 'other' }, 400],
      ['/model/m/invoke?x=1', version, 400],
      ['/model/m/other', version, 404],
      ['/v1/model/converse', { messages: [] }, 404],
      ['/model/converse', { messages: [] }, 404],
      [`${publisher}/anthropic/models/m:rawPredict`, version, 400],
      [`${publisher}/meta/models/m:rawPredict`, version, 400],
      ['/model/arn:aws:bedrock:us-east-1:1:prompt%2Fp/converse', { messages: [] }, 400],
    ] as const) {
      expect([path, (await send(path, body)).status]).toEqual([path, status]);
    }
    expect(inference.upstream.reached).toEqual([]);
  });
});
