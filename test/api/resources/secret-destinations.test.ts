/** Verifies that stored secrets of integrations must be sent again when a member leads them elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configurationSecretLocations } from '../../../src/auth/integration-secrets.ts';
import { openSecrets } from '../../../src/auth/secret-values.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const mask = '********';
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const send = (method: string, path: string, body: object) => server.request(method, path, { body });

async function integrationOf(service: string, configurations: object, more: object = {}) {
  const body = { name: 'i', ai_provider_id: service, key: 'sk-stored', configurations, ...more };
  const made = await send('POST', '/v1/integrations', body);
  expect(made).toMatchObject({ status: 200 });
  return `/v1/integrations/${made.body.id}`;
}

async function expectRefusal(path: string, body: object, param: string, named: string) {
  const { status, body: answer } = await send('PUT', path, body);
  expect([status, answer.error.param]).toEqual([400, param]);
  expect(answer.error.message).toContain(`because ${named} changes to another origin`);
}

const login = (more: object = {}) => ({
  custom_host: 'https://api.example/v1',
  provider_auth_type: 'oauthClientCredentials',
  oauth_token_endpoint: 'https://login.example/token',
  oauth_client_id: 'id',
  oauth_client_secret: 'canary-client-secret',
  ...more,
});

describe('an integration', () => {
  it('asks for its secrets when the token endpoint moves to the host of requests', async () => {
    const path = await integrationOf('openai', login());
    const moved = login({
      oauth_token_endpoint: 'https://api.example/token',
      oauth_client_secret: mask,
    });
    const named = 'configurations.oauth_token_endpoint';
    const param = 'configurations.oauth_client_secret';
    await expectRefusal(path, { key: 'sk-new', configurations: moved }, param, named);
    const whole = { key: 'sk-new', configurations: { ...moved, oauth_client_secret: 'new' } };
    expect(await send('PUT', path, whole)).toMatchObject({ status: 200 });
  });

  it.each(['azure_resource_name', 'resource_name'])(
    'asks for its key when the Azure resource changes: %s',
    async (field) => {
      const path = await integrationOf('azure-openai', { [field]: 'ours' });
      const named = `configurations.${field}`;
      await expectRefusal(path, { configurations: { [field]: 'theirs' } }, 'key', named);
      const same = { [field]: 'ours', azure_api_version: '2026-01-01' };
      expect(await send('PUT', path, { configurations: same })).toMatchObject({ status: 200 });
      const whole = { key: 'sk-new', configurations: { [field]: 'theirs' } };
      expect(await send('PUT', path, whole)).toMatchObject({ status: 200 });
    },
  );

  it('asks for the headers of its models, too', async () => {
    const model = (custom_host: string, token: string) => ({
      slug: 'm',
      enabled: true,
      configurations: { custom_host, custom_headers: { token } },
    });
    const path = await integrationOf('openai', {}, { models: [model('https://a.example', 's')] });
    const moved = { key: 'sk-new', models: [model('https://b.example', mask)] };
    const named = 'models.0.configurations.custom_host';
    await expectRefusal(path, moved, 'models[0].configurations.custom_headers.token', named);
    const whole = { key: 'sk-new', models: [model('https://b.example', 'new')] };
    expect(await send('PUT', path, whole)).toMatchObject({ status: 200 });
    const merged = { models: [model('https://c.example', mask)] };
    await expectRefusal(`${path}/models`, merged, 'key', named);
  });

  it('asks for its key when a mapped value decides the host', async () => {
    const reference = await send('POST', '/v2/secret-references', {
      name: 'vault',
      manager_type: 'hashicorp_vault',
      secret_path: 'secret/x',
      auth_config: {
        vault_auth_type: 'token',
        vault_addr: 'https://vault.example',
        vault_token: 't',
      },
      allow_all_workspaces: true,
    });
    expect(reference).toMatchObject({ status: 200 });
    const path = await integrationOf('openai', {});
    const mapping = {
      target_field: 'configurations.custom_host',
      secret_reference_id: reference.body.slug,
    };
    const named = 'secret_mappings.0.target_field';
    await expectRefusal(path, { secret_mappings: [mapping] }, 'key', named);
  });
});

describe('a virtual key', () => {
  it('asks for its key when the Azure resource changes, and leaves other secrets as they are', async () => {
    const workspace = await send('POST', '/v2/workspaces', { name: 'w' });
    const made = await send('POST', '/v1/virtual-keys', {
      name: 'v',
      provider: 'azure-openai',
      key: 'sk-stored',
      resourceName: 'ours',
      workspace_id: workspace.body.id,
    });
    expect(made).toMatchObject({ status: 200 });
    const path = `/v1/virtual-keys/${made.body.slug}`;
    const named = 'configurations.azure_resource_name';
    await expectRefusal(path, { resourceName: 'theirs' }, 'key', named);
    const { db } = server.database;
    const stored = () =>
      db
        .selectFrom('integrations')
        .select(['id', 'configurations'])
        .where('creation_mode', '=', 'auto')
        .executeTakeFirstOrThrow();
    const { id } = await stored();
    const configurations = { azure_resource_name: 'ours', custom_headers: { token: 'stored' } };
    const given = await send('PUT', `/v1/integrations/${id}`, { configurations });
    expect(given).toMatchObject({ status: 200 });
    expect(await send('PUT', path, { apiVersion: '2026-01-01' })).toMatchObject({ status: 200 });
    const unsealer = await server.app.keyring.unsealerOf(server.organisationId);
    const document = JSON.parse((await stored()).configurations!);
    expect(openSecrets(unsealer, configurationSecretLocations(id), document)).toMatchObject({
      azure_api_version: '2026-01-01',
      custom_headers: { token: 'stored' },
    });
    const moved = { key: 'sk-new', resourceName: 'theirs' };
    const header = 'configurations.custom_headers.token';
    await expectRefusal(path, moved, header, named);
    const without = { azure_resource_name: 'ours' };
    await send('PUT', `/v1/integrations/${id}`, { configurations: without });
    expect(await send('PUT', path, moved)).toMatchObject({ status: 200 });
  });
});
