/** Verifies that limits, prices, guardrails and model rules hold for requests in Gemini's form, as they are and translated. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange, type TestResponse } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { chatAnswer, sendJson, type TestUpstream } from '../../../support/upstream/upstream.ts';

const limitTokens = 20_000;
const hugeOutput = 1_000_000;

let inference: Inference;
let upstream: TestUpstream;

beforeAll(async () => {
  inference = await startInference();
  ({ upstream } = inference);
});

afterAll(() => inference[Symbol.asyncDispose]());

const geminiAnswer = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
  usageMetadata: {
    promptTokenCount: 10,
    toolUsePromptTokenCount: 5,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 30,
    cachedContentTokenCount: 4,
    totalTokenCount: 65,
  },
  modelVersion: 'gemini-2.5-pro',
};

beforeEach(() => {
  upstream.reached.length = 0;
  upstream.script = ({ url }, response) =>
    sendJson(response, url.includes('/v1beta/') ? geminiAnswer : chatAnswer);
});

function target(provider: string, more: object = {}): Record<string, unknown> {
  const custom_host = `http://${upstream.host}${provider === 'google' ? '/v1beta/openai' : '/v1'}`;
  return { provider, api_key: 'secret', custom_host, ...more };
}

function send(
  key: string,
  body: unknown,
  config: object,
  action = 'generateContent',
  model = 'gemini-2.5-pro',
): Promise<TestResponse> {
  const url = `${inference.server.inferenceUrl}/v1beta/models/${model}:${action}`;
  return exchange('POST', url, body, {
    'x-goog-api-key': key,
    'x-gateway-config': JSON.stringify(config),
  });
}

const contents = [{ role: 'user', parts: [{ text: 'hello' }] }];
const sentBodies = () => upstream.reached.map(({ body }) => JSON.parse(body.toString()));

describe('a key with a limit of tokens', () => {
  const limited = async (): Promise<string> => {
    const usage_limits = { type: 'tokens', credit_limit: limitTokens };
    return (await inference.addKey({ usage_limits })).key;
  };

  it.each(['google', 'openai'])('bounds the output of every spelling at %s', async (provider) => {
    const bodies = [
      { contents },
      { contents, generationConfig: { maxOutputTokens: hugeOutput } },
      { contents, generation_config: { max_output_tokens: hugeOutput } },
      { contents, generationConfig: { max_output_tokens: hugeOutput } },
      { contents, generationConfig: { maxOutputTokens: hugeOutput, candidateCount: 2 } },
    ];
    for (const body of bodies) await send(await limited(), body, target(provider));
    expect(upstream.reached).toHaveLength(bodies.length);
    for (const sent of sentBodies()) {
      const { maxOutputTokens, candidateCount = 1 } = sent.generationConfig ?? {};
      const most = maxOutputTokens ?? sent.max_completion_tokens ?? sent.max_tokens;
      expect(most * (sent.n ?? candidateCount)).toBeLessThan(limitTokens);
    }
  });

  it.each([
    { generationConfig: { maxOutputTokens: '1000000' } },
    { generationConfig: { MaxOutputTokens: hugeOutput } },
    { generationConfig: [] },
    { generationConfig: { candidateCount: 1.5 } },
  ])('refuses %j, which Google could read as another number', async (more) => {
    const answer = await send(await limited(), { contents, ...more }, target('google'));
    expect(answer.status).toBe(400);
    expect(upstream.reached).toEqual([]);
  });

  it.each(['google', 'openai'])('applies parameters with the names of chats at %s', async (to) => {
    const override_params = { temperature: 0.25, max_tokens: 77 };
    await send(await limited(), { contents }, target(to, { override_params }));
    const sent = JSON.parse(upstream.reached.at(-1)!.body.toString());
    expect(to === 'google' ? sent.generationConfig : sent).toMatchObject(
      to === 'google'
        ? { temperature: 0.25, maxOutputTokens: 77 }
        : { temperature: 0.25, max_completion_tokens: 77 },
    );
  });

  it('refuses a limit that the config adds in the other spelling', async () => {
    for (const override_params of [
      { generation_config: { maxOutputTokens: hugeOutput } },
      { generationConfig: { max_output_tokens: hugeOutput } },
    ]) {
      await send(await limited(), { contents }, target('google', { override_params }));
    }
    expect(upstream.reached).toEqual([]);
  });

  it('counts tools of Google and thoughts, of whole responses and of the last event', async () => {
    const key = await limited();
    const body = { contents, generationConfig: { maxOutputTokens: 100 } };
    const used = async (): Promise<number> => {
      const { headers } = await send(key, body, target('google'));
      return (
        limitTokens - Number(/tokens=(\d+)/.exec(String(headers['x-gateway-usage-remaining']))![1])
      );
    };
    expect(await used()).toBe(65);
    const begun = { promptTokenCount: 10, totalTokenCount: 10 };
    const first = { candidates: [{ content: { parts: [{ text: 'h' }] } }], usageMetadata: begun };
    streams([first, geminiAnswer]);
    await send(key, body, target('google'), 'streamGenerateContent?alt=sse');
    const { url } = upstream.reached.at(-1)!;
    expect(url).toBe('/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse');
    upstream.script = (_, response) => sendJson(response, geminiAnswer);
    expect(await used()).toBe(3 * 65);
  });
});

function streams(events: readonly object[]): void {
  upstream.script = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join(''));
  };
}

describe('a guardrail', () => {
  const forbids = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };
  const part = (one: object) => ({ contents: [{ role: 'user', parts: [one] }] });
  const hidden: readonly object[] = [
    part({ text: 'a canary' }),
    { contents, systemInstruction: { parts: [{ text: 'a canary' }] } },
    { contents, system_instruction: { parts: [{ text: 'a canary' }] } },
    part({ functionCall: { name: 'f', args: { a: 'a canary' } } }),
    part({ functionResponse: { name: 'f', response: { a: 'a canary' } } }),
    part({ functionResponse: { name: 'f', response: { 'a canary': 1 } } }),
    part({ executableCode: { language: 'PYTHON', code: 'a canary' } }),
    part({
      inlineData: { mimeType: 'text/plain', data: Buffer.from('a canary').toString('base64') },
    }),
    { contents, tools: [{ functionDeclarations: [{ name: 'f', description: 'a canary' }] }] },
    { contents: { parts: [{ text: 'a canary' }] } },
    { contents: ['a canary'] },
  ];

  it.each(['google', 'openai'])('judges every text of a request to %s', async (provider) => {
    const { key } = await inference.addKey();
    const config = target(provider, {
      input_guardrails: [{ ...forbids, scan_scope: 'all_messages' }],
    });
    for (const body of hidden) {
      const answer = await send(key, body, config);
      expect([body, answer.status]).toEqual([body, expect.toSatisfy((status) => status >= 400)]);
    }
    expect(upstream.reached).toEqual([]);
    expect((await send(key, { contents }, config)).status).toBe(200);
  });

  it('denies in the form of Google', async () => {
    const { key } = await inference.addKey();
    const config = target('google', { input_guardrails: [forbids] });
    const answer = await send(key, part({ text: 'a canary' }), config);
    expect(answer).toMatchObject({ status: 446, body: { error: { code: 446 } } });
  });

  it.each(['google', 'openai'])('judges responses and streams of %s', async (provider) => {
    const { key } = await inference.addKey();
    const config = target(provider, { output_guardrails: [forbids] });
    const pieces = ['a can', 'ary'];
    const chunks = pieces.map((content) => ({
      ...chatAnswer,
      choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }],
    }));
    const events = pieces.map((text) => ({
      candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
    }));
    streams(provider === 'google' ? events : chunks);
    for (const action of ['streamGenerateContent?alt=sse', 'streamGenerateContent']) {
      const answer = await send(key, { contents }, config, action);
      expect(answer.status).toBe(446);
    }
    const call = { functionCall: { name: 'f', args: { a: 'canary' } } };
    const toolCall = {
      id: 'c',
      type: 'function',
      function: { name: 'f', arguments: '{"a":"canary"}' },
    };
    upstream.script = (_, response) =>
      sendJson(
        response,
        provider === 'google'
          ? { candidates: [{ content: { parts: [call] } }] }
          : { ...chatAnswer, choices: [{ index: 0, message: { tool_calls: [toolCall] } }] },
      );
    expect((await send(key, { contents }, config)).status).toBe(446);
  });

  it('replaces texts in a list of events', async () => {
    const { key } = await inference.addKey();
    const pii = { 'default.regexReplace': { rule: 'canary', redactText: 'bird' } };
    const config = target('google', { output_guardrails: [pii] });
    const texts = ['a can', 'ary sings'];
    streams(texts.map((text) => ({ candidates: [{ content: { parts: [{ text }] }, index: 0 }] })));
    const answer = await send(key, { contents }, config, 'streamGenerateContent');
    const parts = (
      answer.body as { candidates?: { content: { parts: { text: string }[] } }[] }[]
    ).flatMap(({ candidates = [] }) => candidates.flatMap(({ content }) => content.parts));
    expect(parts.map(({ text }) => text).join('')).toBe('a bird sings');
  });
});

describe('a provider that allows some models', () => {
  it('refuses others, whatever the path or a body inside of the body names', async () => {
    const post = async (path: string, body: object) =>
      (await inference.server.request('POST', path, { body })).body;
    const { custom_host } = target('google');
    const integration = await post('/v1/integrations', {
      name: 'g',
      ai_provider_id: 'google',
      key: 'secret',
      configurations: { custom_host },
      models: [{ slug: 'gemini-2.5-pro', enabled: false }],
    });
    const { id: workspace_id } = await post('/v2/workspaces', { name: 'w' });
    const body = { name: 'g', integration_id: integration.id, workspace_id };
    const { slug } = await post('/v1/providers', body);
    const { key } = await inference.addKey({ workspace_id });
    const config = { provider: `@${slug}` };
    for (const model of ['gemini-2.5-pro', 'GEMINI-2.5-PRO', 'models/gemini-2.5-pro']) {
      const answer = await send(key, { contents }, config, 'generateContent', model);
      expect([model, answer.status]).toEqual([model, 403]);
    }
    const inner = { requests: [{ model: 'models/gemini-2.5-pro', content: contents[0] }] };
    const other = await send(key, inner, config, 'batchEmbedContents', 'gemini-embedding-001');
    expect(other.status).toBe(400);
    expect(upstream.reached).toEqual([]);
    const allowed = await send(key, { contents }, config, 'generateContent', 'gemini-2.5-flash');
    expect(allowed.status).toBe(200);
  });
});

describe('the list of models', () => {
  it.each(['v1', 'v1beta'])('has the form of Google below /%s, with pages', async (version) => {
    const { key } = await inference.addKey();
    const data = ['gpt-a', 'gpt-b', 'org/gpt-c'].map((id) => ({ id, object: 'model', created: 7 }));
    upstream.script = (_, response) => sendJson(response, { object: 'list', data });
    inference.server.clock.advance(61_000);
    const get = (path: string) =>
      exchange('GET', `${inference.server.inferenceUrl}/${version}${path}`, undefined, {
        'x-goog-api-key': key,
        'x-gateway-config': JSON.stringify(target('openai')),
      });
    const first = await get('/models?pageSize=2');
    expect(first.body.models.map(({ name }: { name: string }) => name)).toEqual([
      'models/gpt-a',
      'models/gpt-b',
    ]);
    const next = await get(`/models?pageSize=2&pageToken=${first.body.nextPageToken}`);
    expect(next.body).toMatchObject({ models: [{ name: 'models/org/gpt-c' }] });
    expect(next.body.nextPageToken).toBeUndefined();
    expect((await get('/models/gpt-b')).body).toMatchObject({ name: 'models/gpt-b' });
    expect((await get('/models/none')).body.error).toMatchObject({ code: 404 });
    expect((await get('/models?pageToken=x')).body.error).toMatchObject({ code: 400 });
  });

  it('is that of Google itself where nothing restricts it', async () => {
    const { key } = await inference.addKey();
    const models = [{ name: 'models/gemini-2.5-pro', inputTokenLimit: 7 }];
    upstream.script = (_, response) => sendJson(response, { models });
    const url = `${inference.server.inferenceUrl}/v1beta/models?pageSize=7`;
    const answer = await exchange('GET', url, undefined, {
      'x-goog-api-key': key,
      'x-gateway-config': JSON.stringify(target('google')),
    });
    expect(answer.body).toEqual({ models });
    expect(upstream.reached.at(-1)!.url).toBe('/v1beta/models?pageSize=7');
  });
});

describe('a count of tokens', () => {
  it('comes from Google, and is an estimate for others', async () => {
    const { key } = await inference.addKey();
    upstream.script = (_, response) => sendJson(response, { totalTokens: 7 });
    const counted = await send(key, { contents }, target('google'), 'countTokens');
    expect(counted.body).toEqual({ totalTokens: 7 });
    const request = { model: 'models/gemini-2.5-pro', contents };
    await send(key, { generateContentRequest: request }, target('google'), 'countTokens');
    expect(sentBodies().at(-1)).toEqual({ generateContentRequest: request });
    const estimated = await send(key, { contents }, target('openai'), 'countTokens');
    expect(estimated.headers['x-gateway-token-count']).toBe('estimated');
    expect(estimated.body.totalTokens).toBeGreaterThan(0);
  });
});

describe('a request for embeddings', () => {
  it('is translated for a provider of the OpenAI format, and reaches Google as it is', async () => {
    const { key } = await inference.addKey();
    const data = [
      [0.5, 1],
      [2, 3],
    ].map((embedding, index) => ({ index, embedding }));
    upstream.script = (_, response) =>
      sendJson(response, { data, usage: { prompt_tokens: 4, total_tokens: 4 } });
    const content = (text: string) => ({ parts: [{ text }] });
    const requests = ['a', 'b'].map((text) => ({
      model: 'models/gemini-2.5-pro',
      content: content(text),
      outputDimensionality: 2,
      taskType: 'CLUSTERING',
    }));
    const many = await send(key, { requests }, target('openai'), 'batchEmbedContents');
    expect(many.body).toEqual({ embeddings: [{ values: [0.5, 1] }, { values: [2, 3] }] });
    expect(sentBodies().at(-1)).toEqual({
      model: 'gemini-2.5-pro',
      input: ['a', 'b'],
      dimensions: 2,
    });
    expect(many.headers['x-gateway-dropped-members']).toBe('requests[].taskType');
    const one = await send(key, { content: content('a') }, target('openai'), 'embedContent');
    expect(one.body).toEqual({ embedding: { values: [0.5, 1] } });
    await send(key, { requests }, target('google'), 'batchEmbedContents');
    expect(sentBodies().at(-1)).toEqual({ requests });
    const none = await send(key, { content: content('a') }, target('anthropic'), 'embedContent');
    expect(none.status).toBe(404);
  });
});
