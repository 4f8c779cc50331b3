/** Starts a server with the MCP gateway in front of a recording MCP server, and calls it as clients do. */
import type { Settings } from '../../../src/settings.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange, type TestResponse } from '../network/exchange.ts';
import { type McpJournal, startMcpJournal } from '../upstream/mcp-journal.ts';
import { startTestServer, type TestServer } from './server.ts';

export interface CreatedResource {
  readonly id: string;
  readonly slug: string;
}

export interface McpTestPlane extends AsyncDisposable {
  readonly server: TestServer;
  readonly upstream: McpJournal;
  readonly workspace: CreatedResource;
  /** Creates a key of the workspace with the scope. */
  addKey(more?: object): Promise<{ readonly key: string; readonly id: string }>;
  /** Creates an integration that leads to the upstream. */
  addIntegration(more?: object): Promise<CreatedResource>;
  /** Creates a server of the workspace, with an integration of its own unless one is given. */
  addServer(more?: object, integration?: CreatedResource): Promise<CreatedResource>;
  create(path: string, body: object): Promise<TestResponse['body']>;
  /** Creates a guardrail, which denies by default, and maps it to a server. */
  guard(
    server: Pick<CreatedResource, 'id'>,
    checks: readonly object[],
    mapping?: object,
    actions?: object,
  ): Promise<void>;
  /** Synchronises an integration, with these capabilities or those that its server lists. */
  sync(integration: Pick<CreatedResource, 'id'>, capabilities?: readonly object[]): Promise<void>;
  /** Opens a session of the legacy era, and returns the headers of its requests. */
  openSession(
    key: string,
    slug: string,
    params?: object,
    more?: SendOptions,
  ): Promise<Record<string, string>>;
  /** Sends a body, by default as POST. */
  send(key: string | null, slug: string, body?: unknown, more?: SendOptions): Promise<TestResponse>;
  /** Calls a method in the legacy era. */
  call(
    key: string,
    slug: string,
    method: string,
    params?: object,
    more?: SendOptions,
  ): Promise<TestResponse>;
}

interface SendOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly id?: unknown;
  /** The URL of another replica. */
  readonly url?: string;
}

export async function startMcpTestPlane(
  more: Partial<Settings> = {},
  trusted = '',
): Promise<McpTestPlane> {
  const upstream = await startMcpJournal();
  const hosts = readTrustedHosts([upstream.host, trusted].filter((one) => one !== '').join(','));
  const trustedHosts = 'hosts' in hosts ? hosts.hosts : [];
  const server = await startTestServer({
    settings: { trustedHosts, ...more },
    components:
      more.controlLink === undefined
        ? ['admin', 'gateway', 'mcp']
        : ['admin', 'gateway', 'mcp', 'jobs'],
  });
  const create = async (path: string, body: object) => {
    const made = await server.request('POST', path, { body });
    if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
    return made.body;
  };
  const workspace = await create('/v2/workspaces', { name: 'Support' });
  let names = 0;
  const addIntegration = (fields: object = {}) => {
    names += 1;
    return create('/v2/mcp-integrations', {
      name: `journal ${names}`,
      url: upstream.url,
      auth_type: 'none',
      transport: 'http',
      ...fields,
    });
  };
  const send: McpTestPlane['send'] = (key, slug, body, sent = {}) => {
    const { method = 'POST', headers = {}, url = server.mcpUrl } = sent;
    return exchange(method, `${url}/${slug}/mcp`, body, {
      accept: 'application/json, text/event-stream',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    });
  };
  const call: McpTestPlane['call'] = (key, slug, method, params = {}, sent = {}) => {
    const { id = 1 } = sent;
    return send(key, slug, { jsonrpc: '2.0', id, method, params }, sent);
  };
  return {
    server,
    upstream,
    workspace,
    create,
    addIntegration,
    addKey: (fields = {}) =>
      create('/v1/api-keys/workspace/service', {
        name: 'agent',
        scopes: ['mcp.invoke'],
        workspace_id: workspace.id,
        ...fields,
      }),
    addServer: async (fields = {}, integration) => {
      names += 1;
      const { id } = integration ?? (await addIntegration());
      return create('/v2/mcp-servers', {
        name: `server ${names}`,
        slug: `server-${names}`,
        mcp_integration_id: id,
        workspace_id: workspace.id,
        ...fields,
      });
    },
    guard: async ({ id }, checks, mapping = {}, actions = { deny: true }) => {
      names += 1;
      const guardrail = await create('/v2/guardrails', {
        name: `guardrail ${names}`,
        target: 'mcp_tools',
        workspace_id: workspace.id,
        checks,
        actions,
      });
      const path = `/v2/guardrails/${guardrail.id}/mcp-servers/${id}`;
      const put = await server.request('PUT', path, { body: mapping });
      if (put.status !== 200) throw new Error(`${path}: ${JSON.stringify(put.body)}`);
    },
    sync: async ({ id }, capabilities) => {
      const path = `/v2/mcp-integrations/${id}/sync`;
      const body = capabilities === undefined ? {} : { capabilities };
      const synced = await server.request('POST', path, { body });
      if (synced.body.success !== true) throw new Error(`${path}: ${JSON.stringify(synced.body)}`);
    },
    openSession: async (key, slug, params = {}, sent = {}) => {
      const own = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test client', version: '1' },
        ...params,
      };
      const opened = await call(key, slug, 'initialize', own, sent);
      const session = opened.headers['mcp-session-id'];
      if (opened.status !== 200 || typeof session !== 'string') {
        throw new Error(`initialize: ${opened.status} ${JSON.stringify(opened.body)}`);
      }
      return { 'mcp-session-id': session };
    },
    send,
    call,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}
