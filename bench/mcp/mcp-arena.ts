/** Starts the MCP gateway and a bare proxy before the same stub, with keys, allow-lists, limits and guardrails. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { startTestDatabaseServer } from '../../test/support/database/database-server.ts';
import {
  announced,
  type Contestant,
  keepOffGateways,
  pinned,
  startBare,
  stop,
} from '../gateway/contestants.ts';
import { requestBytes } from '../gateway/load-client.ts';
import type { MemberOptions } from '../harness.ts';
import { environment, firstLine, setUp, startProduct } from '../product.ts';

export interface McpArena extends AsyncDisposable {
  readonly stub: Contestant;
  readonly bare: Contestant;
  readonly ours: Contestant;
  readonly key: string;
  /** Starts this build and the requested other builds, named by path. The caller stops them. */
  startBuilds(): Promise<readonly McpBuild[]>;
  /** Encodes a message for the server of this slug. */
  request(slug: McpSlug, method: string, params: object): Buffer;
}

interface McpBuild {
  readonly name: string;
  readonly contestant: Contestant;
}

const builtMain = resolve(import.meta.dirname, '../../dist/main.js');

/** `plain` has an allow-list and a limit, `guarded` two guardrails as well. */
type McpSlug = 'plain' | 'guarded';

export async function openMcpArena({
  builds,
  nodeOptions,
}: Pick<MemberOptions, 'builds' | 'nodeOptions'>): Promise<McpArena> {
  await using stack = new AsyncDisposableStack();
  const stopLater = async (starting: Promise<Contestant>): Promise<Contestant> => {
    const one = await starting;
    stack.defer(() => stop(one, 'SIGKILL'));
    return one;
  };
  stack.use(keepOffGateways());
  const database = await startTestDatabaseServer();
  stack.defer(() => database.stop());
  const stubFile = resolve(import.meta.dirname, 'stub-server.ts');
  const stub = await stopLater(announced([process.execPath, stubFile]));
  const env = { ...environment(database.server), TRUSTED_CUSTOM_HOSTS: new URL(stub.url).host };
  const { organisationApiKey } = await setUp(database.server, env);
  const key = await declareServers(env, organisationApiKey, stub.url);
  const bare = await stopLater(startBare(stub.url));
  const gatewayEnv = nodeOptions === '' ? env : { ...env, NODE_OPTIONS: nodeOptions };
  const start = (main: string) => startMcp(gatewayEnv, main);
  const ours = await stopLater(start(builtMain));
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' };
  const held = stack.move();
  return {
    stub,
    bare,
    ours,
    key,
    startBuilds: async () => {
      const started: McpBuild[] = [];
      for (const [name, main] of [
        ['this build', builtMain],
        ...builds.map((path) => [path, path]),
      ] as const) {
        started.push({ name: name!, contestant: await start(main!) });
      }
      return started;
    },
    request: (slug, method, params) =>
      requestBytes(headers, { jsonrpc: '2.0', id: 1, method, params }, `/${slug}/mcp`),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** Starts the built MCP gateway alone. `main` selects another build. */
export async function startMcp(
  env: Readonly<Record<string, string>>,
  main = builtMain,
): Promise<Contestant> {
  const words = ['serve', '--components', 'mcp', '--mcp-port', '0', '--metrics-port', '0'];
  const [command, ...rest] = pinned([process.execPath, main, ...words]);
  const child = spawn(command!, rest, {
    env: { ...env, GATEWRIGHT_LOG_LEVEL: 'info' },
    cwd: tmpdir(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await firstLine(child, child.stderr!, (line) => {
    const { mcpUrl } = JSON.parse(line) as { mcpUrl?: string };
    return mcpUrl;
  });
  return { url, pid: child.pid!, process: child };
}

/** Returns the key of a workspace with both servers. */
async function declareServers(
  env: Readonly<Record<string, string>>,
  organisationApiKey: string,
  stubUrl: string,
): Promise<string> {
  const product = await startProduct(env);
  const send = async (method: string, path: string, body: object) => {
    const response = await fetch(product.url + path, {
      method,
      headers: { 'x-gateway-api-key': organisationApiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
  const { id: workspace_id } = await send('POST', '/v1/admin/workspaces', { name: 'tools' });
  const { id: mcp_integration_id } = await send('POST', '/v1/mcp-integrations', {
    name: 'stub',
    url: `${stubUrl}/mcp`,
    auth_type: 'none',
    transport: 'http',
    workspace_id,
  });
  const servers = new Map<McpSlug, string>();
  for (const slug of ['plain', 'guarded'] as const) {
    const disabled_capabilities = [{ type: 'tool', name: 'tool-1' }];
    const at = { name: slug, slug, mcp_integration_id, workspace_id };
    const { id } = await send('POST', '/v1/mcp-servers', { ...at, disabled_capabilities });
    servers.set(slug, id!);
  }
  for (const rule of ['\\b\\d{4}[ -]?\\d{4}[ -]?\\d{4}[ -]?\\d{4}\\b', 'AKIA[0-9A-Z]{16}']) {
    const parameters = { rule, not: true };
    const { id } = await send('POST', '/v1/guardrails', {
      name: rule,
      target: 'mcp_tools',
      checks: [{ id: 'default.regexMatch', parameters }],
      actions: { deny: true },
      workspace_id,
    });
    const path = `/v1/guardrails/${id}/mcp-servers/${servers.get('guarded')}`;
    await send('PUT', path, { run_on: ['input', 'output'] });
  }
  await send('POST', '/v1/policies/rate-limits', {
    name: 'calls',
    target: 'mcp_tools',
    type: 'requests',
    unit: 'rpm',
    value: 100_000_000,
    conditions: [{ key: 'mcp_tool', value: '*' }],
    group_by: [{ key: 'api_key' }, { key: 'mcp_tool' }],
    workspace_id,
  });
  const scopes = ['mcp.invoke'];
  const made = await send('POST', '/v1/api-keys/workspace/service', {
    name: 'agent',
    scopes,
    workspace_id,
  });
  product.process.kill('SIGKILL');
  return made.key!;
}
