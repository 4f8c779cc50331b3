/** Verifies that servers of HTTP+SSE are used through the MCP gateway as servers of streamable HTTP are, under every rule. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { createLog } from '../../../src/log.ts';
import { ModernCaller } from '../../support/mcp/modern-caller.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';
import { type McpUpstream, startMcpUpstream } from '../../support/upstream/mcp-upstream.ts';

let reference: McpUpstream;
let plane: McpTestPlane;
let key: string;
let server: CreatedResource;

beforeAll(async () => {
  reference = await startMcpUpstream();
  plane = await startMcpTestPlane({}, new URL(reference.url).host);
  ({ key } = await plane.addKey());
  server = await addEventServer();
});
beforeEach(() => {
  reference.script = null;
  reference.reached.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await reference[Symbol.asyncDispose]();
});

async function addEventServer(more: object = {}, fields: object = {}): Promise<CreatedResource> {
  const address = { url: `${reference.url}/sse`, transport: 'sse' };
  return await plane.addServer(fields, await plane.addIntegration({ ...address, ...more }));
}

async function connect({ slug }: CreatedResource, base = plane.server.mcpUrl): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  const headers = { authorization: `Bearer ${key}` };
  const url = new URL(`${base}/${slug}/mcp`);
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  await client.connect(transport as Transport);
  return client;
}

const echo = (message: string) => ({ name: 'echo', arguments: { message } });
const textOf = (result: unknown) => JSON.stringify(result);
const initialize = {
  jsonrpc: '2.0',
  id: 'seven',
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
};

async function guard(runOn: readonly string[], to = server): Promise<void> {
  await plane.guard(
    to,
    [{ id: 'default.contains', parameters: { words: ['mellon'], operator: 'none' } }],
    { run_on: runOn },
  );
}

describe('a client of the legacy era', () => {
  it('uses tools, prompts and resources, and receives progress while a call runs', async () => {
    const client = await connect(server);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0);
    expect((await client.listResources()).resources.length).toBeGreaterThan(0);
    const calls = ['one', 'two', 'three'].map((text) => client.callTool(echo(text)));
    expect((await Promise.all(calls)).map(textOf)).toEqual([
      expect.stringContaining('one'),
      expect.stringContaining('two'),
      expect.stringContaining('three'),
    ]);
    const progress: number[] = [];
    const slow = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } };
    await client.callTool(slow, undefined, { onprogress: (one) => progress.push(one.progress) });
    expect(progress).toEqual([1, 2, 3]);
    expect(reference.reached.some((headers) => 'mcp-session-id' in headers)).toBe(false);
    await client.close();
  });

  it('answers questions of the server', async () => {
    const client = await connect(server);
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'decline' as const }));
    const question = { name: 'trigger-elicitation-request', arguments: {} };
    await eventually(async () => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain(question.name);
    });
    expect(textOf(await client.callTool(question))).toContain('declined');
    await client.close();
  });

  it('ends its session, which is gone afterwards', async () => {
    const opened = await plane.send(key, server.slug, initialize);
    const session = { 'mcp-session-id': opened.headers['mcp-session-id'] as string };
    const listed = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
    const send = (body: object | undefined, method = 'POST') =>
      plane.send(key, server.slug, body, { method, headers: session });
    expect((await send(listed)).status).toBe(200);
    expect((await send(undefined, 'DELETE')).status).toBeLessThan(300);
    expect((await send(listed)).status).toBe(404);
    const { key: other } = await plane.addKey();
    const foreign = await plane.send(other, server.slug, listed, { headers: session });
    expect(foreign.status).toBe(404);
  });

  it('needs a session', async () => {
    const listed = await plane.call(key, server.slug, 'tools/list');
    expect(listed.status).toBe(400);
    expect(textOf(listed.body)).toContain('send initialize first');
  });
});

describe('the rules of calls', () => {
  it('refuses disabled tools, denied arguments and calls beyond a limit', async () => {
    const ruled = await addEventServer();
    const client = await connect(ruled);
    const path = `/v2/mcp-servers/${ruled.id}/capabilities`;
    const disabled = { capabilities: [{ name: 'get-sum', type: 'tool', enabled: false }] };
    await plane.server.request('PUT', path, { body: disabled });
    await guard(['input'], ruled);
    await eventually(async () => {
      await expect(client.callTool(echo('mellon'))).rejects.toMatchObject({ code: -32446 });
    });
    const sum = { name: 'get-sum', arguments: { a: 1, b: 2 } };
    await expect(client.callTool(sum)).rejects.toMatchObject({ code: -32602 });
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('get-sum');
    await plane.create('/v1/policies/rate-limits', {
      name: 'one call',
      workspace_id: plane.workspace.id,
      target: 'mcp_tools',
      conditions: [{ key: 'mcp_server', value: ruled.slug }],
      group_by: [{ key: 'mcp_server' }],
      type: 'requests',
      unit: 'rpd',
      value: 1,
    });
    await eventually(async () => {
      await client.callTool(echo('friend')).catch(() => undefined);
      await expect(client.callTool(echo('friend'))).rejects.toThrow(/429|limit/i);
    });
    await client.close();
  });

  it('keeps a denied result from the client', async () => {
    const ruled = await addEventServer();
    await guard(['output'], ruled);
    const client = await connect(ruled);
    await eventually(async () => {
      await expect(client.callTool(echo('mellon'))).rejects.toMatchObject({
        code: -32446,
        message: expect.not.stringContaining('mellon'),
      });
    });
    expect(textOf(await client.callTool(echo('friend')))).toContain('friend');
    await client.close();
  });
});

it('serves a client of the modern era, which answers questions', async () => {
  const caller = new ModernCaller(plane, key, server.slug);
  const echoed = await caller.callTool('echo', { arguments: { message: 'hello' } });
  expect(textOf(echoed.message)).toContain('hello');
  const capabilities = { elicitation: { form: {} } };
  const name = 'trigger-elicitation-request';
  const question = await caller.callTool(name, {}, { capabilities });
  expect(question.message.result.resultType).toBe('input_required');
  const answered = await caller.answer(name, question, () => ({ action: 'decline' }), {
    capabilities,
  });
  expect(textOf(answered.message)).toContain('declined');
});

describe('a session on several replicas', () => {
  it('is served by any of them, and is gone with the one that keeps it open', async () => {
    const log = createLog({ level: 'silent' });
    const other = openApp(plane.server.settings, { log, components: ['mcp'] });
    await other.connect();
    const url = (await other.listen()).mcpUrl!;
    const client = await connect(server, url);
    const sessionId = (client.transport as StreamableHTTPClientTransport).sessionId!;
    const send = (id: number, to?: string) =>
      plane.send(
        key,
        server.slug,
        { jsonrpc: '2.0', id, method: 'tools/call', params: echo('across') },
        { headers: { 'mcp-session-id': sessionId }, ...(to !== undefined && { url: to }) },
      );
    expect(textOf((await send(7, url)).body)).toContain('across');
    const forwarded = await send(8);
    expect([forwarded.status, textOf(forwarded.body)]).toEqual([
      200,
      expect.stringContaining('across'),
    ]);
    await client.close();
    await other[Symbol.asyncDispose]();
    expect((await send(9)).status).toBe(404);
  });
});

describe('a server that cannot be used', () => {
  const answerWith = (type: string, body: string, status = 200): void => {
    reference.script = (_, response) => {
      response.writeHead(status, { 'content-type': type });
      response.write(body);
      if (type !== 'text/event-stream') response.end();
    };
  };
  const opened = () => plane.send(key, server.slug, initialize);

  it.each([
    [
      'names an address of another origin',
      'text/event-stream',
      'event: endpoint\ndata: http://169.254.169.254/message\n\n',
      'outside of its own origin',
    ],
    ['opens no stream', 'application/json', '{}', 'set transport to http'],
  ])('is 502 with the reason when it %s', async (_, type, body, reason) => {
    answerWith(type, body);
    const refused = await opened();
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(refused.body.error.message).toContain(reason);
  });

  it('is 502 when it refuses the credentials, of which the client learns nothing', async () => {
    answerWith('application/json', '{"canary":1}', 401);
    const refused = await opened();
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(textOf(refused.body)).not.toContain('canary');
    expect(refused.headers['www-authenticate']).toBeUndefined();
  });

  it('ends the session when it breaks off its stream', async () => {
    let stop = (): void => {};
    reference.script = (request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('event: endpoint\ndata: /message\n\n');
        stop = () => response.end();
        return;
      }
      request.resume();
      response.writeHead(202).end();
      setImmediate(stop);
    };
    expect((await opened()).status).toBe(502);
  });
});
