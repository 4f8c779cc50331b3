/** Verifies streams that are judged in windows: sent early, redacted exactly, stopped, logged, in the caller's format. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});
afterAll(() => inference[Symbol.asyncDispose]());

const stream = { window: { bytes: 128, overlap: 64 } };
const redacts = { 'default.regexReplace': { rule: '\\d{3}-\\d{4}', redactText: '[phone]' } };
const forbids = { 'default.contains': { words: ['bomb'], operator: 'none' }, deny: true };

/** The endpoints of chats, with the request of each. */
const endpoints = {
  'chat/completions': { messages: [{ role: 'user', content: 'hi' }] },
  messages: { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] },
  responses: { input: 'hi' },
} as const;
type EndpointName = keyof typeof endpoints;

/** Answers with the pieces; those after null wait for `go`. */
function streams(pieces: readonly (string | null)[], go: Promise<void> = Promise.resolve()): void {
  inference.upstream.script = async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ ...chatAnswer, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    for (const content of pieces) {
      if (content === null) await go;
      else response.write(chunk({ content }));
    }
    response.write(chunk({}, 'stop'));
    response.end('data: [DONE]\n\n');
  };
}

/** A provider of chats, so that other formats are translated. */
function call(endpoint: EndpointName, output_guardrails: object[], more: object = {}) {
  const config = {
    provider: 'groq',
    api_key: 'k',
    custom_host: inference.upstream.url,
    output_guardrails,
    ...more,
  };
  return fetch(`${inference.server.inferenceUrl}/v1/${endpoint}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'x-gateway-config': JSON.stringify(config),
    },
    body: JSON.stringify({ model: 'm', stream: true, ...endpoints[endpoint] }),
  });
}

function deltasIn(events: string): string {
  return events
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
    .map(({ choices, delta, type }) => {
      if (typeof delta === 'string') return type === 'response.output_text.delta' ? delta : '';
      return choices?.[0]?.delta?.content ?? delta?.text ?? '';
    })
    .join('');
}

async function logged(response: Response) {
  const trace = response.headers.get('x-gateway-trace-id');
  const find = async () =>
    (await inference.server.request('GET', `/v1/logs?trace_id=${trace}`)).body.data;
  await expect.poll(find).toHaveLength(1);
  return (await find())[0];
}

describe.each(Object.keys(endpoints) as EndpointName[])('a window on %s', (endpoint) => {
  it('sends text before the provider has finished, and replaces across its borders', async () => {
    const go = Promise.withResolvers<void>();
    const early = Array.from({ length: 50 }, () => 'words of 12 ');
    const pieces = [...early, null, 'call 5', '55-1', '234 or 555', '-9876', ' now'];
    streams(pieces, go.promise);
    const response = await call(endpoint, [{ ...redacts, stream }]);
    const reader = response.body!.getReader();
    let events = '';
    while (!deltasIn(events).includes('words of 12 words')) {
      const { value, done } = await reader.read();
      expect(done).toBe(false);
      events += Buffer.from(value!).toString();
    }
    go.resolve();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      events += Buffer.from(next.value).toString();
    }
    expect(deltasIn(events)).toBe(`${early.join('')}call [phone] or [phone] now`);
    expect(events).not.toMatch(/555-|55-1/);
    expect(await logged(response)).toMatchObject({
      status: 200,
      guardrail_verdict: 'passed',
      guardrail_checks: [{ check: 'default.regexReplace', side: 'output', verdict: 'passed' }],
    });
  });

  it('stops before what is denied, with an error in the stream', async () => {
    const go = Promise.withResolvers<void>();
    const early = Array.from({ length: 50 }, () => 'words of 12 ');
    streams([...early, null, 'a bo', 'mb', ' is here'], go.promise);
    const response = await call(endpoint, [{ ...forbids, stream }]);
    const reader = response.body!.getReader();
    let events = '';
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      events += Buffer.from(next.value).toString();
      if (deltasIn(events).includes('words')) go.resolve();
    }
    expect(response.status).toBe(200);
    expect(deltasIn(events)).toMatch(/^words of 12 /);
    expect(events).not.toContain('bo"');
    expect(events).toContain('hooks_failed');
    expect(events).not.toContain('[DONE]');
    expect(await logged(response)).toMatchObject({ guardrail_verdict: 'denied' });
  });

  it('holds the whole stream back where one guardrail needs it', async () => {
    streams(['words ', 'bomb']);
    const held = { 'default.wordCount': { maxWords: 1 }, deny: true };
    const response = await call(endpoint, [{ ...redacts, stream }, held]);
    expect(response.status).toBe(446);
    expect(await response.text()).not.toContain('bomb');
  });
});

it('sends results after the last event where the config is not strict', async () => {
  streams(['call 555-1234']);
  const more = { strict_open_ai_compliance: false };
  const text = await (await call('chat/completions', [{ ...redacts, stream }], more)).text();
  const last = JSON.parse(text.trim().split('data: ').at(-1)!);
  expect(last.hook_results.after_request_hooks).toMatchObject([
    { verdict: true, transformed: true },
  ]);
});

it.each([
  ['checks that need the whole text', { 'default.wordCount': {}, stream }],
  ['too little overlap', { ...redacts, stream: { window: { bytes: 64, overlap: 8 } } }],
  ['an unknown mode', { ...redacts, stream: 'windows' }],
])('refuses windows with %s', async (_, guardrail) => {
  const response = await call('chat/completions', [guardrail]);
  expect(response.status).toBe(400);
});
