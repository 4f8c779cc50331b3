/** Verifies the response cache of a workspace, and the headers with the remaining limits. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
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

const config = { cache: { mode: 'simple', max_age: 600 } };

/** Returns the response to a question, and its cache status. */
async function ask(key: string, content: string, more: object = {}) {
  const params = { messages: [{ role: 'user', content }] };
  const answer = await inference.chat(key, { config, params, ...more });
  return { ...answer, cache: answer.headers['x-gateway-cache-status'] };
}

describe('a cached response', () => {
  it('is returned to every key of the workspace that sends the same request, and costs nothing', async () => {
    const limits = { usage_limits: { type: 'tokens', credit_limit: 100_000 } };
    const first = await inference.addKey();
    const second = await inference.addKey(limits);
    const given = await ask(first.key, 'again');
    expect(given).toMatchObject({ status: 200, cache: 'MISS' });
    const again = await ask(second.key, 'again');
    expect(again).toMatchObject({ status: 200, cache: 'HIT', body: given.body });
    expect(again.headers).toMatchObject({
      'x-gateway-cost': '0',
      'content-type': 'application/json',
    });
    const other = await ask(second.key, 'something else');
    expect(other.cache).toBe('MISS');
    expect(other.headers['x-gateway-usage-remaining']).toBe('tokens=99993');
    expect(inference.upstream.reached).toHaveLength(2);
  });

  it('is not stored when a limit shortened it', async () => {
    const limited = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 1_000 },
    });
    expect((await ask(limited.key, 'in short')).status).toBe(200);
    expect((await ask((await inference.addKey()).key, 'in short')).cache).toBe('MISS');
  });

  it('is not returned to another workspace', async () => {
    const keys = [];
    for (const name of ['cache one', 'cache two']) {
      const made = await inference.server.request('POST', '/v1/admin/workspaces', {
        body: { name },
      });
      keys.push((await inference.addKey({ workspace_id: made.body.id })).key);
    }
    expect((await ask(keys[0]!, 'ours')).cache).toBe('MISS');
    expect((await ask(keys[1]!, 'ours')).cache).toBe('MISS');
    expect((await ask(keys[0]!, 'ours')).cache).toBe('HIT');
  });

  it('counts as a request of rate limits, and is rejected by them', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpw', value: 2 }];
    const { key } = await inference.addKey({ rate_limits });
    expect((await ask(key, 'counted')).headers).toMatchObject({
      'ratelimit-policy': '"api-key-requests-604800";q=2;w=604800',
      ratelimit: expect.stringMatching(/^"api-key-requests-604800";r=1;t=\d+$/),
    });
    const hit = await ask(key, 'counted');
    expect(hit).toMatchObject({ status: 200, cache: 'HIT' });
    expect(hit.headers.ratelimit).toMatch(/;r=0;/);
    const refused = await ask(key, 'counted');
    expect(refused.status).toBe(429);
    expect(refused.headers.ratelimit).toMatch(/^"api-key-requests-604800";r=0;t=\d+$/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('is replaced when the caller forces a refresh', async () => {
    const { key } = await inference.addKey();
    await ask(key, 'fresh');
    inference.upstream.script = (_, response) => sendJson(response, { ...chatAnswer, id: 'newer' });
    const headers = { 'x-gateway-cache-force-refresh': 'true' };
    expect((await ask(key, 'fresh', { headers })).cache).toBe('REFRESH');
    expect(await ask(key, 'fresh')).toMatchObject({ cache: 'HIT', body: { id: 'newer' } });
  });

  it('is not used for a request without a cache, for a stream, or for a failure', async () => {
    const { key } = await inference.addKey();
    for (const _ of [1, 2]) {
      expect((await ask(key, 'plain', { config: {} })).cache).toBe('DISABLED');
      const params = { stream: true };
      expect((await ask(key, '', { params })).cache).toBe('DISABLED');
    }
    inference.upstream.script = (_, response) => sendJson(response, { error: {} }, 500);
    for (const _ of [1, 2]) expect((await ask(key, 'broken')).cache).toBe('MISS');
    expect(inference.upstream.reached).toHaveLength(6);
  });
});

describe('the remaining budget', () => {
  it('is returned in dollars with each response and with the rejection', async () => {
    const usage_limits = { type: 'cost', credit_limit: 1 };
    const { key } = await inference.addKey({ usage_limits });
    // 5 input and 2 output tokens, at 1 and 2 dollars per million.
    const answer = await inference.chat(key, { params: { max_tokens: 100 } });
    expect(answer.headers['x-gateway-usage-remaining']).toBe('cost=0.999991');
    inference.upstream.script = (_, response) => {
      sendJson(response, {
        ...chatAnswer,
        usage: { prompt_tokens: 0, completion_tokens: 499_995 },
      });
    };
    await inference.chat(key, { params: { max_tokens: 499_900 } });
    const refused = await inference.chat(key, { params: { max_tokens: 100 } });
    expect(refused.status).toBe(412);
    expect(refused.headers['x-gateway-usage-remaining']).toBe('cost=0.000001');
  });

  it('is returned before a stream begins, reduced by its reservation', async () => {
    const usage_limits = { type: 'tokens', credit_limit: 10_000 };
    const { key } = await inference.addKey({ usage_limits });
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: [DONE]\n\n');
    };
    const answer = await inference.chat(key, { params: { max_tokens: 100, stream: true } });
    const { length } = inference.upstream.reached[0]!.body;
    const reported = /^tokens=(\d+)$/.exec(answer.headers['x-gateway-usage-remaining'] as string);
    expect(Number(reported![1])).toBeLessThan(10_000 - 100);
    expect(Number(reported![1])).toBeGreaterThan(10_000 - 100 - length - 100);
  });
});
