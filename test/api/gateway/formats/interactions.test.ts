/** Verifies that Google's client uses interactions at the gateway, with limits, guardrails and owners. */
import { GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import { keyUnits } from '../../../support/rows/usage-rows.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { sendJson, startUpstream, type TestUpstream } from '../../../support/upstream/upstream.ts';

let upstream: TestUpstream;
let server: TestServer;
let slug: string;
const workspaces: string[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  const trusted = readTrustedHosts(upstream.host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  const integration = await post('/v1/integrations', {
    name: 'gemini',
    ai_provider_id: 'google',
    key: 'secret',
    configurations: { custom_host: `http://${upstream.host}/v1beta/openai` },
  });
  for (const name of ['one', 'other']) {
    const { id } = await post('/admin/v2/workspaces', { name });
    workspaces.push(id);
    const owned = { name: 'gemini', integration_id: integration.id, workspace_id: id };
    ({ slug } = await post('/v1/providers', owned));
    slugs.set(id, slug);
  }
});

const slugs = new Map<string, string>();

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

let count = 0;
const interaction = (more: object = {}) => ({
  id: `interaction-${++count}`,
  object: 'interaction',
  status: 'completed',
  model: 'gemini-2.5-flash',
  steps: [{ type: 'model_output', content: [{ type: 'text', text: 'hello there' }] }],
  usage: {
    total_input_tokens: 12,
    total_output_tokens: 3,
    total_thought_tokens: 2,
    total_tokens: 17,
  },
  ...more,
});

beforeEach(() => {
  upstream.reached.length = 0;
  upstream.script = (_, response) => sendJson(response, interaction());
});

async function post(path: string, body: object): Promise<ReturnType<typeof JSON.parse>> {
  const made = await server.request('POST', path, { body });
  if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
  return made.body;
}

async function callerOf(at: number, more: object = {}, config: object = {}) {
  const workspace_id = workspaces[at]!;
  const { key, id } = await post('/v1/api-keys/workspace/service', {
    name: 'caller',
    scopes: ['completions.write'],
    workspace_id,
    ...more,
  });
  const inline = { provider: `@${slugs.get(workspace_id)}`, ...config };
  const headers = { 'x-gateway-config': JSON.stringify(inline) };
  const httpOptions = { baseUrl: server.inferenceUrl, headers };
  return { id, client: new GoogleGenAI({ apiKey: key, httpOptions }) };
}

const model = 'gemini-2.5-flash';

describe('an interaction', () => {
  it('is created, read, continued and deleted by its owner, and by nobody else', async () => {
    const { client } = await callerOf(0);
    const first = await client.interactions.create({ model, input: 'hi' });
    expect(first).toMatchObject({ status: 'completed', output_text: 'hello there' });
    const [{ url, headers, body }] = upstream.reached as [(typeof upstream.reached)[number]];
    expect([url, headers['x-goog-api-key']]).toEqual(['/v1beta/interactions', 'secret']);
    expect(JSON.parse(body.toString())).toMatchObject({ model, input: 'hi' });
    const { id } = first as { id: string };
    await client.interactions.get(id);
    await client.interactions.create({ model, input: 'more', previous_interaction_id: id });
    const { client: foreign } = await callerOf(1);
    upstream.reached.length = 0;
    await expect(foreign.interactions.get(id)).rejects.toThrow(/404|does not exist/);
    await expect(foreign.interactions.delete(id)).rejects.toThrow(/404|does not exist/);
    const continued = foreign.interactions.create({
      model,
      input: 'x',
      previous_interaction_id: id,
    });
    await expect(continued).rejects.toThrow(/404|does not exist/);
    expect(upstream.reached).toEqual([]);
    await client.interactions.delete(id);
    expect(upstream.reached.at(-1)).toMatchObject({
      method: 'DELETE',
      url: `/v1beta/interactions/${id}`,
    });
  });

  it('is streamed, metered and owned from its first event', async () => {
    const { client, id: keyId } = await callerOf(0, budget(100_000));
    const { steps, usage, ...begun } = interaction({ id: 'interaction-streamed' });
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of [
        { event_type: 'interaction.created', interaction: begun },
        { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
        { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'hello there' } },
        { event_type: 'step.stop', index: 0 },
        { event_type: 'interaction.completed', interaction: { ...begun, steps, usage } },
      ]) {
        response.write(`event: ${event.event_type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      response.end('data: [DONE]\n\n');
    };
    const stream = await client.interactions.create({ model, input: 'hi', stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.event_type);
    expect(types).toContain('interaction.completed');
    await eventually(async () => expect(await keyUnits(server.database.db, keyId)).toBe(17));
    upstream.script = (_, response) => sendJson(response, interaction());
    await client.interactions.get('interaction-streamed');
  });

  it('has its output bounded under a budget, and is charged what is reported', async () => {
    const { client, id } = await callerOf(0, budget(3_000));
    await client.interactions.create({ model, input: 'hi' });
    const sent = JSON.parse(upstream.reached[0]!.body.toString());
    expect(sent.generation_config.max_output_tokens).toBeLessThanOrEqual(3_000);
    await eventually(async () => expect(await keyUnits(server.database.db, id)).toBe(17));
  });

  it.each([
    ['an agent', { agent: 'deep-research' }],
    ['a member that nobody knows', { new_thing: 1 }],
    ['a token that continues anything', { continuation_token: 'x' }],
    ['a bound in another spelling', { generation_config: { maxOutputTokens: 9 } }],
    ['a file of the account', { input: [{ type: 'document', uri: 'files/other' }] }],
  ])('is refused for %s', async (_, more) => {
    const { client } = await callerOf(0);
    const body = { model, input: 'hi', ...more } as never;
    await expect(client.interactions.create(body)).rejects.toThrow(/4\d\d|not exist|Agents|member/);
    expect(upstream.reached).toEqual([]);
  });

  it('is refused in the background, and with a conversation of unknown length, under a budget', async () => {
    const { client } = await callerOf(0, budget(50_000));
    const background = client.interactions.create({ model, input: 'hi', background: true });
    await expect(background).rejects.toThrow(/403|background/);
    const first = (await client.interactions.create({ model, input: 'hi' })) as { id: string };
    const next = { model, input: 'x', previous_interaction_id: first.id };
    await expect(client.interactions.create(next)).rejects.toThrow(/412|limit/);
    expect(upstream.reached).toHaveLength(1);
  });

  it('is judged by guardrails on both sides', async () => {
    const check = (word: string) => ({
      'default.contains': { words: [word], operator: 'none' },
      deny: true,
    });
    const input = await callerOf(0, {}, { input_guardrails: [check('bomb')] });
    await expect(
      input.client.interactions.create({ model, input: 'a bomb', system_instruction: 'x' }),
    ).rejects.toThrow(/446|guardrail|hooks/i);
    const content = [{ type: 'text' as const, text: 'a bomb' }];
    const step = { type: 'user_input' as const, content };
    await expect(input.client.interactions.create({ model, input: [step] })).rejects.toThrow(
      /446|guardrail|hooks/i,
    );
    expect(upstream.reached).toEqual([]);
    const output = await callerOf(0, {}, { output_guardrails: [check('hello')] });
    await expect(output.client.interactions.create({ model, input: 'x' })).rejects.toThrow(
      /446|guardrail|hooks/i,
    );
  });

  it('is 404 at a provider of another format', async () => {
    const config = { provider: 'openai', api_key: 'k', custom_host: upstream.url };
    const { client } = await callerOf(0, {}, config);
    await expect(client.interactions.create({ model, input: 'hi' })).rejects.toThrow(/404|Gemini/);
  });
});

function budget(credit_limit: number): object {
  return { usage_limits: { type: 'tokens', credit_limit } };
}
