/** Verifies that guardrails judge the request of every target as it is sent, and the answer of every target. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;
/** How each target responds, by the first step of its path. */
let behaviours: Record<string, (response: ServerResponse) => void>;

const says = (content: string) => (response: ServerResponse) => {
  const message = { role: 'assistant', content };
  sendJson(response, { ...chatAnswer, choices: [{ ...chatAnswer.choices[0], message }] });
};
const fails = (response: ServerResponse) => sendJson(response, {}, 500);

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
  inference.upstream.script = ({ url }, response) => {
    const name = url.endsWith('/hook') ? 'hook' : url.split('/')[1]!;
    (behaviours[name] ?? says('hi'))(response);
  };
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  behaviours = {};
});

afterAll(() => inference[Symbol.asyncDispose]());

const forbids = (word: string) => ({
  'default.contains': { words: [word], operator: 'none' },
  deny: true,
});
const redacts = { 'default.regexReplace': { rule: 'bomb', redactText: '[...]' } };
const all = { scan_scope: 'all_messages' };
const user = (content: string) => ({ role: 'user', content });

/** A config whose targets are served below their names. */
const targetsOf = (guardrails: object, strategy: object, ...targets: readonly object[]) => ({
  provider: undefined,
  custom_host: undefined,
  ...guardrails,
  strategy,
  targets: targets.map((target, at) => ({
    provider: 'openai',
    api_key: 'sk',
    custom_host: `${inference.upstream.url.replace(/\/v1$/, '')}/${'abcd'[at]}`,
    ...target,
  })),
});
const fallback = { mode: 'fallback' };

const bodiesAt = (name: string): string[] =>
  inference.upstream.reached
    .filter(({ url }) => (name === 'hook' ? url.endsWith('/hook') : url.startsWith(`/${name}/`)))
    .map(({ body }) => body.toString('utf8'));

describe('a text that a config adds to a request', () => {
  const added = [
    ['the messages', { messages: [user('a bomb')] }],
    ['a member of the request', { stop: 'a bomb' }],
    ['a list', { stop: ['x', 'a bomb'] }],
    ['a member that nobody knows', { unknown: { deep: 'a bomb' } }],
  ] as const;

  it.each(added)('is judged where it replaces %s', async (_, override_params) => {
    const config = { input_guardrails: [forbids('bomb')], override_params };
    expect((await inference.chat(key, { config })).status).toBe(446);
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('is judged where it is a default, and not where the request has its own value', async () => {
    const config = { input_guardrails: [forbids('bomb')], default_params: { stop: 'bomb' } };
    expect((await inference.chat(key, { config })).status).toBe(446);
    const own = await inference.chat(key, { config, params: { stop: 'x' } });
    expect(own.status).toBe(200);
  });

  it('is sent as a guardrail leaves it', async () => {
    const override_params = { messages: [user('a bomb')], temperature: 0 };
    const config = { input_guardrails: [redacts], override_params };
    expect((await inference.chat(key, { config })).status).toBe(200);
    const [reached] = inference.upstream.reached;
    expect(JSON.parse(reached!.body.toString('utf8'))).toMatchObject({
      messages: [user('a [...]')],
      temperature: 0,
    });
  });

  it('is not judged where the config removes it', async () => {
    const config = { input_guardrails: [forbids('bomb')], drop_params: ['stop'] };
    const { status } = await inference.chat(key, { config, params: { stop: 'bomb' } });
    expect(status).toBe(200);
  });
});

describe('a fallback', () => {
  it('judges the request of each target as it is sent there', async () => {
    behaviours = { a: fails };
    const config = targetsOf(
      { input_guardrails: [forbids('bomb')] },
      fallback,
      {},
      { override_params: { messages: [user('a bomb')] } },
    );
    expect((await inference.chat(key, { config })).status).toBe(446);
    expect([bodiesAt('a').length, bodiesAt('b').length]).toEqual([1, 0]);
  });

  it('redacts for each target and each retry', async () => {
    behaviours = { a: fails };
    const config = targetsOf(
      { input_guardrails: [{ ...redacts, ...all }], retry: { attempts: 1 } },
      fallback,
      { override_params: { messages: [user('first bomb')] } },
      {},
      {},
    );
    behaviours.b = fails;
    const params = { messages: [user('my bomb'), user('and now?')] };
    expect((await inference.chat(key, { config, params })).status).toBe(200);
    expect([bodiesAt('a').length, bodiesAt('b').length, bodiesAt('c').length]).toEqual([2, 2, 1]);
    for (const body of bodiesAt('a')) expect(body).toContain('first [...]');
    for (const body of [...bodiesAt('b'), ...bodiesAt('c')]) expect(body).toContain('my [...]');
  });

  it('applies the guardrails of a nested target to that target alone', async () => {
    behaviours = { a: fails };
    const nested = {
      input_guardrails: [forbids('bomb')],
      strategy: fallback,
      targets: [{}, {}],
    };
    const config = targetsOf({}, fallback, {}, nested);
    const params = { messages: [user('a bomb')] };
    expect((await inference.chat(key, { config, params })).status).toBe(446);
    expect([bodiesAt('a').length, bodiesAt('b').length]).toEqual([1, 0]);
  });

  it('returns no denied answer, and judges the answer of the next target', async () => {
    const config = targetsOf({ output_guardrails: [forbids('bomb')] }, fallback, {}, {}, {});
    behaviours = { a: says('first bomb'), b: says('second bomb'), c: says('peace') };
    const answer = await inference.chat(key, { config });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body)).not.toContain('bomb');
    behaviours.c = says('third bomb');
    const denied = await inference.chat(key, { config });
    expect(denied.status).toBe(446);
    expect(JSON.stringify(denied.body)).not.toContain('bomb');
  });
});

describe('a hedged request', () => {
  const hedge = { percentile: 99, max_percent: 100, min_ms: 20 };
  let run = 0;

  /** Hedges with a second target while the first one does not answer; returns how often it is called. */
  async function hedged(second: object, guardrail: object, isPermitted: boolean): Promise<number> {
    run += 1;
    behaviours.hook = (response) => sendJson(response, { verdict: true });
    const hook = { 'default.webhook': { webhookURL: `${inference.upstream.url}/hook` } };
    const config = targetsOf(
      { input_guardrails: [guardrail, hook] },
      { mode: 'fallback', hedge },
      { override_params: { user: `run ${run}` } },
      second,
    );
    for (let n = 0; n < 10; n += 1) await inference.chat(key, { config });
    inference.upstream.reached.length = 0;
    const { promise: called, resolve: noteCall } = Promise.withResolvers<ServerResponse>();
    behaviours.a = noteCall;
    const asking = inference.chat(key, { config });
    const late = await called;
    // The last guardrail judges the request for the second target, after those that may deny it.
    await eventually(() => expect(bodiesAt('hook')).toHaveLength(2));
    if (isPermitted) await eventually(() => expect(bodiesAt('b')).toHaveLength(1));
    else says('from a')(late);
    const answer = await asking;
    expect(answer.status).toBe(200);
    return bodiesAt('b').length;
  }

  it('is sent to a second target that the guardrails permit', async () => {
    const other = { override_params: { model: 'other' } };
    expect(await hedged(other, forbids('bomb'), true)).toBe(1);
  });

  it.each([
    ['text', { messages: [user('a bomb')] }, forbids('bomb')],
    ['model', { model: 'large' }, { 'default.modelWhitelist': { models: ['m'] }, deny: true }],
  ])('is not sent to one whose %s they deny', async (_, override_params, guardrail) => {
    expect(await hedged({ override_params }, guardrail, false)).toBe(0);
  });
});
