/** Verifies that the SDK's client uses the reference server through the MCP gateway as it does directly. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { McpFixture } from '../../support/mcp/fixture-host.ts';
import { startModernFixture } from '../../support/mcp/modern-fixture.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { type McpUpstream, startMcpUpstream } from '../../support/upstream/mcp-upstream.ts';

let reference: McpUpstream;
let plane: McpTestPlane;
let key: string;
let slug: string;

beforeAll(async () => {
  reference = await startMcpUpstream();
  plane = await startMcpTestPlane({}, new URL(reference.url).host);
  ({ key } = await plane.addKey());
  const integration = await plane.addIntegration({ url: `${reference.url}/mcp` });
  ({ slug } = await plane.addServer({}, integration));
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await reference[Symbol.asyncDispose]();
});

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport as Transport);
  return client;
}

const through = (more: Record<string, string> = {}): Promise<Client> =>
  connect(`${plane.server.mcpUrl}/${slug}/mcp`, { authorization: `Bearer ${key}`, ...more });

describe('the client of the SDK', () => {
  it('sees the same server, tools, prompts and resources as directly', async () => {
    const [direct, relayed] = [await connect(`${reference.url}/mcp`), await through()];
    const seen = async (client: Client) => ({
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      tools: await client.listTools(),
      prompts: await client.listPrompts(),
      resources: await client.listResources(),
      templates: await client.listResourceTemplates(),
      echo: await client.callTool({ name: 'echo', arguments: { message: 'hello' } }),
      image: await client.callTool({ name: 'get-tiny-image', arguments: {} }),
      prompt: await client.getPrompt({ name: 'simple-prompt' }),
    });
    expect(await seen(relayed)).toEqual(await seen(direct));
    await direct.close();
    await relayed.close();
  });

  it('receives progress while a call runs, and ends its session', async () => {
    const client = await through();
    const progress: number[] = [];
    const result = await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } },
      undefined,
      { onprogress: (one) => progress.push(one.progress) },
    );
    expect(result.isError).toBeUndefined();
    expect(progress).toEqual([1, 2, 3]);
    const transport = client.transport as StreamableHTTPClientTransport;
    expect(transport.sessionId).toMatch(/^v1\./);
    await transport.terminateSession();
    expect(transport.sessionId).toBeUndefined();
    await client.close();
  });

  it('uses the gateway key in its own header, which never reaches the server', async () => {
    const before = reference.reached.length;
    const client = await connect(`${plane.server.mcpUrl}/${slug}/mcp/`, {
      'x-gateway-api-key': key,
      cookie: 'a=b',
      'x-user-claims': '{}',
    });
    await client.listTools();
    await client.close();
    const reached = JSON.stringify(reference.reached.slice(before));
    expect(reached).toContain('mcp-session-id');
    for (const secret of [key, 'a=b', 'x-user-claims', 'x-gateway']) {
      expect(reached).not.toContain(secret);
    }
  });
});

const callsOf = ({ journal }: McpFixture): number =>
  journal.filter(({ body }) => JSON.stringify(body).includes('"tools/call"')).length;

describe('the client of the modern SDK', () => {
  it('uses a modern server, whose disabled tool it neither sees nor calls', async () => {
    await using fixture = await startModernFixture();
    await using own = await startMcpTestPlane({}, new URL(fixture.url).host);
    const disabled_capabilities = [{ type: 'tool', name: 'test_image_content' }];
    const integration = await own.addIntegration({ url: fixture.url, disabled_capabilities });
    const server = await own.addServer({}, integration);
    const { key: caller } = await own.addKey();
    const client = new ModernClient(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: 'auto' } },
    );
    const url = new URL(`${own.server.mcpUrl}/${server.slug}/mcp`);
    const requestInit = { headers: { authorization: `Bearer ${caller}` } };
    await client.connect(new ModernTransport(url, { requestInit }));
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain('test_simple_text');
    expect(names).not.toContain('test_image_content');
    const result = await client.callTool({ name: 'test_simple_text', arguments: {} });
    expect(result.isError).not.toBe(true);
    const before = callsOf(fixture);
    await expect(client.callTool({ name: 'test_image_content', arguments: {} })).rejects.toThrow(
      'Unknown tool: test_image_content',
    );
    const after = callsOf(fixture);
    expect(after).toBe(before);
    await client.close();
  });
});
