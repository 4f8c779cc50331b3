/**
 * Verifies the config routes over HTTP: response forms, versions, guardrail references, isolation
 * and deletion.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const path = '/v2/configs';
const config = { retry: { attempts: 3 }, targets: [{ virtual_key: 'vk', weight: 0.5 }] };
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
  const made = await server.request('POST', path, { body: { name: 'Routing', config, ...body } });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

async function makeWorkspace(name = 'Team'): Promise<{ id: string; slug: string }> {
  return (await server.request('POST', '/v2/workspaces', { body: { name } })).body;
}

async function makeGuardrail(
  body: Record<string, unknown> = {},
): Promise<{ id: string; slug: string }> {
  const made = await server.request('POST', '/v2/guardrails', {
    body: { name: 'g', checks: [{ id: 'default.notNull' }], actions: { deny: true }, ...body },
  });
  return made.body;
}

async function put(reference: string, body: Record<string, unknown>) {
  return server.request('PUT', `${path}/${reference}`, { body });
}

async function read(reference: string) {
  return (await server.request('GET', `${path}/${reference}`)).body;
}

describe('status 200', () => {
  it('returns both published response forms for create and update', async () => {
    const made = await make();
    const ids = { id: made.id, slug: made.slug, version_id: made.version_id };
    expect(made.slug).toMatch(/^pc-routin-[0-9a-f]{6}$/);
    expect(made).toEqual({ ...ids, object: 'config', success: true, data: ids });
    const updated = await put(made.slug, { name: 'Renamed' });
    expect(updated.body).toEqual({ ...ids, object: 'config', success: true, data: ids });
    expect(await listAudit(server, made.id)).toMatchObject([
      { action: 'create', resource_kind: 'Config' },
      { action: 'update', changes: { fields: ['name'] } },
    ]);
  });

  it('returns the content as JSON text exactly as it was sent, on every plane', async () => {
    const odd = { ...config, extensions: { Ünïcode: '→', nested: [1.5, null, true] } };
    const { id, slug } = await make({ config: odd });
    for (const plane of ['/v1', '/v2', '/admin/v2']) {
      const { body } = await server.request('GET', `${plane}/configs/${slug}`);
      expect(body).toMatchObject({ id, slug, format: 'json', type: 'ORG_CONFIG', is_default: 0 });
      expect(JSON.parse(body.config)).toEqual(odd);
    }
    const answer = await server.request('GET', `/v1/configs/${id}`, { auth: 'key' });
    expect(answer).toMatchObject({ status: 200, body: { status: 'active', workspace_id: null } });
  });

  it('creates a version only when the content changes, and lists versions newest first', async () => {
    const { slug, version_id: first } = await make();
    expect((await put(slug, { name: 'New name' })).body.version_id).toBe(first);
    const reordered = { targets: [{ weight: 0.5, virtual_key: 'vk' }], retry: { attempts: 3 } };
    expect((await put(slug, { config: reordered })).body.version_id).toBe(first);
    server.clock.advance(1000);
    const second = (await put(slug, { config: { virtual_key: 'other' } })).body.data.version_id;
    expect(second).not.toBe(first);
    expect(await read(slug)).toMatchObject({ version_id: second, name: 'New name' });
    const versions = await server.request('GET', `${path}/${slug}/versions`);
    expect(versions.body).toMatchObject({
      object: 'list',
      total: 2,
      data: [
        { version_id: second, config: '{"virtual_key":"other"}', slug },
        { version_id: first, name: 'Routing', version_created_at: expect.any(String) },
      ],
    });
    const page = await server.request('GET', `${path}/${slug}/versions?page_size=1&current_page=1`);
    expect(page.body.data).toMatchObject([{ version_id: first }]);
  });

  it('lists versions that are too large to be read together, each with its own content', async () => {
    const text = (at: number): string => `${at} ${'"é" '.repeat(90_000)}`;
    const { slug } = await make({ config: { extensions: { note: text(0) } } });
    for (const at of [1, 2, 3, 4, 5])
      await put(slug, { config: { extensions: { note: text(at) } } });
    const { body } = await server.request('GET', `${path}/${slug}/versions?page_size=5`);
    const notes = body.data.map(
      (one: { config: string }) => JSON.parse(one.config).extensions.note,
    );
    expect(notes.map((note: string) => [note[0], note === text(Number(note[0]))])).toEqual(
      ['5', '4', '3', '2', '1'].map((at) => [at, true]),
    );
    expect(body.total).toBe(6);
  });

  it('archives and activates by status', async () => {
    const { slug } = await make();
    expect((await put(slug, { status: 'archived' })).status).toBe(200);
    expect(await read(slug)).toMatchObject({ status: 'archived' });
    await put(slug, { status: 'active' });
    expect(await read(slug)).toMatchObject({ status: 'active' });
  });

  it('keeps one default config per workspace under concurrent requests', async () => {
    const workspace = await makeWorkspace();
    const body = { workspace_id: workspace.id, isDefault: 1 };
    await make();
    await Promise.all([make(body), make(body), make(body)]);
    const list = await server.request('GET', `${path}?workspace_id=${workspace.slug}`);
    const flags = list.body.data.map((row: { is_default: number }) => row.is_default);
    expect(flags.sort()).toEqual([0, 0, 1]);
    expect(list.body.data[0]).not.toHaveProperty('config');
  });

  it('accepts a guardrail of the organisation or its own workspace, by slug or id', async () => {
    const workspace = await makeWorkspace();
    const mine = await makeGuardrail({ workspace_id: workspace.id });
    const shared = await makeGuardrail();
    const made = await make({
      workspace_id: workspace.id,
      config: {
        input_guardrails: [mine.slug, shared.id.toUpperCase()],
        targets: [{ output_guardrails: [shared.slug, { wordCount: { maxWords: 5 } }] }],
      },
    });
    expect(JSON.parse((await read(made.slug)).config).input_guardrails[0]).toBe(mine.slug);
  });

  it('is gone with its versions after DELETE', async () => {
    const { id, slug } = await make();
    const gone = await server.request('DELETE', `${path}/${slug}`);
    expect(gone).toMatchObject({ status: 200, body: {} });
    expect((await server.request('GET', `${path}/${id}`)).status).toBe(404);
    expect((await server.request('GET', `${path}/${id}/versions`)).status).toBe(404);
    expect((await listAudit(server, id)).at(-1)).toMatchObject({ action: 'delete' });
  });
});

describe('400', () => {
  it.each([
    [{ config: 'text' }, 'config'],
    [{ config: undefined }, 'config'],
    [{ isDefault: true }, 'isDefault'],
    [{ config: { strategy: { mode: 'random' } } }, 'config.strategy.mode'],
    [
      { config: { targets: [{}, { retry: { attempts: 99 } }] } },
      'config.targets[1].retry.attempts',
    ],
    [{ config: { targets: Array.from({ length: 101 }, () => ({})) } }, 'config.targets'],
    [{ config: { custom_host: 'http://169.254.169.254' } }, 'config.custom_host'],
    [
      { config: { input_guardrails: [{ regexMatch: { rule: '(?=x)' } }] } },
      'config.input_guardrails[0].regexMatch.rule',
    ],
    [{ version_id: 'x' }, 'version_id'],
  ])('rejects a create with %j', async (body, param) => {
    const answer = await server.request('POST', path, { body: { name: 'x', config, ...body } });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it('names an unknown guardrail with its position', async () => {
    const broken = { targets: [{}, { output_guardrails: ['pg-nobody-000000'] }] };
    const param = 'config.targets[1].output_guardrails[0]';
    const refusal = { status: 400, body: { error: { code: 'AB01', param } } };
    const create = await server.request('POST', path, { body: { name: 'x', config: broken } });
    expect(create).toMatchObject(refusal);
    expect(create.body.error.message).toContain('pg-nobody-000000');
    const { slug, version_id } = await make();
    expect(await put(slug, { config: broken })).toMatchObject(refusal);
    expect(await read(slug)).toMatchObject({ version_id, config: JSON.stringify(config) });
  });

  it.each([
    ['before_request_hooks', 'pg-nobody-000000', 'refers to an unknown guardrail'],
    ['after_request_hooks', 'pg-nobody-000000', 'refers to an unknown guardrail'],
    ['input_guardrails', 'pg-nobody-000000', 'refers to an unknown guardrail'],
    ['before_request_hooks', undefined, 'has no checks'],
  ])('rejects an entry of %s that names %s by its id', async (field, id, message) => {
    const broken = { targets: [{}, { [field]: [{ id }] }] };
    const answer = await server.request('POST', path, { body: { name: 'x', config: broken } });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
    expect(answer.body.error.message).toContain(message);
    expect(answer.body.error.param).toContain(`config.targets[1].${field}[0]`);
  });

  it('rejects a guardrail that judges calls of MCP tools', async () => {
    const { slug } = await makeGuardrail({ target: 'mcp_tools' });
    const body = { name: 'x', config: { before_request_hooks: [{ id: slug }] } };
    const answer = await server.request('POST', path, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toContain('a guardrail with target mcp_tools');
  });

  it('refuses to delete a guardrail that a hook names', async () => {
    const { id, slug } = await makeGuardrail();
    const body = { name: 'x', config: { targets: [{ after_request_hooks: [{ id: slug }] }] } };
    expect((await server.request('POST', path, { body })).status).toBe(200);
    expect((await server.request('DELETE', `/v2/guardrails/${id}`)).status).toBe(409);
  });

  it('rejects a guardrail that is archived, of another workspace, or of another tenant', async () => {
    const archived = await makeGuardrail();
    await server.database.db
      .updateTable('guardrails')
      .set({ status: 'archived' })
      .where('id', '=', archived.id)
      .execute();
    const workspace = await makeWorkspace();
    const elsewhere = await makeGuardrail({ workspace_id: workspace.id });
    const other = await addTenant(server, 'configs-guardrails');
    const foreign = await other.send('POST', '/v2/guardrails', {
      body: { name: 'g', checks: [{ id: 'default.notNull' }], actions: {} },
    });
    for (const slug of [archived.slug, elsewhere.slug, foreign.body.slug, foreign.body.id]) {
      const body = { name: 'x', config: { input_guardrails: [slug] } };
      const answer = await server.request('POST', path, { body });
      const error = { param: 'config.input_guardrails[0]' };
      expect(answer).toMatchObject({ status: 400, body: { error } });
      expect(answer.body.error.message).toContain(slug);
    }
  });

  it('rejects thousands of nested targets quickly, without a stack overflow', async () => {
    const deep = `${'{"targets":['.repeat(10_000)}{}${']}'.repeat(10_000)}`;
    const answer = await server.request('POST', path, {
      body: `{"name":"x","config":${deep}}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01' } } });
  });

  it('rejects an update without fields', async () => {
    const { slug } = await make();
    const answer = await put(slug, {});
    expect(answer).toMatchObject({ status: 400 });
    expect(answer.body.error.message).toContain('No update fields provided');
  });
});

describe('403 and 404', () => {
  it('returns 404 for configs of another tenant', async () => {
    const { id, slug } = await make();
    const other = await addTenant(server, 'configs-other');
    for (const target of [id, slug, `${slug}/versions`]) {
      expect((await other.send('GET', `${path}/${target}`)).status).toBe(404);
    }
    expect((await other.send('PUT', `${path}/${id}`, { body: { name: 'x' } })).status).toBe(404);
    expect((await other.send('DELETE', `${path}/${id}`)).status).toBe(404);
    expect((await other.send('GET', path)).body.total).toBe(0);
  });

  it('returns 404 for ids that no config can have', async () => {
    for (const reference of [
      'pc-none-000000',
      '%F0%9F%9A%80',
      'a%20b',
      '00000000-0000-4000-8000-000000000000',
    ]) {
      expect((await server.request('GET', `${path}/${reference}`)).status).toBe(404);
    }
  });

  it('returns 403 to a key without the scope', async () => {
    const { send } = await addKeyCaller(server, ['configs.list']);
    const { slug } = await make();
    expect((await send('GET', '/v1/configs')).status).toBe(200);
    expect((await send('GET', `/v1/configs/${slug}`)).status).toBe(403);
    expect((await send('GET', `/v2/configs/${slug}`)).status).toBe(401);
  });
});

describe('409 and 412', () => {
  it('keeps a config active while an API key uses it, and deletes it afterwards', async () => {
    const { id, slug } = await make();
    const key = await server.request('POST', '/v1/api-keys/organisation/service', {
      body: { name: 'pinned', scopes: ['completions.write'], defaults: { config_id: slug } },
    });
    expect(key.status).toBe(200);
    const stored = await server.request('DELETE', `${path}/${slug}`);
    expect(stored).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    const status = 'archived';
    const active = await server.request('PUT', `${path}/${slug}`, { body: { status } });
    expect(active).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    await server.request('DELETE', `/v1/api-keys/${key.body.id}`);
    expect((await server.request('DELETE', `${path}/${id}`)).status).toBe(200);
  });

  it('keeps a config that is the default for user keys, of a workspace or of the organisation', async () => {
    const place = await server.request('POST', '/v2/workspaces', { body: { name: 'People' } });
    const choose = async (user_api_key_config: string | null) =>
      server.request('PUT', `/v2/workspaces/${place.body.id}`, {
        body: { defaults: { user_api_key_config } },
      });
    const { id, slug } = await make();
    expect((await choose(slug)).status).toBe(200);
    const reported = await server.request('GET', `/v2/workspaces/${place.body.id}`);
    expect(reported.body.defaults).toEqual({ user_api_key_config: id });
    const archived = { body: { status: 'archived' } };
    expect((await server.request('DELETE', `${path}/${slug}`)).status).toBe(409);
    expect((await server.request('PUT', `${path}/${slug}`, archived)).status).toBe(409);
    const elsewhere = await server.request('POST', '/v2/workspaces', { body: { name: 'Else' } });
    const foreign = await make({ workspace_id: elsewhere.body.id });
    for (const unusable of [foreign.id, 'pc-nothing', randomUUID()]) {
      expect(await choose(unusable)).toMatchObject({
        status: 400,
        body: { error: { param: 'defaults.user_api_key_config' } },
      });
    }
    const [chosen, gone] = await Promise.all([
      server.request('PUT', `/v2/workspaces/${elsewhere.body.id}`, {
        body: { defaults: { user_api_key_config: foreign.id } },
      }),
      server.request('DELETE', `${path}/${foreign.id}`),
    ]);
    expect([
      [200, 409],
      [400, 200],
    ]).toContainEqual([chosen.status, gone.status]);
    expect((await choose(null)).status).toBe(200);
    expect((await server.request('DELETE', `${path}/${slug}`)).status).toBe(200);
  });

  it('never leaves a key or config with a reference to a concurrently deleted or archived object', async () => {
    const { id } = await make();
    const [pinned, configGone] = await Promise.all([
      server.request('POST', '/v1/api-keys/organisation/service', {
        body: { name: 'k', scopes: ['completions.write'], defaults: { config_id: id } },
      }),
      server.request('DELETE', `${path}/${id}`),
    ]);
    const outcomes = [
      [200, 409],
      [400, 200],
    ];
    expect(outcomes).toContainEqual([pinned.status, configGone.status]);
    const { id: ended } = await make();
    const [stored, archived] = await Promise.all([
      server.request('POST', '/v1/api-keys/organisation/service', {
        body: { name: 'k', scopes: ['completions.write'], defaults: { config_id: ended } },
      }),
      server.request('PUT', `${path}/${ended}`, { body: { status: 'archived' } }),
    ]);
    expect(outcomes).toContainEqual([stored.status, archived.status]);
    const guardrail = await makeGuardrail();
    const [named, guardrailGone] = await Promise.all([
      server.request('POST', path, {
        body: { name: 'x', config: { input_guardrails: [guardrail.slug] } },
      }),
      server.request('DELETE', `/v2/guardrails/${guardrail.id}`),
    ]);
    expect(outcomes).toContainEqual([named.status, guardrailGone.status]);
  });

  it('accepts one of several concurrent updates of the same version', async () => {
    const { slug } = await make();
    const { etag } = (await server.request('GET', `${path}/${slug}`)).headers;
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((virtual_key) =>
        server.request('PUT', `${path}/${slug}`, {
          body: { config: { virtual_key } },
          headers: { 'if-match': String(etag) },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    const versions = await server.request('GET', `${path}/${slug}/versions`);
    expect(versions.body.total).toBe(2);
  });
});
