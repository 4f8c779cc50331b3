/** Verifies that MCP clients of both eras use the mock upstream, and that it refuses what the protocol forbids. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type MockServer,
  startMockServer,
} from '../../../src/commands/mock-upstream/mock-server.ts';
import { eventually } from '../../support/server/eventually.ts';

let mock: MockServer;

beforeAll(async () => {
  mock = await startMockServer('127.0.0.1', 0);
});

afterAll(() => mock[Symbol.asyncDispose]());

const info = { name: 'test', version: '1.0.0' };
const inputs = { echo: { text: 'hello' }, add: { a: 2, b: 3 }, wait: { seconds: 0.1 } };

/** The offers of the server, as one client reads them. */
interface Offers {
  readonly tools: readonly string[];
  readonly results: Readonly<Record<string, unknown>>;
  readonly progress: readonly number[];
  readonly prompt: unknown;
  readonly resource: unknown;
}

const expected: Offers = {
  tools: ['echo', 'add', 'wait'],
  results: {
    echo: [{ type: 'text', text: 'echo: hello' }],
    add: { sum: 5 },
    wait: [{ type: 'text', text: 'waited for 0.1 seconds' }],
  },
  progress: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  prompt: { type: 'text', text: 'Say hello to Ada.' },
  resource: 'This is the mock upstream of gatewright. It is not a real service.\n',
};

/** The members of both generations of the SDK that the test uses. */
type AnyClient = Pick<ModernClient, 'listTools' | 'callTool' | 'getPrompt' | 'readResource'>;

async function explore(client: AnyClient): Promise<Offers> {
  const { tools } = await client.listTools();
  const progress: number[] = [];
  const results: Record<string, unknown> = {};
  for (const [name, values] of Object.entries(inputs)) {
    const result = await client.callTool(
      { name, arguments: values },
      { onprogress: (one) => progress.push(one.progress) },
    );
    results[name] = result.structuredContent ?? result.content;
  }
  const { messages } = await client.getPrompt({ name: 'greeting', arguments: { name: 'Ada' } });
  const { contents } = await client.readResource({ uri: 'mock://about' });
  return {
    tools: tools.map(({ name }) => name),
    results,
    progress,
    prompt: messages[0]?.content,
    resource: 'text' in contents[0]! ? contents[0].text : null,
  };
}

/** The first generation takes a schema before the options of a call. */
function asAny(client: LegacyClient): AnyClient {
  const any = {
    listTools: () => client.listTools(),
    callTool: (params: { name: string }, options: object) =>
      client.callTool(params, undefined, options),
    getPrompt: (params: { name: string }) => client.getPrompt(params),
    readResource: (params: { uri: string }) => client.readResource(params),
  };
  return any as unknown as AnyClient;
}

describe('a client of the legacy era', () => {
  it('opens a session, uses every offer, and ends the session', async () => {
    const client = new LegacyClient(info);
    const transport = new LegacyTransport(new URL(mock.mcpUrl));
    await client.connect(transport as Transport);
    expect(client.getServerVersion()).toMatchObject({ name: 'gatewright-mock' });
    expect(await explore(asAny(client))).toEqual(expected);
    const id = transport.sessionId!;
    await transport.terminateSession();
    await client.close();
    const answer = await post(legacy('tools/list'), { 'mcp-session-id': id });
    expect(answer).toMatchObject({ status: 404, body: { id: 1, error: { code: -32001 } } });
  });
});

describe('a client of the modern era', () => {
  it('finds the era, and uses every offer', async () => {
    const client = new ModernClient(info, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new ModernTransport(new URL(mock.mcpUrl)));
    expect(client.getProtocolEra()).toBe('modern');
    expect(await explore(client)).toEqual(expected);
    await client.close();
  });
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function send(init: RequestInit): Promise<Answer> {
  const response = await fetch(mock.mcpUrl, init);
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

async function post(
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return await send({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

const legacy = (method: string, params: object = {}, id = 1): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modern = (method: string, params: object = {}): object =>
  legacy(method, { ...params, _meta: meta });
const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

async function openSession(): Promise<string> {
  const response = await fetch(mock.mcpUrl, {
    method: 'POST',
    body: JSON.stringify(legacy('initialize', { protocolVersion: '2025-06-18' })),
  });
  await response.text();
  return response.headers.get('mcp-session-id')!;
}

describe('the legacy era', () => {
  it('requires a session for everything but initialize', async () => {
    expect(await post(legacy('tools/list'))).toMatchObject({ status: 400 });
    expect(await post(legacy('tools/list'), { 'mcp-session-id': 'x' })).toMatchObject({
      status: 404,
    });
    expect(await send({ method: 'GET' })).toMatchObject({ status: 405 });
    expect(await send({ method: 'DELETE' })).toMatchObject({ status: 405 });
  });

  it('ends a call without a result when the client cancels it', async () => {
    const headers = { 'mcp-session-id': await openSession() };
    let ended: Answer | null = null;
    const call = { name: 'wait', arguments: { seconds: 60 } };
    void post(legacy('tools/call', call, 7), headers).then((answer) => {
      ended = answer;
    });
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    await eventually(async () => {
      await post(cancel, headers);
      expect(ended).toEqual({ status: 202, body: null });
    });
  });

  it('answers the errors of a call in its own codes', async () => {
    const headers = { 'mcp-session-id': await openSession() };
    const codes = [];
    for (const [method, params] of [
      ['tools/call', { name: 'unknown' }],
      ['prompts/get', { name: 'greeting' }],
      ['resources/read', { uri: 'mock://unknown' }],
      ['server/discover', {}],
    ] as const) {
      const { body } = await post(legacy(method, params), headers);
      codes.push((body as { error: { code: number } }).error.code);
    }
    expect(codes).toEqual([-32602, -32602, -32002, -32601]);
  });

  it('reports wrong arguments in the result of the tool', async () => {
    const headers = { 'mcp-session-id': await openSession() };
    for (const [name, values, text] of [
      ['echo', { text: 1 }, 'text must be a string'],
      ['add', { a: '1', b: 2 }, 'a and b must be numbers'],
      ['wait', { seconds: 61 }, 'seconds must be a number from 0 to 60'],
    ] as const) {
      const answer = await post(legacy('tools/call', { name, arguments: values }), headers);
      expect(answer.body).toMatchObject({
        result: { isError: true, content: [{ type: 'text', text }] },
      });
    }
  });
});

describe('the modern era', () => {
  it.each([
    ['a header for another method', modernHeaders('tools/list', 'echo'), -32020],
    ['a header for another tool', modernHeaders('tools/call', 'add'), -32020],
    ['no header for the tool', modernHeaders('tools/call'), -32020],
    ['another version in the header', { 'mcp-protocol-version': '2025-11-25' }, -32020],
  ])('refuses %s', async (_, headers, code) => {
    const body = modern('tools/call', { name: 'echo', arguments: { text: 'x' } });
    expect(await post(body, headers)).toMatchObject({ status: 400, body: { error: { code } } });
  });

  it('accepts an encoded name', async () => {
    const name = `=?base64?${Buffer.from('echo').toString('base64')}?=`;
    const body = modern('tools/call', { name: 'echo', arguments: { text: 'x' } });
    const answer = await post(body, modernHeaders('tools/call', name));
    expect(answer).toMatchObject({ status: 200, body: { result: { resultType: 'complete' } } });
  });

  it('answers unknown methods with 404, and unknown resources with invalid params', async () => {
    const unknown = await post(modern('ping'), modernHeaders('ping'));
    expect(unknown).toMatchObject({ status: 404, body: { error: { code: -32601 } } });
    const uri = 'mock://unknown';
    const missing = await post(
      modern('resources/read', { uri }),
      modernHeaders('resources/read', uri),
    );
    expect(missing).toMatchObject({
      status: 200,
      body: { error: { code: -32602, data: { uri } } },
    });
  });
});

describe('the mock MCP server', () => {
  it.each([
    ['text that is not JSON', '{', -32700],
    ['no body', '', -32700],
    ['a batch', [legacy('ping')], -32600],
    ['another version of JSON-RPC', { id: 1, method: 'ping' }, -32600],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }, -32600],
    ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, -32600],
  ])('refuses %s', async (_, body, code) => {
    expect(await post(body)).toMatchObject({ status: 400, body: { error: { code } } });
  });

  it.each(['http://evil.example.com', 'null'])('refuses a page from %s', async (origin) => {
    expect(await post(legacy('initialize'), { origin })).toMatchObject({ status: 403 });
  });
});
