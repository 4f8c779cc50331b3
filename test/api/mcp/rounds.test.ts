/** Verifies that the rounds of an MCP call that requires input count once, and that no other call can continue it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { messagesIn } from '../../support/mcp/open-events.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';

const modern = '2026-07-28';
const stack = new AsyncDisposableStack();
let plane: McpTestPlane;
let server: CreatedResource;
let key: string;
/** Questions that the server still asks. */
let questions: number;
/** The state that the server wants back; undefined for none. */
let upstreamState: unknown;

beforeAll(async () => {
  plane = stack.use(await startMcpTestPlane());
  server = await plane.addServer();
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  questions = 1;
  upstreamState = 'where I was';
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, script: null, before: [] });
  upstream.answer = ({ method }) => {
    if (method !== 'tools/call' && method !== 'prompts/get') return null;
    questions -= 1;
    if (questions < 0) return { result: { resultType: 'complete', content: [] } };
    const inputRequests = { name: { method: 'elicitation/create', params: { message: 'Who?' } } };
    const requestState = upstreamState;
    return { result: { resultType: 'input_required', inputRequests, requestState } };
  };
});
afterAll(() => stack.disposeAsync());

interface Round {
  readonly state?: unknown;
  readonly sent?: string;
  readonly slug?: string;
  readonly method?: string;
  readonly name?: string;
  readonly args?: object;
  readonly url?: string;
}

/** Calls the tool, or continues the call with the state. */
function round({ state, sent = key, url, ...more }: Round = {}) {
  const { slug = server.slug, method = 'tools/call', name = 'echo', args = { b: 1, a: 2 } } = more;
  const params = {
    name,
    arguments: args,
    ...(state !== undefined && {
      requestState: state,
      inputResponses: { name: { action: 'accept', content: { name: 'Ada' } } },
    }),
    _meta: {
      'io.modelcontextprotocol/protocolVersion': modern,
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    },
  };
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': method, 'mcp-name': name };
  return plane.call(sent, slug, method, params, { headers, ...(url !== undefined && { url }) });
}

/** Requests of callers that the server received; a server of unknown era is first asked to describe itself. */
const received = () =>
  plane.upstream.journal.filter(({ body }) => body?.method !== 'server/discover');

async function stateOf(first: Round = {}): Promise<string> {
  const { body } = await round(first);
  expect(body.result).toMatchObject({ resultType: 'input_required' });
  return body.result.requestState;
}

describe('a call that requires input', () => {
  it('gives its server back its own state, and the caller only a sealed one', async () => {
    const state = await stateOf();
    expect(state).not.toContain('where');
    const done = await round({ state, args: { a: 2, b: 1 } });
    expect(done.body.result).toMatchObject({ resultType: 'complete' });
    const [, retry] = received();
    expect(retry!.body.params).toMatchObject({
      requestState: 'where I was',
      inputResponses: { name: { content: { name: 'Ada' } } },
    });
    expect(retry!.text).not.toContain(state);
  });

  it('is continued where the server wants nothing back, and in a stream', async () => {
    upstreamState = undefined;
    plane.upstream.streams = true;
    const { body } = await round();
    const message = messagesIn(body)[0]!;
    const done = await round({ state: message.result.requestState });
    expect(done.body).toContain('"complete"');
    expect(received()[1]!.body.params).not.toHaveProperty('requestState');
  });

  it('keeps the bytes of its arguments', async () => {
    const state = await stateOf({ args: { n: 1 } });
    const params = {
      name: 'echo',
      arguments: { n: 1 },
      requestState: state,
      _meta: { 'io.modelcontextprotocol/protocolVersion': modern },
    };
    const body = { jsonrpc: '2.0', id: 2, method: 'tools/call', params };
    const text = JSON.stringify(body).replace('"id":2', '"id": 2.0');
    const headers = {
      'content-type': 'application/json',
      'mcp-protocol-version': modern,
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    };
    expect((await plane.send(key, server.slug, text, { headers })).status).toBe(200);
    expect(received()[1]!.text).toBe(text.replace(state, 'where I was'));
  });

  it('counts as one call however many rounds it takes, on every replica', async () => {
    const log = createLog({ level: 'silent' });
    await using replica = openApp(plane.server.settings, { log, components: ['mcp'] });
    await replica.connect();
    const url = (await replica.listen()).mcpUrl!;
    const rate_limits = [{ type: 'requests', unit: 'rpd', value: 2 }];
    const { key: sent } = await plane.addKey({ rate_limits });
    questions = 3;
    let state = await stateOf({ sent });
    state = await stateOf({ sent, state });
    state = await stateOf({ sent, state });
    expect((await round({ sent, state, url })).body.result).toMatchObject({
      resultType: 'complete',
    });
    expect((await round({ sent })).status).toBe(200);
    expect((await round({ sent })).status).toBe(429);
    expect(plane.upstream.calls()).toHaveLength(5);
  });

  it('counts again when its state is sent again', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpd', value: 3 }];
    const { key: sent } = await plane.addKey({ rate_limits });
    const state = await stateOf({ sent });
    const answers = await Promise.all(Array.from({ length: 8 }, () => round({ sent, state })));
    const statuses = answers.map(({ status }) => status);
    // The first answer belongs to the call; two more calls were left.
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    expect(plane.upstream.calls()).toHaveLength(4);
  });

  it('is not asked more often than 16 times', async () => {
    questions = 100;
    let state: unknown;
    for (let count = 0; count < 16; count += 1) {
      state = await stateOf({ ...(state !== undefined && { state }) });
    }
    const refused = await round({ state });
    expect(refused.body.error).toMatchObject({ data: { code: 'server_unusable' } });
    expect(refused.body.error.message).toContain('more than 16 times');
  });

  it('ends when its server wants a state back that is no text', async () => {
    upstreamState = { secret: 1 };
    const { body } = await round();
    expect(body.error.message).toContain('its requestState is not a text');
  });
});

describe('a state of another call', () => {
  it('is refused with one error, and reaches no server', async () => {
    const other = await plane.addServer();
    const { key: foreign } = await plane.addKey();
    const state = await stateOf();
    questions = 1;
    const ofPrompt = await stateOf({ method: 'prompts/get', name: 'greet' });
    plane.upstream.journal.length = 0;
    const flipped = state.slice(0, -2) + (state.endsWith('AA') ? 'BB' : 'AA');
    const answers = [
      await round({ state, sent: foreign }),
      await round({ state, slug: other.slug }),
      await round({ state, name: 'add' }),
      await round({ state, args: { b: 1, a: 3 } }),
      await round({ state: flipped }),
      await round({ state: ofPrompt }),
      await round({ state: 'where I was' }),
      await round({ state: 'x'.repeat(200_000) }),
      await round({ state: { a: 1 } }),
    ];
    plane.server.clock.set(plane.server.clock.now() + 3_600_001);
    answers.push(await round({ state }));
    for (const { status, body } of answers) {
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          jsonrpc: '2.0',
          id: 1,
          error: {
            code: -32602,
            message: 'The requestState is not valid or has expired; send the request without it',
            data: { code: 'request_state_invalid' },
          },
        },
      });
    }
    expect(received()).toEqual([]);
  });
});
