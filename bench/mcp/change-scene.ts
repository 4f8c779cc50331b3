/** Starts a control plane, two MCP gateways and a server that shows how it is called, and changes them by the Admin API. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { startTestDatabaseServer } from '../../test/support/database/database-server.ts';
import { stop } from '../gateway/contestants.ts';
import { environment, setUp, startProduct } from '../product.ts';
import { startMcp } from './mcp-arena.ts';

/** Response that a client receives for a call. */
export interface ObservedCall {
  readonly status: number;
  readonly text: string;
}

/** The eras of client and server; a bridge is between two different ones. */
export interface SceneEras {
  readonly client: 'legacy' | 'modern';
  /** `both` for a server to which every client is relayed. */
  readonly server: 'legacy' | 'modern' | 'both';
}

interface ObservedStreams {
  /** Resolves when each stream has received this number of notices in all. */
  noticed(count: number): Promise<void>;
  close(): void;
}

export interface ChangeScene extends AsyncDisposable {
  readonly upstreamUrl: string;
  readonly serverId: string;
  /** Addresses of the gateways. */
  readonly gateways: readonly string[];
  call(gateway: string): Promise<ObservedCall>;
  put(path: string, body: object): Promise<void>;
  setTool(name: string, enabled: boolean): Promise<void>;
  setIntegration(body: object): Promise<void>;
  setGuardrail(isOn: boolean): Promise<void>;
  deleteKey(): Promise<void>;
  renewKey(): Promise<void>;
  /** Opens this number of streams at each gateway. */
  openStreams(count: number): Promise<ObservedStreams>;
}

const gatewayCount = 2;
const slug = 'changing';
const accept = 'application/json, text/event-stream';
const method = 'tools/call';
const params = { name: 'echo', arguments: {} };
const modern = '2026-07-28';
const version = 'io.modelcontextprotocol/protocolVersion';
const _meta = { [version]: modern, 'io.modelcontextprotocol/clientCapabilities': {} };

/** Body and headers of the call of each era. */
const calls = {
  legacy: { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers: {} },
  modern: {
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    headers: { 'mcp-protocol-version': modern, 'mcp-method': method, 'mcp-name': params.name },
  },
} as const;

export async function openChangeScene({ client, server }: SceneEras): Promise<ChangeScene> {
  await using stack = new AsyncDisposableStack();
  const upstream = await startShowingServer(server);
  stack.defer(() => upstream.close());
  const database = await startTestDatabaseServer();
  stack.defer(() => database.stop());
  const { host } = new URL(upstream.url);
  const env = { ...environment(database.server), TRUSTED_CUSTOM_HOSTS: host };
  const { organisationApiKey } = await setUp(database.server, env);
  const control = await startProduct(env);
  stack.defer(() => void control.process.removeAllListeners('exit').kill('SIGKILL'));
  const gateways: string[] = [];
  for (let at = 0; at < gatewayCount; at += 1) {
    const gateway = await startMcp(env);
    stack.defer(() => stop(gateway, 'SIGKILL'));
    gateways.push(gateway.url);
  }
  const admin = adminOf(control.url, organisationApiKey);
  const declared = await declare(admin, upstream.url);
  const held = stack.move();
  const changes = changesOf(admin, declared, gateways, calls[client]);
  await changes.renewKey();
  return {
    ...changes,
    upstreamUrl: upstream.url,
    serverId: declared.serverId,
    gateways,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

interface ClientRequest {
  readonly id: unknown;
  readonly method: string;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> };
}

/** Why a server of one era refuses a message; null for a message of its own era. */
function refusalOf(
  era: SceneEras['server'],
  { method: sent, params: own }: ClientRequest,
): { readonly status: number; readonly error: object } | null {
  if (era === 'legacy' && sent === 'server/discover') {
    return { status: 404, error: { code: -32601, message: 'Method not found' } };
  }
  if (era !== 'modern' || own?._meta?.[version] !== undefined) return null;
  return { status: 400, error: { code: -32602, message: 'no _meta' } };
}

/** Describes the server to clients of either era. */
const description = {
  protocolVersion: '2025-11-25',
  supportedVersions: [modern],
  serverInfo: { name: 'showing', version: '1' },
  capabilities: { tools: {} },
};

/** Its results name the address and the secret of the call. */
async function startShowingServer(era: SceneEras['server']) {
  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
      return;
    }
    void readJson(incoming).then((sent) => {
      const message = sent as ClientRequest;
      const { id } = message;
      const head = { 'content-type': 'application/json' };
      if (id === undefined) return response.writeHead(202).end();
      const refusal = refusalOf(era, message);
      if (refusal !== null) {
        const { status, error } = refusal;
        return response.writeHead(status, head).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      }
      const text = `address ${incoming.url} secret ${incoming.headers['x-secret']}.`;
      const tools = [{ name: 'echo' }, { name: 'other' }];
      const own = { content: [{ type: 'text', text }], tools };
      const result = message.method === method ? own : { ...description, ...own };
      return response.writeHead(200, head).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

type Admin = (method: string, path: string, body?: object) => Promise<Record<string, string>>;

function adminOf(url: string, organisationApiKey: string): Admin {
  return async (method, path, body) => {
    const { statusCode, body: answer } = await request(`${url}/v1${path}`, {
      method: method as 'POST',
      headers: { 'x-gateway-api-key': organisationApiKey, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new Error(`${method} ${path}: ${statusCode} ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
}

interface DeclaredServer {
  readonly workspaceId: string;
  readonly integrationId: string;
  readonly serverId: string;
  readonly guardrailId: string;
}

async function declare(admin: Admin, url: string): Promise<DeclaredServer> {
  const { id: workspace_id } = await admin('POST', '/admin/workspaces', { name: 'tools' });
  const integration = await admin('POST', '/mcp-integrations', {
    name: 'showing',
    url,
    auth_type: 'headers',
    transport: 'http',
    workspace_id,
    configurations: { custom_headers: { 'X-Secret': 's0' } },
  });
  const server = await admin('POST', '/mcp-servers', {
    name: slug,
    slug,
    mcp_integration_id: integration.id,
    workspace_id,
  });
  const guardrail = await admin('POST', '/guardrails', {
    name: 'nothing',
    target: 'mcp_tools',
    checks: [{ id: 'default.regexMatch', parameters: { rule: 'address', not: true } }],
    actions: { deny: true },
    workspace_id,
  });
  return {
    workspaceId: workspace_id!,
    integrationId: integration.id!,
    serverId: server.id!,
    guardrailId: guardrail.id!,
  };
}

function changesOf(
  admin: Admin,
  { workspaceId, integrationId, serverId, guardrailId }: DeclaredServer,
  gateways: readonly string[],
  { body, headers }: (typeof calls)[SceneEras['client']],
) {
  let key = { id: '', key: '' };
  const agent = new Agent({ pipelining: 1 });
  const put = async (path: string, body: object): Promise<void> =>
    void (await admin('PUT', path, body));
  return {
    put,
    setTool: (name: string, enabled: boolean) =>
      put(`/mcp-servers/${serverId}/capabilities`, {
        capabilities: [{ type: 'tool', name, enabled }],
      }),
    setIntegration: (body: object) => put(`/mcp-integrations/${integrationId}`, body),
    setGuardrail: async (isOn: boolean): Promise<void> => {
      const path = `/guardrails/${guardrailId}/mcp-servers/${serverId}`;
      if (isOn) await put(path, { run_on: ['output'] });
      else await admin('DELETE', path);
    },
    deleteKey: async (): Promise<void> => void (await admin('DELETE', `/api-keys/${key.id}`)),
    renewKey: async (): Promise<void> => {
      const body = { name: 'agent', scopes: ['mcp.invoke'], workspace_id: workspaceId };
      const made = await admin('POST', '/api-keys/workspace/service', body);
      key = { id: made.id!, key: made.key! };
    },
    call: async (gateway: string): Promise<ObservedCall> => {
      const authorization = `Bearer ${key.key}`;
      const url = `${gateway}/${slug}/mcp`;
      const sent = await request(url, {
        method: 'POST',
        headers: { authorization, accept, 'content-type': 'application/json', ...headers },
        body,
        dispatcher: agent,
      });
      return { status: sent.statusCode, text: await sent.body.text() };
    },
    openStreams: (count: number) => openStreams(gateways, key.key, count),
  };
}

const pollMs = 5;

async function openStreams(
  gateways: readonly string[],
  key: string,
  count: number,
): Promise<ObservedStreams> {
  const agent = new Agent({ pipelining: 1, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const streams: { text: string }[] = [];
  const open = async (gateway: string): Promise<void> => {
    const { statusCode, body } = await request(`${gateway}/${slug}/mcp`, {
      headers,
      dispatcher: agent,
    });
    if (statusCode !== 200) throw new Error(`GET: ${statusCode} ${await body.text()}`);
    const stream = { text: '' };
    streams.push(stream);
    body.on('error', () => {});
    body.on('data', (chunk: Buffer) => {
      stream.text += chunk.toString();
    });
  };
  await Promise.all(
    gateways.flatMap((gateway) => Array.from({ length: count }, () => open(gateway))),
  );
  const noticesOf = ({ text }: { text: string }): number =>
    text.split('tools/list_changed').length - 1;
  return {
    noticed: async (wanted) => {
      while (streams.some((stream) => noticesOf(stream) < wanted)) await delay(pollMs);
    },
    close: () => void agent.destroy(),
  };
}
