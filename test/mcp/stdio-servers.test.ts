/** Tests that published MCP servers work behind the gateway, which hides and refuses the tools that are disabled. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { missingServers } from '../support/mcp/clients/client-packages.ts';
import { startStdioServer } from '../support/mcp/clients/stdio-server.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';

const missing = await missingServers();

describe.skipIf(missing !== null)(titleWithReason('the gateway', missing), () => {
  const stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-stdio-'));
  const clients: Client[] = [];
  let plane: McpTestPlane;
  let key: string;
  beforeAll(async () => {
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    plane = stack.use(await startMcpTestPlane({}, '127.0.0.1'));
    ({ key } = await plane.addKey());
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  afterAll(() => stack.disposeAsync());

  /** Connects a client that samples and answers questions. */
  async function connect(url: string, disabled: string): Promise<Client> {
    const integration = await plane.addIntegration({ url });
    const rules = { disabled_capabilities: [{ type: 'tool', name: disabled }] };
    const { slug } = await plane.addServer(rules, integration);
    const capabilities = { sampling: {}, elicitation: {} };
    const client = new Client({ name: 'agent', version: '1' }, { capabilities });
    clients.push(client);
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant',
      model: 'model',
      content: { type: 'text', text: 'A sampled text' },
    }));
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }));
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    const address = new URL(`${plane.server.mcpUrl}/${slug}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    return client;
  }

  async function toolNames(client: Client): Promise<readonly string[]> {
    const { tools } = await client.listTools();
    return tools.map(({ name }) => name);
  }

  it('serves server-everything, with progress, sampling and questions', async () => {
    const { url } = stack.use(await startStdioServer('mcp-server-everything', ['stdio']));
    const client = await connect(url, 'get-env');
    const names = await toolNames(client);
    expect(names).toContain('echo');
    expect(names).not.toContain('get-env');
    const call = async (name: string, values: object) =>
      JSON.stringify(await client.callTool({ name, arguments: { ...values } }));
    expect(await call('echo', { message: 'hello' })).toContain('Echo: hello');
    expect(await call('trigger-sampling-request', { prompt: 'text' })).toContain('A sampled text');
    expect(await call('trigger-elicitation-request', {})).toContain('Name: Ada');
    const steps: number[] = [];
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 0.1, steps: 2 } };
    await client.callTool(long, undefined, { onprogress: ({ progress }) => steps.push(progress) });
    expect(steps).toEqual([1, 2]);
    const { resources } = await client.listResources();
    expect(resources.length).toBeGreaterThan(0);
    const { contents } = await client.readResource({ uri: resources[0]!.uri });
    expect(contents).toEqual([expect.objectContaining({ uri: resources[0]!.uri })]);
    await expect(call('get-env', {})).rejects.toMatchObject({ code: -32602 });
  });

  it('serves server-filesystem, whose files a disabled tool cannot change', async () => {
    writeFileSync(join(folder, 'read.txt'), 'content of the file');
    const { url } = stack.use(await startStdioServer('mcp-server-filesystem', [folder]));
    const client = await connect(url, 'write_file');
    const names = await toolNames(client);
    expect(names).toContain('read_text_file');
    expect(names).not.toContain('write_file');
    const read = { name: 'read_text_file', arguments: { path: join(folder, 'read.txt') } };
    const { structuredContent } = await client.callTool(read);
    expect(structuredContent).toEqual({ content: 'content of the file' });
    const path = join(folder, 'written.txt');
    const write = { name: 'write_file', arguments: { path, content: 'x' } };
    await expect(client.callTool(write)).rejects.toMatchObject({ code: -32602 });
    expect(existsSync(path)).toBe(false);
  });

  it('serves server-memory, whose entities a disabled tool cannot delete', async () => {
    const file = join(folder, 'memory.jsonl');
    const variables = { MEMORY_FILE_PATH: file };
    const { url } = stack.use(await startStdioServer('mcp-server-memory', [], variables));
    const client = await connect(url, 'delete_entities');
    expect(await toolNames(client)).not.toContain('delete_entities');
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
    await client.callTool({ name: 'create_entities', arguments: { entities } });
    const graph = await client.callTool({ name: 'read_graph', arguments: {} });
    expect(graph.structuredContent).toMatchObject({ entities });
    const deletion = { name: 'delete_entities', arguments: { entityNames: ['Ada'] } };
    await expect(client.callTool(deletion)).rejects.toMatchObject({ code: -32602 });
    expect(readFileSync(file, 'utf8')).toContain('Ada');
  });
});
