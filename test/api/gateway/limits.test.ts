/**
 * Verifies that requests are held to the limits of their key and charged with the usage that the
 * provider reports.
 */
import { request as open } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { testSettings } from '../../support/server/server.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;

beforeAll(async () => {
  inference = await startInference();
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

const unitsOf = (id: string, { server } = inference): Promise<number> =>
  keyUnits(server.database.db, id);

const tokens = (credit_limit: number) => ({ usage_limits: { type: 'tokens', credit_limit } });

describe('a token budget', () => {
  it('is charged with the exact number of tokens that the provider reports', async () => {
    const { key, id } = await inference.addKey(tokens(100_000));
    for (let at = 0; at < 3; at += 1) expect((await inference.chat(key)).status).toBe(200);
    await eventually(async () => expect(await unitsOf(id)).toBe(3 * 7));
  });

  it('returns 412 when it is used up, which clients do not retry', async () => {
    const { key } = await inference.addKey(tokens(100));
    inference.upstream.script = (_, response) => {
      sendJson(response, { ...chatAnswer, usage: { prompt_tokens: 40, completion_tokens: 60 } });
    };
    const params = { max_tokens: 20, messages: [] };
    expect((await inference.chat(key, { params })).status).toBe(200);
    const refused = await inference.chat(key, { params });
    expect(refused).toMatchObject({
      status: 412,
      body: { error: { code: 'usage_limit_exceeded', type: 'usage_limit_exceeded' } },
    });
    expect(refused.headers['x-should-retry']).toBe('false');
    expect(inference.upstream.reached).toHaveLength(1);
  });

  it('shortens the response to the remaining tokens', async () => {
    const { key } = await inference.addKey(tokens(1_000));
    await inference.chat(key, { params: { max_tokens: 50_000 } });
    const sent = JSON.parse(inference.upstream.reached[0]!.body.toString());
    expect(sent.max_tokens).toBeGreaterThan(0);
    expect(sent.max_tokens).toBeLessThan(1_000);
  });

  it('is not exceeded by images, which have more tokens than their URL has bytes', async () => {
    const { key, id } = await inference.addKey(tokens(40_000));
    const answer = { ...chatAnswer, usage: { prompt_tokens: 16_000, completion_tokens: 2 } };
    inference.upstream.script = (_, response) => sendJson(response, answer);
    const picture = { type: 'image_url', image_url: { url: 'https://pictures.test/large.png' } };
    const params = { max_tokens: 20, messages: [{ role: 'user', content: [picture] }] };
    const requests = Array.from({ length: 5 }, () => inference.chat(key, { params }));
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 412]));
    const admitted = inference.upstream.reached.length;
    expect(admitted * 16_002).toBeLessThanOrEqual(40_000);
    await eventually(async () => expect(await unitsOf(id)).toBe(admitted * 16_002));
  });

  it('limits the output to the reservation when the config sets a maximum', async () => {
    const { key } = await inference.addKey(tokens(1_000));
    const config = { override_params: { max_tokens: 50_000 } };
    await inference.chat(key, { config, params: { max_tokens: 20 } });
    const sent = JSON.parse(inference.upstream.reached[0]!.body.toString());
    expect(sent.max_tokens).toBeLessThan(1_000);
  });

  it('is not charged for responses with an error or for an unreachable provider', async () => {
    const { key, id } = await inference.addKey(tokens(100_000));
    inference.upstream.script = (_, response) => sendJson(response, { error: {} }, 500);
    expect((await inference.chat(key)).status).toBe(500);
    const nowhere = { custom_host: inference.nowhere };
    expect((await inference.chat(key, { config: nowhere })).status).toBe(502);
    inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
    await inference.chat(key);
    await eventually(async () => expect(await unitsOf(id)).toBe(7));
  });

  it('is charged with the full reservation when the provider reports an impossible usage', async () => {
    const { key, id } = await inference.addKey(tokens(100_000));
    inference.upstream.script = (_, response) => {
      sendJson(response, { ...chatAnswer, usage: { prompt_tokens: -5, completion_tokens: 1e18 } });
    };
    await inference.chat(key, { params: { max_tokens: 500 } });
    const { length } = inference.upstream.reached[0]!.body;
    await eventually(async () => expect(await unitsOf(id)).toBe(length + 500));
  });

  it('is charged with the full reservation when the provider reports no usage', async () => {
    const { key, id } = await inference.addKey(tokens(100_000));
    const params = { max_tokens: 500 };
    const { usage: _, ...silent } = chatAnswer;
    inference.upstream.script = (_, response) => sendJson(response, silent);
    await inference.chat(key, { params });
    const { length } = inference.upstream.reached[0]!.body;
    await eventually(async () => expect(await unitsOf(id)).toBe(length + 500));
    const half = { ...silent, usage: { prompt_tokens: 3 } };
    inference.upstream.script = (_, response) => sendJson(response, half);
    await inference.chat(key, { params });
    await eventually(async () => expect(await unitsOf(id)).toBe(length + 500 + 3 + 500));
  });
});

describe('a stream under a budget', () => {
  const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
  const pieces = [
    event({ choices: [{ delta: { content: 'h' } }], usage: null }),
    event({ choices: [{ delta: { content: 'i' } }], usage: null }),
  ];
  const usage = event({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 4 } });
  const done = 'data: [DONE]\n\n';

  it('requests the usage from the provider, is charged with it, and hides it from the caller', async () => {
    const { key, id } = await inference.addKey(tokens(100_000));
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const all = [...pieces, usage, done].join('');
      // Splits the stream in the middle of an event.
      response.write(all.slice(0, all.indexOf('"usage":{') + 4));
      response.end(all.slice(all.indexOf('"usage":{') + 4));
    };
    const answer = await inference.chat(key, { params: { stream: true } });
    expect(answer.body).toBe([...pieces, done].join(''));
    const sent = JSON.parse(inference.upstream.reached[0]!.body.toString());
    expect(sent.stream_options).toEqual({ include_usage: true });
    await eventually(async () => expect(await unitsOf(id)).toBe(15));
  });

  it('returns the usage to a caller who requests it', async () => {
    const { key } = await inference.addKey(tokens(100_000));
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end([...pieces, usage, done].join(''));
    };
    const params = { stream: true, stream_options: { include_usage: true } };
    expect((await inference.chat(key, { params })).body).toBe([...pieces, usage, done].join(''));
  });

  it('is read to its end and charged with the reported usage when the caller disconnects', async () => {
    const { key, id } = await inference.addKey(tokens(100_000));
    const gone = Promise.withResolvers<void>();
    inference.upstream.script = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(pieces[0]);
      await gone.promise;
      response.end([pieces[1], usage, done].join(''));
    };
    const next = inference.upstream.next();
    const { port } = new URL(inference.server.inferenceUrl);
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({
        provider: 'mock-upstream',
        custom_host: inference.upstream.url,
      }),
    };
    const asking = open({ port, path: '/v1/chat/completions', method: 'POST', headers });
    asking.on('error', () => {});
    asking.end(JSON.stringify({ model: 'm', messages: [], stream: true }));
    await next;
    await new Promise<void>((resolve) =>
      asking.once('response', (r) => r.once('data', () => resolve())),
    );
    asking.destroy();
    gone.resolve();
    await eventually(async () => expect(await unitsOf(id)).toBe(15));
  });
});

describe('a rate limit', () => {
  it('admits its number of requests, and tells the others when to retry', async () => {
    const { key } = await inference.addKey({
      rate_limits: [{ type: 'requests', unit: 'rph', value: 3 }],
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () => inference.chat(key)));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body.error.code).toBe('rate_limit_exceeded');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('a cost budget', () => {
  it('is charged in dollars, and the response header contains the cost', async () => {
    const { key, id } = await inference.addKey({ usage_limits: { credit_limit: 1 } });
    const answer = await inference.chat(key, { params: { max_tokens: 10 } });
    // 5 input tokens at one micro-dollar and 2 output tokens at two.
    expect(answer.headers['x-gateway-cost']).toBe('0.000009');
    await eventually(async () => expect(await unitsOf(id)).toBe(9));
  });

  it.each([
    ['a model', { provider: 'openai' }, 'gpt-4o'],
    [
      'an Azure deployment, whatever model the body names',
      { provider: 'azure-openai', azure_deployment_id: 'gpt-4o' },
      'gpt-4o-mini',
    ],
  ])('is charged at the published price of %s', async (_, config, model) => {
    const { key, id } = await inference.addKey({ usage_limits: { credit_limit: 1 } });
    const answer = await inference.chat(key, { config, params: { model, max_tokens: 10 } });
    // 5 input tokens at 2.5 micro-dollars and 2 output tokens at 10, rounded up once.
    expect(answer.headers['x-gateway-cost']).toBe('0.000033');
    await eventually(async () => expect(await unitsOf(id)).toBe(33));
  });

  it('returns 403 for a model whose price is unknown', async () => {
    const { key } = await inference.addKey({ usage_limits: { credit_limit: 1 } });
    const refused = await inference.chat(key, { config: { provider: 'openai' } });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'price_unknown' } } });
    expect(inference.upstream.reached).toEqual([]);
  });
});

/** Sends a request with team metadata. */
const asTeam = (key: string, team: string) =>
  inference.chat(key, { headers: { 'x-gateway-metadata': JSON.stringify({ team }) } });

/**
 * Returns a key of a new workspace with a policy that counts by team, after the gateway has loaded
 * the policy.
 */
async function keyUnder(policy: string, terms: object, refusal: number): Promise<string> {
  const workspace = await inference.server.request('POST', '/admin/v2/workspaces', {
    body: { name: 'teams' },
  });
  const made = await inference.server.request('POST', `/v1/policies/${policy}`, {
    body: {
      name: 'teams',
      workspace_id: workspace.body.id,
      conditions: [{ key: 'metadata.team', value: '*' }],
      group_by: [{ key: 'metadata.team' }],
      ...terms,
    },
  });
  expect(made).toMatchObject({ status: 200 });
  const { key } = await inference.addKey({ workspace_id: workspace.body.id });
  await eventually(async () => expect((await asTeam(key, 'warm')).status).toBe(refusal));
  return key;
}

describe('a usage-limit policy', () => {
  it('gives each group value its own budget', async () => {
    const key = await keyUnder('usage-limits', { type: 'requests', credit_limit: 2 }, 412);
    for (const status of [200, 200, 412]) expect((await asTeam(key, 'a')).status).toBe(status);
    expect((await asTeam(key, 'b')).status).toBe(200);
    expect((await inference.chat(key)).status).toBe(200);
  });
});

describe('a rate-limit policy', () => {
  const terms = { type: 'requests', unit: 'rpw', value: 2 };

  it('admits its number of requests for each group, and tells the others when to retry', async () => {
    const key = await keyUnder('rate-limits', terms, 429);
    const answers = await Promise.all(Array.from({ length: 5 }, () => asTeam(key, 'a')));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body.error).toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(
        /^Rate-limit policy teams has reached its limit of 2 requests in a week: 2 used; it resets at 20\d\d-\d\d-\d\dT00:00:00\.000Z$/,
      ),
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await asTeam(key, 'b')).status).toBe(200);
    expect((await inference.chat(key)).status).toBe(200);
  });

  it('applies only to the endpoints that it names', async () => {
    const conditions = [{ key: 'endpoint_type', value: ['completions', 'chat_completions'] }];
    const key = await keyUnder('rate-limits', { ...terms, conditions }, 429);
    const path = '/v1/embeddings';
    const embed = () =>
      inference.chat(key, { path, headers: { 'x-gateway-metadata': '{"team":"warm"}' } });
    for (let at = 0; at < 3; at += 1) expect((await embed()).status).toBe(200);
    expect((await asTeam(key, 'warm')).status).toBe(429);
  });
});

describe('soft limits', () => {
  it('changes and rejects no request, and reports the usage above it', async () => {
    const settings = { ...testSettings().inference, enforcesLimits: false };
    await using soft = await startInference({ inference: settings });
    const { key, id } = await soft.addKey({
      usage_limits: { type: 'cost', credit_limit: 1 },
      rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }],
    });
    const usage = { prompt_tokens: 400_000, completion_tokens: 400_000 };
    soft.upstream.script = (_, response) => sendJson(response, { ...chatAnswer, usage });
    for (let at = 0; at < 3; at += 1) expect((await soft.chat(key)).status).toBe(200);
    expect((await soft.chat(key, { config: { provider: 'vllm' } })).status).toBe(200);
    expect(JSON.parse(soft.upstream.reached[0]!.body.toString())).not.toHaveProperty('max_tokens');
    await eventually(async () => expect(await unitsOf(id, soft)).toBe(3 * 1_200_000));
  });
});
