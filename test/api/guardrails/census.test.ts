/**
 * Verifies on every endpoint of the catalogue, streamed or not, that every check of the catalogue judges requests and
 * responses or says in the log that it cannot, and that nothing passes a guardrail that denies.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ownedPathOf } from '../../../src/gateway/references/owned-path.ts';
import { allEndpoints } from '../../../src/model/endpoints/catalogue.ts';
import type { ListedEndpoint } from '../../../src/model/endpoints/endpoint.ts';
import { unjudgedResponse } from '../../../src/model/endpoints/unjudged-response.ts';
import {
  addCensusGuardrails,
  loggedChecks,
  missingChecks,
} from '../../support/guardrails/census.ts';
import {
  type Keeper,
  type SharedAccount,
  startKeeper,
  startSharedAccount,
  type Tenant,
} from '../../support/upstream/shared-account.ts';
import { sendJson, type TestUpstream } from '../../support/upstream/upstream.ts';

let shared: SharedAccount;
let upstream: TestUpstream;
let tenant: Tenant;
let keeper: Keeper;
/** Guardrails that contain all checks together, by slug. */
let censusGuardrails: string[];

beforeAll(async () => {
  shared = await startSharedAccount();
  ({ upstream } = shared.inference);
  tenant = await shared.tenant('usual');
  keeper = startKeeper();
  const guardrails = await addCensusGuardrails(shared.inference.server, tenant.workspaceId);
  censusGuardrails = guardrails.map(({ slug }) => slug);
});
beforeEach(() => {
  upstream.reached.length = 0;
  upstream.script = keeper.script;
});
afterAll(() => shared[Symbol.asyncDispose]());

/** The census of realtime sessions and interactions has files of its own, with providers that serve them. */
const plainEndpoints = allEndpoints.filter(
  ({ name, path }) => !name.startsWith('realtime') && !path.startsWith('/v1beta/interactions'),
);
const listed = (endpoints: readonly ListedEndpoint[]): [string, ListedEndpoint][] =>
  endpoints.map((one) => [`${one.method} ${one.path}`, one]);

const args = JSON.stringify({ a: 'a canary' });

/** A request of the endpoint with a text in its message. */
function requestOf(endpoint: ListedEndpoint, text: string, stream: boolean): object {
  const { path, requestTexts } = endpoint;
  const messages = [{ role: 'user', content: text }];
  const streaming = stream ? { stream } : {};
  if (path === '/model/{converse_model+}/count-tokens') {
    return { input: { converse: { messages: [{ role: 'user', content: [{ text }] }] } } };
  }
  if (/count-tokens$/.test(path)) {
    const body = { anthropic_version: 'bedrock-2023-05-31', max_tokens: 50, messages };
    return {
      input: { invokeModel: { body: Buffer.from(JSON.stringify(body)).toString('base64') } },
    };
  }
  if (path.endsWith(':predict')) return { instances: [{ content: text }] };
  if (path === '/v2/embed') {
    return { model: 'm', texts: [text], input_type: 'search_query', embedding_types: ['float'] };
  }
  if (path === '/model/{embedding_model+}/invoke') return { inputText: text };
  if (path === '/model/{ranking_model+}/invoke') return { query: text, documents: ['x'] };
  if (/invoke|rawPredict|RawPredict/.test(path)) {
    const anthropic_version = path.startsWith('/model')
      ? 'bedrock-2023-05-31'
      : 'vertex-2023-10-16';
    const model = path.includes('count-tokens') ? { model: 'm' } : {};
    return { ...model, anthropic_version, max_tokens: 50, messages };
  }
  const content = { parts: [{ text }] };
  if (path.endsWith(':embedContent')) return { content };
  if (path.endsWith(':batchEmbedContents')) return { requests: [{ model: 'models/m', content }] };
  if (path.endsWith('/interactions')) return { model: 'm', input: text, ...streaming };
  switch (requestTexts) {
    case 'gemini':
      return { contents: [{ role: 'user', parts: [{ text }] }] };
    case 'converse':
      return { messages: [{ role: 'user', content: [{ text }] }] };
    case 'messages':
      return { model: 'm', max_tokens: 50, messages, ...streaming };
    default:
      return { model: 'm', messages, prompt: text, input: text, inputs: text, ...streaming };
  }
}

/** A response with a text and a call of a tool in the form of every format. */
const responseWith = (text: string) => ({
  id: 'made',
  object: 'any',
  model: 'm',
  role: 'assistant',
  stop_reason: 'end_turn',
  choices: [
    {
      index: 0,
      text,
      finish_reason: 'stop',
      message: {
        role: 'assistant',
        content: text,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 't', arguments: args } }],
      },
    },
  ],
  content: [
    { type: 'text', text },
    { type: 'tool_use', id: 'c', name: 't', input: { a: text } },
  ],
  output: [
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
    { type: 'function_call', name: 't', call_id: 'c', arguments: args },
  ],
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  data: [
    { id: 'one', object: 'thread.message', role: 'assistant', content: [{ type: 'text', text }] },
  ],
  text,
  results: [{ text }],
  usage: { prompt_tokens: 5, completion_tokens: 2, input_tokens: 5, output_tokens: 2 },
});

/** Creates an object of the kind of the endpoint, and returns the path with its id. */
async function pathOf(endpoint: ListedEndpoint): Promise<string> {
  const { owned, path } = endpoint;
  const named = path.replace(/\{(?:\w+_)?model\+?\}/, 'm');
  if (!named.includes('{')) return named;
  if (owned === null) return named.replaceAll(/\{\w+\}/g, 'one');
  const made = await shared.ask(tenant, 'POST', owned.base, {
    model: 'm',
    messages: [{ role: 'user', content: 'x' }],
    input: 'x',
    store: true,
  });
  return named.replace('{id}', made.body.id).replaceAll(/\{item\}/g, 'item-1');
}

function ask(
  endpoint: ListedEndpoint,
  path: string,
  config: object,
  stream = false,
  text = 'a canary',
) {
  const body = endpoint.method === 'POST' ? requestOf(endpoint, text, stream) : undefined;
  const header = JSON.stringify({ provider: tenant.provider, ...config });
  return shared.ask(tenant, endpoint.method, path, body, { 'x-gateway-config': header });
}

const deny = { 'default.contains': { words: ['canary'], operator: 'none' }, deny: true };

/** A request through all census guardrails, whose log entries are read at the end. */
interface CensusEntry {
  readonly endpoint: string;
  readonly side: 'input' | 'output';
  readonly traces: readonly unknown[];
}

const census: CensusEntry[] = [];

async function note(
  endpoint: ListedEndpoint,
  side: CensusEntry['side'],
  send: (slug: string) => ReturnType<typeof ask>,
): Promise<void> {
  const traces: unknown[] = [];
  for (const slug of censusGuardrails) {
    traces.push((await send(slug)).headers['x-gateway-trace-id']);
  }
  census.push({ endpoint: `${endpoint.method} ${endpoint.path}`, side, traces });
}

/** Permissions are those of models that a job has made, which callers cannot create. */
const writing = plainEndpoints.filter(
  ({ method, owned }) => method === 'POST' && owned?.kind !== 'models',
);
describe('a request', () => {
  it.each(listed(writing))('is judged by every check at %s', async (_, endpoint) => {
    const path = await pathOf(endpoint);
    upstream.reached.length = 0;
    const denied = await ask(endpoint, path, { input_guardrails: [deny] });
    expect(upstream.reached.filter(({ body }) => body.includes('canary'))).toEqual([]);
    expect(denied.status).toBe(446);
    await note(endpoint, 'input', (slug) => ask(endpoint, path, { input_guardrails: [slug] }));
  });
});

describe('a response', () => {
  const answering = plainEndpoints.filter(({ responseTexts }) => responseTexts !== null);
  it.each(listed(answering))('is judged by every check at %s', async (_, endpoint) => {
    const path = await pathOf(endpoint);
    upstream.script = ({ method, url }, response) => {
      const owned = ownedPathOf(method, new URL(url, 'http://any').pathname.slice('/v1'.length));
      const { id = 'made' } = owned ?? {};
      sendJson(response, { ...responseWith('a canary'), id: id ?? 'made' });
    };
    const denied = await ask(endpoint, path, { output_guardrails: [deny] }, false, 'x');
    expect(JSON.stringify(denied.body)).not.toContain('canary');
    expect(denied.status).toBe(446);
    await note(endpoint, 'output', (slug) =>
      ask(endpoint, path, { output_guardrails: [slug] }, false, 'x'),
    );
  });

  const unjudged = plainEndpoints.filter((one) => unjudgedResponse(one) !== null);
  it.each(listed(unjudged))(
    'is refused by a guardrail that fails closed at %s',
    async (_, endpoint) => {
      const path = await pathOf(endpoint);
      upstream.reached.length = 0;
      const closed = { ...deny, fail_closed: true };
      const { status } = await ask(endpoint, path, { output_guardrails: [closed] }, false, 'x');
      expect(status).toBe(446);
      expect(upstream.reached).toEqual([]);
    },
  );
});

describe('a stream', () => {
  const streamed = writing.filter(
    ({ path, responseTexts }) =>
      /(?:^\/chat\/completions|^\/completions|^\/messages|^\/responses)$/.test(path) ||
      (/stream|Stream/.test(path) && responseTexts !== null),
  );
  const chunk = (delta: object) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta }] })}\n\n`;
  const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] });
  const texts = {
    text: [{ content: 'a ca' }, { content: 'nary' }],
    arguments: [
      call({ id: 'c', type: 'function', function: { name: 't', arguments: '{"a":"can' } }),
      call({ function: { arguments: 'ary"}' } }),
    ],
  };

  /** The older endpoint of completions has texts only. */
  const partsOf = ({ requestTexts }: ListedEndpoint) =>
    requestTexts === 'completions' ? (['text'] as const) : (['text', 'arguments'] as const);

  it.each(
    listed(streamed).flatMap(([name, endpoint]) =>
      partsOf(endpoint).map((part) => [part, name, endpoint] as const),
    ),
  )('is judged in its %s by every check at %s', async (part, _, endpoint) => {
    const path = await pathOf(endpoint);
    upstream.script = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const pieces = endpoint.requestTexts === 'completions' ? ['a ca', 'nary'] : null;
      for (const text of pieces ?? []) {
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, text }] })}\n\n`);
      }
      if (pieces === null) for (const delta of texts[part]) response.write(chunk(delta));
      response.end('data: [DONE]\n\n');
    };
    const denied = await ask(endpoint, path, { output_guardrails: [deny] }, true, 'x');
    expect([denied.status, JSON.stringify(denied.body).includes('canary')]).toEqual([446, false]);
    await note(endpoint, 'output', (slug) =>
      ask(endpoint, path, { output_guardrails: [slug] }, true, 'x'),
    );
  });
});

describe('the log', () => {
  it('contains every check of the catalogue for each of these requests and responses', async () => {
    const missing: string[] = [];
    for (const { endpoint, side, traces } of census) {
      const found = await loggedChecks(shared.inference.server, traces, side);
      for (const id of missingChecks(found)) missing.push(`${endpoint} ${side} ${id}`);
    }
    expect(missing).toEqual([]);
  });
});
