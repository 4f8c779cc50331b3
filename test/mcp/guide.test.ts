/** Tests that the manifests of docs/guides/mcp-servers.md put server-filesystem behind the gateway as the guide says. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingServers } from '../support/mcp/clients/client-packages.ts';
import { startStdioServer } from '../support/mcp/clients/stdio-server.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import { runWords, writeCredentials } from '../support/server/command-line.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';

const missing = await missingServers();
const guidePath = resolve(import.meta.dirname, '../../docs/guides/mcp-servers.md');
const manifests = /^```yaml\n(.*?)^```$/ms.exec(readFileSync(guidePath, 'utf8'))![1]!;

describe.skipIf(missing !== null)(titleWithReason('the guide to MCP servers', missing), () => {
  const stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-guide-'));
  const files = join(folder, 'notes');
  let plane: McpTestPlane;

  beforeAll(async () => {
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    for (const name of ['gateway', 'notes']) mkdirSync(join(folder, name));
    writeFileSync(join(files, 'key.txt'), '-----BEGIN PRIVATE KEY-----');
    plane = stack.use(await startMcpTestPlane({}, '127.0.0.1'));
    writeCredentials(folder, plane.server);
    const { url } = stack.use(await startStdioServer('mcp-server-filesystem', [files]));
    const text = manifests
      .replace('http://127.0.0.1:3001/mcp', url)
      .replace('value: 30', 'value: 1');
    expect(text).toContain(url);
    writeFileSync(join(folder, 'gateway/mcp.yaml'), text);
    const applied = await runWords(['apply', 'gateway', '--yes'], folder);
    expect(applied).toMatchObject({ exitCode: 0 });
  });
  afterAll(() => stack.disposeAsync());

  it('serves the tools after the first list is approved, under every rule of the manifests', async () => {
    const key = readFileSync(join(folder, '.gatewright/secrets/agent.key'), 'utf8').trim();
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    const address = new URL(`${plane.server.mcpUrl}/files/mcp`);
    const approved = await runWords(['approve', 'team/files', '--refresh', '--yes'], folder);
    expect(approved.stdout).toMatch(/^McpIntegration\/team\/files: every definition is approved/);
    const listed = await runWords(['get', 'McpServer'], folder);
    expect(listed.stdout).toMatch(/^NAME +WORKSPACE +OWNER +SLUG\nfiles +team +\S+ +files\n$/);
    const client = new Client({ name: 'agent', version: '1' });
    stack.defer(() => client.close());
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain('read_text_file');
    expect(names.filter((name) => /write|edit|move|create/.test(name))).toEqual([]);
    const call = (name: string, values: object) =>
      client.callTool({ name, arguments: { ...values } });
    await expect(call('read_text_file', { path: join(files, 'key.txt') })).rejects.toMatchObject({
      code: -32446,
    });
    const search = { path: files, pattern: '*.txt' };
    expect(JSON.stringify(await call('search_files', search))).toContain('key.txt');
    await expect(call('search_files', search)).rejects.toThrow('rate_limit_exceeded');
  });
});
