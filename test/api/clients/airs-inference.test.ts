/**
 * Verifies that an unmodified Prisma AIRS client, which validates every response, can call models
 * and manage all objects that the gateway stores.
 */
import { AIGatewayInferenceClient } from '@cdot65/prisma-airs-sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let client: AIGatewayInferenceClient;
const requested = new Set<string>();

beforeAll(async () => {
  inference = await startInference();
  const { server, upstream, addKey } = inference;
  const config = { provider: 'mock-upstream', api_key: 'any', custom_host: upstream.url };
  const made = await server.request('POST', '/v2/configs', { body: { name: 'all', config } });
  const { key } = await addKey({
    scopes: ['completions.write', 'prompts.render'],
    defaults: { config_id: made.body.slug },
  });
  upstream.script = ({ url }, response) => {
    const embedded = { object: 'list', model: 'm', usage: { prompt_tokens: 1, total_tokens: 1 } };
    const data = [{ object: 'embedding', index: 0, embedding: [1, 0] }];
    const model = { id: 'm', object: 'model', created: 1, owned_by: 'us' };
    if (url.endsWith('/embeddings')) return sendJson(response, { ...embedded, data });
    if (url.endsWith('/models')) return sendJson(response, { object: 'list', data: [model] });
    if (url.endsWith('/models/m')) return sendJson(response, model);
    const completion = { ...chatAnswer, object: 'text_completion' };
    const text = { index: 0, text: 'hi', finish_reason: 'stop', logprobs: null };
    if (/\/v1\/completions$/.test(url)) {
      return sendJson(response, { ...completion, choices: [text] });
    }
    const [choice] = chatAnswer.choices;
    const message = { ...choice!.message, refusal: null };
    sendJson(response, { ...chatAnswer, choices: [{ ...choice, message, logprobs: null }] });
  };
  const endpoint = `${server.inferenceUrl}/v1`;
  const real = new AIGatewayInferenceClient({ endpoint, apiKey: key });
  client = new Proxy(real, {
    get: (of, name) => {
      requested.add(String(name));
      return Reflect.get(of, name);
    },
  });
});

afterAll(() => inference[Symbol.asyncDispose]());

const file = new File(['Frogs are green.'], 'frogs.txt', { type: 'text/plain' });
const messages = [{ role: 'user' as const, content: 'hello' }];

it('calls models', async () => {
  const chat = await client.createChatCompletion({ model: 'm', messages });
  expect(chat).toMatchObject({ choices: [{ message: { content: 'hi' } }] });
  const completion = await client.createCompletion({ model: 'm', prompt: 'p' });
  expect(completion).toMatchObject({ choices: [{ text: 'hi' }] });
  expect((await client.createEmbedding({ model: 'm', input: 'i' })).data).toHaveLength(1);
  expect((await client.listModels()).data).toMatchObject([{ id: 'm' }]);
  expect(await client.retrieveModel('m')).toMatchObject({ id: 'm' });
});

it('creates and reads stored responses', async () => {
  const made = (await client.createResponse({ model: 'm', input: 'hello' })) as { id: string };
  expect(await client.getResponse(made.id)).toMatchObject({ id: made.id, status: 'completed' });
  expect((await client.listInputItems(made.id)).data).toMatchObject([{ type: 'message' }]);
  await client.deleteResponse(made.id);
  await expect(client.getResponse(made.id)).rejects.toThrow();
});

it('manages files and vector stores', async () => {
  const { id: fileId } = await client.createFile({ file, purpose: 'assistants' });
  expect((await client.listFiles()).data).toMatchObject([{ id: fileId }]);
  expect(await client.retrieveFile(fileId)).toMatchObject({ filename: 'frogs.txt' });
  const bytes = await client.downloadFile(fileId);
  expect(Buffer.from(bytes as Uint8Array).toString()).toBe('Frogs are green.');
  const { id } = await client.createVectorStore({ name: 'animals' });
  await client.modifyVectorStore(id, { name: 'frogs' });
  expect(await client.getVectorStore(id)).toMatchObject({ name: 'frogs' });
  expect((await client.listVectorStores()).data).toMatchObject([{ id }]);
  const nameless = await client.createVectorStore({ metadata: { a: 'b' } });
  expect(nameless).toMatchObject({ name: '', metadata: { a: 'b' } });
  const first = { order: 'asc', limit: 1 } as const;
  expect(await client.listVectorStores(first)).toMatchObject({ data: [{ id }], has_more: true });
  expect((await client.listVectorStores({ ...first, after: id })).data).toMatchObject([
    { id: nameless.id },
  ]);
  expect((await client.listVectorStores({ before: nameless.id })).data).toEqual([]);
  await client.modifyVectorStore(id, { name: null, expires_after: null });
  expect(await client.getVectorStore(id)).toMatchObject({ name: '' });
  await client.deleteVectorStore(nameless.id);
  await client.createVectorStoreFile(id, { file_id: fileId });
  await eventually(async () => {
    expect(await client.getVectorStoreFile(id, fileId)).toMatchObject({ status: 'completed' });
  });
  expect((await client.listVectorStoreFiles(id)).data).toMatchObject([{ id: fileId }]);
  const batch = await client.createVectorStoreFileBatch(id, { file_ids: [fileId] });
  await eventually(async () => {
    const reported = await client.getVectorStoreFileBatch(id, batch.id);
    expect(reported).toMatchObject({ status: 'completed' });
  });
  const listed = await client.listFilesInVectorStoreBatch(id, batch.id);
  expect(listed.data).toMatchObject([{ id: fileId }]);
  await client.cancelVectorStoreFileBatch(id, batch.id);
  expect(await client.deleteVectorStoreFile(id, fileId)).toMatchObject({ deleted: true });
  expect(await client.deleteVectorStore(id)).toMatchObject({ deleted: true });
  expect(await client.deleteFile(fileId)).toMatchObject({ deleted: true });
});

it('renders and runs prompts', async () => {
  const { server } = inference;
  const workspace = await server.request('POST', '/v2/workspaces', { body: { name: 'Team' } });
  const at = `/v1/collections?workspace_id=${workspace.body.id}`;
  const [collection] = (await server.request('GET', at)).body.data;
  const string = JSON.stringify([{ role: 'user', content: 'Hello {{name}}' }]);
  const { body } = await server.request('POST', '/v1/prompts', {
    body: { name: 'g', string, parameters: { model: 'm' }, collection_id: collection.id },
  });
  const variables = { name: 'Anna' };
  const rendered = await client.createPromptRender(body.slug, { variables });
  expect(rendered).toMatchObject({ data: { messages: [{ content: 'Hello Anna' }] } });
  const answered = await client.createPromptCompletion(body.slug, { variables });
  expect(answered).toMatchObject({ choices: [{ message: { content: 'hi' } }] });
});

/** Methods that are not tested here, each with the reason. */
const reasons: Readonly<Record<string, RegExp>> = {
  'made of the others': /^(?:constructor|runtimeRequestOptions)$/,
  'passed on to the provider as it is, of which portkey-inference.test.ts makes sure':
    /^(?:create(?:Image|ImageEdit|ImageVariation|Rerank|Ocr|Speech|Transcription|Translation|Moderation)|deleteModel|.*FineTuning.*|(?:create|retrieve|cancel)Batch|listBatches|getBatchOutput)$/,
  'the gateway passes on no WebSockets': /^connectRealtime$/,
  'of the Admin API, which is reached elsewhere': /Feedback$|^(?:createLogs|getLog)$/,
};

it('covers every other method of the client', () => {
  const kind = AIGatewayInferenceClient.prototype;
  const names = [kind, Object.getPrototypeOf(kind)].flatMap(Object.getOwnPropertyNames);
  const isExcused = (name: string) => Object.values(reasons).some((one) => one.test(name));
  expect(names.filter((name) => !requested.has(name) && !isExcused(name))).toEqual([]);
});
