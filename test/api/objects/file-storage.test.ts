/** Verifies who stores the files of clients of the Anthropic and the OpenAI format at an Anthropic provider. */
import Anthropic, { toFile } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { startKeeper } from '../../support/upstream/shared-account.ts';

let inference: Inference;
let apiKey: string;

beforeAll(async () => {
  inference = await startInference();
  const { server, upstream } = inference;
  upstream.script = startKeeper().script;
  const post = async (path: string, body: object) =>
    (await server.request('POST', path, { body })).body;
  await post('/v1/integrations', {
    name: 'claude',
    slug: 'claude',
    ai_provider_id: 'anthropic',
    key: 'k',
    configurations: { custom_host: upstream.url },
  });
  const { id: workspace_id } = await post('/v2/workspaces', { name: 'w' });
  const named = { name: 'w', workspace_id };
  const { slug } = await post('/v1/providers', { ...named, integration_id: 'claude' });
  const config = await post('/v2/configs', { ...named, config: { provider: `@${slug}` } });
  const defaults = { config_id: config.slug };
  apiKey = (await inference.addKey({ workspace_id, defaults })).key;
});

afterAll(() => inference[Symbol.asyncDispose]());

const calledPaths = () => inference.upstream.reached.splice(0).map(({ url }) => url.split('?')[0]);

it('leaves files of Anthropic clients to the provider', async () => {
  const client = new Anthropic({ apiKey, baseURL: inference.server.inferenceUrl, maxRetries: 0 });
  const uploaded = await client.beta.files.upload({ file: await toFile(Buffer.from('text'), 'a') });
  expect(calledPaths()).toEqual(['/v1/files']);
  await client.beta.messages.create({
    model: 'm',
    max_tokens: 9,
    betas: ['files-api-2025-04-14'],
    messages: [
      {
        role: 'user',
        content: [{ type: 'document', source: { type: 'file', file_id: uploaded.id } }],
      },
    ],
  });
  expect(calledPaths()).toEqual(['/v1/messages']);
});

it('stores files of OpenAI clients, which vector stores search', async () => {
  const baseURL = `${inference.server.inferenceUrl}/v1`;
  const client = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
  const file = await toFile(Buffer.from('text'), 'a.txt');
  const { id } = await client.files.create({ file, purpose: 'assistants' });
  expect(calledPaths()).toEqual([]);
  const store = await client.vectorStores.create({ file_ids: [id] });
  expect(store.file_counts.total).toBe(1);
});

it('refuses files that it stores, with the reason, where the provider would read them', async () => {
  const baseURL = `${inference.server.inferenceUrl}/v1`;
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url, api_key: 'k' };
  const defaultHeaders = { 'x-gateway-config': JSON.stringify(config) };
  const client = new OpenAI({ apiKey, baseURL, maxRetries: 0, defaultHeaders });
  const { id } = await client.files.create({
    file: await toFile(Buffer.from('{}\n'), 'a.jsonl'),
    purpose: 'batch',
  });
  const endpoint = '/v1/chat/completions';
  const content = [{ type: 'file' as const, file: { file_id: id } }];
  const model = 'gpt-4o';
  const requests: Record<string, () => Promise<unknown>> = {
    input_file_id: () =>
      client.batches.create({ input_file_id: id, endpoint, completion_window: '24h' }),
    training_file: () => client.fineTuning.jobs.create({ training_file: id, model }),
    validation_file: () =>
      client.post('/fine_tuning/jobs', { body: { validation_file: id, model } }),
    file_ids: () => client.containers.create({ name: 'c', file_ids: [id] }),
    file_id: () => client.chat.completions.create({ model, messages: [{ role: 'user', content }] }),
  };
  for (const [param, request] of Object.entries(requests)) {
    const { status, error } = await request().then(
      () => ({ status: 200, error: {} }),
      (thrown: { status: number; error: object }) => thrown,
    );
    const message = expect.stringContaining('that the gateway stores, so the provider cannot read');
    expect([status, error]).toEqual([400, expect.objectContaining({ param, message })]);
  }
  expect(calledPaths()).toEqual([]);
});

it('refuses a conversation of a provider where a response is translated, and names the alternative', async () => {
  const baseURL = `${inference.server.inferenceUrl}/v1`;
  const clientOf = (provider: string): OpenAI => {
    const config = { provider, custom_host: inference.upstream.url, api_key: 'k' };
    const defaultHeaders = { 'x-gateway-config': JSON.stringify(config) };
    return new OpenAI({ apiKey, baseURL, maxRetries: 0, defaultHeaders });
  };
  const { id } = await clientOf('openai').conversations.create();
  const client = clientOf('mock-upstream');
  expect(calledPaths()).toEqual(['/v1/conversations']);
  for (const conversation of [id, { id }]) {
    await expect(
      client.responses.create({ model: 'gpt-4o', input: 'hi', conversation }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'not_translatable',
      param: 'conversation',
      message: expect.stringContaining('previous_response_id'),
    });
  }
  expect(calledPaths()).toEqual([]);
});
