/**
 * Verifies that operations on provider objects are charged once, by the request that calls a model,
 * and judged whenever content is returned.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { keyUnits } from '../../support/rows/usage-rows.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  type SharedAccount,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let upstream: TestUpstream;

const usage = { prompt_tokens: 400, completion_tokens: 30, total_tokens: 430 };
const run = { id: 'run_1', object: 'thread.run', thread_id: 'thread_1', status: 'queued' };
const message = { id: 'msg_1', type: 'message', role: 'assistant' };
const output = [{ ...message, content: [{ type: 'output_text', text: 'the secret' }] }];
const response = { object: 'response', status: 'completed', output };
const counts = { input_tokens: 400, output_tokens: 30, total_tokens: 430 };

/** Ids within an account are unique. */
let made = 0;

/** Reports usage wherever a provider may, and at the end of a stream. */
const script: TestUpstream['script'] = ({ method, url, body }, answer) => {
  const path = new URL(url, 'http://any').pathname.slice('/v1'.length);
  const stated = body.length === 0 ? {} : JSON.parse(body.toString());
  if (method === 'POST' && path.endsWith('/runs')) {
    if (stated.stream !== true) return sendJson(answer, { ...run, usage: null });
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const expected = { ...run, status: 'completed', usage };
    answer.write(`event: thread.run.created\ndata: ${JSON.stringify({ ...run, usage: null })}\n\n`);
    return void answer.end(`event: thread.run.completed\ndata: ${JSON.stringify(expected)}\n\n`);
  }
  if (path.includes('/runs/')) return sendJson(answer, { ...run, status: 'in_progress', usage });
  if (path === '/responses' && stated.background === true) {
    const id = `resp_${++made}`;
    return sendJson(answer, { id, ...response, status: 'queued', output: [], usage: null });
  }
  if (path.startsWith('/responses/')) {
    const id = path.split('/')[2];
    return sendJson(answer, { id, ...response, status: 'in_progress', usage: counts });
  }
  if (path === '/responses') {
    return sendJson(answer, { id: `resp_${++made}`, ...response, usage: counts });
  }
  sendJson(answer, { id: `${path.split('/')[1]}_${++made}`, usage });
};

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
});

beforeEach(() => {
  upstream.script = script;
  upstream.reached.length = 0;
});

afterAll(() => shared[Symbol.asyncDispose]());

const tokens = { usage_limits: { type: 'tokens', credit_limit: 5_000_000 } };

/**
 * Charges are written after the response: no other charge is pending once a marker request is
 * counted.
 */
async function isCharged(by: Tenant, units: number): Promise<void> {
  const { db } = shared.inference.server.database;
  await eventually(async () => expect(await keyUnits(db, by.keyId)).toBe(units));
}

const ask = async (by: Tenant, method: string, path: string, body?: object) => {
  const answer = await shared.ask(by, method, path, body);
  expect([path, answer.status, answer.body]).toEqual([path, 200, answer.body]);
  return answer;
};

const thread = async (by: Tenant): Promise<string> =>
  (await ask(by, 'POST', '/threads', {})).body.id;

const limits = { max_prompt_tokens: 1_000, max_completion_tokens: 300 };

it('charges a run by its stream, else by its reservation, and returns the usage to others without a charge', async () => {
  const tenant = await shared.tenant('runs', tokens);
  const runs = `/threads/${await thread(tenant)}/runs`;
  await ask(tenant, 'POST', runs, { stream: true, ...limits });
  await isCharged(tenant, 430);
  await ask(tenant, 'POST', runs, limits);
  await isCharged(tenant, 430 + 1_300);
  for (const [method, path] of [
    ['GET', `${runs}/run_1`],
    ['GET', `${runs}/run_1`],
    ['POST', `${runs}/run_1`],
    ['POST', `${runs}/run_1/cancel`],
    ['POST', `${runs}/run_1/submit_tool_outputs`],
    ['POST', '/vector_stores'],
  ] as const) {
    await ask(tenant, method, path, method === 'POST' ? {} : undefined);
  }
  await ask(tenant, 'POST', runs, { stream: true, ...limits });
  await isCharged(tenant, 2 * 430 + 1_300);
  const whole = await shared.ask(tenant, 'POST', runs, { max_prompt_tokens: 'many' });
  expect(whole).toMatchObject({ status: 400, body: { error: { param: 'max_prompt_tokens' } } });
});

it('rejects a run whose thread could exceed the remaining budget', async () => {
  const small = { usage_limits: { type: 'tokens', credit_limit: 100_000 } };
  const tenant = await shared.tenant('small', small);
  const runs = `/threads/${await thread(tenant)}/runs`;
  upstream.reached.length = 0;
  const refused = await shared.ask(tenant, 'POST', runs, {});
  expect(refused).toMatchObject({ status: 412, body: { error: { code: 'usage_limit_exceeded' } } });
  expect(upstream.reached).toEqual([]);
  await ask(tenant, 'POST', runs, limits);
  const sent = JSON.parse(upstream.reached[0]!.body.toString());
  expect(sent).toEqual(limits);
});

it('charges a response when it is created, and never when it is read, cancelled or deleted', async () => {
  const tenant = await shared.tenant('responses', tokens);
  const queryValue = { model: 'm', input: 'x' };
  await ask(tenant, 'POST', '/responses', queryValue);
  await isCharged(tenant, 430);
  const background = { ...queryValue, background: true, max_output_tokens: 100 };
  const { id } = (await ask(tenant, 'POST', '/responses', background)).body;
  const { length } = upstream.reached.at(-1)!.body;
  await isCharged(tenant, 430 + length + 100);
  for (const [method, path] of [
    ['GET', `/responses/${id}`],
    ['POST', `/responses/${id}/cancel`],
    ['POST', '/responses/input_tokens'],
    ['DELETE', `/responses/${id}`],
  ] as const) {
    await ask(tenant, method, path, method === 'POST' ? {} : undefined);
  }
  await ask(tenant, 'POST', '/responses/compact', queryValue);
  await isCharged(tenant, 2 * 430 + length + 100);
});

it('creates objects under a cost budget, and rejects later model calls of unknown or unbounded cost', async () => {
  const cost = { usage_limits: { type: 'cost', credit_limit: 5 } };
  const tenant = await shared.tenant('cost', cost);
  for (const path of ['/vector_stores', '/conversations']) await ask(tenant, 'POST', path, {});
  const runs = `/threads/${await thread(tenant)}/runs`;
  const refusals = { '/batches': 'usage_unbounded', [runs]: 'price_unknown' };
  for (const [path, code] of Object.entries(refusals)) {
    const refused = await shared.ask(tenant, 'POST', path, {});
    expect([path, refused]).toMatchObject([path, { status: 403, body: { error: { code } } }]);
  }
});

it('applies guardrail redactions whenever a response is returned', async () => {
  const tenant = await shared.tenant('guarded');
  const made = await ask(tenant, 'POST', '/responses', { model: 'm', input: 'x' });
  const { body } = await shared.inference.server.request('GET', '/v1/providers');
  const slug = body.data.find(({ name }: { name: string }) => name === 'guarded').slug;
  const get = (check: object) =>
    shared.ask(tenant, 'GET', `/responses/${made.body.id}`, undefined, {
      'x-gateway-config': JSON.stringify({ provider: `@${slug}`, output_guardrails: [check] }),
    });
  const hidden = await get({ 'default.regexReplace': { rule: 'secret', redactText: 'hidden' } });
  expect(hidden.body.output[0].content[0].text).toBe('the hidden');
  const denied = await get({
    'default.contains': { words: ['secret'], operator: 'none' },
    deny: true,
  });
  expect(denied.status).toBe(446);
  expect(JSON.stringify(denied.body)).not.toContain('the secret');
});

it('charges the usage of a run when guardrails deny its output, and nothing when they deny its input', async () => {
  const tenant = await shared.tenant('denied', tokens);
  const runs = `/threads/${await thread(tenant)}/runs`;
  upstream.script = (_, answer) => {
    const content = [{ type: 'text', text: { value: 'the secret', annotations: [] } }];
    const contentValue = { ...message, object: 'thread.message', content };
    const expected = { ...run, status: 'completed', usage };
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write(`event: thread.message.completed\ndata: ${JSON.stringify(contentValue)}\n\n`);
    answer.end(`event: thread.run.completed\ndata: ${JSON.stringify(expected)}\n\n`);
  };
  const denies = [{ 'default.contains': { words: ['secret'], operator: 'none' }, deny: true }];
  const { provider } = tenant;
  const config = { provider, input_guardrails: denies, output_guardrails: denies };
  const headers = { 'x-gateway-config': JSON.stringify(config) };
  upstream.reached.length = 0;
  const additional_messages = [{ role: 'user', content: 'a secret' }];
  const queryValue = { additional_messages, stream: true, ...limits };
  const unsent = await shared.ask(tenant, 'POST', runs, queryValue, headers);
  expect([unsent.status, upstream.reached]).toEqual([446, []]);
  const denied = await shared.ask(tenant, 'POST', runs, { stream: true, ...limits }, headers);
  expect([denied.status, JSON.stringify(denied.body)]).toEqual([
    446,
    expect.not.stringContaining('the secret'),
  ]);
  await isCharged(tenant, 430);
  const { server } = shared.inference;
  await eventually(async () => {
    const query = `api_key_id=${tenant.keyId}&guardrail_verdict=denied`;
    const { body } = await server.request('GET', `/admin/v2/logs?${query}`);
    const rows = body.data.map((one: Record<string, unknown>) => [one.status, one.input_tokens]);
    expect(rows.sort()).toEqual([
      [446, 0],
      [446, 400],
    ]);
  });
});
