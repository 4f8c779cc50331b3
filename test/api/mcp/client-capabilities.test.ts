/** Verifies that a server cannot use capabilities of clients that its integration or itself disables, in both eras and through both bridges. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openResponse } from '../../support/mcp/event-client.ts';
import type { McpFixture } from '../../support/mcp/fixture-host.ts';
import { startLegacyFixture } from '../../support/mcp/legacy-fixture.ts';
import { ModernCaller } from '../../support/mcp/modern-caller.ts';
import { startModernFixture } from '../../support/mcp/modern-fixture.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import type { JournalEntry } from '../../support/upstream/mcp-journal.ts';

const stack = new AsyncDisposableStack();
let legacy: McpFixture;
let modern: McpFixture;
let plane: McpTestPlane;
let key: string;

beforeAll(async () => {
  legacy = stack.use(await startLegacyFixture());
  modern = stack.use(await startModernFixture());
  const hosts = [legacy, modern].map(({ url }) => new URL(url).host);
  plane = stack.use(await startMcpTestPlane({}, hosts.join(',')));
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
  Object.assign(plane.upstream, { answer: null, script: null });
});
afterAll(() => stack.disposeAsync());

const member = 'io.modelcontextprotocol/clientCapabilities';
type Meta = Readonly<Record<string, object>>;
const noSampling = { disabled_client_capabilities: ['sampling'] };
const all = { elicitation: {}, sampling: { tools: {} }, roots: { listChanged: true } };
const withheld = 'it asks for sampling, which disabled_client_capabilities exclude';
const setServer = async (id: string, body: object) => {
  const { status } = await plane.server.request('PUT', `/v2/mcp-servers/${id}`, { body });
  expect(status).toBe(200);
};

/** Opens a session of the legacy era that declares everything. */
const open = (slug: string) => plane.openSession(key, slug, { capabilities: all });

/** Has the server ask in each response of a tool and on its stream. */
function askInLegacyEra(method: string): void {
  const question = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 'q', method, params: { message: 'question' } })}\n\n`;
  plane.upstream.script = ({ body, method: verb }: JournalEntry, response: ServerResponse) => {
    const head = { 'mcp-session-id': 'one', 'content-type': 'text/event-stream' };
    response.writeHead(200, head);
    const result = body?.method === 'initialize' ? { capabilities: {} } : { content: [] };
    const answer = `data: ${JSON.stringify({ jsonrpc: '2.0', id: body?.id, result })}\n\n`;
    if (body?.method === 'initialize') response.end(answer);
    else response.end(question + (verb === 'GET' ? '' : answer));
  };
}

describe('a legacy client', () => {
  const ask = async (slug: string, headers: Record<string, string>) => {
    const called = await plane.call(key, slug, 'tools/call', { name: 'echo' }, { headers });
    const stream = await plane.send(key, slug, undefined, { method: 'GET', headers });
    return [String(called.body), String(stream.body)] as const;
  };

  it('is asked for nothing that the server disables, which does not learn of it', async () => {
    const { slug } = await plane.addServer(noSampling);
    askInLegacyEra('sampling/createMessage');
    const headers = await open(slug);
    const { capabilities } = plane.upstream.journal[0]!.body.params;
    expect(capabilities).toEqual({ elicitation: {}, roots: { listChanged: true } });
    const [called, stream] = await ask(slug, headers);
    expect(called).toContain('it asks for sampling');
    for (const text of [called, stream]) expect(text).not.toContain('"question"');
    askInLegacyEra('elicitation/create');
    for (const text of await ask(slug, headers)) expect(text).toContain('"question"');
  });

  it('is asked no more in an open session once its server disables it', async () => {
    const { slug, id } = await plane.addServer();
    askInLegacyEra('sampling/createMessage');
    const headers = await open(slug);
    for (const text of await ask(slug, headers)) expect(text).toContain('"question"');
    await setServer(id, noSampling);
    await eventually(async () => {
      const [called, stream] = await ask(slug, headers);
      expect(called).toContain(withheld);
      expect(stream).not.toContain('"question"');
    });
  });

  it('is not asked by a modern server, also in a session that was open before', async () => {
    const integration = await plane.addIntegration({ url: modern.url });
    const { slug, id } = await plane.addServer({}, integration);
    const headers = await open(slug);
    const ask = async () => {
      const params = { name: 'test_sampling', arguments: { prompt: 'p' } };
      const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
      await using called = await openResponse(
        `${plane.server.mcpUrl}/${slug}/mcp`,
        key,
        message,
        headers,
      );
      return await called.next();
    };
    expect(await ask()).toMatchObject({ method: 'sampling/createMessage' });
    await setServer(id, noSampling);
    await eventually(async () => expect((await ask()).method).toBeUndefined());
    const { params } = modern.journal.at(-1)!.body as { params: { _meta: Meta } };
    expect(Object.keys(params._meta[member]!)).toEqual(['elicitation', 'roots']);
  });
});

describe('a modern client', () => {
  it('is asked for nothing that integration or server disable, which do not learn of it', async () => {
    const disabled = { disabled_client_capabilities: ['roots'] };
    const { slug } = await plane.addServer(noSampling, await plane.addIntegration(disabled));
    const client = new ModernCaller(plane, key, slug);
    plane.upstream.answer = ({ method, params }) =>
      method === 'tools/call'
        ? {
            result: {
              resultType: 'input_required',
              inputRequests: { q: { method: params.arguments.ask, params: { message: '?' } } },
            },
          }
        : null;
    const ask = (method: string) => client.callTool('echo', { arguments: { ask: method } });
    for (const method of ['sampling/createMessage', 'roots/list']) {
      const { message } = await ask(method);
      expect(message.error).toMatchObject({ data: { code: 'server_unusable' } });
    }
    expect((await ask('elicitation/create')).message.result.resultType).toBe('input_required');
    const calls = plane.upstream.journal.filter(({ body }) => body.method === 'tools/call');
    expect(calls.map(({ body }) => body.params._meta[member])).toEqual([
      { elicitation: {} },
      { elicitation: {} },
      { elicitation: {} },
    ]);
  });

  it('sends everything else as it was written', async () => {
    const { slug } = await plane.addServer(noSampling);
    const client = new ModernCaller(plane, key, slug);
    const { body, headers } = client.request('tools/call', { name: 'echo', arguments: { n: 0 } });
    const long = '123456789012345678901234567890.50';
    const sent = await plane.send(key, slug, JSON.stringify(body).replace('"n":0', `"n":${long}`), {
      headers: { ...headers, 'content-type': 'application/json' },
    });
    expect(sent.status).toBe(200);
    const { text } = plane.upstream.journal.at(-1)!;
    expect(text).toContain(`"n":${long}`);
    expect(text).not.toContain('sampling');
    const { _meta: meta } = body.params;
    const sentMeta = { ...meta, [member]: { elicitation: {}, roots: {} } };
    expect(JSON.parse(text).params._meta).toEqual(sentMeta);
  });

  it('is not asked by a legacy server', async () => {
    const integration = await plane.addIntegration({ url: legacy.url, ...noSampling });
    const { slug } = await plane.addServer({}, integration);
    const client = new ModernCaller(plane, key, slug);
    const from = legacy.journal.length;
    const { message } = await client.callTool('test_sampling', { arguments: { prompt: 'p' } });
    expect(message.result?.inputRequests).toBeUndefined();
    const opened = legacy.journal
      .slice(from)
      .map(({ body }) => body as { method?: string; params: { capabilities: object } } | null)
      .filter((body) => body?.method === 'initialize');
    expect(opened.map((body) => Object.keys(body!.params.capabilities))).toContainEqual([
      'roots',
      'elicitation',
    ]);
    expect(JSON.stringify(opened)).not.toContain('"sampling"');
  });
});
