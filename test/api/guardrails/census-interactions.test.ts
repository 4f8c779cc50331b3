/** Verifies that every check judges the requests, responses and streams of all endpoints of Gemini's interactions. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { allEndpoints } from '../../../src/model/endpoints/catalogue.ts';
import type { ListedEndpoint } from '../../../src/model/endpoints/endpoint.ts';
import {
  addCensusGuardrails,
  loggedChecks,
  missingChecks,
} from '../../support/guardrails/census.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;
let censusGuardrails: string[];

const base = '/v1beta/interactions';
const endpoints = allEndpoints.filter(({ path }) => path.startsWith(base));
const listed = (some: readonly ListedEndpoint[]): [string, ListedEndpoint][] =>
  some.map((one) => [`${one.method} ${one.path}`, one]);
const model = 'gemini-2.5-flash';
const deny = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };
const id = 'interaction-made';

beforeAll(async () => {
  inference = await startInference();
  const { server, upstream } = inference;
  const workspace_id = (await post('/v1/admin/workspaces', { name: 'census' })).id;
  const integration = await post('/v1/integrations', {
    name: 'gemini',
    ai_provider_id: 'google',
    key: 'secret',
    workspace_id,
    configurations: { custom_host: `http://${upstream.host}/v1beta/openai` },
  });
  await post('/v1/providers', {
    name: 'gemini',
    slug: 'gemini',
    integration_id: integration.id,
    workspace_id,
  });
  ({ key } = await inference.addKey({ workspace_id }));
  censusGuardrails = (await addCensusGuardrails(server, workspace_id)).map(({ slug }) => slug);
  answers([{ type: 'text', text: 'x' }]);
  const made = await ask('POST', base, { model, input: 'x', store: true });
  expect(made).toMatchObject({ status: 200 });
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
});

afterAll(() => inference[Symbol.asyncDispose]());

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
  return made.body;
}

const begun = { id, object: 'interaction', status: 'completed', model };
const usage = { total_input_tokens: 5, total_output_tokens: 2, total_tokens: 7 };

function answers(content: readonly object[], more: readonly object[] = []): void {
  const steps = [{ type: 'model_output', content }, ...more];
  inference.upstream.script = (_, response) => sendJson(response, { ...begun, steps, usage });
}

/** Answers by events with pieces of a text. */
function streams(pieces: readonly object[]): void {
  inference.upstream.script = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of [
      { event_type: 'interaction.created', interaction: begun },
      { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
      ...pieces.map((delta) => ({ event_type: 'step.delta', index: 0, delta })),
      { event_type: 'step.stop', index: 0 },
      { event_type: 'interaction.completed', interaction: { ...begun, usage } },
    ]) {
      response.write(`event: ${event.event_type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  };
}

function ask(method: string, path: string, body: object | undefined, config: object = {}) {
  const header = JSON.stringify({ provider: '@gemini', ...config });
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-config': header };
  return exchange(method, inference.server.inferenceUrl + path, body, headers);
}

const pathOf = ({ path }: ListedEndpoint) => path.replace('{id}', id);
const bodyOf = ({ method, path }: ListedEndpoint, more: object) =>
  method === 'POST' && path === base ? { model, input: 'x', ...more } : undefined;

/** Sends the request through all guardrails of the census, and returns the checks that the log lacks. */
async function unlogged(
  side: 'input' | 'output',
  send: (config: object) => ReturnType<typeof ask>,
): Promise<string[]> {
  const traces: unknown[] = [];
  for (const slug of censusGuardrails) {
    const { headers } = await send({ [`${side}_guardrails`]: [slug] });
    traces.push(headers['x-gateway-trace-id']);
  }
  return missingChecks(await loggedChecks(inference.server, traces, side));
}

describe('a request', () => {
  const texts: [string, object][] = [
    ['a text', { input: 'a canary' }],
    ['a list', { input: [{ type: 'user_input', content: [{ type: 'text', text: 'a canary' }] }] }],
    ['instructions', { system_instruction: 'a canary' }],
    ['a tool', { tools: [{ type: 'function', name: 't', description: 'a canary' }] }],
    [
      'a tool result',
      { input: [{ type: 'function_result', call_id: 'c', name: 't', result: 'a canary' }] },
    ],
    [
      'the address of an image',
      { input: [{ type: 'user_input', content: [{ type: 'image', note: 'a canary' }] }] },
    ],
  ];
  const writing = endpoints.filter(({ requestTexts }) => requestTexts !== null);

  it.each(
    listed(writing).flatMap(([name, endpoint]) =>
      texts.map(([text, more]) => [text, name, endpoint, more] as const),
    ),
  )('is judged with %s at %s', async (_, __, endpoint, more) => {
    const all = { ...deny, scan_scope: 'all_messages' };
    const body = bodyOf(endpoint, more);
    const denied = await ask(endpoint.method, pathOf(endpoint), body, { input_guardrails: [all] });
    expect([denied.status, inference.upstream.reached.length]).toEqual([446, 0]);
  });

  it.each(listed(writing))('is judged by every check at %s', async (_, endpoint) => {
    answers([{ type: 'text', text: 'x' }]);
    const send = (config: object) =>
      ask(endpoint.method, pathOf(endpoint), bodyOf(endpoint, { input: 'a canary' }), config);
    expect(await unlogged('input', send)).toEqual([]);
  });

  it('has texts at no endpoint but these', () => {
    expect(writing.map(({ method, path }) => `${method} ${path}`)).toEqual([`POST ${base}`]);
  });
});

describe('a response', () => {
  const answering = endpoints.filter(({ responseTexts }) => responseTexts !== null);
  const call = {
    type: 'function_call',
    id: 'c',
    name: 't',
    arguments: { a: 'a canary' },
  };

  it.each(listed(answering))('is judged in texts and calls of tools at %s', async (_, endpoint) => {
    const contents: [object[], object[]][] = [
      [[{ type: 'text', text: 'a canary' }], []],
      [[{ type: 'text', text: 'x' }], [call]],
    ];
    for (const [content, more] of contents) {
      answers(content, more);
      const body = bodyOf(endpoint, {});
      const denied = await ask(endpoint.method, pathOf(endpoint), body, {
        output_guardrails: [deny],
      });
      expect([denied.status, JSON.stringify(denied.body).includes('canary')]).toEqual([446, false]);
    }
  });

  it.each(listed(answering))('is judged by every check at %s', async (_, endpoint) => {
    answers([{ type: 'text', text: 'a canary' }], [call]);
    const send = (config: object) =>
      ask(endpoint.method, pathOf(endpoint), bodyOf(endpoint, {}), config);
    expect(await unlogged('output', send)).toEqual([]);
  });

  it('has no texts where an interaction is deleted', () => {
    const silent = endpoints.filter(({ responseTexts }) => responseTexts === null);
    expect(silent.map(({ method }) => method)).toEqual(['DELETE']);
  });
});

describe('a stream', () => {
  const pieces = {
    text: [
      { type: 'text', text: 'a can' },
      { type: 'text', text: 'ary' },
    ],
    arguments: [
      { type: 'arguments_delta', arguments: '{"a":"can' },
      { type: 'arguments_delta', arguments: 'ary"}' },
    ],
  };
  const streamed = endpoints.filter(
    ({ method, path }) => path === base || (method === 'GET' && path.endsWith('{id}')),
  );

  it.each(
    listed(streamed).flatMap(([name, endpoint]) =>
      (['text', 'arguments'] as const).map((part) => [part, name, endpoint] as const),
    ),
  )('is judged in its %s by every check at %s', async (part, _, endpoint) => {
    streams(pieces[part]);
    const query = endpoint.method === 'GET' ? '?stream=true' : '';
    const send = (config: object) =>
      ask(endpoint.method, pathOf(endpoint) + query, bodyOf(endpoint, { stream: true }), config);
    const denied = await send({ output_guardrails: [deny] });
    expect([denied.status, JSON.stringify(denied.body).includes('canary')]).toEqual([446, false]);
    expect(await unlogged('output', send)).toEqual([]);
  });
});
