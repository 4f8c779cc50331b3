/** Verifies that no answer of a cache passes guardrails that were not there, or were others, when it was stored. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let questions = 0;
/** Questions that the model received. */
let received: string[];

function answers(content: string, isStream: boolean, response: ServerResponse): void {
  const { choices, ...about } = chatAnswer;
  if (!isStream) {
    const message = { role: 'assistant', content };
    sendJson(response, { ...about, choices: [{ ...choices[0], message }] });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const delta = { index: 0, delta: { content }, finish_reason: 'stop' };
  response.end(`data: ${JSON.stringify({ ...about, choices: [delta] })}\n\ndata: [DONE]\n\n`);
}

beforeAll(async () => {
  inference = await startInference();
  inference.upstream.script = ({ url, body }, response) => {
    const { messages, stream, input } = JSON.parse(body.toString('utf8'));
    if (url.endsWith('/embeddings')) {
      const embedding = input.startsWith('question') ? [1, 0] : [0, 1];
      sendJson(response, { data: [{ index: 0, embedding }] });
      return;
    }
    const [{ content }] = messages;
    received.push(content);
    answers(`a bomb for ${content}`, stream === true, response);
  };
});

beforeEach(() => {
  received = [];
  questions += 1;
});

afterAll(() => inference[Symbol.asyncDispose]());

const forbids = (word: string) => ({
  'default.contains': { words: [word], operator: 'none' },
  deny: true,
});
const redacts = (rule: string) => ({ 'default.regexReplace': { rule, redactText: '[...]' } });

const embedding = { model: 'embedder', request_timeout: 10_000 };
const caches = {
  simple: { mode: 'simple', max_age: 600 },
  semantic: { mode: 'semantic', max_age: 600, scope: 'workspace', embedding },
};

async function ask(key: string, cache: object, config: object, params: object = {}) {
  const content = `question ${questions}`;
  const answer = await inference.chat(key, {
    config: { cache, ...config },
    params: { messages: [{ role: 'user', content }], ...params },
  });
  const { status, headers, body } = answer;
  return { status, cache: headers['x-gateway-cache-status'], all: JSON.stringify(body) };
}

describe.each([
  ['simple', false],
  ['semantic', false],
  ['semantic', true],
] as const)('an answer of the %s cache (stream: %s)', (mode, stream) => {
  const cache = caches[mode];
  const params = { stream };
  const hit = expect.stringMatching(/HIT$/);

  /** Stores an answer by a key without guardrails, and returns a key of the same workspace. */
  async function stored(): Promise<string> {
    const [{ key }, { key: other }] = [await inference.addKey(), await inference.addKey()];
    await ask(key, cache, {}, params);
    await eventually(async () => {
      expect((await ask(key, cache, {}, params)).cache).toMatch(/HIT$/);
    });
    received = [];
    return other;
  }

  it('is denied by a guardrail that did not judge it when it was stored', async () => {
    const key = await stored();
    const denied = await ask(key, cache, { output_guardrails: [forbids('bomb')] }, params);
    expect(denied).toMatchObject({ status: 446, cache: hit });
    expect(denied.all).not.toContain('bomb');
    expect(received).toEqual([]);
  });

  it('is redacted by a guardrail that did not judge it, and by no other', async () => {
    const key = await stored();
    const redacted = { output_guardrails: [redacts('bomb')] };
    for (let at = 0; at < 2; at += 1) {
      const answer = await ask(key, cache, redacted, params);
      expect(answer).toMatchObject({ status: 200, cache: hit });
      expect(answer.all).toContain('a [...] for');
      expect(answer.all).not.toContain('bomb');
      expect((await ask(key, cache, {}, params)).all).toContain('a bomb for');
    }
    expect(received).toEqual([]);
  });

  it('is no answer to a question that a guardrail denies or changes', async () => {
    const key = await stored();
    const denying = { input_guardrails: [forbids('question')] };
    expect(await ask(key, cache, denying, params)).toMatchObject({ status: 446 });
    const changing = { input_guardrails: [redacts('question')] };
    await ask(key, cache, changing, params);
    expect(received).toEqual([`[...] ${questions}`]);
  });
});

describe('a saved guardrail that is edited after an answer was stored', () => {
  it.each(['simple', 'semantic'] as const)('judges it as edited (%s cache)', async (mode) => {
    const send = (method: string, path: string, body: object) =>
      inference.server.request(method, path, { body });
    const made = await send('POST', '/v1/admin/workspaces', { name: `edited ${mode}` });
    const workspace_id = made.body.id;
    const checks = (word: string) => [
      { id: 'default.contains', parameters: { words: [word], operator: 'none' } },
    ];
    const { body: guardrail } = await send('POST', '/v2/guardrails', {
      name: 'edited',
      workspace_id,
      actions: { deny: true },
      checks: checks('rocket'),
    });
    const { key } = await inference.addKey({ workspace_id });
    const config = { output_guardrails: [guardrail.slug] };
    const cache = caches[mode];
    await ask(key, cache, config);
    await eventually(async () => {
      expect((await ask(key, cache, config)).cache).toMatch(/HIT$/);
    });
    const put = await send('PUT', `/v2/guardrails/${guardrail.slug}`, { checks: checks('bomb') });
    expect(put).toMatchObject({ status: 200 });
    await eventually(async () => {
      expect(await ask(key, cache, config)).toMatchObject({
        status: 446,
        cache: expect.stringMatching(/HIT$/),
      });
    });
  });
});
