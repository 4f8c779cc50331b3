/**
 * Verifies where secrets may be sent: values of secret managers to listed hosts only, and stored ones to
 * no address that they were not entered for.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { allScopes } from '../../../src/model/people/scopes.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { addKeyCaller, type Send } from '../../support/server/tenant.ts';
import {
  type ManagerServer,
  startVaultServer,
} from '../../support/upstream/secret-manager-servers.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let vault: ManagerServer;
let workspace: { id: string };
let key: string;
/** Calls with a key that may do everything in the workspace. */
let bound: Send;

beforeAll(async () => {
  vault = await startVaultServer({
    mounts: { 'secret/': '2' },
    secrets: { 'secret/account': { api_key: 'sk-canary' } },
    tokens: new Set(['hvs.root']),
  });
  const trusted = readTrustedHosts('127.0.0.1');
  inference = await startInference({ trustedHosts: 'hosts' in trusted ? trusted.hosts : [] });
  workspace = await post('/v2/workspaces', { name: 'Support' });
  ({ key } = await inference.addKey({ workspace_id: workspace.id }));
  bound = (await addKeyCaller(inference.server, allScopes, workspace.id)).send;
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}
const put = (path: string, body: object) => inference.server.request('PUT', path, { body });

const referenceTo = (more: object = {}): Promise<{ id: string; slug: string }> =>
  post('/v2/secret-references', {
    name: 'vault',
    manager_type: 'hashicorp_vault',
    secret_path: 'secret/account',
    auth_config: { vault_auth_type: 'token', vault_addr: vault.url, vault_token: 'hvs.root' },
    ...more,
  });

const mapped = (reference: { slug: string }, more: object = {}) => ({
  name: randomUUID(),
  ai_provider_id: 'openai',
  configurations: { custom_host: inference.upstream.url },
  secret_mappings: [
    { target_field: 'key', secret_key: 'api_key', secret_reference_id: reference.slug },
  ],
  ...more,
});

async function chatWith(integration: { id: string }) {
  const provider = await post('/v1/providers', {
    name: 'p',
    integration_id: integration.id,
    workspace_id: workspace.id,
  });
  const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
  return exchange('POST', `${inference.server.inferenceUrl}/v1/chat/completions`, body, {
    authorization: `Bearer ${key}`,
    'x-gateway-provider': `@${provider.slug}`,
  });
}

/** Every request that gives an integration an address, or an address a value. */
const ways: Readonly<Record<string, (reference: { slug: string }) => ReturnType<Send>>> = {
  'a new integration': (reference) =>
    bound('POST', '/v1/integrations', { body: mapped(reference) }),
  'a model with an address': (reference) => {
    const configurations = { custom_host: inference.upstream.url };
    const models = [{ slug: 'm', enabled: true, configurations }];
    return bound('POST', '/v1/integrations', {
      body: mapped(reference, { configurations: {}, models }),
    });
  },
  'a token endpoint': (reference) => {
    const configurations = { oauth_token_endpoint: `${inference.upstream.url}/token` };
    return bound('POST', '/v1/integrations', { body: mapped(reference, { configurations }) });
  },
  'a changed address': async (reference) => {
    const { id } = await post('/v1/integrations', mapped(reference, { configurations: {} }));
    const configurations = { custom_host: inference.upstream.url };
    return put(`/v1/integrations/${id}`, { configurations });
  },
  'a changed model': async (reference) => {
    const { id } = await post('/v1/integrations', mapped(reference, { configurations: {} }));
    const configurations = { custom_host: inference.upstream.url };
    const models = [{ slug: 'm', enabled: true, configurations }];
    return put(`/v1/integrations/${id}/models`, { models });
  },
  'a changed mapping': async (reference) => {
    const { secret_mappings, ...plain } = mapped(reference);
    const { id } = await post('/v1/integrations', plain);
    return put(`/v1/integrations/${id}`, { secret_mappings });
  },
  'an MCP integration': (reference) =>
    bound('POST', '/v1/mcp-integrations', {
      body: {
        name: 'mcp',
        url: `${inference.upstream.url}/mcp`,
        auth_type: 'headers',
        transport: 'http',
        secret_mappings: [
          {
            target_field: 'configurations.custom_headers.Authorization',
            secret_reference_id: reference.slug,
          },
        ],
      },
    }),
};

describe('a value of a secret manager', () => {
  it('is usable by no workspace unless the reference allows it', async () => {
    const closed = await referenceTo();
    const { body } = await inference.server.request('GET', `/v2/secret-references/${closed.id}`);
    expect([body.allow_all_workspaces, body.allowed_hosts]).toEqual([false, undefined]);
    const answer = await bound('POST', '/v1/integrations', {
      body: mapped(closed, { configurations: {} }),
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { param: 'secret_mappings[0].secret_reference_id' } },
    });
  });

  it.each(Object.keys(ways))(
    'is refused to a host that its reference does not list: %s',
    async (way) => {
      const answer = await ways[way]!(await referenceTo({ allow_all_workspaces: true }));
      expect([answer.status, answer.body.error?.message]).toEqual([
        400,
        expect.stringContaining('may not be sent; add the host to its allowed_hosts'),
      ]);
      const allowed = await referenceTo({
        allow_all_workspaces: true,
        allowed_hosts: ['127.0.0.1'],
      });
      expect((await ways[way]!(allowed)).status).toBe(200);
    },
  );

  it('is sent to a listed host, and no longer when the host is taken from the list', async () => {
    const reference = await referenceTo({
      allowed_workspaces: [workspace.id],
      allowed_hosts: [inference.upstream.host],
    });
    const integration = await post('/v1/integrations', mapped(reference));
    expect((await chatWith(integration)).status).toBe(200);
    expect(inference.upstream.reached[0]!.headers.authorization).toBe('Bearer sk-canary');
    inference.upstream.reached.length = 0;
    const path = `/v2/secret-references/${reference.id}`;
    expect((await put(path, { allowed_hosts: ['other.example.com'] })).status).toBe(200);
    inference.server.clock.advance(60_000);
    const refused = await chatWith(integration);
    expect([refused.status, refused.body.error.code]).toEqual([400, 'custom_host_refused']);
    expect(inference.upstream.reached).toEqual([]);
    // Changes that concern neither address nor mappings stay possible.
    const renamed = await put(`/v1/integrations/${integration.id}`, { name: 'Renamed' });
    expect(renamed.status).toBe(200);
  });

  it('keeps working at the addresses that used it before lists existed, and gets no others', async () => {
    const reference = await referenceTo({
      allow_all_workspaces: true,
      allowed_hosts: [inference.upstream.host],
    });
    const integration = await post('/v1/integrations', mapped(reference));
    await inference.server.database.db
      .updateTable('secret_references')
      .set({ allowed_hosts: null })
      .where('id', '=', reference.id)
      .execute();
    expect((await chatWith(integration)).status).toBe(200);
    expect((await ways['a new integration']!(reference)).status).toBe(400);
  });

  it.each([['not a host/x'], ['169.254.169.254'], ['a,b'], ['']])(
    'is refused with the position of the list entry %j',
    async (host) => {
      const { id } = await referenceTo();
      const answer = await put(`/v2/secret-references/${id}`, {
        allowed_hosts: ['a.example', host],
      });
      expect([answer.status, answer.body.error.param]).toEqual([400, 'allowed_hosts[1]']);
    },
  );
});

describe('a stored secret of an integration', () => {
  const secrets = { key: 'sk-stored', headers: { 'X-Key': 'stored' } };
  const stored = () =>
    post('/v1/integrations', {
      name: 'stored',
      ai_provider_id: 'openai',
      key: secrets.key,
      configurations: {
        custom_host: 'https://models.example.com/v1',
        custom_headers: secrets.headers,
      },
    });
  const elsewhere = 'https://elsewhere.example.com/v1';

  it('must be sent again when the address changes to another origin', async () => {
    const { id } = await stored();
    const path = `/v1/integrations/${id}`;
    const masked = { custom_host: elsewhere, custom_headers: { 'X-Key': '********' } };
    const whole = { custom_host: elsewhere, custom_headers: secrets.headers };
    const refused = [
      await put(path, { configurations: whole }),
      await put(path, { key: '********', configurations: whole }),
      await put(path, { key: 'sk-new', configurations: masked }),
      await put(`${path}/models`, {
        models: [{ slug: 'm', enabled: true, configurations: { custom_host: elsewhere } }],
      }),
    ];
    expect(refused.map(({ status, body }) => [status, body.error?.param])).toEqual([
      [400, 'key'],
      [400, 'key'],
      [400, 'configurations.custom_headers.X-Key'],
      [400, 'key'],
    ]);
    expect((await put(path, { key: 'sk-new', configurations: whole })).status).toBe(200);
  });

  it('stays when the origin stays', async () => {
    const { id } = await stored();
    const configurations = {
      custom_host: 'https://models.example.com/v2',
      custom_headers: { 'X-Key': '********' },
    };
    expect((await put(`/v1/integrations/${id}`, { configurations })).status).toBe(200);
  });
});
