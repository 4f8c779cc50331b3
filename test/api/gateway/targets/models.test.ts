/** Verifies that GET /v1/models lists what a key may use, in the form of each official client. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exchange } from '../../../support/network/exchange.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import { sendJson, startUpstream, type TestUpstream } from '../../../support/upstream/upstream.ts';

let inference: Inference;
let claude: TestUpstream;
const stack = new AsyncDisposableStack();

const ofOpenAi = ['gpt-a', 'gpt-b', 'org/gpt-c'];
const ofClaude = ['claude-a', 'claude-b', 'claude-c'];

beforeAll(async () => {
  claude = stack.use(await startUpstream());
  inference = stack.use(await startInference({}, [claude.host]));
});

afterAll(() => stack.disposeAsync());

beforeEach(() => {
  // Lists are kept for a minute.
  inference.server.clock.advance(61_000);
  inference.upstream.reached.length = 0;
  claude.reached.length = 0;
  inference.upstream.script = (_, response) => {
    const data = ofOpenAi.map((id) => ({
      id,
      object: 'model',
      created: 7,
      owned_by: 'us',
      context: 9,
    }));
    sendJson(response, { object: 'list', data });
  };
  claude.script = (_, response) => {
    const created_at = '2026-01-02T03:04:05Z';
    const data = ofClaude.map((id) => ({
      type: 'model',
      id,
      display_name: `The ${id}`,
      created_at,
    }));
    sendJson(response, { data, has_more: false, first_id: data[0]!.id, last_id: data.at(-1)!.id });
  };
});

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

let count = 0;

/** A workspace with a key. */
async function newWorkspace(defaults: object = {}) {
  count += 1;
  const { id } = await post('/v2/workspaces', { name: `Team ${count}` });
  const { key } = await inference.addKey({ workspace_id: id, defaults });
  return { id, key };
}

/** A provider of the workspace at one of the two upstreams. */
async function addProvider(
  workspaceId: string,
  service: 'openai' | 'anthropic' | 'cohere',
  { slug, ...integration }: { slug?: string; [field: string]: unknown } = {},
): Promise<string> {
  count += 1;
  const { url } = service === 'anthropic' ? claude : inference.upstream;
  const { id } = await post('/v1/integrations', {
    name: `Account ${count}`,
    ai_provider_id: service,
    key: `sk-${count}`,
    configurations: { custom_host: url },
    ...integration,
  });
  const provider = await post('/v1/providers', {
    name: `Provider ${count}`,
    integration_id: id,
    workspace_id: workspaceId,
    ...(slug === undefined ? {} : { slug }),
  });
  return provider.slug;
}

const configOf = (config?: object): Record<string, string> =>
  config === undefined ? {} : { 'x-gateway-config': JSON.stringify(config) };

function openai(key: string, config?: object): OpenAI {
  const baseURL = `${inference.server.inferenceUrl}/v1`;
  return new OpenAI({ apiKey: key, baseURL, maxRetries: 0, defaultHeaders: configOf(config) });
}

function anthropic(key: string, config?: object): Anthropic {
  const baseURL = inference.server.inferenceUrl;
  return new Anthropic({ apiKey: key, baseURL, maxRetries: 0, defaultHeaders: configOf(config) });
}

async function idsBy(client: OpenAI): Promise<string[]> {
  return (await client.models.list()).data.map(({ id }) => id);
}

async function request(key: string, config?: object, path = '/v1/models') {
  const headers = { authorization: `Bearer ${key}`, ...configOf(config) };
  return await exchange('GET', inference.server.inferenceUrl + path, undefined, headers);
}

describe('a key without a config', () => {
  it('lists the models of each provider of its workspace, under the ids that requests must send', async () => {
    const { id, key } = await newWorkspace();
    const one = await addProvider(id, 'openai');
    const other = await addProvider(id, 'anthropic');
    await addProvider((await newWorkspace()).id, 'openai');
    const client = openai(key);
    const ids = await idsBy(client);
    expect(ids.toSorted()).toEqual(
      [
        ...ofOpenAi.map((name) => `@${one}/${name}`),
        ...ofClaude.map((name) => `@${other}/${name}`),
      ].toSorted(),
    );
    inference.upstream.script = (_, response) => sendJson(response, {}, 404);
    const completion = client.chat.completions.create({
      model: ids[0]!,
      messages: [{ role: 'user', content: 'a' }],
    });
    await expect(completion).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    expect(inference.upstream.reached.at(-1)!.body.toString()).toContain('"model":"gpt-');
  });

  it('lists only enabled models of an integration that allows no others, without asking the provider', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai', {
      allow_all_models: false,
      models: [
        { slug: 'gpt-a', enabled: true },
        { slug: 'gpt-b', enabled: false },
      ],
    });
    expect(await idsBy(openai(key))).toEqual([`@${slug}/gpt-a`]);
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('omits disabled models and their snapshots, and adds models that only the integration names', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai', {
      models: [
        { slug: 'gpt-b', enabled: false },
        { slug: 'gpt-tuned', enabled: true },
      ],
    });
    inference.upstream.script = (_, response) => {
      const data = ['gpt-a', 'gpt-b', 'gpt-b-2026-01-01'].map((one) => ({
        id: one,
        object: 'model',
      }));
      sendJson(response, { object: 'list', data });
    };
    expect(await idsBy(openai(key))).toEqual([`@${slug}/gpt-a`, `@${slug}/gpt-tuned`]);
    const url = `${inference.server.inferenceUrl}/v1/chat/completions`;
    const body = { model: `@${slug}/gpt-b-2026-01-01`, messages: [] };
    const refused = await exchange('POST', url, body, { authorization: `Bearer ${key}` });
    expect(refused.body.error.code).toBe('model_not_allowed');
  });

  it('gets an error that says what to do where the workspace has no provider', async () => {
    const { key } = await newWorkspace();
    const answer = await request(key);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'provider_missing']);
  });
});

describe('a config', () => {
  it('returns the list of its one provider unchanged where there are no rules', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai');
    const answer = await request(key, { provider: `@${slug}` }, '/v1/models?limit=2');
    expect(answer.body.data[2]).toEqual({
      id: 'org/gpt-c',
      object: 'model',
      created: 7,
      owned_by: 'us',
      context: 9,
    });
    expect(inference.upstream.reached[0]!.url).toBe('/v1/models?limit=2');
  });

  it('lists plain names where a model is disabled', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai', { models: [{ slug: 'gpt-a', enabled: false }] });
    expect(await idsBy(openai(key, { provider: `@${slug}` }))).toEqual(['gpt-b', 'org/gpt-c']);
  });

  it('lists the models that its conditions lead to the target which has them', async () => {
    const { id, key } = await newWorkspace();
    const one = await addProvider(id, 'openai');
    const other = await addProvider(id, 'anthropic');
    const next = 'then';
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [
          { query: { 'params.model': { $in: ['fast', 'claude-fast'] } }, [next]: 'alias' },
          { query: { 'params.model': { $regex: '^claude-[ab]' } }, [next]: 'claude' },
        ],
        default: 'gpt',
      },
      targets: [
        { name: 'alias', provider: `@${one}`, override_params: { model: 'gpt-b' } },
        { name: 'claude', provider: `@${other}` },
        { name: 'gpt', provider: `@${one}` },
      ],
    };
    expect(await idsBy(openai(key, config))).toEqual([
      'fast',
      'claude-fast',
      'claude-a',
      'claude-b',
      ...ofOpenAi,
    ]);
  });

  it('lists the one model that it sends whatever the request names', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai');
    const config = { override_params: { model: `@${slug}/gpt-b` } };
    expect(await idsBy(openai(key, config))).toEqual(['gpt-b']);
  });

  it('omits models that a denying guardrail refuses by their names', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai');
    const config = {
      provider: `@${slug}`,
      input_guardrails: [{ 'default.modelWhitelist': { models: ['gpt-b'] }, deny: true }],
    };
    expect(await idsBy(openai(key, config))).toEqual(['gpt-b']);
  });
});

describe('an Anthropic client', () => {
  it('lists models of a provider of another format, page by page in both directions', async () => {
    const { id, key } = await newWorkspace();
    await addProvider(id, 'openai', { slug: `gpt-${id.slice(0, 8)}` });
    const client = anthropic(key, { provider: `@gpt-${id.slice(0, 8)}` });
    const ids: string[] = [];
    for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
    expect(ids).toEqual(ofOpenAi);
    const page = await client.models.list({ limit: 1, before_id: 'org/gpt-c' });
    expect(page).toMatchObject({ first_id: 'gpt-b', last_id: 'gpt-b', has_more: true });
    expect(page.data[0]).toMatchObject({
      type: 'model',
      display_name: 'gpt-b',
      created_at: '1970-01-01T00:00:07.000Z',
      lifecycle: 'active',
    });
    const unknown = client.models.list({ after_id: 'none' });
    await expect(unknown).rejects.toBeInstanceOf(Anthropic.BadRequestError);
  });

  it('keeps the descriptions of a provider of its format', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'anthropic');
    const page = await anthropic(key).models.list();
    expect(page.data[0]).toMatchObject({ id: `@${slug}/claude-a`, display_name: 'The claude-a' });
    const one = await anthropic(key).models.retrieve(`@${slug}/claude-b`);
    expect(one.display_name).toBe('The claude-b');
    const missing = anthropic(key).models.retrieve(`@${slug}/none`);
    await expect(missing).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  });
});

describe('a Gemini client', () => {
  it('lists models in its form, and only those that the key may use', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai', { models: [{ slug: 'gpt-a', enabled: false }] });
    const { body } = await request(key, { provider: `@${slug}` }, '/v1beta/models?pageSize=1');
    expect(body).toMatchObject({ models: [{ name: 'models/gpt-b' }], nextPageToken: 'gpt-b' });
    const one = await request(key, { provider: `@${slug}` }, '/v1beta/models/gpt-b');
    expect(one.body).toMatchObject({ name: 'models/gpt-b' });
    const none = await request(key, { provider: `@${slug}` }, '/v1beta/models/gpt-a');
    expect([none.status, none.body.error.status]).toEqual([404, 'NOT_FOUND']);
  });
});

it('lists the models of an integration whose service has no list, and names it where there are none', async () => {
  const { id, key } = await newWorkspace();
  const models = [{ slug: 'command-a', enabled: true }];
  const slug = await addProvider(id, 'cohere', { allow_all_models: false, models });
  expect(await idsBy(openai(key))).toEqual([`@${slug}/command-a`]);
  const open = await newWorkspace();
  await addProvider(open.id, 'cohere');
  const answer = await request(open.key);
  expect([answer.status, answer.body.error.message]).toEqual([
    502,
    expect.stringContaining('it has no list of models'),
  ]);
});

describe('a provider that fails', () => {
  it('is left out and named in a header, also when it hangs, and is not asked again for each list', async () => {
    const { id, key } = await newWorkspace();
    const hanging = await addProvider(id, 'openai');
    const other = await addProvider(id, 'anthropic');
    const silent: unknown[] = [];
    inference.upstream.script = (_, response) => void silent.push(response);
    for (let time = 0; time < 2; time += 1) {
      const answer = await request(key);
      expect(answer.status).toBe(200);
      expect(answer.body.data.map(({ id: one }: { id: string }) => one)).toEqual(
        ofClaude.map((name) => `@${other}/${name}`),
      );
      const failed = String(answer.headers['x-gateway-failed-providers']);
      expect(failed).toContain(`@${hanging} (no answer within`);
    }
    expect(silent).toHaveLength(1);
  });

  it('is a 502 that names it where no other provider is left', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai');
    inference.upstream.script = (_, response) => sendJson(response, {}, 500);
    const answer = await request(key);
    expect([answer.status, answer.body.error.message]).toEqual([
      502,
      `No models can be listed: @${slug} (status 500)`,
    ]);
  });

  it('is a 408 in time where a config leads to it alone', async () => {
    const { id, key } = await newWorkspace();
    const slug = await addProvider(id, 'openai');
    inference.upstream.script = () => undefined;
    const answer = await request(key, { provider: `@${slug}` });
    expect([answer.status, answer.body.error.code]).toEqual([408, 'request_timeout']);
  });
});

it('counts a list as one request under a rate limit', async () => {
  const { id } = await newWorkspace();
  await addProvider(id, 'openai');
  const rate_limits = [{ type: 'requests', unit: 'rpm', value: 1 }];
  const { key } = await inference.addKey({ workspace_id: id, rate_limits });
  expect((await request(key)).status).toBe(200);
  expect((await request(key)).status).toBe(429);
});
