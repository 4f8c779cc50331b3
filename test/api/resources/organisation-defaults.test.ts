/** Verifies organisation-wide guardrails and the workspaces that are excluded from them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let server: TestServer;
let workspaceIds: string[];

const defaults = '/v1/admin/organisation/defaults';
const checks = [{ id: 'default.contains', parameters: { words: ['a'], operator: 'none' } }];

async function make(path: string, body: object): Promise<{ id: string; slug: string }> {
  const made = await server.request('POST', path, { body });
  expect(made.status).toBe(200);
  return made.body;
}
const addGuardrail = (name: string, more: object = {}) =>
  make('/admin/v2/guardrails', { name, checks, actions: {}, ...more });

beforeAll(async () => {
  server = await startTestServer();
  const made = ['one', 'two', 'three'].map((name) => make('/v1/admin/workspaces', { name }));
  workspaceIds = (await Promise.all(made)).map(({ id }) => id);
});
afterAll(() => server[Symbol.asyncDispose]());

describe('organisation defaults', () => {
  it('is empty at first and accepts ids and slugs; absent fields stay and null clears', async () => {
    expect(await server.request('GET', defaults)).toMatchObject({
      status: 200,
      body: { input_guardrails: [], output_guardrails: [] },
      headers: { etag: '"1"' },
    });
    const [a, b] = [await addGuardrail('a'), await addGuardrail('b')];
    const body = {
      input_guardrails: [a.slug, b.id.toUpperCase(), a.id],
      output_guardrails: [b.slug],
    };
    expect(await server.request('PUT', defaults, { body })).toMatchObject({
      status: 200,
      body: {},
    });
    const identityOf = ({ id, slug }: { id: string; slug: string }) => ({ id, slug });
    expect((await server.request('GET', '/admin/v2/admin/organisation/defaults')).body).toEqual({
      input_guardrails: [identityOf(a), identityOf(b)],
      output_guardrails: [identityOf(b)],
      mcp_input_guardrails: [],
      mcp_output_guardrails: [],
      export_settings: { deniedFields: [] },
      api_key_max_ttl_days: null,
    });
    await server.request('PUT', defaults, { body: { input_guardrails: null } });
    expect((await server.request('GET', defaults)).body).toEqual({
      input_guardrails: [],
      output_guardrails: [identityOf(b)],
      mcp_input_guardrails: [],
      mcp_output_guardrails: [],
      export_settings: { deniedFields: [] },
      api_key_max_ttl_days: null,
    });
  });

  it('is rejected with the invalid reference, and from a stale version, without writing', async () => {
    const inWorkspace = await make('/v2/guardrails', {
      name: 'c',
      checks,
      actions: {},
      workspace_id: workspaceIds[0],
    });
    const before = await server.request('GET', defaults);
    for (const name of [inWorkspace.slug, 'none-such']) {
      const body = { output_guardrails: [], input_guardrails: [name] };
      expect(await server.request('PUT', defaults, { body })).toMatchObject({
        status: 400,
        body: { error: { param: 'input_guardrails', message: expect.stringContaining(name) } },
      });
    }
    const body = { input_guardrails: [] };
    const headers = { 'if-match': '"1"' };
    expect((await server.request('PUT', defaults, { body, headers })).status).toBe(412);
    expect((await server.request('PUT', defaults, { body: {} })).status).toBe(400);
    const after = await server.request('GET', defaults);
    expect([after.body, after.headers.etag]).toEqual([before.body, before.headers.etag]);
  });

  it('prevents the deletion of its guardrails', async () => {
    const { id } = await addGuardrail('kept');
    await server.request('PUT', defaults, { body: { output_guardrails: [id] } });
    const path = `/admin/v2/guardrails/${id}`;
    expect((await server.request('DELETE', path)).status).toBe(409);
    await server.request('PUT', defaults, { body: { output_guardrails: [] } });
    expect((await server.request('DELETE', path)).status).toBe(200);
  });
});

describe('guardrail exclusions', () => {
  const path = '/v1/workspace-exclusions/output-guardrails';
  const excluded = async (): Promise<string[]> =>
    (await server.request('GET', path)).body.workspaces
      .filter((one: { excluded: boolean }) => one.excluded)
      .map((one: { workspace_id: string }) => one.workspace_id)
      .toSorted();
  const put = (names: Record<string, boolean>, more: object = {}) =>
    server.request('PUT', path, {
      body: {
        workspaces: Object.entries(names).map(([workspace_id, of]) => ({
          workspace_id,
          excluded: of,
        })),
        ...more,
      },
    });

  it('is added or replaced, independently for each side', async () => {
    const [one, two, three] = workspaceIds as [string, string, string];
    expect((await put({ [one]: true, [two]: true })).status).toBe(200);
    expect(await excluded()).toEqual([one, two].toSorted());
    await put({ [three]: true, [one]: false });
    expect(await excluded()).toEqual([two, three].toSorted());
    const answer = await put({ [one]: true }, { override_existing: true });
    expect(await excluded()).toEqual([one]);
    expect(answer.body.workspaces).toHaveLength(workspaceIds.length);
    const other = await server.request('GET', '/v1/workspace-exclusions/input-guardrails');
    expect(other.body.workspaces.filter((of: { excluded: boolean }) => of.excluded)).toEqual([]);
  });

  it('keeps every change of concurrent requests', async () => {
    await put({}, { override_existing: true });
    await Promise.all(workspaceIds.map((id) => put({ [id]: true })));
    expect(await excluded()).toEqual(workspaceIds.toSorted());
  });

  it('is rejected for an unknown workspace or organisation, without writing', async () => {
    const before = await excluded();
    expect(await put({ [workspaceIds[0]!]: false, 'none-such': true })).toMatchObject({
      status: 400,
      body: { error: { param: 'workspaces[1].workspace_id' } },
    });
    expect((await put({}, { organisation_id: '1234567890' })).status).toBe(404);
    expect(await excluded()).toEqual(before);
  });
});

describe('the maximum lifetime of keys', () => {
  const self = '/v1/organisations/self';
  const ownDays = async () => (await server.request('GET', self)).body.data.api_key_max_ttl_days;
  const defaultDays = async () => (await server.request('GET', defaults)).body.api_key_max_ttl_days;
  const snapshotDays = async () => {
    const { body } = await server.request('GET', '/admin/v2/gatewright/snapshot?owner=ttl');
    const found = body.resources.find(
      ({ kind }: { kind: string }) => kind === 'OrganisationDefaults',
    );
    return found?.spec.api_key_max_ttl_days ?? null;
  };

  it('is one value for the organisation, its defaults and the snapshot', async () => {
    const everywhere = async () => [await ownDays(), await defaultDays(), await snapshotDays()];
    await server.request('PUT', defaults, { body: { api_key_max_ttl_days: 30 } });
    expect(await everywhere()).toEqual([30, 30, 30]);
    await server.request('PUT', self, { body: { api_key_max_ttl_days: 20 } });
    expect(await everywhere()).toEqual([20, 20, 20]);
    await server.request('PUT', defaults, { body: { export_settings: null } });
    expect(await everywhere()).toEqual([20, 20, 20]);
    await server.request('DELETE', defaults);
    expect(await everywhere()).toEqual([null, null, null]);
    const { status } = await server.request('PUT', defaults, { body: { api_key_max_ttl_days: 0 } });
    expect(status).toBe(400);
  });

  it('counts as a change of the defaults, wherever it is set', async () => {
    const tag = async () => (await server.request('GET', defaults)).headers.etag;
    const before = await tag();
    await server.request('PUT', self, { body: { api_key_max_ttl_days: 40 } });
    expect(await tag()).not.toBe(before);
    await server.request('DELETE', defaults);
  });

  it('refuses the rotation of a key that outlives it, until the key has an expiry', async () => {
    const body = { name: 'old', scopes: ['completions.write'] };
    const { id } = (await server.request('POST', '/v1/api-keys/organisation/service', { body }))
      .body;
    await server.request('PUT', defaults, { body: { api_key_max_ttl_days: 30 } });
    const rotate = () => server.request('POST', `/v1/api-keys/${id}/rotate`, { body: {} });
    const refusal = await rotate();
    expect([refusal.status, refusal.body.error.param]).toEqual([400, 'expires_at']);
    expect(refusal.body.error.message).toContain('at most 30 days ahead');
    const expires_at = new Date(server.clock.now() + 29 * 86_400_000).toISOString();
    await server.request('PUT', `/v1/api-keys/${id}`, { body: { expires_at } });
    expect((await rotate()).status).toBe(200);
    await server.request('DELETE', defaults);
  });
});
