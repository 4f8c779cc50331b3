/** Verifies that open streams of the MCP gateway follow changes, on every replica, and stay open while they are idle. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { startTokenIssuer, tokenSettings } from '../../support/callers/token-issuer.ts';
import { openEvents } from '../../support/mcp/open-events.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';
import { testSettings } from '../../support/server/server.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

const modern = '2026-07-28';
const subscriptionId = 'io.modelcontextprotocol/subscriptionId';
const stack = new AsyncDisposableStack();
let plane: McpTestPlane;
let replicaUrl: string;
let key: string;

beforeAll(async () => {
  plane = stack.use(await startMcpTestPlane());
  ({ key } = await plane.addKey());
  const log = createLog({ level: 'silent' });
  const replica = stack.use(openApp(plane.server.settings, { log, components: ['mcp'] }));
  await replica.connect();
  replicaUrl = (await replica.listen()).mcpUrl!;
});
beforeEach(() => {
  const { upstream } = plane;
  upstream.journal.length = 0;
  Object.assign(upstream, { streams: false, answer: null, script: null, before: [] });
});
afterAll(() => stack.disposeAsync());

const urlOf = (slug: string, base = plane.server.mcpUrl) => `${base}/${slug}/mcp`;

/** Opens the stream of the legacy era. */
const openLegacy = async (slug: string, sent = key, base = plane.server.mcpUrl) =>
  stack.use(await openEvents(urlOf(slug, base), { key: sent }));

/** Opens a subscription of the modern era to a server that promises what is asked for. */
async function openModern(slug: string, notifications: object, sent = key) {
  plane.upstream.script = ({ body }, response) => {
    if (body.method === 'server/discover') {
      const result = { supportedVersions: [modern], capabilities: {} };
      return sendJson(response, { jsonrpc: '2.0', id: body.id, result });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const params = {
      notifications: body.params.notifications,
      _meta: { [subscriptionId]: body.id },
    };
    const ack = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params };
    response.write(`data: ${JSON.stringify(ack)}\n\n`);
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const method = 'subscriptions/listen';
  const body = { jsonrpc: '2.0', id: 'sub-1', method, params: { notifications, _meta } };
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': method };
  return stack.use(await openEvents(urlOf(slug), { key: sent, body, headers }));
}

const put = async (path: string, body: object) => {
  const { status } = await plane.server.request('PUT', path, { body });
  expect(status).toBe(200);
};
const disable = (server: CreatedResource, name: string, type = 'tool') =>
  put(`/v2/mcp-servers/${server.id}/capabilities`, {
    capabilities: [{ name, type, enabled: false }],
  });

describe('an edit of the allow-list', () => {
  it('is reported on every open stream of every replica, for the lists that it changes', async () => {
    const server = await plane.addServer();
    const streams = [
      await openLegacy(server.slug),
      await openLegacy(server.slug, key, replicaUrl),
      await openLegacy((await plane.addServer()).slug),
    ];
    await disable(server, 'add');
    for (const stream of streams.slice(0, 2)) {
      const message = await eventually(() => stream.find('notifications/tools/list_changed'));
      expect(message).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    }
    await disable(server, 'greet', 'prompt');
    await eventually(() => streams[0]!.find('notifications/prompts/list_changed'));
    expect(streams[0]!.messages).toHaveLength(2);
    expect(streams[2]!.messages).toEqual([]);
  });

  it('is reported to a subscription that asked for it, with the id of the subscription', async () => {
    const server = await plane.addServer();
    const stream = await openModern(server.slug, { toolsListChanged: true });
    await eventually(() => stream.find('notifications/subscriptions/acknowledged'));
    await disable(server, 'greet', 'prompt');
    await disable(server, 'add');
    const message = await eventually(() => stream.find('notifications/tools/list_changed'));
    expect(message).toMatchObject({ params: { _meta: { [subscriptionId]: 'sub-1' } } });
    expect(stream.messages).toHaveLength(2);
  });

  it('hides notices of a disabled resource on a stream that was open before', async () => {
    const server = await plane.addServer();
    const stream = await openLegacy(server.slug);
    const updated = (uri: string) => ({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri },
    });
    plane.upstream.push(updated('test://secret'));
    await eventually(() => expect(stream.text).toContain('test://secret'));
    await disable(server, 'test://secret', 'resource');
    await eventually(() => stream.find('notifications/resources/list_changed'));
    plane.upstream.push(updated('test://secret?again'));
    plane.upstream.push(updated('test://secret'));
    plane.upstream.push(updated('test://readme'));
    await eventually(() => expect(stream.text).toContain('test://readme'));
    expect(stream.text.match(/test:\/\/secret"/g)).toHaveLength(1);
  });

  it('is seen by a guardrail that begins to judge an open stream', async () => {
    const server = await plane.addServer();
    const stream = await openLegacy(server.slug);
    await plane.guard(server, [
      { id: 'default.contains', parameters: { words: ['mellon'], operator: 'none' } },
    ]);
    await eventually(async () => {
      const { body } = await plane.call(key, server.slug, 'tools/call', {
        name: 'echo',
        arguments: { text: 'mellon' },
      });
      expect(body.error?.code).toBe(-32446);
    });
    await disable(server, 'add');
    await eventually(() => stream.find('notifications/tools/list_changed'));
    const note = (data: string) => ({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data },
    });
    plane.upstream.push(note('say mellon'));
    plane.upstream.push(note('harmless'));
    await eventually(() => expect(stream.text).toContain('harmless'));
    expect(stream.text).not.toContain('mellon');
  });
});

describe('an open stream', () => {
  it('ends on every replica when its key is deleted, and others stay open', async () => {
    const own = await plane.addKey();
    const server = await plane.addServer();
    const streams = [
      await openLegacy(server.slug, own.key),
      await openLegacy(server.slug, own.key, replicaUrl),
    ];
    const other = await openLegacy(server.slug);
    expect((await plane.server.request('DELETE', `/v1/api-keys/${own.id}`)).status).toBe(200);
    for (const stream of streams) await eventually(() => expect(stream.isEnded).toBe(true));
    expect(other.isEnded).toBe(false);
  });

  it('ends when it is a subscription whose key loses its scope', async () => {
    const own = await plane.addKey();
    const stream = await openModern((await plane.addServer()).slug, {}, own.key);
    await put(`/v1/api-keys/${own.id}`, { scopes: ['completions.write'] });
    await eventually(() => expect(stream.isEnded).toBe(true));
  });

  it.each<[string, (server: CreatedResource, integration: CreatedResource) => Promise<unknown>]>([
    [
      'users lose their access',
      ({ id }) => put(`/v2/mcp-servers/${id}/user-access`, { default_user_access: 'deny' }),
    ],
    [
      'its workspace loses the integration',
      (_, { id }) =>
        put(`/v2/mcp-integrations/${id}/workspaces`, {
          workspaces: [{ id: plane.workspace.id, enabled: false }],
        }),
    ],
    ['the server is deleted', ({ id }) => plane.server.request('DELETE', `/v2/mcp-servers/${id}`)],
    [
      'the address of the server changes',
      (_, { id }) =>
        put(`/v2/mcp-integrations/${id}`, {
          url: `${plane.upstream.url}/moved`,
          configurations: { custom_headers: {} },
        }),
    ],
    [
      'a secret of the server changes',
      (_, { id }) =>
        put(`/v2/mcp-integrations/${id}`, {
          configurations: { custom_headers: { 'X-Secret': 'two' } },
        }),
    ],
  ])('ends when %s', async (_, change) => {
    const integration = await plane.addIntegration({
      configurations: { custom_headers: { 'X-Secret': 'one' } },
    });
    const server = await plane.addServer({}, integration);
    const streams = [await openLegacy(server.slug), await openLegacy(server.slug, key, replicaUrl)];
    await change(server, integration);
    for (const stream of streams) await eventually(() => expect(stream.isEnded).toBe(true));
  });

  it('stays open when something else of its server changes', async () => {
    const server = await plane.addServer();
    const stream = await openLegacy(server.slug);
    await put(`/v2/mcp-servers/${server.id}`, { description: 'another text' });
    await disable(server, 'add');
    await eventually(() => stream.find('notifications/tools/list_changed'));
    expect(stream.isEnded).toBe(false);
    expect(stream.messages).toHaveLength(1);
  });
});

describe('an idle stream', () => {
  it('receives comments only, and ends with its key or token', async () => {
    await using issuer = await startTokenIssuer();
    const signer = await issuer.addKey('main');
    const settings = testSettings();
    const tokens = tokenSettings(issuer.url, { audience: 'gatewright' });
    await using own = await startMcpTestPlane(
      { inference: { ...settings.inference, tokens }, mcp: { ...settings.mcp, keepAliveMs: 20 } },
      issuer.host,
    );
    const { slug } = await own.addServer();
    const { clock, tsgId, mcpUrl } = own.server;
    const endsAt = clock.now() + 60_000;
    const token = await signer.sign({
      tsg_id: tsgId,
      workspace_slug: own.workspace.slug,
      sub: 'agent',
      aud: 'gatewright',
      exp: Math.floor(endsAt / 1000),
      scopes: ['mcp.invoke'],
    });
    const ending = await own.addKey({ expires_at: new Date(endsAt).toISOString() });
    const lasting = await own.addKey();
    const open = (sent: string) => openEvents(urlOf(slug, mcpUrl), { key: sent });
    await using byToken = await open(token);
    await using byKey = await open(ending.key);
    await using other = await open(lasting.key);
    for (const stream of [byToken, byKey, other]) {
      await eventually(() => expect(stream.text).toMatch(/^: open\n\n(?:: keep-alive\n\n){2,}$/));
    }
    clock.set(endsAt + 6_000);
    for (const stream of [byToken, byKey]) {
      await eventually(() => expect(stream.isEnded).toBe(true));
    }
    expect(other.isEnded).toBe(false);
  });

  it('receives comments while a call runs, never inside of an event', async () => {
    const settings = testSettings();
    await using own = await startMcpTestPlane({ mcp: { ...settings.mcp, keepAliveMs: 20 } });
    const { slug } = await own.addServer();
    const { key: sent } = await own.addKey();
    const { promise: isHalf, resolve: half } = Promise.withResolvers<void>();
    const { promise: isRead, resolve: whole } = Promise.withResolvers<void>();
    own.upstream.script = ({ body }, response) => {
      const answer = JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { content: [] } });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      void isHalf
        .then(() => response.write(`data: ${answer.slice(0, 10)}`))
        .then(() => isRead)
        .then(() => response.end(`${answer.slice(10)}\n\n`));
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
    await using stream = await openEvents(urlOf(slug, own.server.mcpUrl), { key: sent, body });
    await eventually(() => expect(stream.text).toContain(': keep-alive\n\n: keep-alive'));
    half();
    const { length } = stream.text;
    await eventually(() => expect(stream.text.length).toBeGreaterThan(length + 100));
    whole();
    await eventually(() => expect(stream.isEnded).toBe(true));
    expect(stream.messages).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [] } }]);
  });
});
