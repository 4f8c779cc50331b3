/**
 * Verifies the deployment routes over HTTP (1.4, 1.7, 1.8, 1.25, 1.28): credentials shown once,
 * served workspaces, and deletion.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { type Receiver, startReceiver } from '../../support/network/receiver.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const path = '/admin/v2/deployments';
interface CreatedResource {
  id: string;
  slug: string;
  client_auth: string;
}
let server: TestServer;
/** The address of a gateway. */
let gateway: Receiver;
let workspace: { id: string; slug: string };
let other: { id: string; slug: string };
beforeAll(async () => {
  gateway = await startReceiver();
  const trusted = readTrustedHosts(new URL(gateway.url).host);
  const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];
  server = await startTestServer({ settings: { trustedHosts } });
  workspace = await post('/v2/workspaces', { name: 'Support' });
  other = await post('/v2/workspaces', { name: 'Other' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

async function post(to: string, body: Record<string, unknown>) {
  const made = await server.request('POST', to, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}
const make = (more: Record<string, unknown> = {}): Promise<CreatedResource> =>
  post(path, { name: 'Frankfurt', ...more });
const read = async (id: string) => (await server.request('GET', `${path}/${id}`)).body;
async function put(id: string, body: Record<string, unknown>) {
  const answer = await server.request('PUT', `${path}/${id}`, { body });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body;
}
async function list(query: Record<string, string>): Promise<string[]> {
  const answer = await server.request('GET', `${path}?${new URLSearchParams(query)}`);
  expect(answer).toMatchObject({ status: 200, body: { object: 'list' } });
  return answer.body.data.map(({ id }: CreatedResource) => id);
}

describe('a deployment', () => {
  it('is found by id and slug on every plane, and shows its credential once (1.4, 1.8)', async () => {
    const made = await make({
      type: 'non_production',
      tags: { region: 'eu' },
      source_type: 'helm',
    });
    const { id, slug, client_auth: auth } = made;
    expect(made).toEqual({
      id,
      slug,
      client_auth: auth,
      object: 'deployment',
      organisation_id: server.organisationId,
      credentials: { username: slug, password: auth },
    });
    expect(slug).toMatch(/^dp-frankf-[0-9a-f]{6}$/);
    for (const plane of ['/v1', '/v2', '/admin/v2']) {
      for (const name of [id, slug]) {
        const got = await server.request('GET', `${plane}/deployments/${name}`);
        expect(JSON.stringify(got.body)).not.toContain(auth);
        expect(got.body).toMatchObject({
          id,
          slug,
          name: 'Frankfurt',
          type: 'non_production',
          status: 'active',
          is_default: 0,
          source_type: 'helm',
          tags: { region: 'eu' },
          connection_status: 'unknown',
          last_synced_at: null,
          workspaces: [],
          auth_settings: { workspaces_allowed: [], allow_all_workspaces: 1 },
          created_at: '2027-01-04T08:00:00.000Z',
        });
      }
    }
    const reported = JSON.stringify([await listAudit(server, id), server.logLines]);
    expect(reported).not.toContain(auth);
    const { client_auth: next } = await put(id, { rotate_auth: true });
    expect(next).not.toBe(auth);
    expect((await read(id)).client_auth).toBe(`${next.slice(0, 2)}*****${next.slice(-3)}`);
    expect(await put(id, { name: 'Berlin' })).toEqual({});
  });

  it('serves every workspace, or named ones that are added and removed (1.7)', async () => {
    const { id } = await make({ auth_settings: { workspaces_allowed: [workspace.slug] } });
    const served = async () => {
      const { auth_settings: settings, workspaces } = await read(id);
      return [
        settings.allow_all_workspaces,
        workspaces.map(({ id: one }: CreatedResource) => one).toSorted(),
      ];
    };
    expect(await served()).toEqual([0, [workspace.id]]);
    await put(id, { auth_settings: { workspaces_allowed: [other.id] } });
    expect(await served()).toEqual([0, [workspace.id, other.id].toSorted()]);
    await put(id, { auth_settings: { remove_workspaces_allowed: [workspace.id] } });
    expect(await served()).toEqual([0, [other.id]]);
    await put(id, {
      override_existing: true,
      auth_settings: { workspaces_allowed: [workspace.id] },
    });
    expect(await served()).toEqual([0, [workspace.id]]);
    await put(id, { auth_settings: { remove_workspaces_allowed: [workspace.id] } });
    expect(await served()).toEqual([0, []]);
    await put(id, { auth_settings: { allow_all_workspaces: true } });
    expect(await served()).toEqual([1, []]);
    await put(id, { auth_settings: { jwt_sub_workspace_mapping: { anna: other.slug } } });
    expect(await served()).toEqual([0, [other.id]]);
    expect((await read(id)).auth_settings).toMatchObject({
      jwt_subs_allowed: ['anna'],
      jwt_sub_workspace_mapping: { anna: other.slug },
    });
    await put(id, { auth_settings: { remove_subs_allowed: ['anna'] } });
    expect((await read(id)).auth_settings).toMatchObject({
      jwt_subs_allowed: [],
      jwt_sub_workspace_mapping: {},
    });
  });

  it('serves nobody after its only workspace is deleted', async () => {
    const gone = await post('/v2/workspaces', { name: 'Gone' });
    const { id } = await make({ auth_settings: { workspaces_allowed: [gone.id] } });
    await server.request('DELETE', `/v2/workspaces/${gone.id}`, { body: {} });
    expect(await read(id)).toMatchObject({
      workspaces: [],
      auth_settings: { allow_all_workspaces: 0, workspaces_allowed: [] },
    });
  });

  it('is listed by type, workspace, tags, status and part of the name (1.8, 1.25, 1.28)', async () => {
    const closed = await make({
      name: 'Oslo_1',
      type: 'non_production',
      tags: { env: 'test' },
      auth_settings: { workspaces_allowed: [other.id] },
    });
    const open = await make({ name: 'Bergen', tags: { env: 'prod' } });
    expect(await list({ search: 'SLO_' })).toEqual([closed.id]);
    expect(await list({ tags: '{"env":"test"}' })).toEqual([closed.id]);
    const ofType = await list({ type: 'non_production' });
    expect([ofType.includes(closed.id), ofType.includes(open.id)]).toEqual([true, false]);
    for (const query of [{ workspace_id: other.slug }, { workspace_slug: `x, ${other.slug}` }]) {
      const found = await list(query as unknown as Record<string, string>);
      expect([found.includes(closed.id), found.includes(open.id)]).toEqual([true, true]);
    }
    const elsewhere = await list({ workspace_id: workspace.id });
    expect([elsewhere.includes(closed.id), elsewhere.includes(open.id)]).toEqual([false, true]);
    const answer = await server.request('DELETE', `${path}/${closed.id}`);
    expect(answer).toMatchObject({ status: 200, body: {} });
    expect(await list({ search: 'Oslo' })).toEqual([]);
    expect(await list({ search: 'Oslo', status: 'archived' })).toEqual([closed.id]);
    expect(await read(closed.id)).toMatchObject({ status: 'archived' });
  });

  it('is the one default of its organisation under concurrent requests', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => make({ is_default: true })));
    await Promise.all(made.map(({ id }) => put(id, { is_default: true })));
    const rows = await server.app.database.db
      .selectFrom('gateway_deployments')
      .select('id')
      .where('is_default', '=', 1)
      .execute();
    expect(rows).toHaveLength(1);
  });

  it('is probed at its address without a credential, and only at permitted addresses', async () => {
    const at = async (gateway_base_url: string) => {
      const { id } = await make({ auth_settings: { gateway_base_url } });
      return (await server.request('GET', `${path}/${id}/ping`)).body;
    };
    const url = `${gateway.url}/v1`;
    gateway.replies.push({ status: 401 }, { status: 503 });
    expect(await at(url)).toEqual({
      status: 'healthy',
      gateway_base_url: url,
      object: 'deployment-ping',
      outbound: { status: 'healthy', status_code: 401 },
      inbound: { status: 'unknown', error: expect.any(String) },
    });
    expect(gateway.received).toMatchObject([{ path: '/v1' }]);
    expect(gateway.received[0]!.headers).not.toHaveProperty('authorization');
    expect(await at(url)).toMatchObject({ status: 'unhealthy', outbound: { status_code: 503 } });
    const refused = await at('http://127.0.0.2:9/v1');
    expect(refused.outbound.error).toContain('TRUSTED_CUSTOM_HOSTS');
    const { id } = await make();
    const unplaced = await server.request('GET', `${path}/${id}/ping`);
    expect(unplaced).toMatchObject({
      status: 200,
      body: { status: 'unhealthy', gateway_base_url: '', inbound: { status: 'unknown' } },
    });
    expect(unplaced.body.outbound.error).toContain('auth_settings.gateway_base_url is not set');
    const { send: stranger } = await addTenant(server);
    expect((await stranger('GET', `${path}/${id}/ping`)).status).toBe(404);
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ type: 'staging' }, 'type'],
    [{ slug: 'x'.repeat(51) }, 'slug'],
    [{ auth_settings: { workspaces_allowed: ['nowhere'] } }, 'auth_settings'],
    [{ auth_settings: { gateway_base_url: 'ftp://x' } }, 'auth_settings.gateway_base_url'],
    [{ tags: { a: 1 } }, 'tags.a'],
  ])('returns 400 for %j', async (body, param) => {
    const answer = await server.request('POST', path, { body: { name: 'x', ...body } });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'AB01', param } } });
  });

  it('is protected from stale versions, other tenants and workspaces, and readable with both spellings of the scope', async () => {
    const { id } = await make({ auth_settings: { workspaces_allowed: [workspace.id] } });
    const stale = await server.request('PUT', `${path}/${id}`, {
      body: { name: 'x' },
      headers: { 'if-match': '"7"' },
    });
    expect(stale.status).toBe(412);
    const { send: stranger } = await addTenant(server);
    expect((await stranger('GET', `${path}/${id}`)).status).toBe(404);
    const scopes = ['deployments:read', 'deployments:list', 'deployments.update'];
    const at = `/v1/deployments/${id}`;
    const mine = await addKeyCaller(server, scopes, workspace.id);
    expect((await mine.send('GET', at)).status).toBe(200);
    expect((await mine.send('PUT', at, { body: { name: 'x' } })).status).toBe(404);
    const theirs = await addKeyCaller(server, scopes, other.id);
    expect((await theirs.send('GET', at)).status).toBe(404);
    expect((await theirs.send('DELETE', at)).status).toBe(403);
  });
});
