/**
 * Verifies guardrail mappings of MCP servers over HTTP: exact bulk sync, single mappings,
 * isolation.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';
import { leaseHeaders } from '../../support/sync/lease.ts';

interface CreatedResource {
  id: string;
  slug: string;
}
let server: TestServer;
let workspace: CreatedResource;
let integration: CreatedResource;
let servers: CreatedResource[];
let capabilityIds: string[];
let guardrail: CreatedResource;
let path: string;

beforeAll(async () => {
  server = await startTestServer();
  workspace = await create('/v2/workspaces', { name: 'Support' });
  ({ integration, capabilityIds } = await makeIntegration());
  servers = await Promise.all([1, 2, 3].map((at) => makeServer(`server ${at}`)));
});
beforeEach(async () => {
  guardrail = await makeGuardrail();
  path = `/admin/v2/guardrails/${guardrail.id}/mcp-servers`;
});
afterAll(() => server[Symbol.asyncDispose]());

async function create(to: string, body: Record<string, unknown>): Promise<CreatedResource> {
  const made = await server.request('POST', to, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

async function makeIntegration(): Promise<{
  integration: CreatedResource;
  capabilityIds: string[];
}> {
  const url = 'https://crm.example.com/mcp';
  const body = { name: 'CRM', url, auth_type: 'none', transport: 'http' };
  const made = await create('/v2/mcp-integrations', body);
  const at = `/v2/mcp-integrations/${made.id}/capabilities`;
  const capabilities = ['find', 'drop'].map((name) => ({ name, type: 'tool', enabled: true }));
  await server.request('PUT', at, { body: { capabilities } });
  const { data } = (await server.request('GET', at)).body;
  return { integration: made, capabilityIds: data.map((row: CreatedResource) => row.id) };
}

function makeServer(name: string, body: Record<string, unknown> = {}): Promise<CreatedResource> {
  const ends = { mcp_integration_id: integration.id, workspace_id: workspace.id };
  return create('/v2/mcp-servers', { name, ...ends, ...body });
}

function makeGuardrail(body: Record<string, unknown> = {}): Promise<CreatedResource> {
  const checks = [{ id: 'default.contains', parameters: { words: ['x'] } }];
  return create('/v2/guardrails', { name: 'g', target: 'mcp_tools', checks, ...body });
}

async function sync(mcp_servers: Record<string, unknown>, headers: Record<string, string> = {}) {
  return server.request('PUT', path, { body: { mcp_servers }, headers });
}

async function list() {
  return (await server.request('GET', path)).body;
}

describe('the bulk sync', () => {
  it('replaces the mappings with exactly those that were sent, and counts the changes', async () => {
    const [one, two, three] = servers.map(({ id }) => id);
    const first = await sync({
      [one!]: {},
      [two!]: { run_on: ['input'], mcp_integration_capability_ids: capabilityIds },
    });
    expect(first).toMatchObject({ status: 200 });
    expect(first.body).toEqual({ changed: true, added: 2, updated: 0, removed: 0 });
    const second = await sync({ [two!]: { run_on: ['afterToolCall'] }, [three!]: {} });
    expect(second.body).toEqual({ changed: true, added: 1, updated: 1, removed: 1 });
    const mappings = await list();
    expect(mappings).toHaveLength(2);
    expect(mappings).toContainEqual({
      id: expect.any(String),
      guardrail_id: guardrail.id,
      mcp_server_id: two,
      run_on: ['afterToolCall'],
      capability_ids: [],
    });
    const record = await server.request('GET', `/admin/v2/guardrails/${guardrail.id}`);
    expect(record.body.mcp_server_mappings).toEqual(mappings);
    expect((await sync({})).body).toEqual({ changed: true, added: 0, updated: 0, removed: 2 });
    expect(await list()).toEqual([]);
  });

  it('changes nothing the second time, whatever the order of the lists', async () => {
    const id = servers[0]!.id;
    const entry = { run_on: ['input', 'output'], mcp_integration_capability_ids: capabilityIds };
    await sync({ [id]: entry });
    const before = await list();
    const turned = {
      run_on: ['output', 'input', 'input'],
      capability_ids: capabilityIds.map((one) => one.toUpperCase()).reverse(),
    };
    const unchanged = { changed: false, added: 0, updated: 0, removed: 0 };
    expect((await sync({ [id.toUpperCase()]: turned })).body).toEqual(unchanged);
    expect((await sync({ [servers[0]!.slug]: entry })).body).toEqual(unchanged);
    expect(await list()).toEqual(before);
    expect(await listAudit(server, before[0].id)).toHaveLength(1);
  });

  it('adds each mapping once when it is sent many times concurrently', async () => {
    const wanted = Object.fromEntries(servers.map(({ id }) => [id, { run_on: ['input'] }]));
    const answers = await Promise.all(Array.from({ length: 8 }, () => sync(wanted)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const added = answers.map(({ body }) => body.added);
    expect(added.toSorted()).toEqual([0, 0, 0, 0, 0, 0, 0, 3]);
    expect(answers.filter(({ body }) => body.changed)).toHaveLength(1);
    expect(await list()).toHaveLength(3);
  });

  it('leaves exactly one of several concurrent bodies, with counts that add up', async () => {
    const bodies = servers.map(({ id }) => ({ [id]: {} }));
    const answers = await Promise.all(bodies.map((body) => sync(body)));
    const sum = (field: 'added' | 'removed') =>
      answers.reduce((total, { body }) => total + body[field], 0);
    const left = await list();
    expect(left).toHaveLength(1);
    expect(sum('added') - sum('removed')).toBe(1);
  });

  it('changes nothing when one entry is invalid', async () => {
    const [one, two] = servers.map(({ id }) => id);
    await sync({ [one!]: {} });
    const before = await list();
    const broken = await sync({ [two!]: { mcp_integration_capability_ids: [guardrail.id] } });
    expect(broken).toMatchObject({
      status: 400,
      body: { error: { param: `mcp_servers.${two}.mcp_integration_capability_ids[0]` } },
    });
    expect(await list()).toEqual(before);
  });

  it('rejects capabilities of another integration, and a repeated server', async () => {
    const elsewhere = await makeIntegration();
    const { id, slug } = servers[0]!;
    const foreign = await sync({ [id]: { capability_ids: elsewhere.capabilityIds } });
    expect(foreign).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
    expect((await sync({ [id]: {}, [slug]: {} })).body.error.message).toContain('twice');
  });

  it.each([
    [{}],
    [{ mcp_servers: [] }],
    [{ mcp_servers: { x: { run_on: [] } } }],
    [{ mcp_servers: { x: { run_on: ['sometimes'] } } }],
    [{ mcp_servers: { x: { capability_ids: ['x'] } } }],
  ])('rejects a body like %j', async (body) => {
    const answer = await server.request('PUT', path, { body });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
  });

  it('rejects more servers than an object may have keys', async () => {
    const named = Array.from({ length: 1001 }, (_, at) => [`s${at}`, {}]);
    expect((await sync(Object.fromEntries(named))).status).toBe(413);
  });

  it('returns the same 404 for an unknown server and one of another tenant', async () => {
    const other = await addTenant(server, 'mappings-servers');
    const place = await other.send('POST', '/v2/workspaces', { body: { name: 'w' } });
    const theirs = await other.send('POST', '/v2/mcp-integrations', {
      body: { name: 'i', url: 'https://a.example', auth_type: 'none', transport: 'http' },
    });
    const foreign = await other.send('POST', '/v2/mcp-servers', {
      body: { name: 's', mcp_integration_id: theirs.body.id, workspace_id: place.body.id },
    });
    const nobody = '00000000-0000-4000-8000-000000000000';
    const [unknown, hidden] = await Promise.all([
      sync({ [nobody]: {} }),
      sync({ [foreign.body.id]: {} }),
    ]);
    expect(unknown).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
    expect(hidden).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
    expect(unknown.body.error.message).toBe(hidden.body.error.message);
  });

  it('rejects a guardrail for LLM requests, and servers of another workspace', async () => {
    const llm = await makeGuardrail({ target: 'llm', actions: { deny: true } });
    const answer = await server.request('PUT', `/v2/guardrails/${llm.slug}/mcp-servers`, {
      body: { mcp_servers: {} },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: { param: 'target' } } });
    const place = await create('/v2/workspaces', { name: 'Elsewhere' });
    const bound = await makeGuardrail({ workspace_id: place.id });
    const crossing = await server.request('PUT', `/v2/guardrails/${bound.id}/mcp-servers`, {
      body: { mcp_servers: { [servers[0]!.id]: {} } },
    });
    expect(crossing.status).toBe(400);
  });

  it('compares If-Match with the version of the guardrail', async () => {
    expect((await sync({}, { 'if-match': '"2"' })).status).toBe(412);
    expect((await sync({}, { 'if-match': '"1"' })).status).toBe(200);
  });
});

describe('a single mapping', () => {
  it('is created, updated, read and deleted', async () => {
    const at = `${path}/${servers[0]!.slug}`;
    const run = (body: unknown) => server.request('PUT', at, { body });
    const made = await run({ run_on: ['beforeToolCall'], capability_ids: capabilityIds });
    expect(made).toMatchObject({ status: 200, body: { map_id: expect.any(String) } });
    const id = made.body.map_id;
    const mapping = {
      id,
      guardrail_id: guardrail.id,
      mcp_server_id: servers[0]!.id,
      run_on: ['beforeToolCall'],
      capability_ids: capabilityIds,
    };
    expect((await server.request('GET', at)).body).toEqual(mapping);
    expect((await run({})).body).toEqual({ map_id: id });
    expect((await server.request('GET', at)).body).toEqual({
      ...mapping,
      run_on: ['input', 'output'],
      capability_ids: [],
    });
    expect(await server.request('DELETE', at)).toMatchObject({ status: 200, body: {} });
    expect((await server.request('GET', at)).status).toBe(404);
    expect((await server.request('DELETE', at)).status).toBe(404);
    expect((await listAudit(server, id)).map(({ action }) => action)).toEqual([
      'create',
      'update',
      'delete',
    ]);
  });

  it('is created once under concurrent requests, and updated by one of those with the same version', async () => {
    const at = `${path}/${servers[0]!.id}`;
    const made = await Promise.all(
      Array.from({ length: 6 }, () => server.request('PUT', at, { body: {} })),
    );
    expect(new Set(made.map(({ body }) => body.map_id)).size).toBe(1);
    const { etag } = (await server.request('GET', at)).headers;
    const headers = { 'if-match': String(etag) };
    const changes = await Promise.all(
      [['input'], ['output']].map((run_on) =>
        server.request('PUT', at, { body: { run_on }, headers }),
      ),
    );
    expect(changes.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await server.request('DELETE', at, { headers })).status).toBe(412);
  });

  it('belongs to its owner, and releases its identity when the guardrail is deleted', async () => {
    const managed_by = {
      owner: 'git',
      workspace: null,
      name: 'binding',
      source: { repo: '/srv', revision: null },
      last_applied: {},
    };
    const at = `${path}/${servers[0]!.id}`;
    const headers = await leaseHeaders(server.request, 'git');
    const owned = { body: { managed_by }, headers };
    expect((await server.request('PUT', at, owned)).status).toBe(200);
    const twin = await server.request('PUT', `${path}/${servers[1]!.id}`, owned);
    expect(twin.status).toBe(409);
    const strangers = await leaseHeaders(server.request, 'someone');
    expect((await server.request('DELETE', at, { headers: strangers })).status).toBe(409);
    await server.request('DELETE', `/v2/guardrails/${guardrail.id}`);
    const next = await makeGuardrail();
    const again = `/v2/guardrails/${next.id}/mcp-servers/${servers[0]!.id}`;
    expect((await server.request('PUT', again, owned)).status).toBe(200);
  });
});

describe('403 and 404', () => {
  it('returns 404 for mappings of another tenant', async () => {
    await sync({ [servers[0]!.id]: {} });
    const other = await addTenant(server, 'mappings-other');
    const one = `${path}/${servers[0]!.id}`;
    const answers = await Promise.all([
      other.send('GET', path),
      other.send('PUT', path, { body: { mcp_servers: {} } }),
      other.send('GET', one),
      other.send('PUT', one, { body: {} }),
      other.send('DELETE', one),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(404));
    expect(await list()).toHaveLength(1);
  });

  it('requires guardrail scopes', async () => {
    const { send } = await addKeyCaller(server, ['organisation_guardrails.read']);
    const at = `/v1/guardrails/${guardrail.id}/mcp-servers`;
    expect(await send('GET', at)).toMatchObject({ status: 200, body: [] });
    const put = await send('PUT', at, { body: { mcp_servers: {} } });
    expect(put).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
    expect((await server.request('GET', path, { auth: 'key' })).status).toBe(401);
  });
});
