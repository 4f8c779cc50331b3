/** Guarantees of MCP servers over HTTP: what they are made of, their place, isolation and end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../server.ts';
import { addKeyCaller, addTenant, listAudit } from '../tenant.ts';

const path = '/v2/mcp-servers';
interface Made {
  id: string;
  slug: string;
}
let server: TestServer;
let workspace: Made;
let integration: Made;
beforeAll(async () => {
  server = await startTestServer();
  workspace = await makeWorkspace('Support');
  integration = await makeIntegration();
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeWorkspace(name: string): Promise<Made> {
  return (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
}

async function makeIntegration(body: Record<string, unknown> = {}): Promise<Made> {
  const url = 'https://crm.example.com/mcp';
  const made = await server.request('POST', '/v2/mcp-integrations', {
    body: { name: 'CRM', url, auth_type: 'none', transport: 'http', ...body },
  });
  expect(made.status).toBe(200);
  return made.body;
}

async function make(body: Record<string, unknown> = {}): Promise<Made> {
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

describe('200', () => {
  it('creates a server by slugs and tells it with its integration, ids as UUIDs', async () => {
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
      });
    }
    expect(await listAudit(server, made.id)).toMatchObject([
      { action: 'create', resource_kind: 'McpServer', changes: { name: 'CRM tools' } },
    ]);
  });

  it('changes name and description, clears the latter, and answers {}', async () => {
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

  it('tells what is known of the server behind it', async () => {
    const { slug } = await make();
    const metadata = await server.request('GET', `${path}/${slug}/metadata`);
    expect(metadata.body).toMatchObject({ sync_status: 'pending', last_synced_at: null });
  });

  it('is gone after DELETE, and takes guardrails off with it', async () => {
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
  ])('refuses a create with %j', async (body, param) => {
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

  it('refuses an update that says nothing', async () => {
    const { id } = await make();
    expect((await server.request('PUT', `${path}/${id}`, { body: {} })).status).toBe(400);
  });
});

describe('403 and 404', () => {
  it('shows a tenant nothing of another, nor lets it use its integration', async () => {
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

  it('lets a workspace use integrations of the organisation and its own, not of others', async () => {
    const other = await makeWorkspace('Other');
    const own = await makeIntegration({ workspace_id: workspace.id });
    await make({ mcp_integration_id: own.id });
    const foreign = await server.request('POST', path, {
      body: { name: 'x', mcp_integration_id: own.id, workspace_id: other.id },
    });
    expect(foreign.status).toBe(404);
  });

  it('keeps a key of one workspace to that workspace', async () => {
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

describe('409 and 412', () => {
  it('refuses a slug twice in one organisation', async () => {
    const { slug } = await make({ slug: 'crm-tools' });
    const twin = await server.request('POST', path, {
      body: { name: 'x', slug, mcp_integration_id: integration.id, workspace_id: workspace.id },
    });
    expect(twin).toMatchObject({ status: 409, body: { error: { code: 'AB07', param: 'slug' } } });
  });

  it('lets one of two writers who read the same version win', async () => {
    const { id } = await make();
    const { etag } = (await server.request('GET', `${path}/${id}`)).headers;
    const headers = { 'if-match': String(etag) };
    const answers = await Promise.all(
      ['a', 'b'].map((name) => server.request('PUT', `${path}/${id}`, { body: { name }, headers })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await server.request('DELETE', `${path}/${id}`, { headers })).status).toBe(412);
  });

  it('never makes a server of an integration that is deleted at the same time', async () => {
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
