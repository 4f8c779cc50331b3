/** Verifies that SDKs of Bedrock, Vertex AI, Gemini, Cohere and Voyage embed texts with providers of every form. */
import { BedrockRuntimeClient, InvokeModelCommand } from '@aws-sdk/client-bedrock-runtime';
import { GoogleGenAI } from '@google/genai';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { CohereClientV2 } from 'cohere-ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { testSettings } from '../../../support/server/server.ts';
import { sendJson, type TestUpstream } from '../../../support/upstream/upstream.ts';

const vector = [0.5, -0.25];
const titan = 'amazon.titan-embed-text-v2:0';
const nova = 'amazon.nova-2-multimodal-embeddings-v1:0';
const cohereModel = 'cohere.embed-v4:0';

/** A provider that answers in the form of the path, with one vector for each text. */
const provider: TestUpstream['script'] = ({ url, body }, response) => {
  const sent = JSON.parse(body.toString());
  const each = (texts: readonly unknown[]) => texts.map(() => vector);
  if (url.includes(':predict')) {
    const embeddings = { values: vector, statistics: { truncated: false, token_count: 3 } };
    return sendJson(response, { predictions: sent.instances.map(() => ({ embeddings })) });
  }
  if (url.includes(':batchEmbedContents')) {
    return sendJson(response, { embeddings: each(sent.requests).map((values) => ({ values })) });
  }
  if (sent.inputText !== undefined) {
    return sendJson(response, { embedding: vector, inputTextTokenCount: 3 });
  }
  if (sent.singleEmbeddingParams !== undefined) {
    response.setHeader('x-amzn-bedrock-input-token-count', '3');
    const embeddings = [{ embeddingType: 'TEXT', embedding: vector }];
    return sendJson(response, { embeddings });
  }
  if (sent.texts !== undefined) {
    response.setHeader('x-amzn-bedrock-input-token-count', '3');
    const meta = { billed_units: { input_tokens: 3 } };
    const embeddings = { float: each(sent.texts) };
    const response_type = 'embeddings_by_type';
    return sendJson(response, { id: 'e', embeddings, texts: sent.texts, response_type, meta });
  }
  const data = each([sent.input].flat()).map((embedding, index) => {
    return { object: 'embedding', index, embedding };
  });
  const usage = { prompt_tokens: 3, total_tokens: 3 };
  return sendJson(response, { object: 'list', data, model: sent.model, usage });
};

let inference: Inference;
beforeAll(async () => {
  const settings = testSettings();
  inference = await startInference({
    inference: { ...settings.inference, enforcesLimits: true },
  });
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = provider;
});
afterAll(() => inference[Symbol.asyncDispose]());

const address = () => inference.upstream.url.replace(/\/v1$/, '');
const services = {
  openai: () => ({
    provider: 'openai',
    custom_host: inference.upstream.url,
    override_params: { model: 'text-embedding-3-small' },
  }),
  titan: () => bedrockWith(titan),
  nova: () => bedrockWith(nova),
  cohereOnBedrock: () => bedrockWith(cohereModel),
  vertex: () => ({
    provider: 'vertex-ai',
    custom_host: inference.upstream.url,
    vertex_project_id: 'our-project',
    override_params: { model: 'text-embedding-005' },
  }),
  google: () => ({ provider: 'google', custom_host: address() }),
  cohere: () => ({ provider: 'cohere', custom_host: address() }),
  voyage: () => ({ provider: 'voyage', custom_host: inference.upstream.url }),
} as const;
type Service = keyof typeof services;
const names = Object.keys(services) as Service[];

function bedrockWith(model: string) {
  return {
    provider: 'bedrock',
    custom_host: address(),
    aws_region: 'us-east-1',
    override_params: { model },
  };
}

async function keyFor(service: Service, more: object = {}, config: object = {}) {
  const { id: workspace_id } = (
    await inference.server.request('POST', '/v2/workspaces', { body: { name: service } })
  ).body;
  const made = await inference.server.request('POST', '/v2/configs', {
    body: {
      name: service,
      workspace_id,
      config: { api_key: 'sk', ...services[service](), ...config },
    },
  });
  expect(made).toMatchObject({ status: 200 });
  return inference.addKey({ workspace_id, defaults: { config_id: made.body.slug }, ...more });
}

const url = () => inference.server.inferenceUrl;
const sentBody = () => JSON.parse(inference.upstream.reached.at(-1)!.body.toString());

async function invoke(key: string, modelId: string, body: object) {
  const sdk = new BedrockRuntimeClient({
    endpoint: url(),
    region: 'us-east-1',
    requestHandler: new NodeHttpHandler(),
    token: { token: key },
    authSchemePreference: ['httpBearerAuth'],
    maxAttempts: 1,
  });
  const sending = new InvokeModelCommand({ modelId, body: JSON.stringify(body) });
  const answer = await sdk.send(sending);
  return JSON.parse(answer.body.transformToString());
}

const googleSdk = (apiKey: string, vertexai: boolean) =>
  new GoogleGenAI({ vertexai, apiKey, httpOptions: { baseUrl: url() } });
const cohereSdk = (token: string) =>
  new CohereClientV2({ token, environment: url(), maxRetries: 0 } as never);

async function rowOf(keyId: string) {
  await logIsWritten(inference.server);
  return inference.server.database.db
    .selectFrom('request_logs')
    .select(['endpoint', 'input_tokens', 'output_tokens', 'is_estimated'])
    .where('api_key_id', '=', keyId)
    .where('status', '=', 200)
    .executeTakeFirstOrThrow();
}

describe.each(names)('a text that %s embeds', (service) => {
  const usage_limits = { type: 'tokens', credit_limit: 2000 };
  const row = { endpoint: 'embeddings', input_tokens: 3, output_tokens: 0, is_estimated: 0 };

  it.each([
    [titan, { inputText: 'hello' }, { embedding: vector }],
    [
      nova,
      {
        taskType: 'SINGLE_EMBEDDING',
        singleEmbeddingParams: {
          embeddingPurpose: 'TEXT_RETRIEVAL',
          text: { truncationMode: 'END', value: 'hello' },
        },
      },
      { embeddings: [{ embeddingType: 'TEXT', embedding: vector }] },
    ],
    [
      cohereModel,
      { texts: ['hello'], input_type: 'search_query', embedding_types: ['float'] },
      { embeddings: { float: [vector] } },
    ],
  ])('is returned to InvokeModel in the form of %s', async (model, body, expected) => {
    // Bedrock answers in the form of the model that it is asked for.
    const config = { override_params: { model } };
    const isBedrock = services[service]().provider === 'bedrock';
    const { key, id } = await keyFor(service, { usage_limits }, isBedrock ? config : {});
    expect(await invoke(key, model, body)).toMatchObject(expected);
    expect(await rowOf(id)).toMatchObject(row);
    if (isBedrock) expect(sentBody()).toEqual(body);
  });

  it('is returned to the SDK of Cohere', async () => {
    const { key, id } = await keyFor(service, { usage_limits });
    const answer = await cohereSdk(key).embed({
      model: 'embed-v4.0',
      texts: ['hello'],
      inputType: 'search_query',
      embeddingTypes: ['float'],
    });
    expect(answer.embeddings.float).toEqual([vector]);
    expect(await rowOf(id)).toMatchObject(row);
  });

  it('is returned to the SDK of Google for Vertex AI', async () => {
    const { key, id } = await keyFor(service, { usage_limits });
    const answer = await googleSdk(key, true).models.embedContent({
      model: 'text-embedding-005',
      contents: 'hello',
    });
    expect(answer.embeddings).toMatchObject([{ values: vector }]);
    expect(await rowOf(id)).toMatchObject(row);
  });

  it("is returned to the SDK of Google in Gemini's form", async () => {
    const { key } = await keyFor(service, { usage_limits });
    const answer = await googleSdk(key, false).models.embedContent({
      model: 'gemini-embedding-2',
      contents: 'hello',
    });
    expect(answer.embeddings).toMatchObject([{ values: vector }]);
  });

  it('is returned to the SDK of OpenAI', async () => {
    const { key, id } = await keyFor(service, { usage_limits });
    const sdk = new OpenAI({ apiKey: key, baseURL: `${url()}/v1`, maxRetries: 0 });
    const answer = await sdk.embeddings.create({
      model: 'any',
      input: 'hello',
      encoding_format: 'float',
    });
    expect(answer.data[0]!.embedding).toEqual(vector);
    expect(answer.usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    expect(await rowOf(id)).toMatchObject(row);
  });
});

describe('an embedding of another form', () => {
  it('keeps its purpose and its size at the provider', async () => {
    const cohere = cohereSdk((await keyFor('vertex')).key);
    const request = {
      model: 'm',
      texts: ['a', 'b'],
      inputType: 'search_query',
      embeddingTypes: ['float'],
      outputDimension: 256,
    } as const;
    await cohere.embed(request as never);
    expect(sentBody()).toEqual({
      instances: [
        { content: 'a', task_type: 'RETRIEVAL_QUERY' },
        { content: 'b', task_type: 'RETRIEVAL_QUERY' },
      ],
      parameters: { outputDimensionality: 256 },
    });
    expect(inference.upstream.reached.at(-1)!.url).toBe(
      '/v1/projects/our-project/locations/global/publishers/google/models/text-embedding-005:predict',
    );
    await cohereSdk((await keyFor('voyage')).key).embed(request as never);
    expect(sentBody()).toEqual({
      model: 'm',
      input: ['a', 'b'],
      input_type: 'query',
      output_dimension: 256,
    });
    await cohereSdk((await keyFor('cohereOnBedrock')).key).embed(request as never);
    expect(sentBody()).toMatchObject({ input_type: 'search_query', output_dimension: 256 });
    await cohereSdk((await keyFor('cohere')).key).embed(request as never);
    expect(inference.upstream.reached.at(-1)!.url).toBe('/v2/embed');
  });

  it('reaches models of OpenAI without the members that Voyage alone has', async () => {
    const { key } = await keyFor('openai');
    const body = { model: 'voyage-3.5', input: ['a'], input_type: 'query', output_dimension: 256 };
    const bearer = { authorization: `Bearer ${key}` };
    const answer = await exchange('POST', `${url()}/v1/embeddings`, body, bearer);
    expect(answer).toMatchObject({ status: 200, body: { usage: { total_tokens: 3 } } });
    expect(answer.headers['x-gateway-dropped-members']).toBe('input_type');
    expect(sentBody()).toEqual({
      model: 'text-embedding-3-small',
      input: ['a'],
      dimensions: 256,
    });
  });

  it('is refused where its tokens could not be bounded, or its output would not be metered', async () => {
    const { key } = await keyFor('titan', {}, { override_params: {} });
    const vertex = (await keyFor('vertex', {}, { override_params: {} })).key;
    const cases: readonly (readonly [string, string, object, number])[] = [
      [key, `/model/${titan}/invoke`, { inputText: 'a', inputImage: 'AAAA' }, 400],
      [key, `/model/${titan}/invoke`, { inputText: ['a'] }, 400],
      [key, `/model/${titan}/invoke-with-response-stream`, { inputText: 'a' }, 400],
      // This model writes text from the same body.
      [key, '/model/amazon.titan-text-express-v1/invoke', { inputText: 'a' }, 404],
      [
        key,
        '/model/arn:aws:bedrock:us-east-1:1:provisioned-model%2Fp/invoke',
        { inputText: 'a' },
        404,
      ],
      [key, `/model/${cohereModel}/invoke`, { texts: ['a'], images: ['AAAA'] }, 400],
      [key, `/model/${nova}/invoke`, { singleEmbeddingParams: { image: {} } }, 400],
      [key, '/v2/embed', { model: 'm', images: ['AAAA'] }, 400],
      [key, '/v2/embed', { model: 'm', texts: [{ text: 'a' }] }, 400],
      [key, '/v2/other', { model: 'm' }, 404],
      [vertex, '/v1beta/models/imagen-4:predict', { instances: [{ prompt: 'a' }] }, 400],
      [vertex, '/v1beta/models/imagen-4:predict', { instances: [{ content: 'a' }] }, 404],
      [
        vertex,
        '/v1beta/models/text-embedding-005:predict',
        { instances: [{ content: 'a' }], parameters: { sampleCount: 4 } },
        400,
      ],
    ];
    for (const [sent, path, body, status] of cases) {
      const bearer = { authorization: `Bearer ${sent}` };
      const answer = await exchange('POST', url() + path, body, bearer);
      expect([path, body, answer.status]).toEqual([path, body, status]);
    }
    expect(inference.upstream.reached).toEqual([]);
  });
});

describe('a ranking of another form', () => {
  const results = [
    { index: 1, relevance_score: 0.9 },
    { index: 0, relevance_score: 0.1 },
  ];
  beforeEach(() => {
    inference.upstream.script = (_, response) =>
      sendJson(response, { results, meta: { billed_units: { search_units: 1 } } });
  });

  it('is returned to InvokeModel by Cohere, and by Bedrock as it is', async () => {
    const body = { query: 'q', documents: ['a', 'b'], top_n: 2, api_version: 2 };
    const model = 'cohere.rerank-v3-5:0';
    const { key } = await keyFor('cohere');
    expect(await invoke(key, model, body)).toMatchObject({ results });
    expect(sentBody()).toEqual({ model, query: 'q', documents: ['a', 'b'], top_n: 2 });
    const bedrock = await keyFor('titan', {}, { override_params: {} });
    expect(await invoke(bedrock.key, model, body)).toMatchObject({ results });
    expect(sentBody()).toEqual(body);
  });

  it('is returned to the SDK of Cohere by other services', async () => {
    const { key } = await keyFor('voyage');
    const answer = await cohereSdk(key).rerank({ model: 'm', query: 'q', documents: ['a', 'b'] });
    expect(answer.results).toMatchObject([
      { index: 1, relevanceScore: 0.9 },
      { index: 0, relevanceScore: 0.1 },
    ]);
  });
});
