/**
 * Verifies the guardrail routes over HTTP: the record on each plane, versions, checks, isolation
 * and deletion.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idFromBytes, idToBytes } from '../../../src/model/wire/ids.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';
import { leaseHeaders } from '../../support/sync/lease.ts';

const path = '/v2/guardrails';
const check = { id: 'default.regexMatch', name: 'digits', parameters: { rule: '\\d+' } };
const actions = { deny: true, onFail: 'block', message: 'no digits' };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

interface CreatedResource {
  id: string;
  slug: string;
  version_id: string;
}

async function make(body: Record<string, unknown> = {}): Promise<CreatedResource> {
  const made = await server.request('POST', path, {
    body: { name: 'No digits', checks: [check], actions, ...body },
  });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

async function makeWorkspace(name = 'Team'): Promise<{ id: string; slug: string }> {
  return (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
}

async function read(id: string, plane = '/v2') {
  return (await server.request('GET', `${plane}/guardrails/${id}`)).body;
}

describe('status 200', () => {
  it('creates a guardrail with a slug from its name, a version and its creator', async () => {
    const made = await make();
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      slug: expect.stringMatching(/^pg-no-dig-[0-9a-f]{6}$/),
      version_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      object: 'guardrail',
      created_at: '2027-01-04T08:00:00.000Z',
      created_by: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(await listAudit(server, made.id)).toMatchObject([
      { action: 'create', resource_kind: 'Guardrail', changes: { name: 'No digits' } },
    ]);
  });

  it('returns exactly what was sent on v1, and every default on the newer planes', async () => {
    const { id, slug } = await make();
    const asSent = await read(slug, '/v1');
    expect(asSent).toMatchObject({ checks: [check], actions, target: 'llm', status: 'active' });
    expect(asSent.checks).toEqual([check]);
    expect(asSent.actions).toEqual(actions);
    for (const plane of ['/v2', '/admin/v2']) {
      const complete = await read(id.toUpperCase(), plane);
      expect(complete.checks).toEqual([{ ...check, is_enabled: true }]);
      expect(complete.actions).toEqual({
        ...actions,
        async: false,
        sequential: false,
        on_success: { feedback: { value: 5, weight: 1, metadata: '' } },
        on_fail: { feedback: { value: -5, weight: 1, metadata: '' } },
      });
      expect(complete).toMatchObject({ id, slug, mcp_server_mappings: [], workspace_id: null });
    }
  });

  it('accepts a tool guardrail without checks and allows removing them; other guardrails need one check', async () => {
    const bare = { target: 'mcp_tools', checks: undefined, actions: undefined };
    const { id } = await make(bare);
    expect(await read(id, '/v1')).toMatchObject({ checks: [], actions: {} });
    const put = (of: string, body: Record<string, unknown>) =>
      server.request('PUT', `${path}/${of}`, { body });
    expect((await put(id, { checks: [check] })).status).toBe(200);
    expect((await put(id, { checks: [] })).status).toBe(200);
    expect((await read(id, '/v1')).checks).toEqual([]);
    const onPrompts = await make();
    expect((await put(onPrompts.id, { name: 'still judged' })).status).toBe(200);
    const emptied = await put(onPrompts.id, { checks: [] });
    expect(emptied).toMatchObject({ status: 400, body: { error: { param: 'checks' } } });
  });

  it('returns checks of partners unchanged, and known checks in both spellings', async () => {
    const checks = [
      { id: 'patronus.custom', parameters: { wand: { length: 11.5 } } },
      { id: 'default.isAllLowerCase' },
      { id: 'default.alllowercase', is_enabled: false },
    ];
    const { id } = await make({ checks });
    expect((await read(id, '/v1')).checks).toEqual(checks);
  });

  it('lists guardrails of every target, and those of a workspace by id or slug, in pages', async () => {
    const workspace = await makeWorkspace();
    const llm = await make({ workspace_id: workspace.slug });
    server.clock.advance(1000);
    const tools = await make({
      workspace_id: workspace.id,
      target: 'mcp_tools',
      actions: undefined,
    });
    for (const reference of [workspace.id, workspace.slug]) {
      const list = await server.request('GET', `${path}?workspace_id=${reference}`);
      expect(list.body).toMatchObject({
        object: 'list',
        total: 2,
        data: [
          { id: tools.id, target: 'mcp_tools', workspace_id: workspace.id },
          { id: llm.id, target: 'llm', workspace_id: workspace.id },
        ],
      });
      expect(list.body.data[0]).not.toHaveProperty('checks');
    }
    const second = await server.request(
      'GET',
      `${path}?workspace_id=${workspace.id}&page_size=1&current_page=1`,
    );
    expect(second.body).toMatchObject({ total: 2, data: [{ id: llm.id }] });
  });

  it('creates a version only when the content changes', async () => {
    const { id, slug, version_id } = await make();
    const put = async (body: Record<string, unknown>) =>
      (await server.request('PUT', `${path}/${slug}`, { body })).body;
    expect(await put({ name: 'Renamed' })).toEqual({ id, slug, version_id });
    expect(await put({ checks: [check], actions })).toEqual({ id, slug, version_id });
    const changed = await put({ checks: [{ ...check, is_enabled: false }] });
    expect(changed.version_id).not.toBe(version_id);
    const record = await read(id, '/v1');
    expect(record).toMatchObject({ name: 'Renamed', version_id: changed.version_id, actions });
    const versions = await server.database.db
      .selectFrom('guardrail_versions')
      .select(['id', 'checks'])
      .where('resource_id', '=', idToBytes(id))
      .orderBy('number')
      .execute();
    expect(versions.map((row) => idFromBytes(row.id))).toEqual([version_id, changed.version_id]);
    const audit = await listAudit(server, id);
    expect(audit.map(({ changes }) => changes)).toMatchObject([
      { name: 'No digits' },
      { fields: ['name'] },
      { fields: expect.arrayContaining(['checks', 'version_id']) },
    ]);
  });

  it('assigns by name the id of a check that was sent without one', async () => {
    const { id } = await make();
    const checks = [{ name: 'digits', is_enabled: false, parameters: { rule: '[0-9]' } }];
    await server.request('PUT', `${path}/${id}`, { body: { checks } });
    expect((await read(id, '/v1')).checks).toEqual([{ ...checks[0], id: check.id }]);
    const unnamed = await server.request('PUT', `${path}/${id}`, {
      body: { checks: [{ name: 'x' }] },
    });
    expect(unnamed).toMatchObject({ status: 400, body: { error: { param: 'checks[0].id' } } });
  });

  it('is gone with its versions after DELETE', async () => {
    const { id } = await make();
    const gone = await server.request('DELETE', `${path}/${id}`);
    expect(gone).toMatchObject({ status: 200, body: {} });
    expect((await server.request('GET', `${path}/${id}`)).status).toBe(404);
    const { db } = server.database;
    const left = await db
      .selectFrom('guardrail_versions')
      .select('id')
      .where('resource_id', '=', idToBytes(id))
      .execute();
    expect(left).toEqual([]);
    expect((await listAudit(server, id)).at(-1)).toMatchObject({ action: 'delete' });
  });

  it('drops unknown fields on v1, where clients of other versions send them', async () => {
    const made = await server.request('POST', '/v1/guardrails', {
      auth: 'key',
      body: { name: 'x', checks: [{ ...check, extra: 1 }], actions, extra: 1 },
    });
    expect(made.status).toBe(200);
    expect((await read(made.body.id, '/v1')).checks).toEqual([check]);
  });
});

describe('400', () => {
  it.each([
    [{ name: '' }, 'name'],
    [{ checks: [] }, 'checks'],
    [{ checks: undefined }, 'checks'],
    [{ checks: [{ name: 'x' }] }, 'checks[0].id'],
    [{ checks: [{ id: 'default.contians' }] }, 'checks[0].id'],
    [{ actions: { on_unsupported: 'allow' } }, 'actions.on_unsupported'],
    [{ actions: undefined }, 'actions'],
    [{ actions: { deny: 'yes' } }, 'actions.deny'],
    [{ target: 'a2a' }, 'target'],
    [{ status: 'archived' }, 'status'],
    [
      { checks: [{ id: 'default.regexMatch', parameters: { rule: '(?=a)' } }] },
      'checks[0].parameters.rule',
    ],
    [
      { checks: [check, { id: 'default.webhook', parameters: { webhookURL: 'http://10.0.0.1' } }] },
      'checks[1].parameters.webhookURL',
    ],
    [
      {
        target: 'mcp_tools',
        checks: [{ id: 'portkey.moderateContent', parameters: { categories: ['hate'] } }],
      },
      'checks[0].id',
    ],
  ])('rejects a create with %j', async (body, param) => {
    const answer = await server.request('POST', path, {
      body: { name: 'x', checks: [check], actions, ...body },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it.each([
    'Authorization',
    'x_api_key',
    'Metadata-Flavor',
    'Connection',
    'x-forwarded-for',
    'x-gateway-config',
    'no good',
  ])('rejects a webhook with the header %s, on create and on update', async (header) => {
    const parameters = {
      webhookURL: 'https://a.example',
      forwardHeaders: ['traceparent', header],
    };
    const body = { checks: [{ id: 'default.webhook', parameters }] };
    const { id } = await make();
    const refusal = {
      status: 400,
      body: { error: { code: 'AB01', param: 'checks[0].parameters.forwardHeaders[1]' } },
    };
    const create = { name: 'x', actions, ...body };
    expect(await server.request('POST', path, { body: create })).toMatchObject(refusal);
    expect(await server.request('PUT', `${path}/${id}`, { body })).toMatchObject(refusal);
  });

  it.each([
    [{}, 'No update fields provided'],
    [{ target: 'mcp_tools' }, 'target: cannot be changed'],
    [{ organisation_id: 'x' }, 'organisation_id'],
    [{ checks: [{ id: 'default.regexMatch', parameters: {} }] }, 'rule'],
    [{ checks: [{ id: 'default.contians' }] }, 'did you mean "default.contains"?'],
  ])('rejects an update with %j', async (body, reason) => {
    const { id } = await make();
    const answer = await server.request('PUT', `${path}/${id}`, { body });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
    expect(answer.body.error.message).toContain(reason);
  });
});

describe('403 and 404', () => {
  it('returns 404 for guardrails of another tenant', async () => {
    const { id, slug } = await make();
    const other = await addTenant(server, 'guardrails-other');
    for (const reference of [id, slug]) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? { name: 'stolen' } : undefined;
        const answer = await other.send(method, `${path}/${reference}`, { body });
        expect(answer).toMatchObject({ status: 404, body: { error: { code: 'AB08' } } });
      }
    }
    expect((await other.send('GET', path)).body).toMatchObject({ total: 0, data: [] });
    expect((await read(id)).name).toBe('No digits');
    const workspace = await makeWorkspace();
    const foreign = { name: 'x', checks: [check], actions, workspace_id: workspace.id };
    expect((await other.send('POST', path, { body: foreign })).status).toBe(404);
  });

  it('confines a workspace key to its workspace', async () => {
    const [mine, theirs] = [await makeWorkspace('Mine'), await makeWorkspace('Theirs')];
    const scopes = ['guardrails.create', 'guardrails.list', 'guardrails.read'];
    const { send } = await addKeyCaller(server, scopes, mine.id);
    const body = { name: 'x', checks: [check], actions };
    const made = await send('POST', '/v1/guardrails', { body });
    expect((await read(made.body.id)).workspace_id).toBe(mine.id);
    const foreign = await send('POST', '/v1/guardrails', {
      body: { ...body, workspace_id: theirs.id },
    });
    expect(foreign).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
    const hidden = await make({ workspace_id: theirs.id });
    expect((await send('GET', `/v1/guardrails/${hidden.id}`)).status).toBe(404);
    expect((await send('GET', '/v1/guardrails')).body).toMatchObject({ total: 1 });
    expect((await send('DELETE', `/v1/guardrails/${made.body.id}`)).status).toBe(403);
  });

  it('requires the scope for the level of the guardrail, on every plane', async () => {
    const workspace = await makeWorkspace();
    const shared = await make();
    const inside = await make({ workspace_id: workspace.id });
    const body = { name: 'x', checks: [check], actions };
    const placed = { ...body, workspace_id: workspace.id };
    const statusesOf = async (words: string[]) => {
      const actionsList = ['create', 'read', 'list', 'update'];
      const scopes = words.flatMap((word) => actionsList.map((action) => `${word}.${action}`));
      const { send } = await addKeyCaller(server, scopes);
      const { data, total } = (await send('GET', '/v1/guardrails?page_size=1000')).body;
      const places = new Set(data.map((row: { workspace_id: string | null }) => row.workspace_id));
      expect(total).toBe(data.length);
      return {
        shared: [
          (await send('GET', `/v1/guardrails/${shared.id}`)).status,
          (await send('PUT', `/v1/guardrails/${shared.id}`, { body: { name: 'y' } })).status,
          (await send('GET', `/v1/guardrails/${shared.id}/mcp-servers`)).status,
          (await send('POST', '/v1/guardrails', { body })).status,
          places.has(null),
        ],
        inside: [
          (await send('GET', `/v1/guardrails/${inside.id}`)).status,
          (await send('PUT', `/v1/guardrails/${inside.id}`, { body: { name: 'y' } })).status,
          (await send('GET', `/v1/guardrails/${inside.id}/mcp-servers`)).status,
          (await send('POST', '/v1/guardrails', { body: placed })).status,
          places.has(workspace.id),
        ],
      };
    };
    const [open, closed] = [
      [200, 200, 200, 200, true],
      [403, 403, 403, 403, false],
    ];
    expect(await statusesOf(['guardrails'])).toEqual({ shared: closed, inside: open });
    expect(await statusesOf(['organisation_guardrails'])).toEqual({ shared: open, inside: closed });
    expect(await statusesOf(['guardrails', 'organisation_guardrails'])).toEqual({
      shared: open,
      inside: open,
    });
  });

  it('returns 404 when the resource is not in the workspace of the query', async () => {
    const workspace = await makeWorkspace();
    const { id } = await make();
    const answer = await server.request('GET', `${path}/${id}?workspace_id=${workspace.id}`);
    expect(answer.status).toBe(404);
  });
});

describe('409 and 412', () => {
  it('keeps a guardrail that a config references by slug or id, and deletes it afterwards', async () => {
    for (const by of ['slug', 'id', 'ID'] as const) {
      const guardrail = await make();
      const name = by === 'ID' ? guardrail.id.toUpperCase() : guardrail[by];
      const made = await server.request('POST', '/v2/configs', {
        body: { name: 'c', config: { targets: [{ input_guardrails: [name] }] } },
      });
      expect(made.status).toBe(200);
      const stored = await server.request('DELETE', `${path}/${guardrail.id}`);
      expect(stored).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
      expect(stored.body.error.message).toContain(made.body.slug);
      await server.request('DELETE', `/v2/configs/${made.body.id}`);
      expect((await server.request('DELETE', `${path}/${guardrail.id}`)).status).toBe(200);
    }
  });

  it('keeps a guardrail that a workspace applies to every request', async () => {
    const workspace = await makeWorkspace();
    const { id, slug } = await make();
    const put = await server.request('PUT', `/v2/workspaces/${workspace.id}`, {
      body: { defaults: { output_guardrails: [slug] } },
    });
    expect(put.status).toBe(200);
    expect((await server.request('DELETE', `${path}/${id}`)).status).toBe(409);
  });

  it('accepts one of two concurrent updates of the same version', async () => {
    const { id } = await make();
    const { headers } = await server.request('GET', `${path}/${id}`);
    const write = (name: string) =>
      server.request('PUT', `${path}/${id}`, {
        body: { name },
        headers: { 'if-match': String(headers.etag) },
      });
    const answers = await Promise.all([write('one'), write('two'), write('three')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    const stale = await server.request('DELETE', `${path}/${id}`, {
      headers: { 'if-match': '"1"' },
    });
    expect(stale.status).toBe(412);
  });
});

describe('ownership', () => {
  const managedBy = {
    owner: 'git',
    workspace: null,
    name: 'no-digits',
    source: { repo: '/srv/gateway', revision: null, file: 'g.yaml' },
    last_applied: { name: 'No digits' },
  };

  it('claims an identity once, renews it, and releases it on delete by its owner only', async () => {
    const headers = await leaseHeaders(server.request, 'git');
    const create = (name: string) =>
      server.request('POST', path, {
        body: { name, checks: [check], actions, managed_by: managedBy },
        headers,
      });
    const { id } = (await create('first')).body;
    const twin = await create('twin');
    expect(twin).toMatchObject({ status: 409, body: { error: { param: 'managed_by' } } });
    const adopt = { managed_by: { ...managedBy, last_applied: { name: 'other' } } };
    const adopted = await server.request('PUT', `${path}/${id}`, { body: adopt, headers });
    expect(adopted.status).toBe(200);
    const stranger = await server.request('DELETE', `${path}/${id}`, {
      headers: await leaseHeaders(server.request, 'someone'),
    });
    expect(stranger.status).toBe(409);
    expect((await server.request('DELETE', `${path}/${id}`, { headers })).status).toBe(200);
    expect((await create('again')).status).toBe(200);
  });
});
