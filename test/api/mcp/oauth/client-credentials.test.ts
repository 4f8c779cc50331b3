/** Verifies calls of MCP servers for which the gateway logs in at a real authorization server with client credentials. */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type OAuthServer,
  oauthClients,
  startOAuthServer,
} from '../../../support/callers/oauth-server.ts';
import { dumpDatabase } from '../../../support/database/dump.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../../support/server/mcp-plane.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

let login: OAuthServer;
let plane: McpTestPlane;
let key: string;
/** Tokens that the server no longer accepts. */
let revoked: Set<string>;
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };

beforeAll(async () => {
  login = await startOAuthServer();
  plane = await startMcpTestPlane({}, login.host);
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  revoked = new Set();
  login.script = null;
  login.journal.length = 0;
  plane.upstream.journal.length = 0;
  plane.upstream.guard = async ({ authorization = '' }) => {
    const token = authorization.replace(/^Bearer /, '');
    return !revoked.has(token) && (await login.verifies(token, plane.upstream.url));
  };
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await login[Symbol.asyncDispose]();
});

const basicFields = {
  oauth_client_id: oauthClients.basic.id,
  oauth_client_secret: oauthClients.basic.secret,
};

async function serverWith(configurations: object = {}) {
  const integration = await plane.addIntegration({
    auth_type: 'oauth_client_credentials',
    configurations: {
      ...basicFields,
      oauth_token_endpoint: login.tokenUrl,
      oauth_scope: 'tools',
      ...configurations,
    },
  });
  return { integration, ...(await plane.addServer({}, integration)) };
}

const statusAt = async (slug: string) => (await plane.send(key, slug, list)).status;
const sentTokens = () =>
  plane.upstream.journal.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));
const forms = () => login.journal.map(({ form }) => form);

describe('a server with client credentials', () => {
  it('receives a token that was granted to the gateway for it, and nothing of the caller', async () => {
    const { slug } = await serverWith({ custom_headers: { Authorization: 'Bearer other' } });
    expect(await statusAt(slug)).toBe(200);
    expect(forms()).toEqual([
      { grant_type: 'client_credentials', scope: 'tools', resource: plane.upstream.url },
    ]);
    const [name, password] = Buffer.from(
      login.journal[0]!.headers.authorization!.slice('Basic '.length),
      'base64',
    )
      .toString()
      .split(':')
      .map((part) => new URLSearchParams(`v=${part}`).get('v'));
    expect([name, password]).toEqual([oauthClients.basic.id, oauthClients.basic.secret]);
    const [token] = sentTokens();
    expect(decodeJwt(token!)).toMatchObject({ aud: plane.upstream.url, scope: 'tools' });
    expect(JSON.stringify(plane.upstream.journal)).not.toContain(key);
  });

  it('receives a token by a secret in the form', async () => {
    const { slug } = await serverWith({
      oauth_token_endpoint_auth_method: 'client_secret_post',
      oauth_client_id: oauthClients.post.id,
      oauth_client_secret: oauthClients.post.secret,
    });
    expect(await statusAt(slug)).toBe(200);
    expect(login.journal[0]!.headers.authorization).toBeUndefined();
    expect(forms()[0]).toMatchObject({ client_secret: oauthClients.post.secret });
  });

  it.each(['pem', 'jwk'] as const)('receives a token by an assertion of a %s', async (form) => {
    const { slug } = await serverWith({
      oauth_token_endpoint_auth_method: 'private_key_jwt',
      oauth_client_id: oauthClients.keyed.id,
      oauth_client_secret: undefined,
      oauth_private_key: login.keys[form],
      ...(form === 'pem' && { oauth_private_key_id: 'client', oauth_issuer: login.url }),
    });
    expect(await statusAt(slug)).toBe(200);
    const { client_assertion: assertion = '', client_secret: sent } = forms()[0]!;
    expect(sent).toBeUndefined();
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'ES256', kid: 'client' });
    const { aud, exp, iat } = decodeJwt(assertion);
    expect([aud, exp! - iat!]).toEqual([form === 'pem' ? login.url : login.tokenUrl, 60]);
  });

  it('is asked for without a resource, or with another one, as configured', async () => {
    plane.upstream.guard = null;
    const other = 'https://other.example.com/mcp';
    for (const oauth_resource of ['', other]) {
      await statusAt((await serverWith({ oauth_resource })).slug);
    }
    expect(forms().map(({ resource }) => resource)).toEqual([undefined, other]);
  });

  it('shares one token among concurrent calls, sessions and streams until it expires', async () => {
    const { slug } = await serverWith();
    const all = await Promise.all(Array.from({ length: 8 }, () => statusAt(slug)));
    expect(all).toEqual(Array(8).fill(200));
    const ended = await plane.send(key, slug, undefined, { method: 'DELETE' });
    expect(ended.status).toBe(200);
    plane.server.clock.advance(3_500_000);
    expect(await statusAt(slug)).toBe(200);
    expect(login.journal).toHaveLength(1);
    plane.server.clock.advance(50_000);
    expect(await statusAt(slug)).toBe(200);
    expect(login.journal).toHaveLength(2);
    expect(new Set(sentTokens()).size).toBe(2);
  });

  it('is called once more with a new token when it rejects the cached one', async () => {
    const { slug } = await serverWith();
    expect(await statusAt(slug)).toBe(200);
    revoked.add(sentTokens()[0]!);
    plane.upstream.journal.length = 0;
    const all = await Promise.all([statusAt(slug), statusAt(slug), statusAt(slug)]);
    expect(all).toEqual([200, 200, 200]);
    expect(login.journal).toHaveLength(2);
    expect(plane.upstream.calls()).toEqual([]);
  });

  it('is 502 when it rejects a new token too, and is called twice only', async () => {
    const { slug } = await serverWith();
    plane.upstream.guard = async () => false;
    const refused = await plane.send(key, slug, list);
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(refused.headers['www-authenticate']).toBeUndefined();
    expect([login.journal.length, plane.upstream.journal.length]).toEqual([2, 2]);
  });

  it('counts a call that is sent twice as one', async () => {
    const { slug } = await serverWith();
    await plane.create('/v1/policies/rate-limits', {
      name: 'two calls',
      workspace_id: plane.workspace.id,
      target: 'mcp_tools',
      conditions: [{ key: 'mcp_server', value: slug }],
      group_by: [{ key: 'mcp_server' }],
      type: 'requests',
      unit: 'rpd',
      value: 2,
    });
    const call = async () =>
      (await plane.call(key, slug, 'tools/call', { name: 'echo', arguments: {} })).status;
    expect(await call()).toBe(200);
    revoked.add(sentTokens()[0]!);
    expect([await call(), await call()]).toEqual([200, 429]);
    expect(plane.upstream.calls()).toHaveLength(3);
  });

  it('receives another token within a second when its login changes', async () => {
    const { slug, integration } = await serverWith();
    expect(await statusAt(slug)).toBe(200);
    const configurations = {
      ...basicFields,
      oauth_client_secret: '********',
      oauth_token_endpoint: login.tokenUrl,
      oauth_scope: 'prompts',
    };
    const path = `/v2/mcp-integrations/${integration.id}`;
    const changed = await plane.server.request('PUT', path, { body: { configurations } });
    expect(changed.status).toBe(200);
    await eventually(async () => {
      await statusAt(slug);
      expect(forms().at(-1)!.scope).toBe('prompts');
    });
    expect(login.journal).toHaveLength(2);
  });

  it('is discovered with a token, too', async () => {
    const { integration } = await serverWith();
    const path = `/v2/mcp-integrations/${integration.id}`;
    const synced = await plane.server.request('POST', `${path}/sync`, { body: {} });
    expect(synced.body).toMatchObject({ success: true, sync_status: 'synced' });
    login.script = (_, response) => sendJson(response, { error: 'invalid_client' }, 401);
    const failed = await plane.server.request('POST', `${path}/sync`, { body: {} });
    expect(failed.body.sync_error).toBe(
      'the gateway obtains no access token: it refuses the client (401 invalid_client)',
    );
  });
});

describe('a token that cannot be obtained', () => {
  const secret = oauthClients.basic.secret;
  it.each([
    [
      'the client is refused',
      {},
      { status: 401, body: { error: 'invalid_client', error_description: secret } },
      'it refuses the client (401 invalid_client)',
    ],
    ['the endpoint redirects', {}, { status: 307, body: {} }, 'it responds with 307'],
    ['there is no token', {}, { status: 200, body: { a: 1 } }, 'its response contains no bearer'],
    [
      'fields are missing',
      { oauth_client_secret: undefined },
      null,
      'its configurations have no oauth_client_secret',
    ],
  ])('is 502 with the reason and no secret when %s', async (_, configurations, answer, reason) => {
    const { slug, integration } = await serverWith(configurations);
    if (answer !== null) {
      login.script = (_request, response) => {
        response.setHeader('location', `${login.url}/elsewhere`);
        sendJson(response, answer.body, answer.status);
      };
    }
    const refused = await plane.send(key, slug, list);
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    const { message, data } = refused.body.error;
    expect(data).toEqual({ code: 'token_unavailable' });
    expect(message).toContain(`The MCP integration ${integration.slug} obtains no access token`);
    expect(message).toContain(reason);
    expect(JSON.stringify(refused.body)).not.toContain('canary');
    expect(plane.upstream.journal).toEqual([]);
    expect(login.journal.length).toBeLessThanOrEqual(1);
  });
});

describe('the configuration of a login', () => {
  const create = (configurations: object) =>
    plane.server.request('POST', '/v2/mcp-integrations', {
      body: {
        name: 'login',
        url: plane.upstream.url,
        auth_type: 'oauth_client_credentials',
        transport: 'http',
        configurations,
      },
    });
  const signed = { oauth_token_endpoint_auth_method: 'private_key_jwt' };

  it.each([
    ['oauth_token_endpoint', { oauth_token_endpoint: 'http://169.254.169.254/token' }],
    ['oauth_token_endpoint', { oauth_token_endpoint: 'http://[64:ff9b::a9fe:a9fe]/token' }],
    ['oauth_token_endpoint_auth_method', { oauth_token_endpoint_auth_method: 'none' }],
    ['oauth_private_key', signed],
    ['oauth_private_key', { oauth_private_key: 'canary' }],
    ['oauth_private_key', { ...signed, oauth_private_key: 'canary' }],
    ['oauth_private_key', { ...signed, oauth_private_key: '{"kty":"oct","k":"canary"}' }],
  ])('returns 400 at %s when it cannot work: %j', async (field, configurations) => {
    const { status, body } = await create(configurations);
    expect([status, body.error.param]).toEqual([400, `configurations.${field}`]);
    expect(JSON.stringify(body)).not.toContain('canary');
  });

  it('keeps secrets sealed and masked, and sends them to no other endpoint', async () => {
    const fields = { ...signed, oauth_client_id: 'keyed', oauth_token_endpoint: login.tokenUrl };
    const made = await create({ ...fields, oauth_private_key: login.keys.jwk });
    const path = `/v2/mcp-integrations/${made.body.id}`;
    const { body } = await plane.server.request('GET', path);
    const expected = { ...fields, oauth_private_key: '********' };
    expect(body.configurations).toEqual(expected);
    const { d } = JSON.parse(login.keys.jwk) as { d: string };
    expect(await dumpDatabase(plane.server.database.db)).not.toContain(d);
    const elsewhere = { ...expected, oauth_token_endpoint: `${login.url}/other` };
    const moved = await plane.server.request('PUT', path, { body: { configurations: elsewhere } });
    expect([moved.status, moved.body.error.param]).toEqual([
      400,
      'configurations.oauth_private_key',
    ]);
  });
});

it('writes no secret, assertion or token anywhere', async () => {
  await using own = await startMcpTestPlane({}, login.host);
  own.upstream.guard = async () => false;
  const { key: caller } = await own.addKey();
  const fields = { oauth_token_endpoint: login.tokenUrl, ...basicFields };
  const integration = await own.addIntegration({
    auth_type: 'oauth_client_credentials',
    configurations: fields,
  });
  const { slug } = await own.addServer({}, integration);
  const call = () => own.call(caller, slug, 'tools/call', { name: 'echo', arguments: {} });
  const answers = [await call()];
  own.upstream.guard = null;
  answers.push(await call());
  login.script = (_, response) =>
    sendJson(response, { error: 'x', error_description: oauthClients.basic.secret }, 400);
  own.server.clock.advance(7_200_000);
  answers.push(await call());
  expect(answers.map(({ status }) => status)).toEqual([502, 200, 502]);
  await logIsWritten(own.server);
  const metrics = await exchange('GET', `${own.server.metricsUrl}/metrics`, undefined, {});
  const record = await own.server.request('GET', `/v2/mcp-integrations/${integration.id}`);
  const all = [answers, own.server.logLines, metrics.body, record.body]
    .map((text) => JSON.stringify(text))
    .join('\n');
  const dump = await dumpDatabase(own.server.database.db);
  const tokens = own.upstream.journal.map(({ headers }) => headers.authorization!.slice(7));
  const basic = login.journal[0]!.headers.authorization!.slice(6);
  expect(tokens.length).toBeGreaterThan(2);
  for (const canary of [oauthClients.basic.secret, basic, ...tokens]) {
    expect([canary, all.includes(canary), dump.includes(canary)]).toEqual([canary, false, false]);
  }
});
