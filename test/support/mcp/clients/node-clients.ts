/** Uses a server through published MCP clients for Node: lists its tools and calls one. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { clientProgram, importClient } from './client-packages.ts';

interface ServerAccess {
  readonly url: string;
  readonly key: string;
}

interface ToolUse {
  readonly tools: readonly string[];
  /** The text that the tool returns. */
  readonly text: string;
}

export interface NodeClient {
  readonly name: string;
  /** Calls the tool without arguments. @throws Error with what the client reports to its user */
  readonly use: (access: ServerAccess, tool: string) => Promise<ToolUse>;
  /** The report of a client whose key is wrong; it is the same in each era, so one of them states it. */
  readonly refusal?: RegExp;
}

const gatewayMessage = /The API key is not valid at this gateway/;

export const nodeClients: readonly NodeClient[] = [
  { name: 'inspector, era legacy', use: useInspector('legacy') },
  // It begins an authorization after every 401, which is impossible without a terminal.
  { name: 'inspector, era auto', use: useInspector('auto'), refusal: /auth_required/ },
  { name: 'inspector, era modern', use: useInspector('modern') },
  { name: '@ai-sdk/mcp', use: useAiSdk, refusal: gatewayMessage },
  { name: '@langchain/mcp-adapters', use: useLangChain, refusal: gatewayMessage },
  { name: '@openai/agents', use: useAgents, refusal: /requires authorization \(HTTP 401\)/ },
  { name: 'mcp-remote', use: useMcpRemote, refusal: gatewayMessage },
];

const authorizationOf = (key: string) => ({ Authorization: `Bearer ${key}` });

function useInspector(protocolEra: string): NodeClient['use'] {
  return async ({ url, key }, tool) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-inspector-'));
    const config = join(folder, 'mcp.json');
    const headers = authorizationOf(key);
    const server = { type: 'streamable-http', url, headers, protocolEra };
    writeFileSync(config, JSON.stringify({ mcpServers: { gateway: server } }));
    const run = async (...words: string[]) => {
      const all = ['--cli', '--config', config, '--server', 'gateway', '--format', 'json'];
      const program = clientProgram('mcp-inspector');
      return JSON.parse(await runNode(folder, [program, ...all, ...words])).result;
    };
    try {
      const { tools } = await run('--method', 'tools/list');
      const called = await run('--method', 'tools/call', '--tool-name', tool);
      return { tools: namesOf(tools), text: called.content[0].text };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** Returns the output. @throws Error with all output when the program fails */
function runNode(home: string, words: readonly string[]): Promise<string> {
  const env = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'memory' };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(process.execPath, words, { env }, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
    else reject(new Error(stdout + stderr));
  });
  return promise;
}

interface ToolName {
  readonly name: string;
}

const namesOf = (tools: readonly ToolName[]) => tools.map(({ name }) => name);

interface AiSdk {
  createMCPClient(options: object): Promise<{
    tools(): Promise<
      Record<string, { execute(values: object, options: object): Promise<Content> }>
    >;
    close(): Promise<void>;
  }>;
}

interface Content {
  readonly content: readonly { readonly text: string }[];
}

async function useAiSdk({ url, key }: ServerAccess, tool: string): Promise<ToolUse> {
  const { createMCPClient } = (await importClient('@ai-sdk/mcp')) as AiSdk;
  const transport = { type: 'http', url, headers: authorizationOf(key) };
  const client = await createMCPClient({ transport });
  try {
    const tools = await client.tools();
    const { content } = await tools[tool]!.execute({}, { toolCallId: '1', messages: [] });
    return { tools: Object.keys(tools), text: content[0]!.text };
  } finally {
    await client.close();
  }
}

interface LangChain {
  readonly MultiServerMCPClient: new (
    options: object,
  ) => {
    getTools(): Promise<readonly (ToolName & { invoke(values: object): Promise<string> })[]>;
    close(): Promise<void>;
  };
}

async function useLangChain({ url, key }: ServerAccess, tool: string): Promise<ToolUse> {
  const { MultiServerMCPClient } = (await importClient('@langchain/mcp-adapters')) as LangChain;
  const gateway = { url, headers: authorizationOf(key) };
  const client = new MultiServerMCPClient({ mcpServers: { gateway } });
  try {
    const tools = await client.getTools();
    const text = await tools.find(({ name }) => name === tool)!.invoke({});
    return { tools: namesOf(tools), text };
  } finally {
    await client.close();
  }
}

interface Agents {
  readonly MCPServerStreamableHttp: new (
    options: object,
  ) => {
    connect(): Promise<void>;
    listTools(): Promise<readonly ToolName[]>;
    callTool(name: string, values: object): Promise<Content['content']>;
    close(): Promise<void>;
  };
}

async function useAgents({ url, key }: ServerAccess, tool: string): Promise<ToolUse> {
  const { MCPServerStreamableHttp } = (await importClient('@openai/agents-core')) as Agents;
  const requestInit = { headers: authorizationOf(key) };
  const logger = { namespace: 'test', debug() {}, warn() {}, error() {} };
  const client = new MCPServerStreamableHttp({ url, name: 'gateway', requestInit, logger });
  try {
    await client.connect();
    const tools = await client.listTools();
    const content = await client.callTool(tool, {});
    return { tools: namesOf(tools), text: content[0]!.text };
  } finally {
    await client.close();
  }
}

async function useMcpRemote({ url, key }: ServerAccess, tool: string): Promise<ToolUse> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-mcp-remote-'));
  const header = `Authorization: Bearer ${key}`;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [clientProgram('mcp-remote'), url, '--header', header],
    env: { HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr!.on('data', (chunk: Buffer) => {
    log += chunk;
  });
  const client = new Client({ name: 'agent', version: '1' });
  try {
    await client.connect(transport);
    const { tools } = await client.listTools();
    const { content } = (await client.callTool({ name: tool, arguments: {} })) as Content;
    return { tools: namesOf(tools), text: content[0]!.text };
  } catch (error) {
    throw new Error(log, { cause: error });
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
