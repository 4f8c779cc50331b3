/**
 * Verifies that guardrails keep denied content from the provider and the caller, and remove
 * redacted content.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson, startUpstream } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

const forbids = (word: string, more: object = { deny: true }) => ({
  'default.contains': { words: [word], operator: 'none' },
  ...more,
});
const asking = (content: string) => ({ messages: [{ role: 'user', content }] });

function streams(texts: readonly string[]): void {
  inference.upstream.script = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta: object) =>
      `data: ${JSON.stringify({ ...chatAnswer, choices: [{ index: 0, delta }] })}\n\n`;
    for (const content of texts) response.write(chunk({ content }));
    response.end('data: [DONE]\n\n');
  };
}

describe('guardrails on requests', () => {
  it('returns 446 with its results when it denies, without sending or charging anything', async () => {
    const limited = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    });
    const config = { input_guardrails: [forbids('bomb')] };
    const answer = await inference.chat(limited.key, { config, params: asking('a bomb') });
    expect(answer).toMatchObject({
      status: 446,
      body: {
        error: { type: 'hooks_failed', param: null, code: null },
        hook_results: { before_request_hooks: [{ verdict: false, deny: true }] },
      },
    });
    expect(inference.upstream.reached).toHaveLength(0);
    const next = await inference.chat(limited.key);
    expect(next.headers['x-gateway-usage-remaining']).toBe('tokens=99993');
  });

  it('runs the guardrail that a hook names by id, and refuses the request when there is none', async () => {
    const made = await inference.server.request('POST', '/v2/guardrails', {
      body: {
        name: 'No bombs',
        checks: [{ id: 'default.contains', parameters: { words: ['bomb'], operator: 'none' } }],
        actions: { deny: true },
      },
    });
    const call = (hook: object) =>
      inference.chat(key, { config: { before_request_hooks: [hook] }, params: asking('a bomb') });
    expect((await call({ id: made.body.slug })).status).toBe(446);
    expect((await call({ id: made.body.id })).status).toBe(446);
    for (const hook of [{ id: 'pg-none-0a1b2c' }, { id: 'x', checks: [] }, { deny: true }]) {
      const { status, body } = await call(hook);
      expect([status, body.error.code]).toEqual([400, 'invalid_config']);
    }
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('returns 246 when a check fails without denying, and 200 when all pass', async () => {
    const config = { input_guardrails: [forbids('bomb', {})] };
    const failed = await inference.chat(key, { config, params: asking('a bomb') });
    expect(failed).toMatchObject({ status: 246, body: { choices: chatAnswer.choices } });
    const passed = await inference.chat(key, { config, params: asking('hello') });
    expect(passed).toMatchObject({
      status: 200,
      body: { hook_results: { before_request_hooks: [{ verdict: true }] } },
    });
  });

  it('changes the text that the provider receives when it redacts, and nothing else', async () => {
    const rule = { rule: '\\d{3}-\\d{4}', redactText: '[phone]' };
    const config = { input_guardrails: [{ 'default.regexReplace': rule }] };
    const params = { ...asking('call 555-1234'), temperature: 0.25 };
    expect((await inference.chat(key, { config, params })).status).toBe(200);
    const [sent] = inference.upstream.reached;
    expect(JSON.parse(String(sent!.body))).toMatchObject({
      messages: [{ role: 'user', content: 'call [phone]' }],
      temperature: 0.25,
    });
  });

  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  it.each([
    ['no JSON', '{"messages":[{"role":"user","content":"a bomb"}]}', 'content-type'],
    ['depth', `{"messages":[{"role":"user","content":"a bomb"},${deep}]}`, null],
    ['content twice', '{"messages":[{"role":"user","content":"a bomb","content":"x"}]}', null],
    ['Content', '{"messages":[{"role":"user","Content":"a bomb","content":"x"}]}', 'content'],
    ['Messages', '{"Messages":[{"role":"user","content":"a bomb"}]}', 'messages'],
    ['a long s', '{"meſſages":[{"role":"user","content":"a bomb"}]}', 'messages'],
  ])('rejects a body that parsers could read differently: %s', async (_, body, param) => {
    const replacing = { 'default.regexReplace': { rule: 'bomb' }, scan_scope: 'all_messages' };
    const { server, upstream } = inference;
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': param === 'content-type' ? 'text/plain' : 'application/json',
      'x-gateway-config': JSON.stringify({
        provider: 'mock-upstream',
        custom_host: upstream.url,
        input_guardrails: [replacing],
      }),
    };
    const url = `${server.inferenceUrl}/v1/chat/completions`;
    const answer = await fetch(url, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_json', param } },
    ]);
    expect(upstream.reached).toHaveLength(0);
  });

  it.each([
    ['a text among parts', { messages: [{ role: 'user', content: ['a bomb'] }] }],
    ['one part', { messages: [{ role: 'user', content: { type: 'text', text: 'a bomb' } }] }],
    [
      'a part of any type',
      { messages: [{ role: 'user', content: [{ type: 'x', text: 'a bomb' }] }] },
    ],
    ['a message that is a text', { messages: ['a bomb'] }],
  ])('judges everything that a provider may read as text: %s', async (_, params) => {
    const config = { input_guardrails: [forbids('bomb')] };
    expect((await inference.chat(key, { config, params })).status).toBe(446);
  });

  it('triggers the next target of a fallback that is configured for 446', async () => {
    const target = { provider: 'mock-upstream', custom_host: inference.upstream.url };
    const config = {
      provider: undefined,
      custom_host: undefined,
      strategy: { mode: 'fallback', on_status_codes: [446] },
      targets: [{ ...target, input_guardrails: [forbids('bomb')] }, target],
    };
    const answer = await inference.chat(key, { config, params: asking('a bomb') });
    expect(answer.status).toBe(200);
    expect(answer.headers['x-gateway-last-used-option-index']).toBe('config.targets[1]');
  });
});

describe('guardrails that several targets inherit', () => {
  const byModel = (check: string, parameters: object) => ({ [check]: parameters, deny: true });
  const falling = (guardrail: object, targets: readonly object[]) => ({
    provider: undefined,
    custom_host: undefined,
    input_guardrails: [guardrail],
    strategy: { mode: 'fallback' },
    targets: targets.map((target) => ({
      provider: 'mock-upstream',
      custom_host: inference.upstream.url,
      ...target,
    })),
  });
  const modelsReached = () =>
    inference.upstream.reached.map(({ body }) => JSON.parse(String(body)).model);
  const named = (model: string) => ({ override_params: { model } });

  it.each([
    ['default.modelWhitelist', { models: ['small'] }],
    ['default.modelRules', { rules: { defaults: ['small'] } }],
  ])('evaluates %s for the model of each target', async (check, parameters) => {
    inference.upstream.script = (_, response) => sendJson(response, {}, 500);
    const guardrail = byModel(check, parameters);
    const behind = await inference.chat(key, {
      config: falling(guardrail, [named('small'), named('large')]),
    });
    expect(behind.status).toBe(446);
    expect(modelsReached()).toEqual(['small']);
    const before = await inference.chat(key, {
      config: falling(guardrail, [named('large'), named('small')]),
    });
    expect(before.status).toBe(500);
    expect(modelsReached()).toEqual(['small', 'small']);
  });

  it('evaluates checks for the provider of each target', async () => {
    inference.upstream.script = (_, response) => sendJson(response, {}, 500);
    const guardrail = byModel('default.modelWhitelist', { models: ['mock-upstream/m'] });
    const config = falling(guardrail, [{}, { provider: 'vllm' }]);
    expect((await inference.chat(key, { config })).status).toBe(446);
    expect(modelsReached()).toEqual(['m']);
  });

  it('judges a request once for all targets with the same provider and model', async () => {
    inference.upstream.script = ({ url }, response) =>
      url.endsWith('/hook') ? sendJson(response, { verdict: true }) : sendJson(response, {}, 500);
    const webhook = { 'default.webhook': { webhookURL: `${inference.upstream.url}/hook` } };
    const config = falling(webhook, [{}, {}, named('large'), {}]);
    expect((await inference.chat(key, { config })).status).toBe(500);
    const paths = inference.upstream.reached.map(({ url }) => url.slice('/v1/'.length));
    const call = 'chat/completions';
    expect(paths).toEqual(['hook', call, call, 'hook', call, call]);
  });
});

describe('guardrails on responses', () => {
  const config = { output_guardrails: [forbids('hi')] };

  it('withholds a denied response from the caller, and charges it', async () => {
    const limited = await inference.addKey({
      usage_limits: { type: 'tokens', credit_limit: 100_000 },
    });
    const answer = await inference.chat(limited.key, { config });
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).not.toContain('"hi"');
    expect(answer.headers['x-gateway-usage-remaining']).toBe('tokens=99993');
  });

  it('returns the redacted text to the caller', async () => {
    const replacing = { output_guardrails: [{ 'default.regexReplace': { rule: 'hi' } }] };
    const answer = await inference.chat(key, { config: replacing });
    expect(answer.body.choices[0].message.content).toBe('[REDACTED]');
  });

  it('withholds every byte of a denied stream', async () => {
    streams(['h', 'i, listen']);
    const answer = await inference.chat(key, { config, params: { stream: true } });
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).not.toContain('listen');
  });

  it.each(['data: hi\n\n', 'data: ["hi"]\n\n'])(
    'rejects a stream in an unknown format: %j',
    async (contentValue) => {
      inference.upstream.script = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(contentValue);
      };
      const answer = await inference.chat(key, { config, params: { stream: true } });
      expect(answer).toMatchObject({ status: 502, body: { error: { code: 'answer_unreadable' } } });
    },
  );

  it('pass a stream through unchanged or redacted', async () => {
    streams(['o', 'k']);
    const params = { stream: true };
    const plain = await inference.chat(key, { params });
    const judged = await inference.chat(key, { config, params });
    expect(judged).toMatchObject({ status: 200, body: plain.body });
    const replacing = {
      output_guardrails: [{ 'default.regexReplace': { rule: 'ok', redactText: 'fine' } }],
      strict_open_ai_compliance: false,
    };
    const replaced = await inference.chat(key, { config: replacing, params });
    expect(replaced.body).toContain('"content":"fine"');
    expect(replaced.body).not.toContain('"content":"o"');
    expect(replaced.body).toMatch(/\[DONE\]\n\ndata: \{"hook_results":/);
  });

  it('judges cached responses again', async () => {
    const cache = { mode: 'simple', max_age: 600 };
    const params = asking('kept for guardrails');
    expect((await inference.chat(key, { config: { cache }, params })).status).toBe(200);
    const answer = await inference.chat(key, { config: { cache, ...config }, params });
    expect(answer.status).toBe(446);
    expect(inference.upstream.reached).toHaveLength(1);
  });
});

describe('the log of requests', () => {
  it('records the verdicts of guardrails and the model in each row, and sums them up', async () => {
    const { key: logged, id } = await inference.addKey();
    const ask = (trace: string, config: object, params: object = asking('a bomb')) =>
      inference.chat(logged, { config, params, headers: { 'x-gateway-trace-id': trace } });
    inference.upstream.script = (_, response) =>
      sendJson(response, { ...chatAnswer, model: 'm-2026-11-22' });
    await ask('none', {});
    await ask('passed', { input_guardrails: [forbids('gun')] });
    await ask('failed', { input_guardrails: [forbids('bomb', {})] });
    await ask('denied', { input_guardrails: [forbids('bomb')] });
    await ask('answer-failed', { output_guardrails: [forbids('hi', {})] });
    await ask('answer-denied', { output_guardrails: [forbids('hi')] });
    streams(['o', 'k']);
    const stream = { ...asking('a bomb'), stream: true };
    await ask('stream-failed', { input_guardrails: [forbids('bomb', {})] }, stream);
    const get = (path: string) => inference.server.request('GET', path);
    const logs = async (more = '') =>
      (await get(`/admin/v2/logs?api_key_id=${id}${more}`)).body.data;
    await eventually(async () => expect(await logs()).toHaveLength(7));
    const reported = (await logs()).map((one: Record<string, unknown>) => [
      one.trace_id,
      one.guardrail_verdict,
      one.answered_model,
    ]);
    expect(
      Object.fromEntries(reported.map(([trace, ...rest]: unknown[]) => [trace, rest])),
    ).toEqual({
      none: [null, 'm-2026-11-22'],
      passed: ['passed', 'm-2026-11-22'],
      failed: ['failed', 'm-2026-11-22'],
      denied: ['denied', null],
      'answer-failed': ['failed', 'm-2026-11-22'],
      'answer-denied': ['denied', 'm-2026-11-22'],
      'stream-failed': ['failed', chatAnswer.model],
    });
    expect(await logs('&guardrail_verdict=denied')).toHaveLength(2);
    const { body } = await get(`/v2/analytics/summary?api_key_id=${id}`);
    const counts = { guardrail_passed: 1, guardrail_failed: 3, guardrail_denied: 2 };
    expect(body).toMatchObject({ requests: 7, ...counts });
    const figures = await fetch(`${inference.server.metricsUrl}/metrics`);
    expect(await figures.text()).toMatch(
      /^gatewright_guardrail_verdicts_total\{verdict="denied"\} [1-9]/m,
    );
  });
});

describe('saved guardrails', () => {
  /** Null creates a guardrail of the organisation. */
  async function addGuardrail(word: string, workspaceId: string | null): Promise<string> {
    const mount = workspaceId === null ? '/admin/v2' : '/v2';
    const { body, status } = await inference.server.request('POST', `${mount}/guardrails`, {
      body: {
        name: `no ${word}`,
        actions: { deny: true },
        ...(workspaceId !== null && { workspace_id: workspaceId }),
        checks: [{ id: 'default.contains', parameters: { words: [word], operator: 'none' } }],
      },
    });
    if (status !== 200) throw new Error(`no guardrail: ${JSON.stringify(body)}`);
    return body.slug;
  }

  async function addWorkspace(name: string): Promise<string> {
    const { body } = await inference.server.request('POST', '/v1/admin/workspaces', {
      body: { name },
    });
    return body.id;
  }

  it('judges when a config names it, and by default for a whole workspace', async () => {
    const workspace = await addWorkspace('guarded');
    const slug = await addGuardrail('bomb', workspace);
    const { key: guarded } = await inference.addKey({ workspace_id: workspace });
    const params = asking('a bomb');
    expect((await inference.chat(guarded, { params })).status).toBe(200);
    const config = { input_guardrails: [slug] };
    expect((await inference.chat(guarded, { config, params })).status).toBe(446);
    const { status } = await inference.server.request('PUT', `/v1/admin/workspaces/${workspace}`, {
      body: { defaults: { input_guardrails: [slug] } },
    });
    expect(status).toBe(200);
    await expect.poll(async () => (await inference.chat(guarded, { params })).status).toBe(446);
  });

  it('judges for the whole organisation in every workspace without an exclusion, and outside of workspaces', async () => {
    const { server } = inference;
    const put = async (path: string, body: object) => {
      const answer = await server.request('PUT', `/v1/${path}`, { body });
      expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
      return answer.body;
    };
    const slug = await addGuardrail('rocket', null);
    const [bound, free] = [await addWorkspace('bound'), await addWorkspace('free')];
    const keys = [
      await inference.addKey({ workspace_id: bound }),
      await inference.addKey({ workspace_id: free }),
      await inference.addKey(),
    ];
    const params = asking('a rocket');
    const ask = () =>
      Promise.all(keys.map(async (of) => (await inference.chat(of.key, { params })).status));
    expect(await ask()).toEqual([200, 200, 200]);
    await put('admin/organisation/defaults', { input_guardrails: [slug] });
    await expect.poll(ask).toEqual([446, 446, 446]);
    await put('workspace-exclusions/input-guardrails', {
      workspaces: [{ workspace_id: free, excluded: true }],
    });
    await expect.poll(ask).toEqual([446, 200, 446]);
    await put('admin/organisation/defaults', { input_guardrails: null });
    await expect.poll(ask).toEqual([200, 200, 200]);
  });

  it('returns 400 when it belongs to another workspace or does not exist', async () => {
    const slug = await addGuardrail('bomb', await addWorkspace('one of two'));
    const workspace = await addWorkspace('two of two');
    const { key: other } = await inference.addKey({ workspace_id: workspace });
    for (const name of [slug, 'none-of-that-name']) {
      const answer = await inference.chat(other, { config: { input_guardrails: [name] } });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_config' } } });
    }
    expect(inference.upstream.reached).toHaveLength(0);
  });
});

describe('a guardrail webhook', () => {
  it('decides, transforms the text, and receives no key', async () => {
    await using hook = await startUpstream((request, response) => {
      const { request: requested } = JSON.parse(String(request.body));
      const json = { ...requested.json, messages: [{ role: 'user', content: 'changed' }] };
      sendJson(response, {
        verdict: !String(requested.text).includes('bomb'),
        transformedData: { request: { json } },
      });
    });
    // Private addresses must be trusted by name, and this one is not.
    const config = { input_guardrails: [{ 'default.webhook': { webhookURL: hook.url } }] };
    const refused = await inference.chat(key, { config });
    expect(refused.status).toBe(400);
    const webhookURL = `${inference.upstream.url}/hook`;
    inference.upstream.script = (request, response) => {
      if (!request.url.endsWith('/hook')) return sendJson(response, chatAnswer);
      const { request: requested } = JSON.parse(String(request.body));
      const json = { ...requested.json, messages: [{ role: 'user', content: 'changed' }] };
      return sendJson(response, { verdict: true, transformedData: { request: { json } } });
    };
    const query = { input_guardrails: [{ 'default.webhook': { webhookURL }, deny: true }] };
    expect((await inference.chat(key, { config: query })).status).toBe(200);
    const [event, sent] = inference.upstream.reached;
    expect(JSON.stringify(event!.rawHeaders) + String(event!.body)).not.toContain(key);
    expect(JSON.parse(String(sent!.body)).messages[0].content).toBe('changed');
  });
});
