/** Verifies requests to MCP servers: both transports, headers, limits, and what is stored. */
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, listAudit } from '../../support/server/tenant.ts';
import { type McpUpstream, startMcpUpstream } from '../../support/upstream/mcp-upstream.ts';
import { startVaultServer } from '../../support/upstream/secret-manager-servers.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

const path = '/v1/mcp-integrations';
let server: TestServer;
let upstream: McpUpstream;
let workspace: { id: string };

beforeAll(async () => {
  const trusted = readTrustedHosts('127.0.0.1');
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  upstream = await startMcpUpstream();
  workspace = await post('/v2/workspaces', { name: 'Support' });
});
beforeEach(() => {
  upstream.script = null;
  upstream.reached.length = 0;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

async function post(at: string, body: object = {}) {
  const answer = await server.request('POST', at, { body });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body;
}
const read = async (at: string) => (await server.request('GET', at)).body;

async function make(fields: Record<string, unknown> = {}): Promise<string> {
  const usual = { name: 'all', url: `${upstream.url}/mcp`, auth_type: 'none', transport: 'http' };
  return (await post(path, { ...usual, ...fields })).id;
}

/** Responds to every message with the result of `resultOf`, without sessions. */
function scripted(resultOf: (method: string, params: Record<string, unknown>) => object): void {
  upstream.script = async (request, response) => {
    const { id, method, params } = JSON.parse((await text(request)) || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    sendJson(response, { jsonrpc: '2.0', id, result: resultOf(method, params) });
  };
}
const hello = { protocolVersion: '2025-06-18', serverInfo: { name: 's', version: '1' } };

describe.each([
  ['http', '/mcp'],
  ['sse', '/sse'],
])('a real MCP server over %s', (transport, at) => {
  it('is queried for its metadata and capabilities, which are stored and enabled unless they were disabled', async () => {
    const id = await make({
      url: upstream.url + at,
      transport,
      disabled_capabilities: [{ type: 'tool', name: 'echo' }],
    });
    expect(await post(`${path}/${id}/test`)).toEqual({
      success: true,
      status_code: expect.any(Number),
      error: null,
      response_time_ms: expect.any(Number),
      url: upstream.url + at,
      server_name: 'mcp-servers/everything',
    });
    expect(await read(`${path}/${id}/metadata`)).toMatchObject({ sync_status: 'pending' });
    const synced = await post(`${path}/${id}/sync`);
    expect(synced).toMatchObject({ success: true, sync_status: 'synced', sync_error: null });
    const { tools, prompts, resources, resource_templates: templates } = synced.counts;
    expect(tools.total - tools.enabled).toBe(1);
    for (const { total } of [tools, prompts, resources, templates])
      expect(total).toBeGreaterThan(0);
    expect(await read(`${path}/${id}/metadata`)).toMatchObject({
      server_name: 'mcp-servers/everything',
      sync_status: 'synced',
      sync_error: null,
      protocol_version: '2025-11-25',
      last_synced_at: '2027-01-04T08:00:00.000Z',
      capability_flags: { tools: {} },
      instructions: expect.stringContaining('Everything'),
    });
    const { data } = await read(`${path}/${id}/capabilities?page_size=500`);
    const named = (name: string) => data.find((one: { name: string }) => one.name === name);
    expect(named('echo')).toMatchObject({
      type: 'tool',
      enabled: false,
      last_seen_at: '2027-01-04T08:00:00.000Z',
      input_schema: { type: 'object', properties: { message: { type: 'string' } } },
    });
    const resource = data.find((one: { type: string }) => one.type === 'resource');
    expect(resource).toMatchObject({ uri: expect.any(String), mime_type: expect.any(String) });
    const template = data.find((one: { type: string }) => one.type === 'resource_template');
    expect(template.uri_template).toContain('{');
    await post(`${path}/${id}/sync`);
    expect((await read(`${path}/${id}/capabilities?page_size=500`)).data).toEqual(data);
  });
});

describe('a request to an MCP server', () => {
  it('has the headers of the integration, of a secret manager, and the tokens of the caller', async () => {
    const mounts = { 'secret/': '2' as const };
    const secrets = { 'secret/crm': { token: 'from-the-vault' } };
    await using vault = await startVaultServer({ mounts, secrets, tokens: new Set(['hvs.root']) });
    const { slug } = await post('/v1/secret-references', {
      name: 'crm',
      manager_type: 'hashicorp_vault',
      secret_path: 'secret/crm',
      allow_all_workspaces: true,
      allowed_hosts: ['127.0.0.1'],
      auth_config: { vault_auth_type: 'token', vault_addr: vault.url, vault_token: 'hvs.root' },
    });
    const id = await make({
      configurations: { custom_headers: { 'X-Team': 'canary-team' } },
      secret_mappings: [
        {
          target_field: 'configurations.headers.X-Secret',
          secret_key: 'token',
          secret_reference_id: slug,
        },
      ],
    });
    const served = { name: 'all', mcp_integration_id: id, workspace_id: workspace.id };
    const { id: serverId } = await post('/v1/mcp-servers', served);
    const at = `/v1/mcp-servers/${serverId}`;
    await server.request('PUT', `${at}/tokens`, { body: { access_token: 'of-the-caller' } });
    expect(await post(`${at}/test`)).toMatchObject({ success: true, error: null });
    for (const headers of upstream.reached) {
      expect(headers).toMatchObject({
        'x-team': 'canary-team',
        'x-secret': 'from-the-vault',
        authorization: 'Bearer of-the-caller',
      });
    }
    upstream.reached.length = 0;
    expect(await post(`${at}/capabilities/sync`)).toMatchObject({ success: true });
    expect(await post(`${at}/metadata/sync`)).toMatchObject({ success: true });
    expect(upstream.reached.length).toBeGreaterThan(0);
    expect(await read(`${at}/metadata`)).toMatchObject({ sync_status: 'synced' });
    await server.request('PUT', `/v1/secret-references/${slug}`, { body: { secret_path: 'none' } });
    const failed = await post(`${path}/${id}/test`);
    expect(failed.error).toBe(
      `the secret ${slug} cannot be read: its secret manager has no such value`,
    );
  });

  it('never goes to an untrusted address, and follows no redirect', async () => {
    const id = await make({ url: 'http://10.0.0.1/mcp' }).catch(() => null);
    expect(id).toBeNull();
    upstream.script = (_, response) =>
      void response.writeHead(307, { location: 'http://169.254.169.254/' }).end();
    const refused = await post(`${path}/${await make()}/test`);
    expect(refused).toMatchObject({ success: false, status_code: 307 });
    expect(refused.error).toContain('redirects are not followed');
    const elsewhere = await make({ url: `${upstream.url}/other`, transport: 'sse' });
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: http://169.254.169.254/steal\n\n');
    };
    const { error } = await post(`${path}/${elsewhere}/test`);
    expect(error).toBe('the server names a message endpoint outside its own origin');
  });
});

describe('an MCP server that misbehaves', () => {
  it('is reported with its status or fault, and the stored data remain', async () => {
    const id = await make();
    await post(`${path}/${id}/sync`);
    upstream.script = (_, response) => sendJson(response, {}, 401);
    const refused = await post(`${path}/${id}/sync`);
    const error = 'the server responds with 401: it rejects these credentials';
    expect(refused).toMatchObject({ success: false, sync_status: 'failed', sync_error: error });
    expect(await read(`${path}/${id}/metadata`)).toMatchObject({
      sync_status: 'failed',
      sync_error: error,
      server_name: 'mcp-servers/everything',
    });
    expect(refused.counts.tools.total).toBeGreaterThan(0);
    upstream.script = (_, response) => void response.end('<html>');
    const strange = (await post(`${path}/${id}/test`)).error;
    expect(strange).toBe('the response of the server is not valid MCP');
    upstream.script = (_, response) => void response.destroy();
    expect((await post(`${path}/${id}/test`)).error).toContain('cannot be reached');
    upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(Buffer.alloc(9 * 1024 * 1024, ' '));
    };
    expect((await post(`${path}/${id}/test`)).error).toContain('sends more than');
  });

  it('is stopped, however many pages and capabilities it invents', async () => {
    const id = await make();
    const capabilities = { tools: {} };
    scripted((method) =>
      method === 'initialize' ? { ...hello, capabilities } : { tools: [], nextCursor: 'again' },
    );
    expect((await post(`${path}/${id}/sync`)).sync_error).toContain('more than 200 pages');
    const many = Array.from({ length: 5001 }, (_, at) => ({ name: `t${at}` }));
    scripted((method) => (method === 'initialize' ? { ...hello, capabilities } : { tools: many }));
    expect((await post(`${path}/${id}/sync`)).sync_error).toContain('more than 5000 capabilities');
    const odd = [
      { name: 'ok', title: 7 },
      { name: '' },
      null,
      { name: 'ok' },
      { name: 'a'.repeat(999) },
    ];
    scripted((method) => (method === 'initialize' ? { ...hello, capabilities } : { tools: odd }));
    expect((await post(`${path}/${id}/sync`)).counts.tools.total).toBe(1);
  });

  it('is not stored where it repeats a secret', async () => {
    const headers = { 'X-Key': 'canary-key-5f1' };
    const id = await make({ configurations: { custom_headers: headers } });
    scripted(() => ({ ...hello, capabilities: {}, instructions: 'you sent canary-key-5f1' }));
    const { sync_error: error } = await post(`${path}/${id}/sync`);
    expect(error).toBe('the server repeats a secret that was sent to it');
    expect(JSON.stringify(await read(`${path}/${id}/metadata`))).not.toContain('canary');
  });

  it('is ignored after the address of the integration has changed', async () => {
    const id = await make();
    const requested = Promise.withResolvers<void>();
    const moved = Promise.withResolvers<void>();
    upstream.script = async (request, response) => {
      const message = JSON.parse(await text(request));
      requested.resolve();
      await moved.promise;
      if (message.id === undefined) return void response.writeHead(202).end();
      sendJson(response, {
        jsonrpc: '2.0',
        id: message.id,
        result: { ...hello, capabilities: {} },
      });
    };
    const syncing = post(`${path}/${id}/sync`);
    await requested.promise;
    const url = 'https://other.example.com/mcp';
    await server.request('PUT', `${path}/${id}`, { body: { url } });
    moved.resolve();
    expect((await syncing).sync_error).toContain('was changed while its server was queried');
    expect(await read(`${path}/${id}/metadata`)).toMatchObject({ sync_status: 'pending' });
  });
});

describe('data that a client has discovered', () => {
  it('replaces a response of the server, in the MCP spelling as well', async () => {
    const id = await make({ url: 'https://nowhere.invalid/mcp' });
    const tool = { name: 'find', type: 'tool', inputSchema: { type: 'object' }, title: 'Find' };
    const synced = await post(`${path}/${id}/sync`, {
      server_info: { name: 'crm', version: '2.1.0', protocol_version: '2025-06-18' },
      capabilities: [tool],
    });
    expect(synced).toMatchObject({ success: true, counts: { tools: { total: 1, enabled: 1 } } });
    expect((await read(`${path}/${id}/capabilities`)).data).toMatchObject([
      { name: 'find', title: 'Find', input_schema: { type: 'object' }, enabled: true },
    ]);
    expect(await listAudit(server, id)).toMatchObject([{}, { changes: { synced: true } }]);
    const served = { name: 'all', mcp_integration_id: id, workspace_id: workspace.id };
    const { id: serverId } = await post('/v1/mcp-servers', served);
    const at = `/v1/mcp-servers/${serverId}`;
    await post(`${at}/metadata/sync`, { server_name: 'CRM', title: 'Customers' });
    const { data } = await read(`/v1/mcp-servers?workspace_id=${workspace.id}&search=all`);
    // 1.9.0: lists contain the metadata of servers as well.
    const listed = data.find((one: { id: string }) => one.id === serverId);
    expect(listed.metadata).toMatchObject({ server_name: 'CRM', title: 'Customers' });
    const items = (await read(`${path}?search=all`)).data;
    const item = items.find((one: { id: string }) => one.id === id);
    expect(item.metadata).toMatchObject({ server_name: 'CRM', sync_status: 'synced' });
    const scopes = ['mcp_servers.update', 'mcp_servers.read'];
    const { send } = await addKeyCaller(server, scopes, workspace.id);
    const pushed = {
      body: { capabilities: [{ name: 'find', type: 'tool', description: 'mine' }] },
    };
    expect((await send('POST', `${at}/capabilities/sync`, pushed)).status).toBe(403);
    await server.request('PUT', `${path}/${id}/workspaces`, {
      body: { workspaces: [{ id: workspace.id, enabled: false }] },
    });
    expect((await send('POST', `${at}/test`, { body: {} })).status).toBe(403);
  });
});
