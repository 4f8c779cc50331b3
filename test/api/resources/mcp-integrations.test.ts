/**
 * Verifies the MCP integration routes over HTTP: addresses, secret headers, capabilities, isolation
 * and deletion.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putAtIntegration, putAtServer } from '../../../src/admin/mcp/mcp-capability-changes.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const path = '/admin/v2/mcp-integrations';
const minimal = {
  name: 'CRM',
  url: 'https://crm.example.com/mcp',
  auth_type: 'headers',
  transport: 'http',
};
const canary = 'Bearer canary-8f2e61c0';
const mask = '********';
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function make(body: Record<string, unknown> = {}): Promise<{ id: string; slug: string }> {
  const made = await server.request('POST', path, { body: { ...minimal, ...body } });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

async function makeWorkspace(name = 'Team'): Promise<{ id: string; slug: string }> {
  return (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
}

async function put(reference: string, body: Record<string, unknown>) {
  return server.request('PUT', `${path}/${reference}`, { body });
}

async function read(reference: string) {
  return (await server.request('GET', `${path}/${reference}`)).body;
}

async function storedConfigurations(id: string): Promise<string | null> {
  const row = await server.database.db
    .selectFrom('mcp_integrations')
    .select('configurations')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return row.configurations;
}

async function fromStored(id: string, text: string | null, name: string): Promise<string> {
  const sealed = JSON.parse(text!).custom_headers[name];
  const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
  return unsealer.unseal(sealed, `mcp_integrations|${id}|configurations.custom_headers.${name}`);
}

describe('status 200', () => {
  it('creates an integration without contacting its server', async () => {
    const made = await make({ description: '', url: 'https://nowhere.invalid/mcp' });
    expect(made).toEqual({
      id: expect.any(String),
      slug: expect.stringMatching(/^crm-[0-9a-f]{6}$/),
    });
    expect(await read(made.slug)).toEqual({
      ...minimal,
      ...made,
      url: 'https://nowhere.invalid/mcp',
      description: null,
      organisation_id: server.organisationId,
      workspace_id: null,
      type: 'organisation',
      configurations: {},
      secret_mappings: [],
      global_workspace_access: { enabled: true },
      definition_policy: 'observe',
      disabled_client_capabilities: [],
      status: 'active',
      owner_id: expect.any(String),
      created_at: '2027-01-04T08:00:00.000Z',
      last_updated_at: '2027-01-04T08:00:00.000Z',
      object: 'mcp-integration',
      declared_in: null,
    });
  });

  it('updates every field, keeps absent fields, clears null fields, and returns {}', async () => {
    const { id } = await make({
      description: 'old',
      configurations: { passthrough_header: { 'x-a': 'b' } },
    });
    await server.request('POST', '/v2/secret-references', {
      body: {
        name: 'ref',
        slug: 'ref',
        manager_type: 'aws_sm',
        secret_path: 'crm',
        auth_config: { aws_auth_type: 'serviceRole' },
        allowed_hosts: ['new.example.com'],
      },
    });
    const mapping = {
      target_field: 'configurations.custom_headers.X-Key',
      secret_reference_id: 'ref',
      secret_key: 'k',
    };
    const answer = await put(id, {
      name: 'New',
      url: 'https://new.example.com/mcp',
      secret_mappings: [mapping],
      configurations: { custom_headers: {}, passthrough_header: {} },
    });
    expect(answer).toMatchObject({ status: 200, body: {} });
    expect(await read(id)).toMatchObject({
      name: 'New',
      url: 'https://new.example.com/mcp',
      description: 'old',
      secret_mappings: [mapping],
      configurations: { custom_headers: {}, passthrough_header: {} },
    });
    await put(id, { description: null, configurations: null, secret_mappings: [] });
    expect(await read(id)).toMatchObject({
      description: null,
      configurations: {},
      secret_mappings: [],
    });
  });

  it('returns configurations in lists as an object on v1 and as text on the newer planes', async () => {
    const workspace = await makeWorkspace();
    const configurations = { passthrough_header: { 'x-a': 'b' } };
    const { id } = await make({ workspace_id: workspace.slug, configurations });
    const list = async (plane: string) =>
      (await server.request('GET', `${plane}/mcp-integrations?workspace_id=${workspace.id}`)).body;
    expect(await list('/v1')).toMatchObject({
      total: 1,
      has_more: false,
      data: [{ configurations }],
    });
    for (const plane of ['/v2', '/admin/v2']) {
      expect((await list(plane)).data).toMatchObject([
        { id, configurations: JSON.stringify(configurations), type: 'workspace' },
      ]);
    }
  });

  it('lists by type and by part of the name or slug, in pages', async () => {
    const marker = 'Zebra';
    const workspace = await makeWorkspace();
    await make({ name: `${marker} one` });
    server.clock.advance(1000);
    await make({ name: 'two', slug: 'a-ZEBRA-slug', workspace_id: workspace.id });
    const list = async (query: string) =>
      (await server.request('GET', `${path}?search=zebra&${query}`)).body;
    expect(await list('page_size=1')).toMatchObject({
      total: 2,
      has_more: true,
      data: [{ name: 'two' }],
    });
    expect(await list('page_size=1&current_page=1')).toMatchObject({ has_more: false });
    expect(await list('type=workspace')).toMatchObject({ total: 1, data: [{ name: 'two' }] });
    expect(await list('type=organisation')).toMatchObject({ data: [{ name: `${marker} one` }] });
    expect(await list('type=all')).toMatchObject({ total: 2 });
  });

  it('is gone with its capabilities after DELETE', async () => {
    const { id } = await make();
    await server.request('PUT', `${path}/${id}/capabilities`, {
      body: { capabilities: [{ name: 't', type: 'tool', enabled: true }] },
    });
    expect(await server.request('DELETE', `${path}/${id}`)).toMatchObject({
      status: 200,
      body: {},
    });
    expect((await server.request('GET', `${path}/${id}`)).status).toBe(404);
    const left = await server.database.db
      .selectFrom('mcp_capabilities')
      .select('id')
      .where('mcp_integration_id', '=', id)
      .execute();
    expect(left).toEqual([]);
    expect((await listAudit(server, id)).at(-1)).toMatchObject({ action: 'delete' });
  });
});

describe('secret headers', () => {
  it('is sealed when stored and never shown: in responses, lists, server details, audit and logs', async () => {
    const { id } = await make({
      configurations: { custom_headers: { Authorization: canary }, headers: { 'x-key': canary } },
    });
    const workspace = await makeWorkspace();
    const made = await server.request('POST', '/v2/mcp-servers', {
      body: { name: 's', mcp_integration_id: id, workspace_id: workspace.id },
    });
    expect((await read(id)).configurations).toEqual({
      custom_headers: { Authorization: mask },
      headers: { 'x-key': mask },
    });
    const visible = [
      (await server.request('GET', path)).body,
      (await server.request('GET', '/v1/mcp-integrations')).body,
      (await server.request('GET', `/v2/mcp-servers/${made.body.id}`)).body,
      (await server.request('GET', '/v2/mcp-servers')).body,
      (await put(id, { configurations: { custom_headers: { Authorization: `${canary}\n` } } }))
        .body,
      await server.database.db.selectFrom('mcp_integrations').selectAll().execute(),
      await server.database.db.selectFrom('audit_log').selectAll().execute(),
      server.logLines,
    ];
    expect(JSON.stringify(visible)).not.toContain('canary-8f2e61c0');
    expect(await fromStored(id, await storedConfigurations(id), 'Authorization')).toBe(canary);
  });

  it('keeps its value when the mask or the same value is sent, to the byte', async () => {
    const { id } = await make({ configurations: { custom_headers: { Authorization: canary } } });
    const before = await storedConfigurations(id);
    const same = await put(id, { configurations: { custom_headers: { Authorization: mask } } });
    expect(same.status).toBe(200);
    await put(id, { configurations: { custom_headers: { Authorization: canary } } });
    expect(await storedConfigurations(id)).toBe(before);
    expect((await listAudit(server, id)).map(({ action }) => action)).toEqual(['create']);
    await put(id, { configurations: { custom_headers: { Authorization: mask, 'x-new': 'n' } } });
    const after = await storedConfigurations(id);
    expect(await fromStored(id, after, 'Authorization')).toBe(canary);
    expect(await fromStored(id, after, 'x-new')).toBe('n');
  });

  it('changes when another value is sent, and is deleted when it is omitted', async () => {
    const { id } = await make({ configurations: { custom_headers: { a: '1', b: '2' } } });
    await put(id, { configurations: { custom_headers: { a: '3' } } });
    const stored = await storedConfigurations(id);
    expect(Object.keys(JSON.parse(stored!).custom_headers)).toEqual(['a']);
    expect(await fromStored(id, stored, 'a')).toBe('3');
  });

  describe('secret headers when the address changes', () => {
    const elsewhere = [
      'https://evil.example.com/mcp',
      'http://crm.example.com/mcp',
      'https://crm.example.com:8443/mcp',
      'https://crm.example.com.evil.example/mcp',
    ];

    it.each(elsewhere)('is not kept for another origin: %s', async (url) => {
      const headers = {
        custom_headers: { Authorization: canary, 'x-b': 'b' },
        headers: { c: 'c' },
      };
      const { id } = await make({ configurations: headers });
      const before = await storedConfigurations(id);
      const storedValue = {
        custom_headers: { Authorization: mask, 'x-b': 'b' },
        headers: { c: 'c' },
      };
      for (const configurations of [undefined, storedValue]) {
        const answer = await put(id, { url, configurations, name: 'Moved' });
        expect(answer).toMatchObject({
          status: 400,
          body: { error: { param: 'configurations.custom_headers.Authorization' } },
        });
        expect(answer.body.error.message).toContain('must be sent again, because');
        expect(JSON.stringify(answer.body)).not.toContain(canary);
      }
      expect(await read(id)).toMatchObject({ url: minimal.url, name: 'CRM' });
      expect(await storedConfigurations(id)).toBe(before);
    });

    it.each([
      ['sent again', { custom_headers: { Authorization: canary } }],
      ['changed', { custom_headers: { Authorization: 'Bearer new' } }],
      ['left out', { custom_headers: { 'x-new': 'n' } }],
      ['cleared', null],
    ])('allows a new origin when it is %s in the same request', async (_, configurations) => {
      const { id } = await make({ configurations: { custom_headers: { Authorization: canary } } });
      const url = 'https://other.example.com/mcp';
      expect((await put(id, { url, configurations })).status).toBe(200);
      expect(await read(id)).toMatchObject({ url });
    });

    it.each(['https://crm.example.com/other?x=1', 'https://CRM.example.com:443/mcp'])(
      'is kept within the origin: %s',
      async (url) => {
        const { id } = await make({
          configurations: { custom_headers: { Authorization: canary } },
        });
        const before = await storedConfigurations(id);
        expect((await put(id, { url })).status).toBe(200);
        expect(await storedConfigurations(id)).toBe(before);
      },
    );

    it('does not restrict the address of an integration without secrets', async () => {
      const { id } = await make({ configurations: { passthrough_headers: { 'x-a': 'b' } } });
      expect((await put(id, { url: 'https://other.example.com/mcp' })).status).toBe(200);
    });
  });

  it('rejects a mask without a stored value', async () => {
    const custom_headers = { Authorization: mask };
    const param = 'configurations.custom_headers.Authorization';
    const refusal = { status: 400, body: { error: { param } } };
    const body = { ...minimal, configurations: { custom_headers } };
    expect(await server.request('POST', path, { body })).toMatchObject(refusal);
    const { id } = await make();
    expect(await put(id, { configurations: { custom_headers } })).toMatchObject(refusal);
  });
});

describe('capabilities', () => {
  /** Fields that only the server can supply. */
  const untold = {
    title: null,
    description: null,
    icons: null,
    input_schema: null,
    output_schema: null,
    execution: null,
    annotations: null,
  };
  const capabilities = [
    { name: 'find', type: 'tool', enabled: true },
    { name: 'drop', type: 'tool', enabled: false },
    { name: 'find', type: 'prompt', enabled: true },
  ];

  it('is merged by type and name, keeps the ids, and is counted', async () => {
    const { id, slug } = await make();
    const change = (list: unknown) =>
      server.request('PUT', `${path}/${slug}/capabilities`, { body: { capabilities: list } });
    expect(await change(capabilities)).toMatchObject({ status: 200, body: { success: true } });
    const list = async (query = '') =>
      (await server.request('GET', `${path}/${id}/capabilities${query}`)).body;
    const before = await list('?type=tool');
    expect(before.data[0]).toMatchObject({ ...untold, object: 'mcp-capability' });
    expect(before).toMatchObject({
      object: 'list',
      total: 2,
      has_more: false,
      counts: {
        tools: { total: 2, enabled: 1 },
        prompts: { total: 1, enabled: 1 },
        resources: { total: 0, enabled: 0 },
        resource_templates: { total: 0, enabled: 0 },
      },
    });
    await change([{ name: 'drop', type: 'tool', enabled: true }]);
    const after = await list('?type=tool');
    expect(after.counts.tools).toEqual({ total: 2, enabled: 2 });
    const ids = (answer: { data: { id: string }[] }) => answer.data.map((row) => row.id);
    expect(ids(after)).toEqual(ids(before));
    expect(await list('?page=2&page_size=2')).toMatchObject({ total: 3, has_more: false });
    expect((await list('?page=2&page_size=2')).data).toHaveLength(1);
    expect((await list('?current_page=1&page_size=2')).data).toHaveLength(1);
    expect((await list('?current_page=0&page=1&page_size=2')).data).toHaveLength(2);
    const metadata = await server.request('GET', `${path}/${id}/metadata`);
    expect(metadata.body).toMatchObject({
      server_name: '',
      server_version: '',
      sync_status: 'pending',
      capability_flags: { tools: true, prompts: true, resources: false },
    });
  });

  it('is limited to ten thousand over all requests, and every page costs the same', async () => {
    const { id, slug } = await make();
    const workspace = { body: { name: 'of many' } };
    const { body: place } = await server.request('POST', '/admin/v2/workspaces', workspace);
    const { body } = await server.request('POST', '/v1/mcp-servers', {
      body: { name: 's', mcp_integration_id: id, workspace_id: place.id },
    });
    const settings = Array.from({ length: 9_999 }, (_, at) => ({
      type: 'tool' as const,
      name: `t${at}`,
      enabled: true,
    }));
    const organisation_id = server.organisationId;
    await server.database.transaction(async (tx) => {
      await putAtIntegration(tx, { organisation_id, id }, settings, 1);
      await putAtServer(tx, { organisation_id, id: body.id }, settings, 1);
    });
    const tool = (name: string, enabled = false) => ({ name, type: 'tool', enabled });
    for (const place of [`${path}/${slug}`, `/v1/mcp-servers/${body.id}`]) {
      const put = (...of: object[]) =>
        server.request('PUT', `${place}/capabilities`, { body: { capabilities: of } });
      const disable = (...of: object[]) =>
        server.request('PUT', place, { body: { disabled_capabilities: of } });
      for (const refused of [
        await put(tool('t1'), tool('x'), tool('y')),
        await disable({ name: 'x', type: 'tool' }, { name: 'y', type: 'tool' }),
      ]) {
        expect([refused.status, refused.body.error?.message]).toEqual([
          400,
          expect.stringContaining('at most 10000 capabilities'),
        ]);
      }
      expect((await put(tool('t1'), tool('x'))).status).toBe(200);
      const last = await server.request('GET', `${place}/capabilities?page=100`);
      expect(last.body).toMatchObject({ total: 10_000, has_more: false });
    }
  });

  it.each([
    [{ capabilities: [] }],
    [{ capabilities: [capabilities[0], capabilities[0]] }],
    [{ capabilities: [{ name: 'x', type: 'agent', enabled: true }] }],
    [{ capabilities: [{ name: 'x', type: 'tool' }] }],
  ])('rejects %j', async (body) => {
    const { id } = await make();
    const answer = await server.request('PUT', `${path}/${id}/capabilities`, { body });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
  });

  it.each(['page=0', 'page_size=501', 'page_size=1e2', 'page=-1', 'page=1&current_page=1'])(
    'rejects the query %s',
    async (query) => {
      const { id } = await make();
      expect((await server.request('GET', `${path}/${id}/capabilities?${query}`)).status).toBe(400);
    },
  );
});

describe('workspaces', () => {
  const serve = (workspace: { id: string }, integration: { id: string }) =>
    server.request('POST', '/v2/mcp-servers', {
      body: { name: 'x', mcp_integration_id: integration.id, workspace_id: workspace.id },
    });
  const putAccess = (id: string, body: object) =>
    server.request('PUT', `${path}/${id}/workspaces`, { body });
  const readAccess = async (id: string, query = '') =>
    (await server.request('GET', `/v1/mcp-integrations/${id}/workspaces${query}`)).body;

  it('is added and removed individually, with both names of the list, and returns {}', async () => {
    const [one, two] = [await makeWorkspace('One'), await makeWorkspace('Two')];
    const { id } = await make();
    expect(await readAccess(id)).toEqual({
      object: 'list',
      total: 0,
      workspaces: [],
      global_workspace_access: { enabled: true },
    });
    const closed = await putAccess(id, {
      workspaces: [{ id: one.slug, enabled: true }],
      global_workspace_access: { enabled: false },
    });
    expect(closed).toMatchObject({ status: 200, body: {} });
    const expected = { id: one.id, enabled: true, status: 'active' };
    expect(await readAccess(id)).toMatchObject({
      total: 1,
      workspaces: [expected],
      global_workspace_access: { enabled: false },
    });
    expect(await readAccess(id, '?version=2')).toMatchObject({ total: 1, data: [expected] });
    expect((await serve(two, { id })).body.error.message).toContain(
      'is not open to this workspace',
    );
    expect((await serve(two, { id })).status).toBe(403);
    expect((await serve(one, { id })).status).toBe(200);
    await putAccess(id, { workspaces: [{ id: two.id, enabled: true }] });
    expect((await serve(two, { id })).status).toBe(200);
    expect(await readAccess(id)).toMatchObject({ total: 2 });
    const order = { override_existing_workspace_access: true };
    await putAccess(id, { ...order, global_workspace_access: { enabled: false } });
    expect((await readAccess(id)).workspaces).toMatchObject([
      { id: two.id, enabled: false },
      { id: one.id, enabled: false },
    ]);
  });

  it('is replaced by a create and an update, and deleted with the workspace and the integration', async () => {
    const [one, two] = [await makeWorkspace('One'), await makeWorkspace('Two')];
    const { id } = await make({ workspaces: [{ id: one.id, enabled: false }] });
    await put(id, { workspaces: [{ id: two.id, enabled: false }] });
    expect((await readAccess(id)).workspaces).toMatchObject([{ id: two.id, enabled: false }]);
    const spec = async () => {
      const { body } = await server.request('GET', '/admin/v2/gatewright/snapshot?owner=a');
      return body.resources.find((resource: { id: string }) => resource.id === id).spec;
    };
    expect((await spec()).workspaces).toEqual([{ id: two.id, enabled: false }]);
    await server.request('DELETE', `/v2/workspaces/${two.id}`, { body: { name: 'Two' } });
    expect(await readAccess(id)).toMatchObject({ total: 0 });
    await put(id, { workspaces: [{ id: one.id, enabled: true }] });
    await server.request('DELETE', `${path}/${id}`);
    const left = await server.database.db
      .selectFrom('mcp_integration_workspaces')
      .select('id')
      .where('mcp_integration_id', '=', id)
      .execute();
    expect(left).toEqual([]);
  });

  it('is rejected for an integration that a workspace owns', async () => {
    const own = await makeWorkspace('Own');
    const { id } = await make({ workspace_id: own.id });
    expect(await readAccess(id)).toMatchObject({
      workspaces: [{ id: own.id, enabled: true }],
      global_workspace_access: { enabled: false },
    });
    const refused = await putAccess(id, { workspaces: [{ id: own.id, enabled: false }] });
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'workspaces' } } });
  });

  it('is written once when it is repeated, and never from a stale version', async () => {
    const one = await makeWorkspace('One');
    const { id } = await make();
    const body = { workspaces: [{ id: one.id, enabled: true }] };
    const answers = await Promise.all(Array.from({ length: 8 }, () => putAccess(id, body)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await readAccess(id)).toMatchObject({ total: 1 });
    expect(await listAudit(server, id)).toHaveLength(2);
    const headers = { 'if-match': '"999"' };
    const stale = await server.request('PUT', `${path}/${id}/workspaces`, { body, headers });
    expect(stale.status).toBe(412);
  });
});

describe('the credentials of an OAuth client', () => {
  const clientSecret = 'canary-oauth-5d1c';
  const oauth = {
    oauth_client_id: 'gw',
    oauth_scope: 'mcp',
    oauth_token_endpoint: 'https://login.example.com/token',
  };
  const expected = { ...oauth, oauth_client_secret: mask };

  it('is stored sealed and returned masked, in lists and records of every plane', async () => {
    const storedValue = { auth_type: 'oauth_client_credentials', transport: 'interactive' };
    const configurations = { ...oauth, oauth_client_secret: clientSecret };
    const { id } = await make({ ...storedValue, configurations });
    const key = { auth: 'key' as const };
    const answers = [
      await server.request('GET', `${path}/${id}`),
      await server.request('GET', `/v1/mcp-integrations/${id}`, key),
    ];
    for (const { body } of answers) {
      expect(body).toMatchObject({ ...storedValue, configurations: expected });
    }
    const lists = [
      await server.request('GET', path),
      await server.request('GET', '/v1/mcp-integrations', key),
    ];
    expect(JSON.stringify([answers, lists])).not.toContain(clientSecret);
    const stored = JSON.parse((await storedConfigurations(id))!).oauth_client_secret;
    expect(stored).not.toContain(clientSecret);
    const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
    const context = `mcp_integrations|${id}|configurations.oauth_client_secret`;
    expect(unsealer.unseal(stored, context)).toBe(clientSecret);
    expect(JSON.stringify(await listAudit(server, id))).not.toContain(clientSecret);
    // A record that was read can be sent back, and changes nothing.
    expect((await put(id, { ...storedValue, configurations: expected })).status).toBe(200);
    expect(JSON.parse((await storedConfigurations(id))!).oauth_client_secret).toBe(stored);
  });

  it('is sent only to the endpoint and server for which they were configured', async () => {
    const { id } = await make({ configurations: { ...oauth, oauth_client_secret: clientSecret } });
    const param = 'configurations.oauth_client_secret';
    const elsewhere = 'https://evil.example.com/token';
    for (const body of [
      { configurations: { ...expected, oauth_token_endpoint: elsewhere } },
      { configurations: { oauth_client_secret: mask } },
      { url: 'https://evil.example.com/mcp' },
      { url: 'https://evil.example.com/mcp', configurations: expected },
    ]) {
      expect(await put(id, body)).toMatchObject({ status: 400, body: { error: { param } } });
    }
    const anew = { ...oauth, oauth_token_endpoint: elsewhere, oauth_client_secret: 'other' };
    expect((await put(id, { configurations: anew })).status).toBe(200);
    expect((await put(id, { configurations: {}, url: 'https://evil.example.com/' })).status).toBe(
      200,
    );
    expect((await read(id)).configurations).toEqual({});
  });
});

describe('400', () => {
  it.each([
    [
      { configurations: { oauth_token_endpoint: 'http://169.254.169.254/' } },
      'configurations.oauth_token_endpoint',
    ],
    [{ configurations: { oauth_client_secret: mask } }, 'configurations.oauth_client_secret'],
    [{ configurations: { client_secret: 'x' } }, 'configurations.client_secret'],
    [{ url: 'http://127.0.0.1/mcp' }, 'url'],
    [{ url: 'http://169.254.169.254/' }, 'url'],
    [{ url: 'https://user:pass@example.com/' }, 'url'],
    [{ url: 'npx -y server' }, 'url'],
    [{ url: undefined }, 'url'],
    [{ auth_type: 'basic' }, 'auth_type'],
    [{ transport: 'stdio' }, 'transport'],
    [{ command: 'npx' }, 'command'],
    [{ slug: 'has space' }, 'slug'],
    [{ configurations: { command: 'npx' } }, 'configurations.command'],
    [{ configurations: { custom_headers: { 'a b': 'x' } } }, 'configurations.custom_headers.a b'],
    [{ configurations: { custom_headers: { a: 'x\r\ny: z' } } }, 'configurations.custom_headers.a'],
    [
      { configurations: { custom_headers: { Connection: 'x' } } },
      'configurations.custom_headers.Connection',
    ],
    [{ configurations: { oauth: { client_secret: 'x' } } }, 'configurations.oauth.client_secret'],
    [{ secret_mappings: [{ target_field: 'x' }] }, 'secret_mappings[0].secret_reference_id'],
  ])('rejects a create with %j, also from v1 clients', async (body, param) => {
    for (const mount of [path, '/v1/mcp-integrations']) {
      const answer = await server.request('POST', mount, { body: { ...minimal, ...body } });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
    }
  });

  it('rejects an update without fields, to another workspace, or with another slug', async () => {
    const { id, slug } = await make();
    expect((await put(id, {})).body.error.message).toContain('No update fields provided');
    expect(await put(id, { slug: 'other', name: 'x' })).toMatchObject({ status: 400 });
    expect((await put(id, { slug, name: 'x' })).status).toBe(200);
    const workspace = await makeWorkspace();
    expect((await put(id, { workspace_id: workspace.id, name: 'y' })).status).toBe(404);
  });
});

describe('403 and 404', () => {
  it('returns 404 for integrations of another tenant', async () => {
    const { id, slug } = await make();
    const other = await addTenant(server, 'integrations-other');
    for (const reference of [id, slug]) {
      for (const below of ['', '/capabilities', '/metadata']) {
        expect((await other.send('GET', `${path}/${reference}${below}`)).status).toBe(404);
      }
      expect(
        (await other.send('PUT', `${path}/${reference}`, { body: { name: 'x' } })).status,
      ).toBe(404);
      expect((await other.send('DELETE', `${path}/${reference}`)).status).toBe(404);
    }
    expect((await other.send('GET', path)).body.total).toBe(0);
    const twin = await other.send('POST', path, { body: { ...minimal, slug } });
    expect(twin.status).toBe(200);
  });

  it('requires the scope for the level of the integration', async () => {
    const workspace = await makeWorkspace();
    const shared = await make();
    const inside = await make({ workspace_id: workspace.id });
    const v1 = '/v1/mcp-integrations';
    const scopes = ['create', 'read', 'list'].map(
      (action) => `workspace_mcp_integrations.${action}`,
    );
    const { send } = await addKeyCaller(server, scopes);
    expect((await send('GET', `${v1}/${inside.id}`)).status).toBe(200);
    expect((await send('GET', `${v1}/${shared.id}`)).status).toBe(403);
    expect((await send('POST', v1, { body: minimal })).status).toBe(403);
    const own = await send('POST', v1, { body: { ...minimal, workspace_id: workspace.id } });
    expect(own.status).toBe(200);
    const list = await send('GET', v1);
    const types = new Set(list.body.data.map((row: { type: string }) => row.type));
    expect([...types]).toEqual(['workspace']);
    expect((await send('GET', `${v1}?type=organisation`)).status).toBe(403);
    expect((await send('DELETE', `${v1}/${inside.id}`)).status).toBe(403);
  });
});

describe('409 and 412', () => {
  it('rejects a repeated slug in one organisation', async () => {
    const { slug } = await make({ slug: 'crm-one' });
    const twin = await server.request('POST', path, { body: { ...minimal, slug } });
    expect(twin).toMatchObject({ status: 409, body: { error: { code: 'AB07', param: 'slug' } } });
  });

  it('keeps an integration that an MCP server uses', async () => {
    const { id } = await make();
    const workspace = await makeWorkspace();
    const made = await server.request('POST', '/v2/mcp-servers', {
      body: { name: 's', mcp_integration_id: id, workspace_id: workspace.id },
    });
    expect(await server.request('DELETE', `${path}/${id}`)).toMatchObject({ status: 409 });
    await server.request('DELETE', `/v2/mcp-servers/${made.body.id}`);
    expect((await server.request('DELETE', `${path}/${id}`)).status).toBe(200);
  });

  it('accepts one of two concurrent updates of the same version', async () => {
    const { id } = await make();
    const { etag } = (await server.request('GET', `${path}/${id}`)).headers;
    const headers = { 'if-match': String(etag) };
    const answers = await Promise.all(
      ['a', 'b'].map((name) => server.request('PUT', `${path}/${id}`, { body: { name }, headers })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  });
});
