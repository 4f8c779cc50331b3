/**
 * Verifies the secret reference routes over HTTP: hidden credentials, merged fields, access and
 * deletion.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const path = '/admin/v2/secret-references';
const token = 'hvs.canary-91c4e0';
interface CreatedResource {
  id: string;
  slug: string;
}
let server: TestServer;
let workspace: CreatedResource;
let other: CreatedResource;
beforeAll(async () => {
  server = await startTestServer();
  workspace = await post('/v2/workspaces', { name: 'Support' });
  other = await post('/v2/workspaces', { name: 'Other' });
});
afterAll(() => server[Symbol.asyncDispose]());

async function post(to: string, body: Record<string, unknown>): Promise<CreatedResource> {
  const made = await server.request('POST', to, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

const minimal = {
  name: 'OpenAI key',
  manager_type: 'hashicorp_vault',
  auth_config: {
    vault_auth_type: 'token',
    vault_addr: 'https://vault.example.internal',
    vault_token: token,
  },
  secret_path: 'secret/data/openai',
};
const make = (more: Record<string, unknown> = {}) => post(path, { ...minimal, ...more });
const put = (id: string, body: Record<string, unknown>) =>
  server.request('PUT', `${path}/${id}`, { body });
const read = async (id: string) => (await server.request('GET', `${path}/${id}`)).body;

describe('a secret reference', () => {
  it('is found by id and slug on every plane, with masked credentials', async () => {
    const made = await make({ tags: { env: 'prod' }, description: 'of the account' });
    expect(made).toEqual({
      id: expect.any(String),
      slug: expect.stringMatching(/^openai-key-[0-9a-f]{6}$/),
      object: 'secret-reference',
    });
    for (const plane of ['/v1', '/v2', '/admin/v2']) {
      for (const name of [made.slug, made.id]) {
        const got = await server.request('GET', `${plane}/secret-references/${name}`);
        expect(got.body).toEqual({
          ...made,
          organisation_id: server.organisationId,
          name: 'OpenAI key',
          description: 'of the account',
          manager_type: 'hashicorp_vault',
          auth_config: {
            vault_auth_type: 'token',
            vault_addr: 'https://vault.example.internal',
            masked_vault_token: '********',
          },
          secret_path: 'secret/data/openai',
          secret_key: null,
          allow_all_workspaces: false,
          tags: { env: 'prod' },
          status: 'ACTIVE',
          created_by: expect.any(String),
          created_at: '2027-01-04T08:00:00.000Z',
          last_updated_at: '2027-01-04T08:00:00.000Z',
        });
      }
    }
    const rows = await server.app.database.db
      .selectFrom('secret_references')
      .selectAll()
      .where('id', '=', made.id)
      .execute();
    expect(JSON.parse(rows[0]!.auth_config).vault_token).toMatch(/^v1\./);
    expect(JSON.stringify([rows, await listAudit(server, made.id)])).not.toContain('canary');
  });

  it('merges auth_config by field: absent and masked values stay, null clears', async () => {
    const { id } = await make();
    const sealedOf = async () => {
      const row = await server.app.database.db
        .selectFrom('secret_references')
        .select('auth_config')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return JSON.parse(row.auth_config).vault_token as string;
    };
    const before = await sealedOf();
    expect(await put(id, { auth_config: { vault_namespace: 'team' } })).toMatchObject({
      status: 200,
      body: {},
    });
    await put(id, { auth_config: { vault_token: '********', masked_vault_token: '********' } });
    expect(await sealedOf()).toBe(before);
    expect((await read(id)).auth_config).toMatchObject({ vault_namespace: 'team' });
    await put(id, { auth_config: { vault_namespace: null, vault_token: 'hvs.another' } });
    expect((await read(id)).auth_config).not.toHaveProperty('vault_namespace');
    expect(await sealedOf()).not.toBe(before);
    await put(id, {
      auth_config: { vault_auth_type: 'approle', vault_role_id: 'r', vault_secret_id: 's' },
    });
    expect((await read(id)).auth_config).toEqual({
      vault_auth_type: 'approle',
      vault_addr: 'https://vault.example.internal',
      vault_role_id: 'r',
      masked_vault_secret_id: '********',
    });
  });

  it('discards credentials when the address changes, and clears and keeps other fields as sent', async () => {
    const { id } = await make({ secret_key: 'k', tags: { a: 'b' } });
    const moved = { auth_config: { vault_addr: 'https://elsewhere.example.com' } };
    expect(await put(id, moved)).toMatchObject({
      status: 400,
      body: { error: { code: 'AB01', param: 'auth_config.vault_token' } },
    });
    const anew = { auth_config: { ...moved.auth_config, vault_token: 'hvs.another' } };
    expect((await put(id, anew)).status).toBe(200);
    await put(id, { secret_key: null, manager_type: 'aws_sm', slug: 'ignored', name: 'New' });
    expect(await read(id)).toMatchObject({
      secret_key: null,
      manager_type: 'hashicorp_vault',
      name: 'New',
      tags: { a: 'b' },
    });
  });

  it('is usable by every workspace or by named ones, as the last request says', async () => {
    const { id } = await make({
      allow_all_workspaces: false,
      allowed_workspaces: [workspace.slug],
    });
    const access = async () => {
      const { allow_all_workspaces, allowed_workspaces } = await read(id);
      return [allow_all_workspaces, allowed_workspaces];
    };
    expect(await access()).toEqual([false, [workspace.id]]);
    await put(id, { allowed_workspaces: [other.id, other.slug] });
    expect(await access()).toEqual([false, [other.id]]);
    await put(id, { allow_all_workspaces: true, allowed_workspaces: [workspace.id] });
    expect(await access()).toEqual([false, [workspace.id]]);
    await put(id, { allow_all_workspaces: true });
    expect(await access()).toEqual([true, undefined]);
    await put(id, { allow_all_workspaces: false });
    expect(await access()).toEqual([false, undefined]);
    await put(id, { allowed_workspaces: [workspace.id], name: 'x' });
    await put(id, { allowed_workspaces: null });
    expect(await access()).toEqual([false, undefined]);
  });

  it('is not opened to other workspaces when its only workspace is deleted', async () => {
    const gone = await post('/v2/workspaces', { name: 'Gone' });
    const { id } = await make({ allowed_workspaces: [gone.id] });
    const answer = await server.request('DELETE', `/v2/workspaces/${gone.id}`, { body: {} });
    expect(answer.status).toBe(200);
    const { allow_all_workspaces, allowed_workspaces } = await read(id);
    expect([allow_all_workspaces, allowed_workspaces]).toEqual([false, undefined]);
  });

  it('is listed by manager, tags and part of the name, without path and credentials', async () => {
    const aws = await make({
      name: 'Bedrock 50%_of',
      manager_type: 'aws_sm',
      auth_config: { aws_auth_type: 'serviceRole' },
      tags: { 'a.b"c': 'x y', env: 'test' },
    });
    const list = async (query: Record<string, string>) =>
      (await server.request('GET', `${path}?${new URLSearchParams(query)}`)).body;
    expect(
      (await list({ manager_type: 'aws_sm' })).data.map(({ id }: CreatedResource) => id),
    ).toContain(aws.id);
    const found = await list({ tags: '{"env":"test","a.b\\"c":"x y"}' });
    expect(found).toMatchObject({ object: 'list', total: 1, data: [{ id: aws.id }] });
    expect(found.data[0]).not.toHaveProperty('secret_path');
    expect(found.data[0]).not.toHaveProperty('auth_config');
    expect(await list({ tags: '{"env":"other"}' })).toMatchObject({ total: 0 });
    expect(await list({ search: '0%_O' })).toMatchObject({ total: 1 });
    expect((await list({ page_size: '1', current_page: '1' })).data).toHaveLength(1);
    const bad = await server.request('GET', `${path}?tags=x`);
    expect(bad).toMatchObject({ status: 400, body: { error: { param: 'tags' } } });
  });

  it.each([
    [{ manager_type: 'gcp' }, 'manager_type'],
    [{ secret_path: undefined }, 'secret_path'],
    [{ auth_config: {} }, 'auth_config.vault_auth_type'],
    [{ auth_config: { vault_auth_type: 'token' } }, 'auth_config.vault_addr'],
    [{ auth_config: { ...minimal.auth_config, aws_region: 'x' } }, 'auth_config.aws_region'],
    [{ auth_config: { ...minimal.auth_config, vault_adr: 'x' } }, 'auth_config.vault_adr'],
    [
      { auth_config: { ...minimal.auth_config, vault_addr: 'http://169.254.169.254' } },
      'auth_config.vault_addr',
    ],
    [{ auth_config: { ...minimal.auth_config, vault_addr: 'ftp://v' } }, 'auth_config.vault_addr'],
    [{ allowed_workspaces: [] }, 'allowed_workspaces'],
    [{ allowed_workspaces: ['ws-none'] }, 'allowed_workspaces[0]'],
    [{ slug: 'has space' }, 'slug'],
  ])('returns 400 for %j', async (body, param) => {
    const answer = await server.request('POST', path, { body: { ...minimal, ...body } });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
    expect(JSON.stringify(answer.body)).not.toContain('canary');
  });

  it('is visible to a key of a workspace with access, which cannot change it', async () => {
    const scopes = ['create', 'read', 'list', 'update', 'delete'].map(
      (a) => `secret_references.${a}`,
    );
    const { send } = await addKeyCaller(server, scopes, workspace.id);
    const mine = await make({ allowed_workspaces: [workspace.id] });
    const theirs = await make({ allowed_workspaces: [other.id] });
    const at = (id: string) => `/v1/secret-references/${id}`;
    expect((await send('GET', at(mine.id))).status).toBe(200);
    expect((await send('GET', at(theirs.id))).status).toBe(404);
    const listed = (await send('GET', '/v1/secret-references?page_size=100')).body.data;
    const ids = listed.map(({ id }: CreatedResource) => id);
    expect([ids.includes(mine.id), ids.includes(theirs.id)]).toEqual([true, false]);
    expect((await send('PUT', at(mine.id), { body: { name: 'x' } })).status).toBe(404);
    expect((await send('DELETE', at(mine.id))).status).toBe(404);
    expect((await send('POST', '/v1/secret-references', { body: minimal })).status).toBe(403);
    const { send: stranger } = await addTenant(server);
    expect((await stranger('GET', `${path}/${mine.id}`)).status).toBe(404);
  });
});

describe('a secret mapping', () => {
  const account = { name: 'OpenAI', ai_provider_id: 'openai' };
  const mapped = (reference: string, more: Record<string, unknown> = {}) => ({
    secret_mappings: [{ target_field: 'key', secret_reference_id: reference, ...more }],
  });

  it('returns what was sent, and keeps its reference from deletion until it is cleared', async () => {
    const { id, slug } = await make({
      allow_all_workspaces: true,
      allowed_hosts: ['crm.example.com'],
    });
    const target_field = 'configurations.headers.X-Key';
    const inHeader = { target_field, secret_key: 'k', value_format: null };
    const first = await post('/v1/integrations', { ...account, ...mapped(slug) });
    const second = await post('/v1/mcp-integrations', {
      name: 'CRM',
      url: 'https://crm.example.com',
      auth_type: 'headers',
      transport: 'http',
      ...mapped(id.toUpperCase(), inHeader),
    });
    const key = await server.request('POST', '/v1/virtual-keys', {
      body: { name: 'v', provider: 'openai', workspace_id: workspace.id, ...mapped(slug) },
    });
    const places = [
      `/v1/integrations/${first.id}`,
      `/v1/mcp-integrations/${second.id}`,
      `/v1/virtual-keys/${key.body.data.slug}`,
    ];
    const reported = await Promise.all(places.map((place) => server.request('GET', place)));
    expect(reported.map(({ body }) => body.secret_mappings)).toEqual([
      mapped(slug).secret_mappings,
      mapped(id.toUpperCase(), inHeader).secret_mappings,
      mapped(slug).secret_mappings,
    ]);
    for (const place of places) {
      expect(await server.request('DELETE', `${path}/${id}`)).toMatchObject({
        status: 400,
        body: { error: { code: 'AB01' } },
      });
      const cleared = await server.request('PUT', place, { body: { secret_mappings: [] } });
      expect(cleared.status).toBe(200);
      expect((await server.request('GET', place)).body.secret_mappings).toEqual([]);
    }
    expect(await server.request('DELETE', `${path}/${id}`)).toMatchObject({
      status: 200,
      body: {},
    });
    expect(await server.request('GET', `${path}/${slug}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'AB08' } },
    });
  });

  it('is rejected when its reference is unknown, of another tenant, or closed to the workspace', async () => {
    const { send } = await addTenant(server);
    const foreign = await send('POST', path, { body: { ...minimal, slug: 'foreign' } });
    const closed = await make({ allowed_workspaces: [other.id] });
    const placed = { ...account, workspace_id: workspace.id };
    for (const reference of ['nothing', foreign.body.id, 'foreign', closed.slug]) {
      const answer = await server.request('POST', '/v1/integrations', {
        body: { ...placed, ...mapped(reference) },
      });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { param: 'secret_mappings[0].secret_reference_id' } },
      });
    }
    const twice = [...mapped(closed.slug).secret_mappings, ...mapped(closed.id).secret_mappings];
    expect(
      await server.request('POST', '/v1/integrations', {
        body: { ...account, secret_mappings: twice },
      }),
    ).toMatchObject({ status: 400, body: { error: { param: 'secret_mappings[1].target_field' } } });
  });

  it.each([
    ['ky', 'did you mean "key"?'],
    ['configurations.azure_resource_nam', 'did you mean "configurations.azure_resource_name"?'],
    ['configurations.custom_headers', 'needs the name of a header'],
    ['configurations.custom_headers.Host', 'names a header that is a restricted header (routing)'],
    ['configurations.openai_project.inner', 'is not a field that a secret can fill'],
  ])('is rejected when it fills the unknown field %s', async (target_field, message) => {
    const { slug } = await make();
    const answer = await server.request('POST', '/v1/integrations', {
      body: { ...account, ...mapped(slug, { target_field }) },
    });
    expect([answer.status, answer.body.error.param]).toEqual([
      400,
      'secret_mappings[0].target_field',
    ]);
    expect(answer.body.error.message).toContain(message);
  });

  it('is rejected when two spellings name one field', async () => {
    const { slug } = await make();
    const [one] = mapped(slug, { target_field: 'custom_headers.X-Key' }).secret_mappings;
    const other = { ...one, target_field: 'configurations.custom_headers.x-key' };
    const answer = await server.request('POST', '/v1/integrations', {
      body: { ...account, secret_mappings: [one, other] },
    });
    expect(answer.body.error.message).toContain('is mapped twice');
  });

  it('never survives a concurrent deletion of its reference', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { id } = await make();
        const [mapping, removal] = await Promise.all([
          server.request('POST', '/v1/integrations', { body: { ...account, ...mapped(id) } }),
          server.request('DELETE', `${path}/${id}`),
        ]);
        return [mapping.status, removal.status].join();
      }),
    );
    expect(outcomes.filter((one) => !['200,400', '400,200'].includes(one))).toEqual([]);
  });
});
