/** Verifies the rate-limit policy routes over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const base = '/v2/policies/rate-limits';
let server: TestServer;
let workspaceId: string;
beforeAll(async () => {
  server = await startTestServer();
  workspaceId = await makeWorkspace('Rates');
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeWorkspace(name: string): Promise<string> {
  const made = await server.request('POST', '/admin/v2/workspaces', { body: { name } });
  expect(made.status).toBe(200);
  return made.body.id;
}

function bodyOf(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    conditions: [{ key: 'metadata.team', value: '*' }],
    group_by: [{ key: 'metadata.team' }],
    type: 'requests',
    unit: 'rpm',
    value: 60,
    workspace_id: workspaceId,
    ...changes,
  };
}

async function make(changes: Record<string, unknown> = {}): Promise<string> {
  const made = await server.request('POST', base, { body: bodyOf(changes) });
  expect(made).toMatchObject({ status: 200, body: { object: 'rate-limits-policy' } });
  return made.body.id;
}

const read = (id: string, query = '') => server.request('GET', `${base}/${id}${query}`);
const put = (id: string, body: Record<string, unknown>) =>
  server.request('PUT', `${base}/${id}`, { body });

describe('a condition that names an MCP server which the workspace does not have', () => {
  const toolPolicy = (value: unknown) => ({
    target: 'mcp_tools',
    conditions: [{ key: 'mcp_tool', value }],
    group_by: [{ key: 'api_key' }],
  });
  const warning =
    '299 gatewright "conditions: mcp_tool fils/search names the MCP server fils, which the workspace does not have, so it matches no call unless a tool has this name; did you mean files/search?"';

  it('causes a warning when it is created or changed, and none once the server exists', async () => {
    const workspace_id = await makeWorkspace('Servers');
    const integration = await server.request('POST', '/v1/mcp-integrations', {
      body: {
        name: 'files',
        url: 'https://mcp.example.com/mcp',
        auth_type: 'none',
        transport: 'http',
        workspace_id,
      },
    });
    const mcp_integration_id = integration.body.id;
    const body = { name: 'files', slug: 'files', mcp_integration_id, workspace_id };
    expect((await server.request('POST', '/v1/mcp-servers', { body })).status).toBe(200);
    for (const [path, terms] of [
      [base, { type: 'requests', unit: 'rpm', value: 60 }],
      ['/v2/policies/usage-limits', { type: 'requests', credit_limit: 60, target: undefined }],
    ] as const) {
      const send = (method: string, at: string, value: string, more: object = {}) =>
        server.request(method, at, {
          body: { ...toolPolicy(value), ...more, ...(method === 'POST' && { workspace_id }) },
        });
      const made = await send('POST', path, 'fils/search', terms);
      expect([made.status, made.headers.warning]).toEqual([200, warning]);
      const at = `${path}/${made.body.id}`;
      const conditions = (value: string) => ({ conditions: toolPolicy(value).conditions });
      const wrong = await server.request('PUT', at, { body: conditions('fils/search') });
      expect([wrong.status, wrong.headers.warning]).toEqual([200, warning]);
      const right = await server.request('PUT', at, { body: conditions('files/search') });
      expect([right.status, right.headers.warning]).toEqual([200, undefined]);
    }
  });
});

describe('status 200', () => {
  it('returns on every mount what was sent, and the default target', async () => {
    const body = bodyOf({
      name: 'Slowly',
      conditions: [
        { key: 'endpoint_type', value: 'chat_completions' },
        { key: 'model', value: ['@openai/*', 'x'], excludes: '@openai/gpt-4*' },
      ],
    });
    const id = await make(body);
    for (const mount of ['/v1', '/v2', '/admin/v2']) {
      const got = await server.request('GET', `${mount}/policies/rate-limits/${id}`);
      expect(got.body).toEqual({
        ...body,
        id,
        description: null,
        organisation_id: server.organisationId,
        target: 'llm',
        status: 'active',
        created_at: '2027-01-04T08:00:00.000Z',
        last_updated_at: '2027-01-04T08:00:00.000Z',
        object: 'rate-limits-policy',
        declared_in: null,
      });
    }
  });

  it('accepts every unit, and both types', async () => {
    for (const unit of ['rps', 'rpm', 'rph', 'rpd', 'rpw']) {
      for (const type of ['requests', 'tokens']) {
        const { body } = await read(await make({ unit, type, value: 1 }));
        expect(body).toMatchObject({ unit, type, value: 1 });
      }
    }
  });

  it('updates sent fields, clears null fields, and keeps the rest', async () => {
    const id = await make({ name: 'old', description: 'keep' });
    const change = {
      name: null,
      unit: 'rph',
      value: 5,
      conditions: [{ key: 'model', value: 'm' }],
    };
    expect(await put(id, { ...change, target: 'llm' })).toMatchObject({ status: 200, body: {} });
    expect((await read(id)).body).toMatchObject({
      ...change,
      description: 'keep',
      type: 'requests',
      group_by: [{ key: 'metadata.team' }],
    });
    const [audited] = await listAudit(server, id);
    expect(audited).toBeDefined();
  });

  it('lists by workspace, status, type, unit and target', async () => {
    const place = await makeWorkspace('Filters');
    const one = await make({ workspace_id: place });
    const tools = await make({
      workspace_id: place,
      target: 'mcp_tools',
      type: 'tokens',
      unit: 'rpd',
      conditions: [{ key: 'mcp_tool', value: 'search' }],
      group_by: [{ key: 'mcp_server' }],
    });
    const listed = async (query: string): Promise<string[]> => {
      const { body } = await server.request('GET', `${base}?workspace_id=${place}&${query}`);
      expect(body.total).toBe(body.data.length);
      return body.data.map(({ id }: { id: string }) => id);
    };
    expect(await listed('')).toEqual([tools, one]);
    expect(await listed('target=mcp_tools')).toEqual([tools]);
    expect(await listed('target=llm')).toEqual([one]);
    expect(await listed('unit=rpd&type=tokens')).toEqual([tools]);
    expect(await listed('type=requests')).toEqual([one]);
    expect(await listed('unit=rpw')).toEqual([]);
    expect(await listed('status=archived')).toEqual([]);
  });

  it('archives on DELETE: hidden by default, listed with status=archived, no longer editable', async () => {
    const id = await make();
    expect(await server.request('DELETE', `${base}/${id}`)).toMatchObject({
      status: 200,
      body: {},
    });
    expect((await read(id)).status).toBe(404);
    expect((await put(id, { value: 1 })).status).toBe(404);
    expect((await server.request('DELETE', `${base}/${id}`)).status).toBe(404);
    expect((await read(id, '?status=archived')).body).toMatchObject({ id, status: 'archived' });
  });

  it('is archived with its workspace', async () => {
    const place = await makeWorkspace('Leaving');
    const id = await make({ workspace_id: place });
    const refused = await server.request('DELETE', `/admin/v2/workspaces/${place}`, {
      body: { name: 'Leaving' },
    });
    expect(refused.status).toBe(409);
    const gone = await server.request('DELETE', `/admin/v2/workspaces/${place}`, {
      body: { name: 'Leaving', force_delete: true },
    });
    expect(gone.status).toBe(200);
    expect((await read(id)).status).toBe(404);
    expect((await read(id, '?status=archived')).body.status).toBe('archived');
  });
});

describe('400', () => {
  it.each([
    ['unit', { unit: 'tpd' }],
    ['type', { type: 'cost' }],
    ['value', { value: 0 }],
    ['value', { value: 1.5 }],
    ['value', { value: undefined }],
    ['target', { target: 'tools' }],
    ['conditions', { conditions: [] }],
    ['group_by', { group_by: [] }],
    ['conditions[0].key', { conditions: [{ key: 'mcp_tool', value: '*' }] }],
    ['group_by[0].key', { group_by: [{ key: 'mcp_server' }] }],
    ['conditions[0].key', { target: 'mcp_tools', conditions: [{ key: 'model', value: '*' }] }],
    ['group_by[0].key', { target: 'mcp_tools', group_by: [{ key: 'endpoint_type' }] }],
    ['workspace_id', { workspace_id: undefined }],
  ])('names %s in %j', async (field, changes) => {
    const refused = await server.request('POST', base, { body: bodyOf(changes) });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
    expect(refused.body.error.message).toContain(field);
  });

  it('keeps the target, and validates new conditions with it', async () => {
    const id = await make();
    expect((await put(id, { target: 'mcp_tools' })).body.error.message).toContain('target');
    const refused = await put(id, { conditions: [{ key: 'mcp_server', value: '*' }] });
    expect(refused).toMatchObject({ status: 400 });
    expect(refused.body.error.message).toContain('conditions[0].key');
    expect((await put(id, {})).status).toBe(400);
  });
});

describe('401, 403 and 404', () => {
  it('requires the scope of each operation', async () => {
    const id = await make();
    expect((await server.request('GET', base, { auth: 'none' })).status).toBe(401);
    const { send } = await addKeyCaller(server, ['policies.list']);
    const path = '/v1/policies/rate-limits';
    expect((await send('GET', path)).status).toBe(200);
    const refused = await Promise.all([
      send('GET', `${path}/${id}`),
      send('POST', path, { body: bodyOf() }),
      send('PUT', `${path}/${id}`, { body: { value: 1 } }),
      send('DELETE', `${path}/${id}`),
    ]);
    expect(refused.map(({ status }) => status)).toEqual(Array(4).fill(403));
  });

  it('hides policies from other workspaces and tenants', async () => {
    const foreign = await make();
    const mine = await makeWorkspace('Own rates');
    const scopes = ['create', 'read', 'list', 'update'].map((verb) => `policies.${verb}`);
    const { send } = await addKeyCaller(server, scopes, mine);
    const path = '/v1/policies/rate-limits';
    const made = await send('POST', path, { body: bodyOf({ workspace_id: undefined }) });
    expect((await read(made.body.id)).body).toMatchObject({ workspace_id: mine });
    expect((await send('POST', path, { body: bodyOf() })).status).toBe(403);
    expect((await send('GET', path)).body).toMatchObject({
      total: 1,
      data: [{ id: made.body.id }],
    });
    const tenant = await addTenant(server);
    for (const caller of [send, tenant.send]) {
      expect((await caller('GET', `${path}/${foreign}`)).status).toBe(404);
      expect((await caller('PUT', `${path}/${foreign}`, { body: { value: 1 } })).status).toBe(404);
    }
  });
});
