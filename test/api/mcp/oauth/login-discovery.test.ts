/** Verifies logins whose token endpoint is found by metadata, and secrets of OAuth clients that secret managers keep. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import {
  type OAuthServer,
  oauthClients,
  startOAuthServer,
} from '../../../support/callers/oauth-server.ts';
import { dumpDatabase } from '../../../support/database/dump.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../../support/server/mcp-plane.ts';
import { publicUrl, startUserOAuthScene } from '../../../support/server/user-oauth.ts';
import {
  type ManagerServer,
  startVaultServer,
} from '../../../support/upstream/secret-manager-servers.ts';

const { basic, keyed } = oauthClients;
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };

const trusted = readTrustedHosts('127.0.0.1');
const trustedHosts = 'hosts' in trusted ? trusted.hosts : [];

let login: OAuthServer;
let vault: ManagerServer;
let plane: McpTestPlane;
let key: string;
/** Authorization servers that the MCP server names. */
let named: string[];

beforeAll(async () => {
  login = await startOAuthServer();
  vault = await startVaultServer({
    mounts: { 'secret/': '2' },
    secrets: { 'secret/crm': { client: basic.secret, key: login.keys.jwk } },
    tokens: new Set(['hvs.root']),
  });
  plane = await startMcpTestPlane({ trustedHosts });
  ({ key } = await plane.addKey());
});

beforeEach(() => {
  named = [login.url];
  login.journal.length = 0;
  plane.upstream.journal.length = 0;
  plane.upstream.guard = ({ authorization = '' }) =>
    login.verifies(authorization.replace(/^Bearer /, ''), plane.upstream.url);
  plane.upstream.intercept = ({ url }, response) => {
    if (url !== '/.well-known/oauth-protected-resource/mcp') return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    const metadata = { resource: plane.upstream.url, authorization_servers: named };
    response.end(JSON.stringify(metadata));
    return true;
  };
});

afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
  await login[Symbol.asyncDispose]();
});

const bySecret = { oauth_client_id: basic.id, oauth_client_secret: basic.secret };

async function serverWith(configurations: object, more: object = {}) {
  const integration = await plane.addIntegration({
    auth_type: 'oauth_client_credentials',
    configurations: { oauth_scope: 'tools', ...configurations },
    ...more,
  });
  return { integration, ...(await plane.addServer({}, integration)) };
}

async function addReference(own: McpTestPlane, more: object = {}): Promise<string> {
  const made = await own.create('/v1/secret-references', {
    name: 'oauth clients',
    manager_type: 'hashicorp_vault',
    secret_path: 'secret/crm',
    allow_all_workspaces: true,
    allowed_hosts: ['127.0.0.1'],
    auth_config: { vault_auth_type: 'token', vault_addr: vault.url, vault_token: 'hvs.root' },
    ...more,
  });
  return made.slug;
}

const mapping = (target: string, secret_key: string, secret_reference_id: string) => ({
  secret_mappings: [{ target_field: `configurations.${target}`, secret_key, secret_reference_id }],
});

const statusAt = async (slug: string) => (await plane.send(key, slug, list)).status;
const wellKnown = () => plane.upstream.journal.filter(({ url }) => url.startsWith('/.well-known/'));

describe('a token endpoint that is not configured', () => {
  it('is found by the metadata of the server and of its authorization server, once', async () => {
    const { slug } = await serverWith(bySecret);
    const all = await Promise.all([statusAt(slug), statusAt(slug), statusAt(slug)]);
    expect([...all, await statusAt(slug)]).toEqual([200, 200, 200, 200]);
    expect(login.journal.map(({ form }) => form)).toEqual([
      { grant_type: 'client_credentials', scope: 'tools', resource: plane.upstream.url },
    ]);
    expect(wellKnown()).toHaveLength(1);
  });

  it('is that of oauth_issuer, whatever the server names', async () => {
    named = ['http://169.254.169.254'];
    const { slug } = await serverWith({ ...bySecret, oauth_issuer: login.url });
    expect(await statusAt(slug)).toBe(200);
    expect(wellKnown()).toEqual([]);
  });

  it('is that of oauth_metadata where the issuer publishes none, or another one', async () => {
    const oauth_metadata = {
      authorization_endpoint: `${login.url}/authorize`,
      token_endpoint: login.tokenUrl,
    };
    for (const [issuer, replaced] of [
      [`${login.url}/realms/silent`, oauth_metadata],
      [login.url, { token_endpoint: login.tokenUrl }],
    ] as const) {
      named = [issuer];
      const { slug } = await serverWith({ ...bySecret, oauth_metadata: replaced });
      expect([issuer, await statusAt(slug)]).toEqual([issuer, 200]);
    }
    const { slug } = await serverWith({
      ...bySecret,
      oauth_metadata: { token_endpoint: `${plane.upstream.url}/elsewhere` },
    });
    expect(await statusAt(slug)).toBe(502);
  });

  it('is found by queries of the Admin API, too', async () => {
    const { integration } = await serverWith(bySecret);
    const path = `/v2/mcp-integrations/${integration.id}/sync`;
    const synced = await plane.server.request('POST', path, { body: {} });
    expect(synced.body).toMatchObject({ success: true, sync_status: 'synced' });
  });

  it('stays at the first authorization server, so that no other one receives the secret', async () => {
    await using other = await startOAuthServer();
    const { slug, integration } = await serverWith(bySecret);
    expect(await statusAt(slug)).toBe(200);
    named = [other.url];
    const path = `/v2/mcp-integrations/${integration.id}/sync`;
    const refused = await plane.server.request('POST', path, { body: {} });
    expect(refused.body.sync_error).toContain('but the client of the integration is for');
    expect(other.journal).toEqual([]);
  });

  it('is 502 with the reason where there is none', async () => {
    named = [];
    const { slug } = await serverWith(bySecret);
    const { status, body } = await plane.send(key, slug, list);
    expect([status, body.error.data]).toEqual([502, { code: 'token_unavailable' }]);
    expect(body.error.message).toContain('names no authorization server');
  });

  it('makes the secret necessary again when oauth_issuer changes', async () => {
    const { integration } = await serverWith({ ...bySecret, oauth_issuer: login.url });
    const configurations = {
      ...bySecret,
      oauth_client_secret: '********',
      oauth_issuer: 'https://elsewhere.example.com',
    };
    const path = `/v2/mcp-integrations/${integration.id}`;
    const moved = await plane.server.request('PUT', path, { body: { configurations } });
    expect([moved.status, moved.body.error.param]).toEqual([
      400,
      'configurations.oauth_client_secret',
    ]);
  });
});

describe('a secret of a client that a secret manager keeps', () => {
  it('authenticates the client at a configured and at a discovered endpoint', async () => {
    const mapped = mapping('oauth_client_secret', 'client', await addReference(plane));
    for (const endpoint of [login.tokenUrl, undefined]) {
      const fields = { oauth_client_id: basic.id, oauth_token_endpoint: endpoint };
      const { slug, integration } = await serverWith(fields, mapped);
      expect(await statusAt(slug)).toBe(200);
      const path = `/v2/mcp-integrations/${integration.id}/sync`;
      const synced = await plane.server.request('POST', path, { body: {} });
      expect(synced.body).toMatchObject({ success: true });
    }
    const { db } = plane.server.database;
    expect(await dumpDatabase(db)).not.toContain(basic.secret);
  });

  it('signs assertions as private key', async () => {
    const mapped = mapping('oauth_private_key', 'key', await addReference(plane));
    const fields = {
      oauth_client_id: keyed.id,
      oauth_token_endpoint_auth_method: 'private_key_jwt',
    };
    const { slug } = await serverWith({ ...fields, oauth_token_endpoint: login.tokenUrl }, mapped);
    expect(await statusAt(slug)).toBe(200);
    expect(login.journal[0]!.form.client_assertion).toBeDefined();
  });

  it('closes the server while it cannot be read', async () => {
    const mapped = mapping('oauth_client_secret', 'missing', await addReference(plane));
    const { slug } = await serverWith(
      { oauth_client_id: basic.id, oauth_token_endpoint: login.tokenUrl },
      mapped,
    );
    const { status, body } = await plane.send(key, slug, list);
    expect([status, body.error.data]).toEqual([502, { code: 'token_unavailable' }]);
    expect(body.error.message).toContain('its secret manager returned no suitable value');
    expect(login.journal).toEqual([]);
  });

  it('is sent to allowed hosts only, be the endpoint configured or discovered', async () => {
    const reference = await addReference(plane, { allowed_hosts: ['login.example.com'] });
    const body = {
      name: 'elsewhere',
      url: plane.upstream.url,
      auth_type: 'oauth_client_credentials',
      transport: 'http',
      ...mapping('oauth_client_secret', 'client', reference),
    };
    const configured = { oauth_client_id: basic.id, oauth_token_endpoint: login.tokenUrl };
    const refused = await plane.server.request('POST', '/v2/mcp-integrations', {
      body: { ...body, configurations: configured },
    });
    expect([refused.status, refused.body.error.param]).toEqual([
      400,
      'configurations.oauth_token_endpoint',
    ]);
    const { slug } = await serverWith({ oauth_client_id: basic.id }, body);
    const closed = await plane.send(key, slug, list);
    expect(closed.status).toBe(502);
    expect(closed.body.error.message).toContain('see its allowed_hosts');
    expect(login.journal).toEqual([]);
  });

  it('authenticates the client of users', async () => {
    const client = {
      client_id: 'configured',
      client_secret: basic.secret,
      redirect_uris: [`${publicUrl}/oauth/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
    };
    await using scene = await startUserOAuthScene(
      { clients: [client] },
      { configurations: { oauth_client_id: client.client_id } },
      { trustedHosts },
    );
    const integrations = await scene.plane.server.request('GET', '/v2/mcp-integrations');
    const path = `/v2/mcp-integrations/${integrations.body.data[0].id}`;
    const body = mapping('oauth_client_secret', 'client', await addReference(scene.plane));
    expect((await scene.plane.server.request('PUT', path, { body })).status).toBe(200);
    const { key: own } = await scene.addUserKey();
    await eventually(async () => expect((await scene.connect(own)).status).toBe(200));
    const sent = await scene.plane.send(own, scene.server.slug, list);
    expect(sent.body.result).toBeDefined();
    expect(scene.issuer.journal.at(-1)!.authorization).toMatch(/^Basic /);
  });
});
