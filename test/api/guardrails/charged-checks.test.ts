/** Verifies that checks which call a model of the workspace are limited, charged once and logged. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestLogRecord } from '../../../src/model/logs/request-log.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let workspaceId: string;
/** Answers a moderation; returns its status, or null to lose the answer. */
let moderate: (body: { readonly input: readonly string[] }) => number | null;

const millionTokens = 1_000_000;
/** Tokens that a moderation reports. */
let reportedTokens: number;
const flags = { hate_and_discrimination: false, violence_and_threats: false };

beforeAll(async () => {
  inference = await startInference();
  const made = await send('POST', '/v1/admin/workspaces', { name: 'charged' });
  workspaceId = made.body.id;
  await addProvider('mistral-ai', 'moderator');
  await addProvider('openai', 'free');
  await addProvider('mistral-ai', 'restricted', { allow_all_models: false, models: [] });
  inference.upstream.script = ({ url, body }, response) => {
    if (!url.endsWith('/moderations')) return sendJson(response, chatAnswer);
    const status = moderate(JSON.parse(body.toString('utf8')));
    if (status === null) {
      response.socket!.destroy();
      return undefined;
    }
    if (status !== 200) {
      response.writeHead(status).end();
      return undefined;
    }
    const usage = { prompt_tokens: reportedTokens, completion_tokens: 0 };
    const categories = { ...flags, hate: false, violence: false };
    return sendJson(response, { model: 'answered', results: [{ categories }], usage });
  };
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  moderate = () => 200;
  reportedTokens = millionTokens;
});

afterAll(() => inference[Symbol.asyncDispose]());

const send = (method: string, path: string, body: object) =>
  inference.server.request(method, path, { body });

async function addProvider(service: string, slug: string, models?: object): Promise<void> {
  const { body } = await send('POST', '/v1/integrations', {
    name: slug,
    ai_provider_id: service,
    workspace_id: workspaceId,
    key: 'canary-provider-key',
    configurations: { custom_host: inference.upstream.url },
  });
  if (models !== undefined) {
    const put = await send('PUT', `/v1/integrations/${body.slug}/models`, models);
    expect(put).toMatchObject({ status: 200 });
  }
  const provider = { name: slug, slug, integration_id: body.id, workspace_id: workspaceId };
  expect(await send('POST', '/v1/providers', provider)).toMatchObject({ status: 200 });
}

const moderation = (provider: string, more: object = {}) => ({
  'portkey.moderateContent': { categories: ['hate', 'violence'], provider, ...more },
  deny: true,
});

interface Request {
  readonly content: string;
  readonly provider?: string;
  readonly trace?: string;
  readonly more?: object;
  readonly actions?: object;
}

const ask = (key: string, { content, provider, trace, more, actions }: Request) =>
  inference.chat(key, {
    config: { input_guardrails: [{ ...moderation(provider ?? '@moderator', more), ...actions }] },
    params: { messages: [{ role: 'user', content }] },
    headers: trace === undefined ? {} : { 'x-gateway-trace-id': trace },
  });

const addKey = (more: object = {}) => inference.addKey({ workspace_id: workspaceId, ...more });

const requestsTo = (path: string) =>
  inference.upstream.reached.filter(({ url }) => url.endsWith(path));

async function rowsOf(keyId: string): Promise<RequestLogRecord[]> {
  await logIsWritten(inference.server);
  const { body } = await inference.server.request('GET', `/v1/logs?api_key_id=${keyId}`);
  return (body.data as RequestLogRecord[]).toSorted((a, b) => a.endpoint.localeCompare(b.endpoint));
}

describe('a moderation through a provider of the workspace', () => {
  it('has a log entry of its own with the price of Mistral, and counts the request once', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpw', value: 10 }];
    const { key, id } = await addKey({ rate_limits });
    const answer = await ask(key, { content: 'one', trace: 'moderated' });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.headers.ratelimit).toMatch(/;r=9;/);
    const [chat, moderated] = await rowsOf(id);
    expect(chat).toMatchObject({ endpoint: 'chat_completions', trace_id: 'moderated' });
    expect(moderated).toMatchObject({
      endpoint: 'moderations',
      trace_id: 'moderated',
      target_path: 'guardrail',
      model: 'mistral-moderation-latest',
      input_tokens: millionTokens,
      output_tokens: 0,
      cost: 0.1,
      is_estimated: false,
    });
  });

  it('is free at OpenAI', async () => {
    const { key, id } = await addKey({ usage_limits: { type: 'cost', credit_limit: 1 } });
    const answer = await ask(key, { content: 'free', provider: '@free' });
    expect(answer).toMatchObject({ status: 200 });
    const [, moderated] = await rowsOf(id);
    expect(moderated).toMatchObject({ endpoint: 'moderations', cost: 0 });
  });

  it('is neither repeated nor charged for a text whose verdict is known', async () => {
    const { key, id } = await addKey();
    for (const trace of ['first', 'again']) await ask(key, { content: 'reused', trace });
    expect(requestsTo('/moderations')).toHaveLength(1);
    const rows = await rowsOf(id);
    expect(rows.map(({ endpoint }) => endpoint)).toEqual([
      'chat_completions',
      'chat_completions',
      'moderations',
    ]);
  });

  it('is not sent when a budget is used up, so that a guardrail that denies rejects the request', async () => {
    const { key, id } = await addKey({ usage_limits: { type: 'tokens', credit_limit: 1 } });
    const answer = await ask(key, { content: 'beyond the budget' });
    expect(answer).toMatchObject({ status: 446 });
    expect(JSON.stringify(answer.body)).toContain('has reached its limit');
    expect(inference.upstream.reached).toEqual([]);
    const rows = await rowsOf(id);
    expect(rows.map(({ error_code: code }) => code)).toContain('usage_limit_exceeded');
  });

  it('never exceeds a budget that concurrent requests share', async () => {
    const credit_limit = 300;
    const { key, id } = await addKey({ usage_limits: { type: 'tokens', credit_limit } });
    reportedTokens = 50;
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => ask(key, { content: `concurrent ${at}` })),
    );
    const rows = await rowsOf(id);
    const moderations = rows.filter(({ endpoint }) => endpoint === 'moderations');
    const used = moderations.reduce((sum, { input_tokens: tokens }) => sum + (tokens ?? 0), 0);
    const sent = requestsTo('/moderations').length;
    expect(used).toBe(sent * reportedTokens);
    expect([used > 0, used <= credit_limit]).toEqual([true, true]);
  });

  it('is charged once for each call when answers are lost', async () => {
    const { key, id } = await addKey();
    let calls = 0;
    moderate = () => {
      calls += 1;
      return calls === 1 ? null : 200;
    };
    expect(await ask(key, { content: 'lost' })).toMatchObject({ status: 200 });
    const moderations = (await rowsOf(id)).filter(({ endpoint }) => endpoint === 'moderations');
    expect(moderations).toHaveLength(2);
    const [estimated] = moderations.filter(({ is_estimated: isEstimated }) => isEstimated);
    expect(estimated!.input_tokens).toBeGreaterThan(0);
    expect(estimated!.input_tokens).toBeLessThan(100);
  });

  it('costs nothing when the provider refuses it', async () => {
    const { key, id } = await addKey();
    moderate = () => 503;
    const answer = await ask(key, { content: 'refused' });
    expect(answer).toMatchObject({ status: 446 });
    const moderations = (await rowsOf(id)).filter(({ endpoint }) => endpoint === 'moderations');
    expect(moderations.map(({ status, cost }) => [status, cost])).toEqual([
      [503, 0],
      [503, 0],
    ]);
  });

  it('obeys the models that the provider permits', async () => {
    const { key } = await addKey();
    const answer = await ask(key, { content: 'forbidden model', provider: '@restricted' });
    expect(answer).toMatchObject({ status: 446 });
    expect(requestsTo('/moderations')).toEqual([]);
  });

  it('counts a request that it denies, because a provider has received something', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpw', value: 3 }];
    const { key } = await addKey({ rate_limits });
    moderate = () => 400;
    const statuses: number[] = [];
    for (const content of ['a', 'b', 'c', 'd']) {
      statuses.push((await ask(key, { content: `counted ${content}` })).status);
    }
    expect(statuses).toEqual([446, 446, 446, 446]);
    expect(requestsTo('/moderations')).toHaveLength(3);
  });
});
