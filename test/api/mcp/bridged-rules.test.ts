/** Tests that rules hold for calls of legacy clients at modern servers, and that hostile servers are bounded. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openResponse } from '../../support/mcp/event-client.ts';
import { speakOnly } from '../../support/mcp/one-era.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let plane: McpTestPlane;
let key: string;
const forbidden = 'mellon';

beforeAll(async () => {
  plane = await startMcpTestPlane();
  key = (await plane.addKey()).key;
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(() => plane[Symbol.asyncDispose]());

type Request = ReturnType<typeof JSON.parse>;

/** Has the upstream speak the modern era only, with these results. */
function speakModern(resultOf: (request: Request) => object): void {
  speakOnly(plane.upstream, 'modern');
  plane.upstream.script = null;
  plane.upstream.answer = (request) =>
    request.method === 'server/discover' ? null : resultOf(request);
}

const complete = (text: string) => ({
  result: { resultType: 'complete', content: [{ type: 'text', text }] },
});
const question = (message: string) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: {} } },
});
const asking = (message: string, requestState = 'state') => ({
  result: {
    resultType: 'input_required',
    inputRequests: { q: question(message) },
    requestState,
  },
});

const open = (slug: string, ownKey = key) =>
  plane.openSession(ownKey, slug, { capabilities: { elicitation: {} } });

const post = (slug: string, body: object, headers: Record<string, string>, ownKey = key) =>
  openResponse(`${plane.server.mcpUrl}/${slug}/mcp`, ownKey, body, headers);
const callOf = (text: string, name = 'echo') => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: { text } },
});
const answer = (id: unknown, word: string) => ({
  jsonrpc: '2.0',
  id,
  result: { action: 'accept', content: { word } },
});
const sentCalls = () =>
  plane.upstream.journal.filter(({ body }) => body?.method === 'tools/call').map((one) => one.body);

async function addGuarded(runOn: string): Promise<CreatedResource> {
  const server = await plane.addServer();
  await plane.guard(
    server,
    [{ id: 'default.contains', parameters: { words: [forbidden], operator: 'none' } }],
    { run_on: [runOn] },
  );
  return server;
}

describe('a guardrail', () => {
  it('keeps denied arguments and denied answers from a modern server', async () => {
    const { slug } = await addGuarded('beforeToolCall');
    speakModern(({ params }) =>
      params.inputResponses === undefined ? asking('word?') : complete('done'),
    );
    const headers = await open(slug);
    await using denied = await post(slug, callOf(forbidden), headers);
    expect(await denied.next()).toMatchObject({ id: 7, error: { code: -32446 } });
    expect(sentCalls()).toEqual([]);
    await using called = await post(slug, callOf('fine'), headers);
    const { id } = await called.next();
    await using refused = await post(slug, answer(id, forbidden), headers);
    expect(await refused.next()).toMatchObject({ error: { code: -32446 } });
    await using accepted = await post(slug, answer(id, 'friend'), headers);
    expect(accepted.status).toBe(202);
    expect(await called.next()).toMatchObject({ id: 7, result: { content: [{ text: 'done' }] } });
    expect(JSON.stringify(plane.upstream.journal)).not.toContain(forbidden);
  });

  it('keeps denied results and denied questions of a modern server from the client', async () => {
    const { slug } = await addGuarded('afterToolCall');
    const headers = await open(slug);
    for (const result of [complete(`say ${forbidden}`), asking(`say ${forbidden}`)]) {
      speakModern(() => result);
      await using called = await post(slug, callOf('x'), headers);
      const messages = await called.rest();
      expect(messages).toMatchObject([{ id: 7, error: { code: -32446 } }]);
      expect(JSON.stringify(messages)).not.toContain(forbidden);
    }
  });
});

describe('an allow-list', () => {
  it('hides and refuses disabled tools of a modern server', async () => {
    const { slug } = await plane.addServer({
      disabled_capabilities: [{ type: 'tool', name: 'drop_table' }],
    });
    speakModern(() => ({
      result: { resultType: 'complete', tools: [{ name: 'echo' }, { name: 'drop_table' }] },
    }));
    const headers = await open(slug);
    const listed = await plane.call(key, slug, 'tools/list', {}, { headers });
    expect(listed.body.result).toEqual({ tools: [{ name: 'echo' }] });
    await using called = await post(slug, callOf('x', 'drop_table'), headers);
    expect(await called.next()).toMatchObject({ error: { code: -32602 } });
    expect(sentCalls()).toEqual([]);
  });
});

describe('a limit', () => {
  it('counts a call once, however often it is repeated with answers', async () => {
    const limited = (
      await plane.addKey({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 2 }] })
    ).key;
    const { slug } = await plane.addServer();
    speakModern(({ params }) =>
      params.inputResponses === undefined ? asking('word?') : complete('done'),
    );
    const headers = await open(slug, limited);
    for (let count = 0; count < 2; count += 1) {
      await using called = await post(slug, callOf('x'), headers, limited);
      const { id } = await called.next();
      await (await post(slug, answer(id, 'friend'), headers, limited)).rest();
      expect(await called.next()).toMatchObject({ result: { content: [{ text: 'done' }] } });
    }
    await using third = await post(slug, callOf('x'), headers, limited);
    expect(third.status).toBe(429);
    expect(sentCalls()).toHaveLength(4);
  });
});

describe('a hostile modern server', () => {
  let slug: string;
  beforeAll(async () => {
    ({ slug } = await plane.addServer());
  });

  it('is stopped when it requires input again and again', async () => {
    speakModern(({ params }) => asking('again?', `${params.requestState ?? ''}x`));
    const headers = await open(slug);
    await using called = await post(slug, callOf('x'), headers);
    let message = await called.next();
    let questions = 0;
    for (; message.method !== undefined; message = await called.next()) {
      questions += 1;
      await (await post(slug, answer(message.id, 'friend'), headers)).rest();
    }
    expect(message).toMatchObject({ id: 7, error: { data: { code: 'server_unusable' } } });
    expect(questions).toBe(10);
    expect(sentCalls().map(({ params }) => params.requestState)).toEqual([
      undefined,
      ...Array.from({ length: 10 }, (_, at) => 'x'.repeat(at + 1)),
    ]);
  });

  it.each([
    ['undeclared', { method: 'sampling/createMessage', params: { messages: [] } }],
    ['unknown', { method: 'tools/call', params: { name: 'echo' } }],
    ['malformed', 'question'],
  ])('cannot ask an %s question', async (_, request) => {
    speakModern(() => ({
      result: { resultType: 'input_required', inputRequests: { q: request } },
    }));
    const headers = await open(slug);
    await using called = await post(slug, callOf('x'), headers);
    expect(called.status).toBe(502);
    expect(await called.rest()).toMatchObject([
      { id: 7, error: { data: { code: 'server_unusable' } } },
    ]);
  });

  it.each([
    [
      'too many questions',
      {
        resultType: 'input_required',
        inputRequests: Object.fromEntries(
          Array.from({ length: 33 }, (_, at) => [at, question('?')]),
        ),
      },
    ],
    ['no question and no state', { resultType: 'input_required' }],
    ['a task that nobody has asked for', { resultType: 'task', task: { taskId: '1' } }],
  ])('is unusable with %s', async (_, result) => {
    speakModern(() => ({ result }));
    const headers = await open(slug);
    await using called = await post(slug, callOf('x'), headers);
    expect(await called.rest()).toMatchObject([{ error: { data: { code: 'server_unusable' } } }]);
  });

  it('cannot answer for another request, nor twice, nor ask by requests of its own', async () => {
    plane.upstream.script = ({ body }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const result = { resultType: 'complete', content: [] };
      for (const message of [
        { id: 'other', result: { ...result, forged: true } },
        { id: 'own', method: 'elicitation/create', params: { message: 'forged' } },
        { id: body.id, result },
        { id: body.id, result: { ...result, forged: true } },
      ]) {
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
      }
      response.end();
    };
    await using called = await post(slug, callOf('x'), {});
    expect(await called.rest()).toEqual([{ jsonrpc: '2.0', id: 7, result: { content: [] } }]);
  });

  it('is asked for its era anew when it speaks the legacy era again', async () => {
    speakModern(() => complete('x'));
    const headers = await open(slug);
    plane.upstream.script = (_, response) =>
      sendJson(response, { id: null, error: { code: -32000, message: 'no session' } }, 400);
    await using called = await post(slug, callOf('x'), headers);
    expect(called.status).toBe(404);
    speakOnly(plane.upstream, 'both');
    Object.assign(plane.upstream, { script: null, answer: null });
    const opened = await plane.call(key, slug, 'initialize', { protocolVersion: '2025-11-25' });
    expect(opened.body.result.serverInfo.name).toBe('journal');
  });
});

describe('a batch', () => {
  it('is refused for a modern server', async () => {
    const { slug } = await plane.addServer();
    speakModern(() => complete('x'));
    await open(slug);
    const sent = await plane.send(key, slug, [callOf('x')]);
    expect(sent).toMatchObject({ status: 400, body: [{ id: 7, error: { code: -32600 } }] });
    expect(sentCalls()).toEqual([]);
  });
});
