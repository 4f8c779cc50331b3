/** Verifies the MCP server routes over HTTP: fields, workspace, isolation and deletion. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer, testSettings } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const path = '/v2/mcp-servers';
interface CreatedResource {
  id: string;
  slug: string;
}
let server: TestServer;
let workspace: CreatedResource;
let integration: CreatedResource;
beforeAll(async () => {
  const mcp = { ...testSettings().mcp, publicUrl: 'https://mcp.example.com' };
  server = await startTestServer({ settings: { ...signedInSettings, mcp } });
  workspace = await makeWorkspace('Support');
  integration = await makeIntegration();
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeWorkspace(name: string): Promise<CreatedResource> {
  return (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
}

async function makeIntegration(body: Record<string, unknown> = {}): Promise<CreatedResource> {
  const url = 'https://crm.example.com/mcp';
  const made = await server.request('POST', '/v2/mcp-integrations', {
    body: { name: 'CRM', url, auth_type: 'none', transport: 'http', ...body },
  });
  expect(made.status).toBe(200);
  return made.body;
}

async function make(body: Record<string, unknown> = {}): Promise<CreatedResource> {
  const made = await server.request('POST', path, {
    body: {
      name: 'CRM tools',
      mcp_integration_id: integration.slug,
      workspace_id: workspace.slug,
      ...body,
    },
  });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

describe('status 200', () => {
  it('creates a server without a workspace id when only one workspace may use the integration', async () => {
    const other = await makeWorkspace('Sales');
    const closed = await makeIntegration({
      global_workspace_access: { enabled: false },
      workspaces: [{ id: other.id, enabled: true }],
    });
    const its = await makeIntegration({ workspace_id: other.id });
    const nobodys = await makeIntegration({ global_workspace_access: { enabled: false } });
    for (const { id } of [closed, its]) {
      const made = await make({ mcp_integration_id: id, workspace_id: undefined });
      const got = await server.request('GET', `${path}/${made.id}`);
      expect(got.body.workspace_id).toBe(other.id);
    }
    for (const { id } of [integration, nobodys]) {
      const body = { name: 'x', mcp_integration_id: id };
      const refused = await server.request('POST', path, { body });
      const error = expect.objectContaining({ param: 'workspace_id' });
      expect(refused).toMatchObject({ status: 400, body: { error } });
    }
    const unknown = { name: 'x', mcp_integration_id: randomUUID() };
    expect((await server.request('POST', path, { body: unknown })).status).toBe(404);
  });

  it('creates a server by slugs, and returns it with its integration and UUIDs', async () => {
    const made = await make({ description: 'for support' });
    expect(made).toEqual({
      id: expect.any(String),
      slug: expect.stringMatching(/^crm-tools-[0-9a-f]{6}$/),
    });
    for (const plane of ['/v1', '/v2', '/admin/v2']) {
      const got = await server.request('GET', `${plane}/mcp-servers/${made.slug}`);
      expect(got.body).toEqual({
        ...made,
        name: 'CRM tools',
        description: 'for support',
        status: 'active',
        organisation_id: server.organisationId,
        workspace_id: workspace.id,
        mcp_integration_id: integration.id,
        default_user_access: 'allow',
        definition_policy: 'observe',
        disabled_client_capabilities: [],
        mcp_integration_details: {
          id: integration.id,
          slug: integration.slug,
          status: 'active',
          configurations: {},
          url: 'https://crm.example.com/mcp',
          transport: 'http',
          auth_type: 'none',
        },
        created_at: '2027-01-04T08:00:00.000Z',
        last_updated_at: '2027-01-04T08:00:00.000Z',
        object: 'mcp-server',
        declared_in: null,
      });
    }
    expect(await listAudit(server, made.id)).toMatchObject([
      { action: 'create', resource_kind: 'McpServer', changes: { name: 'CRM tools' } },
    ]);
  });

  it('updates name and description, clears the description, and returns {}', async () => {
    const { id } = await make({ description: 'old' });
    const put = (body: unknown) => server.request('PUT', `${path}/${id}`, { body });
    expect(await put({ name: 'New' })).toMatchObject({ status: 200, body: {} });
    const read = async () => (await server.request('GET', `${path}/${id}`)).body;
    expect(await read()).toMatchObject({ name: 'New', description: 'old' });
    await put({ description: '' });
    expect(await read()).toMatchObject({ name: 'New', description: null });
    await put({ name: 'New' });
    expect((await listAudit(server, id)).map(({ action }) => action)).toEqual([
      'create',
      'update',
      'update',
    ]);
  });

  it('lists by workspace, id and part of the name, with workspace and integration', async () => {
    const place = await makeWorkspace('Listing');
    const first = await make({ workspace_id: place.id, name: 'Alpha' });
    server.clock.advance(1000);
    const second = await make({ workspace_id: place.id, name: 'Beta' });
    const list = async (query: string) => (await server.request('GET', `${path}?${query}`)).body;
    expect(await list(`workspace_id=${place.slug}`)).toMatchObject({
      total: 2,
      has_more: false,
      data: [
        { id: second.id, workspace_name: 'Listing', workspace_slug: place.slug },
        { id: first.id, mcp_integration_slug: integration.slug, auth_type: 'none' },
      ],
    });
    expect(await list(`id=${first.id.toUpperCase()},nonsense`)).toMatchObject({
      total: 1,
      data: [{ id: first.id }],
    });
    expect(await list('id=nonsense')).toMatchObject({ total: 0, data: [] });
    expect(await list(`workspace_id=${place.id}&search=BET`)).toMatchObject({ total: 1 });
    expect(await list(`workspace_id=${place.id}&page_size=1`)).toMatchObject({ has_more: true });
  });

  it('returns the metadata of the server', async () => {
    const { slug } = await make();
    const metadata = await server.request('GET', `${path}/${slug}/metadata`);
    expect(metadata.body).toMatchObject({ sync_status: 'pending', last_synced_at: null });
  });

  it('is gone with its guardrail mappings after DELETE', async () => {
    const { id } = await make();
    const guardrail = await server.request('POST', '/v2/guardrails', {
      body: { name: 'g', target: 'mcp_tools', checks: [{ id: 'default.contains' }] },
    });
    const mappings = `/v2/guardrails/${guardrail.body.id}/mcp-servers`;
    await server.request('PUT', `${mappings}/${id}`, { body: {} });
    expect(await server.request('DELETE', `${path}/${id}`)).toMatchObject({
      status: 200,
      body: {},
    });
    expect((await server.request('GET', `${path}/${id}`)).status).toBe(404);
    expect((await server.request('GET', mappings)).body).toEqual([]);
    expect((await listAudit(server, id)).at(-1)).toMatchObject({
      action: 'delete',
      changes: { mappings: 1 },
    });
  });
});

describe('400', () => {
  it.each([
    [{ workspace_id: undefined }, 'workspace_id'],
    [{ mcp_integration_id: undefined }, 'mcp_integration_id'],
    [{ slug: 'ab' }, 'slug'],
    [{ slug: 'x'.repeat(51) }, 'slug'],
    [{ name: '' }, 'name'],
    [{ description: 'x'.repeat(501) }, 'description'],
    [{ command: 'npx' }, 'command'],
  ])('rejects a create with %j', async (body, param) => {
    const answer = await server.request('POST', path, {
      body: {
        name: 'x',
        mcp_integration_id: integration.id,
        workspace_id: workspace.id,
        ...body,
      },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it('rejects an update without fields', async () => {
    const { id } = await make();
    expect((await server.request('PUT', `${path}/${id}`, { body: {} })).status).toBe(400);
  });
});

describe('403 and 404', () => {
  it('returns 404 for servers and integrations of another tenant', async () => {
    const { id, slug } = await make();
    const other = await addTenant(server, 'servers-other');
    for (const reference of [id, slug, `${slug}/metadata`]) {
      expect((await other.send('GET', `${path}/${reference}`)).status).toBe(404);
    }
    expect((await other.send('PUT', `${path}/${id}`, { body: { name: 'x' } })).status).toBe(404);
    expect((await other.send('DELETE', `${path}/${id}`)).status).toBe(404);
    expect((await other.send('GET', path)).body.total).toBe(0);
    const place = await other.send('POST', '/v2/workspaces', { body: { name: 'w' } });
    const borrowed = await other.send('POST', path, {
      body: { name: 'x', mcp_integration_id: integration.id, workspace_id: place.body.id },
    });
    expect(borrowed).toMatchObject({
      status: 404,
      body: { error: { code: 'AB08', param: 'mcp_integration_id' } },
    });
  });

  it('accepts integrations of the organisation and its own workspace only', async () => {
    const other = await makeWorkspace('Other');
    const own = await makeIntegration({ workspace_id: workspace.id });
    await make({ mcp_integration_id: own.id });
    const foreign = await server.request('POST', path, {
      body: { name: 'x', mcp_integration_id: own.id, workspace_id: other.id },
    });
    expect(foreign.status).toBe(404);
  });

  it('confines a workspace key to its workspace', async () => {
    const other = await makeWorkspace('Other');
    const { id: hidden } = await make({ workspace_id: other.id });
    const scopes = ['create', 'read', 'list'].map((action) => `mcp_servers.${action}`);
    const { send } = await addKeyCaller(server, scopes, workspace.id);
    const made = await send('POST', '/v1/mcp-servers', {
      body: { name: 'x', mcp_integration_id: integration.id },
    });
    expect(made.status).toBe(200);
    expect((await send('GET', `/v1/mcp-servers/${made.body.id}`)).body).toMatchObject({
      workspace_id: workspace.id,
    });
    expect((await send('GET', `/v1/mcp-servers/${hidden}`)).status).toBe(404);
    expect((await send('DELETE', `/v1/mcp-servers/${made.body.id}`)).status).toBe(403);
  });
});

async function specOf(id: string): Promise<Record<string, unknown>> {
  const { body } = await server.request('GET', '/admin/v2/gatewright/snapshot?owner=a');
  return body.resources.find((resource: { id: string }) => resource.id === id).spec;
}

describe('capabilities', () => {
  const tool = (name: string, enabled: boolean) => ({ name, type: 'tool', enabled });
  const read = async (id: string, query = '') =>
    (await server.request('GET', `${path}/${id}/capabilities${query}`)).body;

  it('extends those of the integration by the overrides of each server', async () => {
    const own = await makeIntegration();
    const known = `/v2/mcp-integrations/${own.id}/capabilities`;
    const sent = [tool('read', true), tool('write', false)];
    await server.request('PUT', known, { body: { capabilities: sent } });
    const { id } = await make({ mcp_integration_id: own.id });
    const { id: other } = await make({ mcp_integration_id: own.id });
    const at = `${path}/${id}/capabilities`;
    const body = { capabilities: [tool('read', false), { ...tool('x', true), type: 'prompt' }] };
    expect((await server.request('PUT', at, { body })).body).toEqual({ success: true });
    const reported = await read(id, '?page_size=2');
    expect(reported).toMatchObject({ object: 'list', total: 3, has_more: true });
    expect(reported.counts).toMatchObject({
      tools: { total: 2, enabled: 1 },
      prompts: { total: 1, enabled: 1 },
      resource_templates: { total: 0, enabled: 0 },
    });
    expect(reported.data).toMatchObject([
      { name: 'write', enabled: true, integration_enabled: false, id: expect.any(String) },
      { name: 'read', enabled: false, integration_enabled: true },
    ]);
    expect(await read(id, '?page_size=2&page=2')).toMatchObject({
      data: [{ name: 'x', id: null, enabled: true, integration_enabled: null }],
      has_more: false,
    });
    expect(await read(id, '?type=prompt')).toMatchObject({ total: 1, data: [{ name: 'x' }] });
    expect(await read(other)).toMatchObject({ total: 2, counts: { tools: { enabled: 2 } } });
    expect((await server.request('GET', known)).body.counts.tools.enabled).toBe(1);
  });

  it('is disabled as a whole list by an update, which the snapshot contains', async () => {
    const off = { type: 'tool', name: 'drop' };
    const { id } = await make({ disabled_capabilities: [off] });
    expect(await specOf(id)).toMatchObject({ disabled_capabilities: [off] });
    const next = { type: 'resource', name: 'secrets' };
    const body = { disabled_capabilities: [next] };
    const before = (await server.request('GET', `${path}/${id}`)).headers.etag;
    await server.request('PUT', `${path}/${id}`, { body });
    expect(await specOf(id)).toMatchObject({ disabled_capabilities: [next] });
    expect((await read(id)).data).toMatchObject([
      { name: 'secrets', enabled: false },
      { name: 'drop', enabled: true },
    ]);
    const etag = (await server.request('GET', `${path}/${id}`)).headers.etag;
    expect(etag).not.toBe(before);
    await server.request('PUT', `${path}/${id}`, { body });
    expect((await server.request('GET', `${path}/${id}`)).headers.etag).toBe(etag);
    const ofIntegration = await makeIntegration({ disabled_capabilities: [off] });
    expect(await specOf(ofIntegration.id)).toMatchObject({ disabled_capabilities: [off] });
  });
});

describe('users of an MCP server', () => {
  const put = (id: string, body: object) =>
    server.request('PUT', `${path}/${id}/user-access`, { body });
  const read = async (id: string, query = '') =>
    (await server.request('GET', `${path}/${id}/user-access${query}`)).body;

  it('has access as members of the workspace, unless it is revoked for all or for one', async () => {
    const [anna, bert] = [randomUUID(), randomUUID()].toSorted();
    for (const id of [anna, bert]) await addUser(server, { id: id! });
    await server.request('POST', `/v1/admin/workspaces/${workspace.id}/users`, {
      body: { users: [{ id: anna, role: 'member' }] },
    });
    const { id } = await make();
    expect(await read(id)).toMatchObject({
      total: 1,
      has_more: false,
      default_user_access: 'allow',
      data: [{ user_id: anna, enabled: true, has_override: false }],
    });
    const stated = [{ user_id: bert, enabled: true }];
    const closing = { user_access: stated, default_user_access: 'deny' };
    expect((await put(id, closing)).body).toEqual({ success: true });
    expect((await read(id)).data).toMatchObject([
      { user_id: bert, enabled: true, has_override: true, connection_status: 'not_connected' },
      { user_id: anna, enabled: false, has_override: false },
    ]);
    expect(await read(id, '?page_size=1&page=2')).toMatchObject({
      total: 2,
      has_more: false,
      data: [{ user_id: anna }],
    });
    expect(await specOf(id)).toMatchObject({ default_user_access: 'deny', user_access: stated });
    const check = async (query: string) =>
      (await server.request('GET', `${path}/${id}/user-access/check${query}`)).body;
    expect(await check(`?user_id=${anna}`)).toMatchObject({ user_id: anna, enabled: false });
    expect(await check(`?user_id=${bert}`)).toMatchObject({ enabled: true, has_override: true });
    expect(await check('')).toMatchObject({ user_id: null, enabled: true });
    const { headers } = await addSession(server, anna!);
    const own = await exchange(
      'GET',
      `${server.url}${path}/${id}/user-access/check`,
      undefined,
      headers,
    );
    expect(own.body).toMatchObject({ user_id: anna, enabled: false });
    await server.request('PUT', `${path}/${id}`, { body: { user_access: [] } });
    expect((await read(id)).data).toMatchObject([{ user_id: anna, enabled: false }]);
    expect(await listAudit(server, id)).toHaveLength(3);
  });

  it('is found by a part of the name, and rejected when the id is unknown', async () => {
    const { id } = await make();
    const nobody = { user_id: '01a1ffa6-2a67-76f7-a225-ed57537ed994', enabled: true };
    const refused = await put(id, { user_access: [nobody] });
    expect(refused.body.error).toMatchObject({ code: 'AB01', param: 'user_access[0].user_id' });
    const owner = await ownerOf(server);
    await put(id, { user_access: [{ id: owner, enabled: false }] });
    expect((await read(id, '?search=nobody%20of%20that')).total).toBe(0);
    const twice = { user_access: [1, 2].map(() => ({ id: owner, enabled: true })) };
    expect((await put(id, twice)).status).toBe(400);
    expect((await put(id, {})).status).toBe(400);
  });

  it('has tokens that are sealed, never shown, and deleted with user, server and address', async () => {
    const own = await makeIntegration();
    const { id } = await make({ mcp_integration_id: own.id });
    const user = await addUser(server);
    await server.request('POST', `/v1/admin/workspaces/${workspace.id}/users`, {
      body: { users: [{ id: user, role: 'member' }] },
    });
    const made = await server.request('POST', '/v1/api-keys/workspace/user', {
      body: { name: 'k', user_id: user, workspace_id: workspace.id, scopes: ['mcp.invoke'] },
    });
    const headers = { 'x-gateway-api-key': made.body.key };
    const at = `/v1/mcp-servers/${id}`;
    const ask = (method: string, what: string, body?: object) =>
      exchange(method, `${server.url}${at}/${what}`, body, headers);
    expect((await ask('GET', 'tokens')).body).toMatchObject({ connected: false });
    const tokens = { access_token: 'canary-token-1', refresh_token: 'canary-token-2' };
    expect((await ask('PUT', 'tokens', tokens)).body).toEqual({ success: true });
    const reported = (await ask('GET', 'tokens')).body;
    expect(reported).toMatchObject({ connected: true, access_token: '********' });
    expect((await ask('GET', 'connections')).status).toBe(403);
    const connections = () => server.request('GET', `${at}/connections?user_id=${user}`);
    expect((await connections()).body).toMatchObject({ total: 1, data: [{ user_id: user }] });
    expect((await read(id, `?search=`)).data).toContainEqual(
      expect.objectContaining({ user_id: user, connection_status: 'connected' }),
    );
    const rows = () => server.database.db.selectFrom('mcp_connections').selectAll().execute();
    expect(JSON.stringify([await rows(), reported, await listAudit(server, id)])).not.toContain(
      'canary',
    );
    const forget = () => server.request('DELETE', `${at}/connections?user_id=${user}`);
    expect((await forget()).body).toEqual({ success: true });
    expect((await connections()).body.total).toBe(0);
    await ask('PUT', 'tokens', tokens);
    const move = { url: 'https://other.example.com/mcp' };
    await server.request('PUT', `/v2/mcp-integrations/${own.id}`, { body: move });
    expect((await connections()).body.total).toBe(0);
    await ask('PUT', 'tokens', tokens);
    await server.request('DELETE', `/v1/admin/users/${user}`);
    expect((await connections()).body.total).toBe(0);
    const info = (await server.request('GET', `${at}/client-info`)).body;
    expect(info).toMatchObject({ client_name: 'gatewright', client_id: null, ...move });
    await server.request('PUT', `${at}/tokens`, { body: { access_token: 'a' } });
    await server.request('DELETE', at);
    expect(await rows()).toEqual([]);
  });
});

describe('the MCP registry', () => {
  it('lists each server that the caller may use once, by cursor (1.25.0)', async () => {
    const other = await makeWorkspace('Registry');
    const shared = { workspace_id: other.id, description: 'd'.repeat(200) };
    const made: CreatedResource[] = [];
    for (const name of ['r1', 'r2', 'r3']) made.push(await make({ ...shared, name }));
    const closed = await makeIntegration();
    await make({ ...shared, mcp_integration_id: closed.id });
    await server.request('PUT', `/v2/mcp-integrations/${closed.id}/workspaces`, {
      body: { workspaces: [{ id: other.id, enabled: false }] },
    });
    const read = async (query: string) =>
      (await server.request('GET', `/v0.1/servers?workspace_id=${other.id}&${query}`)).body;
    const names: string[] = [];
    for (let cursor = ''; ; ) {
      const { servers, metadata } = await read(`limit=2${cursor}`);
      names.push(...servers.map((one: { server: { name: string } }) => one.server.name));
      expect(metadata.count).toBe(servers.length);
      if (metadata.nextCursor === undefined) break;
      cursor = `&cursor=${metadata.nextCursor}`;
    }
    expect(names).toEqual(made.toReversed().map(({ slug }) => `gatewright/${slug}`));
    expect((await read('search=R2')).servers).toEqual([
      {
        server: {
          $schema: expect.stringContaining('2025-12-11'),
          name: `gatewright/${made[1]!.slug}`,
          title: 'r2',
          version: '0.0.0',
          description: 'd'.repeat(100),
          remotes: [
            { type: 'streamable-http', url: `https://mcp.example.com/${made[1]!.slug}/mcp` },
          ],
        },
        _meta: {
          'io.modelcontextprotocol.registry/official': {
            status: 'active',
            isLatest: true,
            publishedAt: expect.any(String),
            updatedAt: expect.any(String),
          },
        },
      },
    ]);
    expect((await read('updated_since=2027-01-05T00:00:00Z')).servers).toEqual([]);
    for (const wrong of ['limit=101', 'limit=0', 'cursor=x', 'updated_since=monday']) {
      expect(await read(wrong)).toMatchObject({ error: { code: 'AB01' } });
    }
    const none = await server.request('GET', '/v0.1/servers?workspace_id=none');
    expect(none.status).toBe(404);
  });

  it('accepts keys, and hides servers that are closed to the user', async () => {
    const place = await makeWorkspace('People');
    const user = await addUser(server);
    await server.request('POST', `/v1/admin/workspaces/${place.id}/users`, {
      body: { users: [{ id: user, role: 'member' }] },
    });
    const open = await make({ workspace_id: place.id });
    await make({ workspace_id: place.id, default_user_access: 'deny' });
    const people = [{ user_id: user, enabled: false }];
    await make({ workspace_id: place.id, user_access: people });
    const scopes = ['mcp_servers.list'];
    const made = await server.request('POST', '/v1/api-keys/workspace/user', {
      body: { name: 'k', user_id: user, workspace_id: place.id, scopes },
    });
    const { key } = made.body;
    const ways: Record<string, string>[] = [
      { 'x-gateway-api-key': key },
      { authorization: `Bearer ${key}` },
    ];
    for (const headers of ways) {
      const { body } = await exchange('GET', `${server.url}/v0.1/servers`, undefined, headers);
      expect(body.servers).toMatchObject([{ server: { name: `gatewright/${open.slug}` } }]);
    }
    const all = await server.request('GET', `/v0.1/servers?workspace_id=${place.id}`);
    expect(all.body.metadata).toEqual({ count: 3 });
    const { send } = await addKeyCaller(server, ['mcp_servers.read'], place.id);
    expect((await send('GET', '/v0.1/servers')).status).toBe(403);
  });
});

describe('409 and 412', () => {
  it('rejects a repeated slug in one organisation', async () => {
    const { slug } = await make({ slug: 'crm-tools' });
    const twin = await server.request('POST', path, {
      body: { name: 'x', slug, mcp_integration_id: integration.id, workspace_id: workspace.id },
    });
    expect(twin).toMatchObject({ status: 409, body: { error: { code: 'AB07', param: 'slug' } } });
  });

  it('accepts one of two concurrent updates of the same version', async () => {
    const { id } = await make();
    const { etag } = (await server.request('GET', `${path}/${id}`)).headers;
    const headers = { 'if-match': String(etag) };
    const answers = await Promise.all(
      ['a', 'b'].map((name) => server.request('PUT', `${path}/${id}`, { body: { name }, headers })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await server.request('DELETE', `${path}/${id}`, { headers })).status).toBe(412);
  });

  it('never creates a server of an integration that is deleted concurrently', async () => {
    const doomed = await makeIntegration();
    const body = { name: 'x', mcp_integration_id: doomed.id, workspace_id: workspace.id };
    const [made, gone] = await Promise.all([
      server.request('POST', path, { body }),
      server.request('DELETE', `/v2/mcp-integrations/${doomed.id}`),
    ]);
    expect([
      [200, 409],
      [404, 200],
    ]).toContainEqual([made.status, gone.status]);
  });
});
