/**
 * Verifies the virtual key routes over HTTP: a provider and its account, created, updated and
 * deleted together.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, listAudit } from '../../support/server/tenant.ts';

const path = '/v1/virtual-keys';
const secret = 'sk-0123456789abcdef-canary';
let server: TestServer;
let workspaceId: string;
beforeAll(async () => {
  server = await startTestServer();
  const made = await server.request('POST', '/v2/workspaces', { body: { name: 'Support' } });
  workspaceId = made.body.id;
});
afterAll(() => server[Symbol.asyncDispose]());

async function make(more: Record<string, unknown> = {}): Promise<string> {
  const body = {
    name: 'Main',
    provider: 'openai',
    key: secret,
    workspace_id: workspaceId,
    ...more,
  };
  const made = await server.request('POST', path, { body });
  expect(made.status).toBe(200);
  const ids = { id: expect.any(String), slug: expect.stringMatching(/^main-[0-9a-f]{6}$/) };
  expect(made.body).toEqual({ ...ids, object: 'virtual-key', success: true, data: ids });
  return made.body.slug;
}
const get = (slug: string) => server.request('GET', `${path}/${slug}`);
const put = (slug: string, body: unknown) => server.request('PUT', `${path}/${slug}`, { body });
const integrationOf = async (slug: string) => {
  const { integration_id: id } = (await get(slug)).body;
  return server.request('GET', `/v1/integrations/${id}`);
};

it('returns the record of a provider, without its key', async () => {
  const slug = await make({ note: 'n', usage_limits: { credit_limit: 5 } });
  const got = await get(slug);
  expect(got.body).toMatchObject({
    slug,
    name: 'Main',
    note: 'n',
    object: 'virtual-key',
    ai_provider_name: 'openai',
    workspace_id: workspaceId,
    status: 'active',
    key: '',
    usage_limits: { credit_limit: 5 },
  });
  expect(JSON.stringify(got.body)).not.toContain(secret);
  const provider = await server.request('GET', `/v1/providers/${slug}`);
  expect(provider.body).toEqual({ ...got.body, object: 'provider', declared_in: null });
  const listed = await server.request('GET', `${path}?workspace_id=${workspaceId}`);
  expect(listed.body.data).toContainEqual({ ...got.body, rate_limits: null });
});

it('creates an integration of its workspace, which is deleted with it', async () => {
  const slug = await make({ provider: 'azure-openai', resourceName: 'eu', deploymentName: 'gpt' });
  const own = await integrationOf(slug);
  expect(own).toMatchObject({
    status: 200,
    body: {
      ai_provider_id: 'azure-openai',
      workspace_id: workspaceId,
      type: 'workspace',
      configurations: { azure_resource_name: 'eu', azure_deployment_id: 'gpt' },
    },
  });
  const { id } = own.body;
  expect(await server.request('DELETE', `${path}/${slug}`)).toMatchObject({
    status: 200,
    body: {},
  });
  expect((await get(slug)).status).toBe(404);
  expect((await server.request('GET', `/v1/integrations/${id}`)).status).toBe(404);
  expect((await listAudit(server, id)).map(({ action }) => action)).toEqual(['create', 'delete']);
});

it('accepts several Azure deployments, which its integration contains in its own form', async () => {
  const deploymentConfig = [
    { deploymentName: 'd1', apiVersion: 'v1', alias: 'small', is_default: true },
    { deploymentName: 'd2', apiVersion: 'v2' },
  ];
  const slug = await make({ provider: 'azure-openai', resourceName: 'eu', deploymentConfig });
  const readReported = async () =>
    (await integrationOf(slug)).body.configurations.azure_deployment_config;
  expect(await readReported()).toEqual([
    { azure_deployment_name: 'd1', azure_api_version: 'v1', alias: 'small', is_default: true },
    { azure_deployment_name: 'd2', azure_api_version: 'v2' },
  ]);
  expect((await put(slug, { deploymentConfig: deploymentConfig.slice(1) })).status).toBe(200);
  expect(await readReported()).toEqual([{ azure_deployment_name: 'd2', azure_api_version: 'v2' }]);
  expect(await put(slug, { deploymentConfig: [{ deploymentName: 'd' }] })).toMatchObject({
    status: 400,
    body: { error: { param: 'deploymentConfig[0].apiVersion' } },
  });
});

it('keeps its integration when another provider uses it', async () => {
  const slug = await make();
  const { id } = (await integrationOf(slug)).body;
  const body = { name: 'Other', integration_id: id, workspace_id: workspaceId };
  expect((await server.request('POST', '/v1/providers', { body })).status).toBe(200);
  expect((await server.request('DELETE', `${path}/${slug}`)).status).toBe(200);
  expect((await server.request('GET', `/v1/integrations/${id}`)).status).toBe(200);
});

it('updates provider and account together, keeps absent fields, and writes nothing twice', async () => {
  const slug = await make({ provider: 'azure-openai', resourceName: 'eu', apiVersion: 'v1' });
  const before = (await get(slug)).body;
  const change = { name: 'New', key: 'another-key-of-32-characters-xyz', apiVersion: 'v2' };
  for (const _ of [1, 2]) {
    expect(await put(slug, change)).toMatchObject({ status: 200, body: { data: { slug } } });
  }
  const after = (await get(slug)).body;
  expect(after.name).toBe('New');
  expect(after.masked_api_key).not.toBe(before.masked_api_key);
  expect((await integrationOf(slug)).body.configurations).toEqual({
    azure_resource_name: 'eu',
    azure_api_version: 'v2',
  });
  const audited = await listAudit(server, after.integration_id);
  expect(audited.map(({ action }) => action)).toEqual(['create', 'update']);
  expect(JSON.stringify(audited)).not.toContain('another-key');
});

it('does not update the account of a shared integration', async () => {
  const fields = { name: 'OpenAI', ai_provider_id: 'openai', key: secret };
  const shared = await server.request('POST', '/v1/integrations', { body: fields });
  const body = { name: 'By hand', integration_id: shared.body.id, workspace_id: workspaceId };
  const { slug } = (await server.request('POST', '/v1/providers', { body })).body;
  expect((await put(slug, { key: 'other' })).status).toBe(409);
  expect((await put(slug, { note: 'n' })).status).toBe(200);
  expect((await server.request('DELETE', `${path}/${slug}`)).status).toBe(200);
  const stored = await server.request('GET', `/v1/integrations/${shared.body.id}`);
  expect(stored.status).toBe(200);
});

it('requires its own scopes, and names invalid fields', async () => {
  const slug = await make();
  const { send } = await addKeyCaller(server, ['virtual_keys.list'], workspaceId);
  expect((await send('GET', path)).status).toBe(200);
  expect((await send('GET', `${path}/${slug}`)).status).toBe(403);
  expect((await send('DELETE', `${path}/${slug}`)).status).toBe(403);
  expect((await send('POST', path, { body: { name: 'x', provider: 'openai' } })).status).toBe(403);
  const wrong = async (more: Record<string, unknown>) => {
    const body = { name: 'x', provider: 'openai', workspace_id: workspaceId, ...more };
    const refused = await server.request('POST', path, { body });
    expect(refused.status).toBe(400);
    return refused.body.error.message;
  };
  expect(await wrong({ provider: 'nobody' })).toContain('provider: is not a known service');
  expect(await wrong({ workspace_id: undefined })).toContain('workspace_id');
  expect(await wrong({ expires_at: '2020-01-01T00:00:00Z' })).toContain('expires_at');
});
