/** Verifies what callers receive of an MCP server that answers for others, answers twice, or sends without end. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messagesIn, openEvents } from '../../support/mcp/open-events.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

let plane: McpTestPlane;
let slug: string;
let key: string;

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ slug } = await plane.addServer());
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, answer: null, script: null, before: [] });
});
afterAll(() => plane[Symbol.asyncDispose]());

/** Messages that were dropped so far, by reason. */
async function dropped(): Promise<Record<string, number>> {
  const { body } = await exchange('GET', `${plane.server.metricsUrl}/metrics`, undefined, {});
  const lines = String(body).matchAll(
    /^gatewright_mcp_dropped_messages_total\{reason="(\w+)"\} (\d+)$/gm,
  );
  return Object.fromEntries([...lines].map(([, reason, count]) => [reason!, Number(count)]));
}

const result = (id: unknown, text = 'own') => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text }] },
});
const progress = {
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: 1 },
};

/** Lets the server answer with these events. */
function answerWith(messages: readonly unknown[]): void {
  plane.upstream.script = ({ body }, response) => {
    if (body?.method === 'server/discover') {
      const discovered = { supportedVersions: ['2026-07-28'], capabilities: {} };
      return sendJson(response, { jsonrpc: '2.0', id: body.id, result: discovered });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const message of messages) response.write(`data: ${JSON.stringify(message)}\n\n`);
    response.end();
  };
}

const call = (more: object = {}) =>
  plane.call(key, slug, 'tools/call', { name: 'echo', arguments: { text: 'x' }, ...more });

describe('a message that belongs to no request of the caller', () => {
  it('is dropped and counted in a stream: another id, a second result, and all after the result', async () => {
    const before = await dropped();
    const question = { jsonrpc: '2.0', id: 9, method: 'sampling/createMessage', params: {} };
    answerWith([
      result(2, 'foreign'),
      result('1', 'foreign'),
      progress,
      result(1),
      result(1, 'second'),
      question,
      { ...progress, params: { ...progress.params, message: 'late' } },
    ]);
    const { body } = await call();
    const messages = messagesIn(body);
    expect(messages).toEqual([progress, result(1)]);
    const after = await dropped();
    const counted = (reason: string) => (after[reason] ?? 0) - (before[reason] ?? 0);
    expect(['foreign_id', 'second_result', 'after_result'].map(counted)).toEqual([2, 1, 2]);
  });

  it('is an error where it is the only response', async () => {
    plane.upstream.script = (_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(result(2, 'foreign')));
    const refused = await call();
    expect(refused).toMatchObject({ status: 502, body: { id: 1 } });
    expect(refused.body.error.message).toContain('its response belongs to another request');
  });

  it('is dropped and counted in a subscription that has not asked for it', async () => {
    const before = await dropped();
    const tag = 'io.modelcontextprotocol/subscriptionId';
    const note = (method: string, params: object = {}, id = 'sub') => ({
      jsonrpc: '2.0',
      method: `notifications/${method}`,
      params: { ...params, _meta: { [tag]: id } },
    });
    const passing = [
      note('subscriptions/acknowledged', { notifications: { toolsListChanged: true } }),
      note('tools/list_changed'),
      note('resources/updated', { uri: 'test://readme' }),
    ];
    answerWith([
      passing[0],
      note('prompts/list_changed'),
      note('resources/updated', { uri: 'test://other' }),
      note('tools/list_changed', {}, 'of another'),
      { jsonrpc: '2.0', id: 3, method: 'roots/list' },
      passing[1],
      passing[2],
    ]);
    const method = 'subscriptions/listen';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['test://readme'] };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
    const params = { notifications, _meta };
    const { body } = await plane.call(key, slug, method, params, { id: 'sub', headers });
    const messages = messagesIn(body);
    expect(messages).toEqual(passing);
    expect((await dropped()).unasked! - (before.unasked ?? 0)).toBe(4);
  });
});

describe('a server that sends too much', () => {
  it('is cut off when its response or an event exceeds what is read', async () => {
    const server = await plane.addServer();
    await plane.guard(server, [
      { id: 'default.contains', parameters: { words: ['mellon'], operator: 'none' } },
    ]);
    const piece = 'x'.repeat(1024 * 1024);
    for (const type of ['application/json', 'text/event-stream']) {
      let sent = 0;
      let isCut = false;
      plane.upstream.script = (_, response) => {
        response.writeHead(200, { 'content-type': type });
        response.write(type === 'application/json' ? '{"jsonrpc":"2.0","a":"' : 'data: "');
        response.on('close', () => {
          isCut = true;
        });
        const more = (): void => {
          sent += 1;
          if (!isCut && sent < 100) response.write(piece, more);
        };
        more();
      };
      await plane.call(key, server.slug, 'tools/call', { name: 'echo' }).catch(() => null);
      await eventually(() => expect(isCut).toBe(true));
      expect(sent).toBeLessThan(60);
    }
    plane.upstream.script = null;
    expect((await call()).body.result).toBeDefined();
  });

  it('does not stop the gateway by depth', async () => {
    const integration = await plane.addIntegration({
      disabled_capabilities: [{ type: 'tool', name: 'add' }],
    });
    const server = await plane.addServer({}, integration);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const list = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add"},{"name":"x","inputSchema":${deep}}]}}`;
    plane.upstream.script = (_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(list);
    const refused = await plane.call(key, server.slug, 'tools/list');
    expect(refused.status).toBe(502);
    expect(refused.body.error.message).toContain('nested');
    plane.upstream.script = null;
    expect((await call()).body.result).toBeDefined();
  });

  it('floods only its own caller, who receives what fits and can leave', async () => {
    const text = `data: ${JSON.stringify(progress)}\n\n`.repeat(1000);
    let isClosed = false;
    plane.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.on('close', () => {
        isClosed = true;
      });
      const more = (): void => {
        if (!isClosed) response.write(text, more);
      };
      more();
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
    const stream = await openEvents(`${plane.server.mcpUrl}/${slug}/mcp`, { key, body });
    await eventually(() => expect(stream.text.length).toBeGreaterThan(1_000_000));
    await stream[Symbol.asyncDispose]();
    await eventually(() => expect(isClosed).toBe(true));
    plane.upstream.script = null;
    expect((await call()).body.result).toBeDefined();
  });
});
