/** Verifies calls to providers whose integrations log in with OAuth client credentials at a real token server. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type Inference, startInference } from '../../../support/server/inference.ts';
import {
  type ManagerServer,
  startVaultServer,
} from '../../../support/upstream/secret-manager-servers.ts';
import {
  chatAnswer,
  sendJson,
  startUpstream,
  type TestUpstream,
} from '../../../support/upstream/upstream.ts';

const secret = 'canary/of oauth+secret';
let inference: Inference;
let issuer: TestUpstream;
let vault: ManagerServer;
let workspace: { id: string };
let key: string;
/** Tokens that the issuer has granted, in order. */
let granted: string[];
/** Members of the issuer's responses besides the token. */
let terms: object;
/** Tokens that the provider no longer accepts. */
let revoked: Set<string>;

beforeAll(async () => {
  issuer = await startUpstream();
  vault = await startVaultServer({
    mounts: { 'secret/': '2' },
    secrets: { 'secret/login': { secret } },
    tokens: new Set(['hvs.root']),
  });
  const trusted = readTrustedHosts('127.0.0.1');
  inference = await startInference({ trustedHosts: 'hosts' in trusted ? trusted.hosts : [] });
  workspace = await post('/v2/workspaces', { name: 'Support' });
  ({ key } = await inference.addKey({ workspace_id: workspace.id }));
});
beforeEach(() => {
  granted = [];
  revoked = new Set();
  terms = { expires_in: 3600 };
  issuer.reached.length = 0;
  inference.upstream.reached.length = 0;
  issuer.script = (_, response) => {
    const token = `canary-token-${randomUUID()}`;
    granted.push(token);
    sendJson(response, { access_token: token, token_type: 'Bearer', ...terms });
  };
  inference.upstream.script = ({ headers }, response) => {
    const isRefused = revoked.has(headers.authorization ?? '');
    if (isRefused) sendJson(response, { error: { message: 'expired' } }, 401);
    else sendJson(response, chatAnswer);
  };
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

async function post(path: string, body: object) {
  const made = await inference.server.request('POST', path, { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

const tokenUrl = () => issuer.url.replace(/\/v1$/, '/oauth/token');
const loginFields = (more: object = {}) => ({
  custom_host: inference.upstream.url,
  provider_auth_type: 'oauthClientCredentials',
  oauth_token_endpoint: tokenUrl(),
  oauth_client_id: 'gate:way',
  oauth_client_secret: secret,
  oauth_scope: 'models read',
  ...more,
});

/** Creates an integration and a provider on it. */
async function providerWith(configurations: object, more: object = {}) {
  const integration = await post('/v1/integrations', {
    name: randomUUID(),
    ai_provider_id: 'openai',
    key: 'sk-unused',
    configurations: loginFields(configurations),
    ...more,
  });
  const { slug } = await post('/v1/providers', {
    name: 'p',
    integration_id: integration.id,
    workspace_id: workspace.id,
  });
  return { slug, integration };
}

const chat = (headers: Record<string, string>) =>
  exchange(
    'POST',
    `${inference.server.inferenceUrl}/v1/chat/completions`,
    { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
    { authorization: `Bearer ${key}`, ...headers },
  );
const chatAt = (slug: string) => chat({ 'x-gateway-provider': `@${slug}` });
const sentTokens = () => inference.upstream.reached.map(({ headers }) => headers.authorization);
const bearers = (...at: number[]) => at.map((one) => `Bearer ${granted[one]}`);

describe('an integration with OAuth client credentials', () => {
  it('is called with a token that the endpoint grants for its client and scope', async () => {
    const { slug } = await providerWith({});
    expect((await chatAt(slug)).status).toBe(200);
    expect(sentTokens()).toEqual(bearers(0));
    expect(issuer.reached).toHaveLength(1);
    const [{ method, url, headers, body }] = issuer.reached as [(typeof issuer.reached)[number]];
    expect([method, url]).toEqual(['POST', '/oauth/token']);
    const [name, password] = Buffer.from(headers.authorization!.slice('Basic '.length), 'base64')
      .toString()
      .split(':')
      .map((part) => new URLSearchParams(`v=${part}`).get('v'));
    expect([name, password]).toEqual(['gate:way', secret]);
    expect(Object.fromEntries(new URLSearchParams(body.toString()))).toEqual({
      grant_type: 'client_credentials',
      scope: 'models read',
    });
  });

  it('requests one token for concurrent requests and keeps it until shortly before it expires', async () => {
    const { slug } = await providerWith({});
    const all = await Promise.all(Array.from({ length: 8 }, () => chatAt(slug)));
    expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200));
    inference.server.clock.advance(3_500_000);
    expect((await chatAt(slug)).status).toBe(200);
    expect(granted).toHaveLength(1);
    inference.server.clock.advance(50_000);
    expect((await chatAt(slug)).status).toBe(200);
    expect(granted).toHaveLength(2);
    expect(sentTokens()).toEqual(bearers(...Array(9).fill(0), 1));
  });

  it('shares the token among the providers of one integration', async () => {
    const { slug, integration } = await providerWith({});
    const other = await post('/v1/providers', {
      name: 'q',
      integration_id: integration.id,
      workspace_id: workspace.id,
    });
    expect([(await chatAt(slug)).status, (await chatAt(other.slug)).status]).toEqual([200, 200]);
    expect(sentTokens()).toEqual(bearers(0, 0));
  });

  it('replaces a token without a stated life after five minutes', async () => {
    terms = {};
    const { slug } = await providerWith({});
    await chatAt(slug);
    inference.server.clock.advance(300_000);
    await chatAt(slug);
    expect(sentTokens()).toEqual(bearers(0, 1));
  });

  it('is called once more with a fresh token when the provider answers 401', async () => {
    const { slug } = await providerWith({});
    await chatAt(slug);
    revoked.add(`Bearer ${granted[0]}`);
    const all = await Promise.all([chatAt(slug), chatAt(slug), chatAt(slug)]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(granted).toHaveLength(2);
    expect(sentTokens().slice(-1)).toEqual(bearers(1));
  });

  it('passes on a 401 that a fresh token does not change', async () => {
    const { slug } = await providerWith({});
    inference.upstream.script = (_, response) =>
      sendJson(response, { error: { message: 'no' } }, 401);
    expect((await chatAt(slug)).status).toBe(401);
    expect(sentTokens()).toEqual(bearers(0, 1));
  });

  it('sends the token in place of other authorization headers, in every format', async () => {
    const { slug } = await providerWith(
      { custom_headers: { Authorization: 'Bearer other' } },
      { ai_provider_id: 'anthropic' },
    );
    await chatAt(slug);
    const [{ headers }] = inference.upstream.reached as [(typeof issuer.reached)[number]];
    expect([headers.authorization, headers['x-api-key']]).toEqual([
      `Bearer ${granted[0]}`,
      undefined,
    ]);
  });

  it('requests a token again when the login changes', async () => {
    const { slug, integration } = await providerWith({});
    await chatAt(slug);
    const configurations = loginFields({ oauth_scope: 'other' });
    const path = `/v1/integrations/${integration.id}`;
    const changed = await inference.server.request('PUT', path, { body: { configurations } });
    expect(changed.status).toBe(200);
    inference.server.clock.advance(1_000);
    // The gateway learns of the change by polling.
    await eventually(async () => {
      await chatAt(slug);
      expect(sentTokens().at(-1)).toBe(bearers(1)[0]);
    });
    expect(granted).toHaveLength(2);
    expect(issuer.reached.at(-1)!.body.toString()).toContain('scope=other');
  });
});

describe('a token that cannot be obtained', () => {
  const faults: Readonly<Record<string, [object, () => TestUpstream['script'], string]>> = {
    'a refused client': [
      {},
      () => (_, response) =>
        sendJson(response, { error: 'invalid_client', error_description: secret }, 401),
      'it refuses the client (401 invalid_client)',
    ],
    'a failing endpoint': [
      {},
      () => (_, response) => void response.writeHead(500).end('canary'),
      'it responds with 500',
    ],
    'a redirect': [
      {},
      () => (_, response) => void response.writeHead(302, { location: '/x' }).end(),
      'it responds with 302',
    ],
    'a response without a token': [
      {},
      () => (_, response) => sendJson(response, { token_type: 'Bearer' }),
      'its response contains no bearer token',
    ],
    'a token that is no header value': [
      {},
      () => (_, response) =>
        sendJson(response, { access_token: 'a\r\nb: c', token_type: 'Bearer', expires_in: 60 }),
      'its token cannot be sent as a header',
    ],
    'a broken connection': [
      {},
      () => (_, response) => void response.socket!.destroy(),
      'the address cannot be reached',
    ],
    'a missing field': [
      { oauth_client_id: null, oauth_client_secret: null },
      () => issuer.script,
      'its configurations have no oauth_client_id, oauth_client_secret',
    ],
  };

  it.each(Object.keys(faults))(
    'is an error that names integration and host and no secret: %s',
    async (name) => {
      const [configurations, script, reason] = faults[name]!;
      const { slug, integration } = await providerWith(configurations);
      issuer.script = script();
      const { status, body } = await chatAt(slug);
      expect([status, body.error.code]).toEqual([502, 'token_unavailable']);
      expect(body.error.message).toContain(`The integration ${integration.slug} obtains no access`);
      expect(body.error.message).toContain(`token from ${issuer.host}: ${reason}`);
      expect(JSON.stringify(body)).not.toMatch(/canary/);
      expect(inference.upstream.reached).toEqual([]);
    },
  );

  it('leads to the next target of a fallback, and to a retry', async () => {
    const failing = await providerWith({ oauth_token_endpoint: `${inference.nowhere}/token` });
    const { slug } = await providerWith({});
    const targets = [{ provider: `@${failing.slug}` }, { provider: `@${slug}` }];
    const fallback = { strategy: { mode: 'fallback' }, targets };
    const answer = await chat({ 'x-gateway-config': JSON.stringify(fallback) });
    expect([answer.status, sentTokens()]).toEqual([200, bearers(0)]);
    const usual = issuer.script;
    issuer.script = (_, response) => {
      issuer.script = usual;
      response.writeHead(503).end();
    };
    const again = await providerWith({});
    const retry = { provider: `@${again.slug}`, retry: { attempts: 1, on_status_codes: [502] } };
    expect((await chat({ 'x-gateway-config': JSON.stringify(retry) })).status).toBe(200);
  });
});

describe('an endpoint that does not respond', () => {
  it('ends the request at its timeout', async () => {
    const { slug } = await providerWith({});
    issuer.script = () => undefined;
    const config = { provider: `@${slug}`, request_timeout: 50 };
    const { status, body } = await chat({ 'x-gateway-config': JSON.stringify(config) });
    expect([status, body.error.code]).toEqual([408, 'request_timeout']);
    expect(inference.upstream.reached).toEqual([]);
  });
});

describe('a stored client secret', () => {
  it('must be sent again when its endpoint changes to another origin', async () => {
    const { integration } = await providerWith({});
    const configurations = loginFields({
      oauth_token_endpoint: `${inference.nowhere}/token`,
      oauth_client_secret: '********',
    });
    const path = `/v1/integrations/${integration.id}`;
    const body = { key: 'sk-new', configurations };
    const { status, body: answer } = await inference.server.request('PUT', path, { body });
    expect([status, answer.error.param]).toEqual([400, 'configurations.oauth_client_secret']);
  });
});

describe('a client secret of a secret manager', () => {
  it('is sent to a listed endpoint, and no longer when the host is taken from the list', async () => {
    const reference = await post('/v2/secret-references', {
      name: 'vault',
      manager_type: 'hashicorp_vault',
      secret_path: 'secret/login',
      auth_config: { vault_auth_type: 'token', vault_addr: vault.url, vault_token: 'hvs.root' },
      allow_all_workspaces: true,
      allowed_hosts: [inference.upstream.host, issuer.host],
    });
    const mapping = {
      target_field: 'configurations.oauth_client_secret',
      secret_key: 'secret',
      secret_reference_id: reference.slug,
    };
    const { oauth_client_secret: _, ...configurations } = loginFields();
    const { slug } = await providerWith({}, { configurations, secret_mappings: [mapping] });
    expect((await chatAt(slug)).status).toBe(200);
    expect(sentTokens()).toEqual(bearers(0));
    const path = `/v2/secret-references/${reference.id}`;
    const body = { allowed_hosts: [inference.upstream.host] };
    expect((await inference.server.request('PUT', path, { body })).status).toBe(200);
    inference.server.clock.advance(60_000);
    // The gateway learns of the change by polling.
    await eventually(async () => {
      const { status, body: answer } = await chatAt(slug);
      expect([status, answer.error?.code, answer.error?.param]).toEqual([
        400,
        'custom_host_refused',
        'oauth_token_endpoint',
      ]);
      expect(answer.error.message).toContain(issuer.host);
    });
  });
});
