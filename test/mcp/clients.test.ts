/** Tests that published MCP clients use servers of both eras through the gateway, unmodified. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  missingClients,
  missingPythonClients,
  python,
} from '../support/mcp/clients/client-packages.ts';
import { nodeClients } from '../support/mcp/clients/node-clients.ts';
import { mcpEras } from '../support/mcp/eras.ts';
import { exchange } from '../support/network/exchange.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import { type McpTestPlane, startMcpTestPlane } from '../support/server/mcp-plane.ts';

const [noClients, noPython] = await Promise.all([missingClients(), missingPythonClients()]);
const tool = 'test_simple_text';
const text = 'This is a simple text response for testing.';
/** Not in the allow-list. */
const disabled = 'test_error_handling';
const servers = ['legacy', 'modern'] as const;
const stack = new AsyncDisposableStack();
const urls: Record<string, string> = {};
let plane: McpTestPlane;
let key: string;

beforeAll(async () => {
  plane = stack.use(await startMcpTestPlane({}, '127.0.0.1'));
  ({ key } = await plane.addKey());
  for (const { name, start } of mcpEras) {
    const { url } = stack.use(await start());
    const rules = { disabled_capabilities: [{ type: 'tool', name: disabled }] };
    const { slug } = await plane.addServer(rules, await plane.addIntegration({ url }));
    urls[name] = `${plane.server.mcpUrl}/${slug}/mcp`;
  }
});
afterAll(() => stack.disposeAsync());

describe.each(servers)('the gateway in front of the %s server', (server) => {
  const send = async (method: string, params: object, headers: Record<string, string>) => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const all = { Authorization: `Bearer ${key}`, ...headers };
    return await exchange('POST', `${urls[server]}/`, body, all);
  };
  const opening = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'agent', version: '1' },
  };

  it.each([
    ['no Accept', {}],
    ['any Accept', { accept: '*/*' }],
    ['JSON only', { accept: 'Application/JSON;q=0.9' }],
    ['a stream only', { ACCEPT: 'text/event-stream' }],
  ])(
    'serves a session at a URL with a final slash, with %s and without a version',
    async (_, accept) => {
      const opened = await send('initialize', opening, accept);
      expect(opened.status).toBe(200);
      const session = { 'MCP-SESSION-ID': String(opened.headers['mcp-session-id']) };
      const listed = await send('tools/list', {}, { ...accept, ...session });
      expect([listed.status, JSON.stringify(listed)]).toEqual([200, expect.stringContaining(tool)]);
      const named = { 'MCP-METHOD': 'tools/call', 'mCP-nAME': tool };
      const called = await send('tools/call', { name: tool }, { ...accept, ...session, ...named });
      expect([called.status, JSON.stringify(called)]).toEqual([200, expect.stringContaining(text)]);
      const headers = { authorization: `Bearer ${key}`, ...session };
      const ended = await exchange('DELETE', `${urls[server]}/`, undefined, headers);
      // Clients report any other status as a failure.
      expect([200, 204]).toContain(ended.status);
    },
  );
});

describe.skipIf(noClients !== null)(titleWithReason('clients for Node', noClients), () => {
  const uses = nodeClients.flatMap((client) => servers.map((server) => ({ ...client, server })));

  it.each(uses)('$name lists and calls tools of the $server server', async ({ use, server }) => {
    const used = await use({ url: urls[server]!, key }, tool);
    expect(used).toEqual({ tools: expect.arrayContaining([tool]), text });
    expect(used.tools).not.toContain(disabled);
  });

  const refused = nodeClients.filter(({ refusal }) => refusal !== undefined);

  it.each(refused)('$name reports that a key is wrong', async ({ use, refusal }) => {
    await expect(use({ url: urls.modern!, key: 'wrong' }, tool)).rejects.toThrow(refusal);
  });
});

describe.skipIf(noPython !== null)(titleWithReason('each client for Python', noPython), () => {
  const modes = [
    ['mcp', 'auto'],
    ['mcp', 'legacy'],
    ['mcp', '2026-07-28'],
    ['fastmcp', 'auto'],
    ['fastmcp', 'legacy'],
    ['fastmcp', '2026-07-28'],
  ] as const;
  const uses = servers.flatMap((server) => modes.map((mode) => [...mode, server] as const));

  it('lists tools, calls them and answers questions, in each mode and without a warning', async () => {
    const script = resolve(import.meta.dirname, '../fixtures/mcp/clients.py');
    const { promise, resolve: done } = Promise.withResolvers<readonly string[]>();
    const child = execFile(python, [script], (_, stdout, stderr) => done([stdout, stderr]));
    const input = uses.map(([client, mode, server]) => [client, mode, urls[server]]);
    child.stdin!.end(JSON.stringify([key, input]));
    const [stdout, stderr] = await promise;
    expect(stderr).toBe('');
    const used = stdout!.trim().split('\n');
    expect(used.map((line) => JSON.parse(line))).toEqual(
      uses.map(([client]) => ({
        tools: expect.arrayContaining([tool]),
        text,
        ...(client === 'fastmcp' && { dialogue: 'Hello, Ada!' }),
      })),
    );
    expect(stdout).not.toContain(disabled);
  });
});
