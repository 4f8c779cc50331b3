/** Verifies that servers cannot send callers anything past the rules; what the caller receives is the witness. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messagesIn, openEvents } from '../../../support/mcp/open-events.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { eventually } from '../../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../../support/server/mcp-plane.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

let plane: McpTestPlane;
let key: string;
let slug: string;
/** A server whose results a guardrail judges. */
let guarded: CreatedResource;
const forbidden = 'mellon';
const modern = '2026-07-28';

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
  ({ slug } = await plane.addServer());
  guarded = await plane.addServer();
  await plane.guard(
    guarded,
    [{ id: 'default.regexMatch', parameters: { rule: `${forbidden}|41{15}`, not: true } }],
    { run_on: ['output'] },
  );
});
beforeEach(() => {
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, answer: null, script: null, before: [] });
});
afterAll(() => plane[Symbol.asyncDispose]());

const call = (to: string, more: object = {}) =>
  plane.call(key, to, 'tools/call', { name: 'echo', arguments: { text: 'x' }, ...more });
const result = (text = 'own', id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text }] },
});

function answerWith(type: string, text: string | Buffer): void {
  plane.upstream.script = (_, response) =>
    response.writeHead(200, { 'content-type': type }).end(text);
}

/** Answers with the message in JSON, or in a stream. */
function answerIn(isStream: boolean, json: string): void {
  if (isStream) answerWith('text/event-stream', `data: ${json}\n\n`);
  else answerWith('application/json', json);
}

/** Responses that carry a text where no rule of content looks for one. */
const shapes: [string, object][] = [
  ['a result that is a text', { jsonrpc: '2.0', id: 1, result: forbidden }],
  ['a result that is a list', { jsonrpc: '2.0', id: 1, result: [forbidden] }],
  ['an error that is a text', { jsonrpc: '2.0', id: 1, error: forbidden }],
  ['a result and an error', { ...result(), error: { code: 1, message: forbidden } }],
  ['a further member', { ...result(), note: forbidden }],
  ['another version', { ...result(), jsonrpc: forbidden }],
  ['a method beside the result', { ...result(forbidden), method: 'notifications/message' }],
  ['parameters beside the result', { ...result(), params: { text: forbidden } }],
  ['a list of parameters', { jsonrpc: '2.0', method: 'notifications/x', params: [forbidden] }],
  ['parameters that are a text', { jsonrpc: '2.0', method: 'notifications/x', params: forbidden }],
  ['a name of a method', { jsonrpc: '2.0', method: `notifications/${forbidden}` }],
  ['an id of a request', { jsonrpc: '2.0', id: forbidden, method: 'ping' }],
  [
    'metadata of a notification',
    { jsonrpc: '2.0', method: 'notifications/x', params: { _meta: { note: forbidden } } },
  ],
  [
    'a name of a member',
    { jsonrpc: '2.0', id: 1, result: { content: [], [`the word ${forbidden}`]: 1 } },
  ],
];

describe('a message with a denied text', () => {
  it.each(
    shapes.flatMap(([what, message]) =>
      [false, true].map((isStream) => [what, isStream, message] as const),
    ),
  )('does not leave the gateway in %s, streamed: %s', async (_, isStream, message) => {
    answerIn(isStream, JSON.stringify(message));
    const denied = await call(guarded.slug);
    expect(JSON.stringify(denied.body)).not.toContain(forbidden);
    expect(plane.upstream.calls()).toEqual(['echo']);
  });

  it.each([false, true])(
    'does not leave in digits that parsing rounds, streamed: %s',
    async (isStream) => {
      const json = JSON.stringify(result()).replace('"own"}]', '"own"}],"n":411111111111111111111');
      answerIn(isStream, json);
      const denied = await call(guarded.slug);
      expect(JSON.stringify(denied.body)).toContain('-32446');
      expect(JSON.stringify(denied.body)).not.toContain('4111111');
    },
  );

  it('does not leave in the second of two members of one name', async () => {
    const json = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${forbidden}","text":"fine"}]}}`;
    for (const isStream of [false, true]) {
      answerIn(isStream, json);
      expect(JSON.stringify((await call(guarded.slug)).body)).not.toContain(forbidden);
    }
  });

  it('does not leave on a stream that is open', async () => {
    await using stream = await openEvents(`${plane.server.mcpUrl}/${guarded.slug}/mcp`, { key });
    for (const [, message] of shapes) plane.upstream.push(message);
    plane.upstream.push({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { data: 'end' },
    });
    await eventually(() => expect(stream.text).toContain('"end"'));
    expect(stream.text).not.toContain(forbidden);
  });
});

describe('a stream of events', () => {
  const foreign = JSON.stringify(result('foreign', 2));
  const own = JSON.stringify(result());
  it.each([
    ['a byte order mark', `\ufeffdata: ${foreign}\n\ndata: ${own}\n\n`],
    ['line ends of one kind', `data: ${foreign}\r\rdata: ${own}\r\r`],
    ['line ends of several kinds', `data: ${foreign}\r\n\rdata: ${own}\n\r\n`],
    [
      'a message over several lines',
      `data: ${foreign.replace(',', '\ndata:,')}\n\ndata: ${own}\n\n`,
    ],
    [
      'a message over lines of carriage returns',
      `data: ${foreign.replace(',', '\rdata:,')}\r\rdata: ${own}\n\n`,
    ],
    ['a message in an event of another name', `event: x\ndata: ${foreign}\n\ndata: ${own}\n\n`],
    ['an event that has no end', `data: ${own}\n\ndata: ${foreign}\n`],
  ])('carries no foreign message with %s', async (_, text) => {
    answerWith('text/event-stream', text);
    const { body } = await call(slug);
    expect(body).toContain('own');
    expect(body).not.toContain('foreign');
  });

  it('reads a carriage return within a text as no end of a line', async () => {
    const text = `a\rdata: ${foreign}\r\r`;
    answerWith('text/event-stream', `data: ${JSON.stringify(result(text))}\n\n`);
    const { body } = await call(slug);
    const messages = messagesIn(body);
    expect(messages).toEqual([result(text)]);
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'is followed by no request and shown to nobody with status %i',
    async (status) => {
      const trap = plane.upstream.url.replace('/mcp', '/trap');
      plane.upstream.script = (_, response) =>
        response
          .writeHead(status, { location: trap, 'content-type': 'application/json' })
          .end('{}');
      for (const sent of [
        await call(slug),
        await plane.send(key, slug, undefined, { method: 'GET' }),
        await plane.send(key, slug, undefined, { method: 'DELETE' }),
      ]) {
        expect(sent.status).toBe(502);
        expect(sent.headers.location).toBeUndefined();
      }
      expect(plane.upstream.journal.map(({ url }) => url)).toEqual(['/mcp', '/mcp', '/mcp']);
    },
  );
});

describe('a legacy server', () => {
  /** Opens a session that declares these capabilities; the server then asks in each response and on the stream. */
  async function ask(method: string, capabilities: object) {
    const question = { jsonrpc: '2.0', id: 'q', method, params: { message: 'secret question' } };
    plane.upstream.script = ({ body, method: verb }, response) => {
      const isOpening = body?.method === 'initialize';
      response.writeHead(200, {
        'content-type': isOpening ? 'application/json' : 'text/event-stream',
        'mcp-session-id': 'one',
      });
      if (isOpening) {
        response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { capabilities: {} } }));
        return;
      }
      const answer =
        verb === 'GET' ? '' : `data: ${JSON.stringify({ ...result('answer'), id: body.id })}\n\n`;
      response.end(`data: ${JSON.stringify(question)}\n\n${answer}`);
    };
    const headers = await plane.openSession(key, slug, { capabilities });
    const called = await plane.call(key, slug, 'tools/call', { name: 'echo' }, { headers });
    const stream = await plane.send(key, slug, undefined, { method: 'GET', headers });
    return [String(called.body), String(stream.body)] as const;
  }

  it.each([
    ['sampling', 'sampling/createMessage', { elicitation: {}, roots: {} }],
    ['elicitation', 'elicitation/create', { sampling: {} }],
    ['roots', 'roots/list', {}],
  ])(
    'cannot ask a client of a session for %s without its declaration',
    async (capability, method, others) => {
      const [called, stream] = await ask(method, others);
      expect(called).toContain(`it asks for ${capability}, which the client has not declared`);
      expect(called).not.toContain('answer');
      for (const text of [called, stream]) expect(text).not.toContain('secret question');
      const declared = await ask(method, { ...others, [capability]: {} });
      for (const text of declared) expect(text).toContain('secret question');
      expect(declared[0]).toContain('answer');
    },
  );
});

describe('a modern server', () => {
  it.each([
    ['sampling', 'sampling/createMessage', { elicitation: {}, roots: {} }],
    ['elicitation', 'elicitation/create', { sampling: {}, roots: {} }],
    ['roots', 'roots/list', { elicitation: {}, sampling: {} }],
    ['another thing', 'tools/call', { elicitation: {}, sampling: {}, roots: {} }],
  ])('cannot ask a client for %s that has not declared it', async (_, method, capabilities) => {
    plane.upstream.answer = (request) =>
      request.method === 'tools/call'
        ? {
            result: {
              resultType: 'input_required',
              inputRequests: { q: { method, params: { message: 'secret question' } } },
            },
          }
        : null;
    const refused = await callDeclaring(capabilities);
    expect(refused.body.error).toMatchObject({ data: { code: 'server_unusable' } });
    expect(JSON.stringify(refused.body)).not.toContain('secret question');
    const declared = await callDeclaring({
      ...capabilities,
      sampling: {},
      elicitation: {},
      roots: {},
    });
    if (method !== 'tools/call') expect(declared.body.result.resultType).toBe('input_required');
  });
});

const callDeclaring = (capabilities: object) =>
  plane.call(
    key,
    slug,
    'tools/call',
    {
      name: 'echo',
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': modern,
        'io.modelcontextprotocol/clientCapabilities': capabilities,
      },
    },
    {
      headers: {
        'mcp-protocol-version': modern,
        'mcp-method': 'tools/call',
        'mcp-name': 'echo',
      },
    },
  );

describe('a list without an end', () => {
  it('is given up when the gateway looks a name up', async () => {
    const integration = await plane.addIntegration({
      disabled_capabilities: [{ type: 'tool', name: 'drop_table' }],
    });
    const server = await plane.addServer({}, integration);
    let pages = 0;
    plane.upstream.script = ({ body }, response) => {
      pages += 1;
      const page = { tools: [], nextCursor: `${pages}` };
      sendJson(response, { jsonrpc: '2.0', id: body.id, result: page });
    };
    const refused = await plane.call(key, server.slug, 'tools/call', { name: 'new_tool' });
    expect(refused).toMatchObject({ body: { error: { data: { code: 'server_unusable' } } } });
    expect(pages).toBe(200);
    expect(plane.upstream.calls()).toEqual([]);
  });
});

it('is counted with its reason when it is no message of JSON-RPC', async () => {
  const counted = async () => {
    const { body } = await exchange('GET', `${plane.server.metricsUrl}/metrics`, undefined, {});
    return Number(/messages_total\{reason="malformed"\} (\d+)/.exec(String(body))?.[1] ?? 0);
  };
  const before = await counted();
  answerIn(false, JSON.stringify({ ...result(), note: 'x' }));
  await call(guarded.slug);
  expect(await counted()).toBe(before + 1);
});
