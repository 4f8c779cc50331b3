/** Verifies embeddings, rankings and model lists of Amazon Bedrock, and the one form of rankings. */
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { testSettings } from '../../../support/server/server.ts';
import { verifySignature } from '../../../support/upstream/bedrock.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
let inference: Inference;
let workspaceId: string;

const post = async (path: string, body: object) => {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
};

beforeAll(async () => {
  const settings = testSettings();
  inference = await startInference({
    inference: { ...settings.inference, enforcesLimits: true },
  });
  workspaceId = (await post('/v2/workspaces', { name: 'retrieval' })).id;
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
});
afterAll(() => inference[Symbol.asyncDispose]());

const signed = {
  aws_region: 'us-east-1',
  aws_auth_type: 'accessKey',
  aws_access_key_id: credentials.accessKeyId,
  aws_secret_access_key: credentials.secretAccessKey,
};

/** A key whose config leads to an integration of the service. */
async function keyTo(service: string, configurations: object = {}, more: object = {}) {
  const integration = await post('/v1/integrations', {
    name: service,
    ai_provider_id: service,
    ...(service === 'bedrock' ? {} : { key: 'sk' }),
    configurations: {
      custom_host: inference.upstream.url.replace(/\/v1$/, ''),
      ...configurations,
    },
  });
  const owned = { name: service, integration_id: integration.id, workspace_id: workspaceId };
  const { slug } = await post('/v1/providers', owned);
  const config = { provider: `@${slug}` };
  const saved = await post('/v2/configs', { name: service, workspace_id: workspaceId, config });
  return inference.addKey({
    workspace_id: workspaceId,
    defaults: { config_id: saved.slug },
    ...more,
  });
}

const clientOf = (apiKey: string) =>
  new OpenAI({ apiKey, baseURL: `${inference.server.inferenceUrl}/v1`, maxRetries: 0 });
const rank = (key: string, body: object) =>
  exchange('POST', `${inference.server.inferenceUrl}/v1/rerank`, body, {
    authorization: `Bearer ${key}`,
  });

async function signedRequest() {
  const request = inference.upstream.reached.at(-1)!;
  expect(await verifySignature(request, [credentials])).toMatchObject({ service: 'bedrock' });
  return { url: request.url, body: JSON.parse(request.body.toString() || 'null') };
}

async function rowOf(keyId: string) {
  await logIsWritten(inference.server);
  return inference.server.database.db
    .selectFrom('request_logs')
    .select(['endpoint', 'input_tokens', 'is_estimated', 'cost_units'])
    .where('api_key_id', '=', keyId)
    .where('status', '=', 200)
    .executeTakeFirst();
}

describe('a request for embeddings', () => {
  it('reaches Titan with one text, and returns its count of tokens', async () => {
    const { key } = await keyTo('bedrock', signed);
    inference.upstream.script = (_, response) =>
      sendJson(response, { embedding: [0.5, -0.25], inputTextTokenCount: 7 });
    const model = 'amazon.titan-embed-text-v2:0';
    const answer = await clientOf(key).embeddings.create({ model, input: 'hello', dimensions: 2 });
    expect(answer).toMatchObject({
      data: [{ index: 0, embedding: [0.5, -0.25] }],
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
    expect(await signedRequest()).toEqual({
      url: `/model/${encodeURIComponent(model)}/invoke`,
      body: { inputText: 'hello', dimensions: 2 },
    });
    const several = clientOf(key).embeddings.create({ model, input: ['a', 'b'] });
    await expect(several).rejects.toMatchObject({ status: 400, param: 'input' });
    expect(inference.upstream.reached).toHaveLength(1);
  });

  it('reaches Nova with one text, and returns the count of the header', async () => {
    const { key } = await keyTo('bedrock', signed);
    inference.upstream.script = (_, response) => {
      response.setHeader('x-amzn-bedrock-input-token-count', '4');
      sendJson(response, { embeddings: [{ embeddingType: 'TEXT', embedding: [0.5, -0.25] }] });
    };
    const model = 'amazon.nova-2-multimodal-embeddings-v1:0';
    const answer = await clientOf(key).embeddings.create({
      model,
      input: 'hello',
      dimensions: 256,
    });
    expect(answer).toMatchObject({
      data: [{ index: 0, embedding: [0.5, -0.25] }],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    });
    expect(await signedRequest()).toEqual({
      url: `/model/${encodeURIComponent(model)}/invoke`,
      body: {
        taskType: 'SINGLE_EMBEDDING',
        singleEmbeddingParams: {
          embeddingPurpose: 'GENERIC_INDEX',
          embeddingDimension: 256,
          text: { truncationMode: 'END', value: 'hello' },
        },
      },
    });
  });

  it('reaches Cohere on Bedrock, and returns the count of the header', async () => {
    const { key, id } = await keyTo('bedrock', signed, {
      usage_limits: { type: 'tokens', credit_limit: 1000 },
    });
    inference.upstream.script = (_, response) => {
      response.setHeader('x-amzn-bedrock-input-token-count', '9');
      sendJson(response, {
        embeddings: {
          float: [
            [1, 2],
            [3, 4],
          ],
        },
        id: 'e',
      });
    };
    const model = 'cohere.embed-v4:0';
    const answer = await clientOf(key).embeddings.create({ model, input: ['a', 'b'] });
    expect(answer.data.map(({ embedding }) => embedding)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(answer.usage).toEqual({ prompt_tokens: 9, total_tokens: 9 });
    expect((await signedRequest()).body).toEqual({
      texts: ['a', 'b'],
      input_type: 'search_document',
      embedding_types: ['float'],
    });
    expect(await rowOf(id)).toMatchObject({ endpoint: 'embeddings', input_tokens: 9 });
  });
});

const ranked = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.1 },
];
const request = { query: 'q', documents: ['a', { text: 'b' }], top_n: 2, return_documents: true };
const expected = [
  { index: 1, relevance_score: 0.9, document: { text: 'b' } },
  { index: 0, relevance_score: 0.1, document: { text: 'a' } },
];

describe('a ranking', () => {
  it.each([
    [
      'bedrock',
      'cohere.rerank-v3-5:0',
      { results: ranked },
      { query: 'q', documents: ['a', 'b'], top_n: 2, api_version: 2 },
    ],
    [
      'bedrock',
      'amazon.rerank-v1:0',
      { results: ranked },
      { query: 'q', documents: ['a', 'b'], top_n: 2 },
    ],
    [
      'cohere',
      'rerank-v3.5',
      { results: ranked, meta: { billed_units: { search_units: 1 } } },
      { model: 'rerank-v3.5', query: 'q', documents: ['a', 'b'], top_n: 2 },
    ],
    [
      'voyage',
      'rerank-2.5',
      {
        data: [
          { ...ranked[0], document: 'b' },
          { ...ranked[1], document: 'a' },
        ],
        usage: { total_tokens: 5 },
      },
      {
        model: 'rerank-2.5',
        query: 'q',
        documents: ['a', 'b'],
        top_k: 2,
        return_documents: true,
      },
    ],
    [
      'jina',
      'jina-reranker-v2',
      { results: expected, usage: { total_tokens: 5 } },
      { model: 'jina-reranker-v2', ...request },
    ],
  ])('has one form at %s with %s', async (service, model, answer, received) => {
    const { key } = await keyTo(service, service === 'bedrock' ? signed : {});
    inference.upstream.script = (_, response) => sendJson(response, answer);
    const { status, body } = await rank(key, { model, ...request });
    expect([status, body.results]).toEqual([200, expected]);
    const sent = JSON.parse(inference.upstream.reached[0]!.body.toString());
    expect(sent).toEqual(received);
    if (service === 'bedrock') {
      const { url } = await signedRequest();
      expect(url).toBe(`/model/${encodeURIComponent(model)}/invoke`);
    }
  });

  it.each([
    ['cohere.rerank-v3-5:0', 4000],
    ['amazon.rerank-v1:0', 2000],
  ])('costs the bound of its queries under a cost limit with %s', async (model, cost) => {
    const usage_limits = { type: 'cost', credit_limit: 1 };
    const { key, id } = await keyTo('bedrock', signed, { usage_limits });
    inference.upstream.script = (_, response) => sendJson(response, { results: ranked });
    await rank(key, { model, query: 'q', documents: ['a', 'b'] });
    expect(await rowOf(id)).toMatchObject({ is_estimated: 1, cost_units: cost });
  });

  it('is charged its bound and marked where the provider reports nothing', async () => {
    const usage_limits = { type: 'tokens', credit_limit: 1000 };
    const { key, id } = await keyTo('bedrock', signed, { usage_limits });
    inference.upstream.script = (_, response) => sendJson(response, { results: ranked });
    await rank(key, { model: 'cohere.rerank-v3-5:0', query: 'q', documents: ['a', 'b'] });
    const row = await rowOf(id);
    expect(row).toMatchObject({ is_estimated: 1 });
    expect(Number(row!.input_tokens)).toBeGreaterThan(50);
    const large = { model: 'cohere.rerank-v3-5:0', query: 'q', documents: ['a'.repeat(2000)] };
    expect((await rank(key, large)).status).toBe(412);
    expect(inference.upstream.reached).toHaveLength(1);
  });
});

describe('the list of models', () => {
  it('has the models of Bedrock that can be called directly, and its inference profiles', async () => {
    const { key } = await keyTo('bedrock', signed);
    inference.upstream.script = ({ url }, response) =>
      sendJson(
        response,
        url.startsWith('/foundation-models')
          ? {
              modelSummaries: [
                { modelId: 'amazon.nova-pro-v1:0', inferenceTypesSupported: ['ON_DEMAND'] },
                { modelId: 'anthropic.claude-x', inferenceTypesSupported: ['INFERENCE_PROFILE'] },
              ],
            }
          : { inferenceProfileSummaries: [{ inferenceProfileId: 'us.anthropic.claude-x' }] },
      );
    const { data } = await clientOf(key).models.list();
    expect(data.map(({ id }) => id).toSorted()).toEqual([
      'amazon.nova-pro-v1:0',
      'us.anthropic.claude-x',
    ]);
    for (const sent of inference.upstream.reached) {
      expect(await verifySignature(sent, [credentials])).toMatchObject({ service: 'bedrock' });
    }
  });
});
