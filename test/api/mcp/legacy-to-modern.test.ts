/** Tests that legacy clients can use servers that speak the modern era only, through any replica. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { type OpenedResponse, openResponse } from '../../support/mcp/event-client.ts';
import type { McpFixture } from '../../support/mcp/fixture-host.ts';
import { startModernFixture } from '../../support/mcp/modern-fixture.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';

const stack = new AsyncDisposableStack();
let fixture: McpFixture;
let plane: McpTestPlane;
/** Addresses of two replicas. */
let replicas: readonly string[];
let key: string;
let slug: string;

beforeAll(async () => {
  fixture = stack.use(await startModernFixture());
  plane = stack.use(await startMcpTestPlane({}, new URL(fixture.url).host));
  const { settings, clock } = plane.server;
  const replica = stack.use(
    openApp(settings, {
      log: createLog({ level: 'silent' }),
      clock,
      readSharedTime: async () => clock.now(),
      components: ['mcp'],
    }),
  );
  await replica.connect();
  const { mcpUrl } = await replica.listen();
  replicas = [plane.server.mcpUrl, mcpUrl!];
  key = (await plane.addKey()).key;
  slug = (await plane.addServer({}, await plane.addIntegration({ url: fixture.url }))).slug;
});
beforeEach(() => void (fixture.journal as unknown[]).splice(0));
afterAll(() => stack.disposeAsync());

const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const client = { name: 'test client', version: '1' };

const open = (more: object = {}, at = 0) => {
  const params = { capabilities, clientInfo: client, ...more };
  return plane.openSession(key, slug, params, { url: replicas[at]! });
};

const send = (at: number, body: object | null, headers: Record<string, string>, ownKey = key) =>
  openResponse(`${replicas[at]}/${slug}/mcp`, ownKey, body, headers);
const rpc = (method: string, params: object = {}, id: unknown = 7) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const toolCall = (name: string, args: object = {}, id: unknown = 7) =>
  rpc('tools/call', { name, arguments: args }, id);
const answer = (id: unknown, result: object) => ({ jsonrpc: '2.0', id, result });
const only = async (response: OpenedResponse) => (await response.rest())[0];
const count = (method: string) => sentMethods().filter((one) => one === method).length;
const sentMethods = () => fixture.journal.map(({ body }) => (body as { method: string }).method);

describe('initialize', () => {
  it('is answered from the description of the server, and sends it no session', async () => {
    const params = { protocolVersion: '2025-06-18', capabilities, clientInfo: client };
    const opened = await plane.call(key, slug, 'initialize', params);
    expect(opened.body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          completions: {},
          logging: {},
        },
        serverInfo: { name: 'modern-fixture', version: '1.0.0' },
        instructions: 'A fixture of the modern era.',
      },
    });
    expect(JSON.stringify(fixture.journal)).not.toContain('mcp-session-id');
  });

  it('agrees on the newest version for one that the gateway does not know', async () => {
    const opened = await plane.call(key, slug, 'initialize', { protocolVersion: '2024-11-05' });
    expect(opened.body.result.protocolVersion).toBe('2025-11-25');
  });

  it('is tried at the server once only, and then answered at once', async () => {
    await open();
    await open();
    expect(sentMethods()).toEqual(['server/discover', 'server/discover']);
  });
});

describe('a call', () => {
  it('has the members and headers of the modern era, and the identity of the client', async () => {
    const headers = await open();
    await using called = await send(0, toolCall('test_simple_text'), headers);
    expect(await only(called)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        content: [{ type: 'text', text: 'This is a simple text response for testing.' }],
      },
    });
    expect(called.headers.get('content-type')).toBe('application/json');
    expect(fixture.journal.at(-1)).toMatchObject({
      headers: {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'test_simple_text',
      },
      body: {
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': capabilities,
            'io.modelcontextprotocol/clientInfo': client,
          },
        },
      },
    });
  });

  it('has the headers of its arguments though the server was never synchronised', async () => {
    const headers = await open();
    for (const lists of [1, 0]) {
      (fixture.journal as unknown[]).splice(0);
      const called = toolCall('test_custom_headers', { region: 'eu' });
      expect(await only(await send(0, called, headers))).toMatchObject({
        result: { content: [{ text: 'region: eu' }] },
      });
      const calls = fixture.journal.filter(
        ({ headers: sent }) => sent['mcp-param-region'] === 'eu',
      );
      expect([calls.length, count('tools/list')]).toEqual([1, lists]);
    }
  });

  it('has numbers with all their digits, in its body and in its headers', async () => {
    const headers = await open();
    const long = '9007199254740993';
    const text = JSON.stringify(toolCall('test_custom_headers', { region: 0 }));
    const body = text.replace('"region":0', `"region":${long},"n":[0.12345678901234567890,1e400]`);
    await plane.send(key, slug, body, {
      headers: { ...headers, 'content-type': 'application/json' },
    });
    const called = fixture.journal.findLast(({ text: sent }) => sent.includes(long))!;
    expect(called.text).toContain(`"region":${long},"n":[0.12345678901234567890,1e400]`);
    expect(called.headers['mcp-param-region']).toBe(long);
  });

  it('is served without a session too', async () => {
    await using called = await send(0, toolCall('test_simple_text'), {});
    expect(await only(called)).toMatchObject({ id: 7, result: { content: [{}] } });
  });

  it('loses the members that the legacy era does not know', async () => {
    const headers = await open();
    await using listed = await send(1, rpc('tools/list'), headers);
    const { result } = await only(listed);
    expect(Object.keys(result)).toEqual(['tools']);
  });

  it('has the code of the legacy era for an unknown resource', async () => {
    const headers = await open();
    await using read = await send(0, rpc('resources/read', { uri: 'test://nowhere' }), headers);
    expect(await only(read)).toMatchObject({ error: { code: -32002 } });
  });

  it('receives progress and log messages from the level that the session has set at any replica', async () => {
    const headers = await open();
    const logged = async (at: number) => {
      await using called = await send(at, toolCall('test_tool_with_logging'), headers);
      return (await called.rest()).length;
    };
    expect(await logged(0)).toBe(4);
    await using set = await send(1, rpc('logging/setLevel', { level: 'error' }), headers);
    expect(await only(set)).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
    plane.server.clock.advance(1_001);
    expect(await logged(0)).toBe(1);
    await using wrong = await send(1, rpc('logging/setLevel', { level: 'loud' }), headers);
    expect(await only(wrong)).toMatchObject({ error: { code: -32602 } });
  });
});

describe('a question of the server', () => {
  const asking = () => toolCall('test_elicitation', { message: 'Who are you?' });
  const content = { username: 'u', email: 'e' };
  const accepted = { action: 'accept', content };

  it('is a request on the stream of the call, whose answer any replica accepts', async () => {
    for (const at of [0, 1]) {
      const headers = await open();
      await using called = await send(0, asking(), headers);
      const question = await called.next();
      expect(question).toMatchObject({
        method: 'elicitation/create',
        params: { message: 'Who are you?' },
      });
      await using answered = await send(at, answer(question.id, accepted), headers);
      expect(answered.status).toBe(202);
      expect(await called.next()).toMatchObject({
        id: 7,
        result: { content: [{ text: `User response: ${JSON.stringify(accepted)}` }] },
      });
      expect(await called.next()).toBeUndefined();
    }
  });

  it('receives an answer of megabytes that another replica accepts', async () => {
    const headers = await open();
    await using called = await send(0, asking(), headers);
    const { id } = await called.next();
    const long = { ...accepted, content: { ...content, username: 'ü'.repeat(1_500_000) } };
    await using answered = await send(1, answer(id, long), headers);
    expect(answered.status).toBe(202);
    const result = (await called.next()) as { result: { content: [{ text: string }] } };
    expect(result.result.content[0].text).toBe(`User response: ${JSON.stringify(long)}`);
  });

  it('repeats the state of the server with answers of all rounds', async () => {
    const headers = await open();
    const name = 'test_input_required_result_multi_round';
    await using called = await send(0, toolCall(name), headers);
    const first = await called.next();
    await send(1, answer(first.id, { action: 'accept', content: { name: 'Ada' } }), headers);
    const second = await called.next();
    await send(0, answer(second.id, { action: 'accept', content: { color: 'blue' } }), headers);
    expect(await called.next()).toMatchObject({
      result: { content: [{ text: 'Ada likes blue' }] },
    });
    const ids = fixture.journal.map(({ body }) => (body as { id: string }).id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('accepts no answer that is altered, expired, or of another session or key', async () => {
    const headers = await open();
    const others = await open();
    const other = (await plane.addKey()).key;
    await using called = await send(0, asking(), headers);
    const { id } = await called.next();
    const flipped = id.slice(0, -3) + (id.at(-3) === 'A' ? 'B' : 'A') + id.slice(-2);
    const refused = async (body: object, of = headers, ownKey = key) => {
      await using sent = await send(1, body, of, ownKey);
      return [sent.status, (await only(sent)).error.message];
    };
    const unknown = [400, 'The response belongs to no question of the session'];
    expect(await refused(answer(flipped, accepted))).toEqual(unknown);
    expect(await refused(answer(7, accepted))).toEqual(unknown);
    expect(await refused(answer(id, accepted), others)).toEqual(unknown);
    const gone = [404, 'The session does not exist; initialize a new one'];
    expect(await refused(answer(id, accepted), headers, other)).toEqual(gone);
    plane.server.clock.advance(600_001);
    expect(await refused(answer(id, accepted))).toEqual(unknown);
    expect(sentMethods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('is cancelled when the client cannot ask its user, and ends the call when it cannot be answered', async () => {
    const headers = await open();
    const refusal = (id: unknown) => ({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } });
    await using elicited = await send(0, asking(), headers);
    await send(0, refusal((await elicited.next()).id), headers);
    expect((await elicited.next()).result.content[0].text).toContain('cancel');
    await using sampled = await send(0, toolCall('test_sampling', { prompt: 'p' }), headers);
    await send(1, refusal((await sampled.next()).id), headers);
    expect(await sampled.next()).toMatchObject({
      id: 7,
      error: { code: -32603, data: { code: 'input_refused' } },
    });
  });

  it('is an error where the client has not declared that it can be asked', async () => {
    const headers = await open({ capabilities: {} });
    await using called = await send(0, toolCall('test_missing_capability'), headers);
    expect(await only(called)).toMatchObject({ id: 7, error: { code: -32600 } });
  });

  it('ends with the call when its client cancels it at another replica', async () => {
    const headers = await open();
    await using called = await send(0, asking(), headers);
    await called.next();
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 7 },
    };
    await using sent = await send(1, cancelled, headers);
    expect(sent.status).toBe(202);
    expect(await called.next()).toBeUndefined();
  });
});

describe('the stream of a session', () => {
  it('has changes of lists, and updates of resources that the session subscribes to at any replica', async () => {
    const headers = await open();
    await using stream = await send(0, null, headers);
    expect(stream.status).toBe(200);
    await (await send(1, toolCall('test_trigger_tool_change'), headers)).rest();
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
    });
    const uri = 'test://watched-resource';
    await using subscribed = await send(1, rpc('resources/subscribe', { uri }), headers);
    expect(await only(subscribed)).toMatchObject({ result: {} });
    const listens = () => sentMethods().filter((method) => method === 'subscriptions/listen');
    await eventually(() => expect(listens()).toHaveLength(2));
    const trigger = () => send(1, toolCall('test_trigger_resource_update'), headers);
    await (await trigger()).rest();
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri },
    });
  });
});

describe('a session', () => {
  it('does not exist for another key or server, and after its time', async () => {
    const headers = await open();
    const status = async (ownKey: string, ownSlug: string) => {
      const pinged = await plane.call(ownKey, ownSlug, 'ping', {}, { headers });
      return [pinged.status, pinged.body.error?.message];
    };
    const gone = [404, 'The session does not exist; initialize a new one'];
    const integration = await plane.addIntegration({ url: fixture.url });
    const elsewhere = await plane.addServer({}, integration);
    expect(await status((await plane.addKey()).key, slug)).toEqual(gone);
    expect(await status(key, elsewhere.slug)).toEqual(gone);
    expect(await status(key, slug)).toEqual([200, undefined]);
    plane.server.clock.advance(7 * 86_400_000);
    expect(await status(key, slug)).toEqual(gone);
  });

  it('leaves nothing behind when it ends', async () => {
    const headers = await open();
    await using set = await send(1, rpc('logging/setLevel', { level: 'error' }), headers);
    await set.rest();
    const rows = () =>
      plane.server.database.db.selectFrom('mcp_session_notes').selectAll().execute();
    expect((await rows()).length).toBeGreaterThan(0);
    const before = await rows();
    const ended = await plane.send(key, slug, undefined, { method: 'DELETE', headers });
    expect(ended.status).toBe(204);
    expect((await rows()).length).toBe(before.length - 1);
    plane.server.clock.advance(8 * 86_400_000);
    await plane.server.app.jobs.runNow('delete-ended-sessions');
    expect(await rows()).toEqual([]);
  });
});
