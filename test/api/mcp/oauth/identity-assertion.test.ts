/** Verifies servers that accept assertions of the callers' identity provider (ID-JAG), at two real authorization servers. */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type OAuthServer,
  oauthClients,
  startOAuthServer,
} from '../../../support/callers/oauth-server.ts';
import { tokenSettings } from '../../../support/callers/token-issuer.ts';
import { dumpDatabase } from '../../../support/database/dump.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../../support/server/mcp-plane.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { testSettings } from '../../../support/server/server.ts';
import { sendJson } from '../../../support/upstream/upstream.ts';

const publicUrl = 'https://gateway.example.com';
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };
const { id, secret } = oauthClients.basic;
const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
/** The authorization server of the company whose users call. */
let identityProvider: OAuthServer;
/** The authorization server of the vendor of the MCP server. */
let vendor: OAuthServer;
let plane: McpTestPlane;

beforeAll(async () => {
  identityProvider = await startOAuthServer();
  vendor = await startOAuthServer(identityProvider);
  const settings = testSettings();
  const tokens = tokenSettings(`${identityProvider.url}/jwks`, { issuer: identityProvider.url });
  const inference = { ...settings.inference, tokens };
  const hosts = `${identityProvider.host},${vendor.host}`;
  plane = await startMcpTestPlane({ inference, mcp: { ...settings.mcp, publicUrl } }, hosts);
  plane.upstream.guard = ({ authorization = '' }) =>
    vendor.verifies(authorization.slice('Bearer '.length), plane.upstream.url);
});
beforeEach(() => {
  for (const server of [identityProvider, vendor]) {
    server.journal.length = 0;
    server.script = null;
  }
  plane.upstream.journal.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await vendor[Symbol.asyncDispose]();
  await identityProvider[Symbol.asyncDispose]();
});

const configurations = () => ({
  oauth_grant_type: 'identity_assertion',
  oauth_client_id: id,
  oauth_client_secret: secret,
  oauth_token_endpoint: vendor.tokenUrl,
  oauth_issuer: vendor.url,
  oauth_idp_client_id: id,
  oauth_idp_client_secret: secret,
  oauth_idp_token_endpoint: identityProvider.tokenUrl,
  oauth_scope: 'tools',
});

async function slugWith(more: object = {}): Promise<string> {
  const integration = await plane.addIntegration({
    auth_type: 'oauth_client_credentials',
    configurations: { ...configurations(), ...more },
  });
  return (await plane.addServer({}, integration)).slug;
}

const tokenOf = (sub: string, typ?: string) =>
  identityProvider.sign(
    {
      sub,
      aud: publicUrl,
      tsg_id: plane.server.tsgId,
      workspace_slug: plane.workspace.slug,
      scopes: ['mcp.invoke'],
      exp: Math.floor(plane.server.clock.now() / 1000) + 3600,
    },
    typ,
  );

const sentToken = () => plane.upstream.journal.at(-1)!.headers.authorization!.slice(7);

it.each([
  ['an access token', 'at+jwt', tokenType('access_token')],
  ['an identity token', 'JWT', tokenType('id_token')],
])('exchanges %s for an assertion, and that for a token of the server', async (_, typ, type) => {
  const slug = await slugWith();
  const token = await tokenOf('ada', typ);
  for (const _ of [1, 2]) {
    expect(await plane.send(token, slug, list)).toMatchObject({ status: 200 });
  }
  expect(decodeJwt(sentToken())).toMatchObject({
    iss: vendor.url,
    sub: 'ada',
    aud: plane.upstream.url,
  });
  expect(identityProvider.journal.map(({ form }) => form)).toEqual([
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: type,
      requested_token_type: tokenType('id-jag'),
      audience: vendor.url,
      resource: plane.upstream.url,
      scope: 'tools',
    },
  ]);
  expect(vendor.journal.map(({ form }) => form)).toEqual([
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: expect.stringMatching(/^ey/),
      resource: plane.upstream.url,
      scope: 'tools',
    },
  ]);
  expect(JSON.stringify([vendor.journal, plane.upstream.journal])).not.toContain(token);
});

it('is 502 when either server refuses, and names which', async () => {
  const slug = await slugWith();
  const refuse: OAuthServer['script'] = (_, response) =>
    sendJson(response, { error: 'invalid_grant' }, 400);
  identityProvider.script = refuse;
  const first = await plane.send(await tokenOf('eve'), slug, list);
  identityProvider.script = null;
  vendor.script = refuse;
  const second = await plane.send(await tokenOf('eve'), slug, list);
  expect([first.status, second.status]).toEqual([502, 502]);
  expect(first.body.error.message).toContain('the identity provider: it refuses the client');
  expect(second.body.error.message).not.toContain('the identity provider');
  expect(plane.upstream.journal).toEqual([]);
});

it('sends the token of the caller to no identity provider but its own', async () => {
  const slug = await slugWith({ oauth_idp_token_endpoint: vendor.tokenUrl });
  const refused = await plane.send(await tokenOf('ada'), slug, list);
  expect(refused.status).toBe(502);
  expect(refused.body.error.message).toContain('its oauth_idp_token_endpoint belongs neither to');
  expect([identityProvider.journal, vendor.journal]).toEqual([[], []]);
});

it('is 403 for a key, which stands for no user', async () => {
  const { key } = await plane.addKey();
  const refused = await plane.send(key, await slugWith(), list);
  expect([refused.status, refused.body.error.data.code]).toEqual([403, 'token_required']);
});

it.each(['oauth_idp_token_endpoint', 'oauth_idp_client_id', 'oauth_issuer'])(
  'is refused without %s',
  async (name) => {
    const { [name]: _, ...rest } = configurations() as Record<string, unknown>;
    const body = {
      name: 'crm',
      url: plane.upstream.url,
      auth_type: 'oauth_client_credentials',
      transport: 'http',
      configurations: rest,
    };
    const refused = await plane.server.request('POST', '/v1/mcp-integrations', { body });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain(`configurations.${name}: is required`);
  },
);

it('keeps the secret at the identity provider, and asks for it again with another endpoint', async () => {
  const { id: integration } = await plane.addIntegration({
    auth_type: 'oauth_client_credentials',
    configurations: configurations(),
  });
  const path = `/v1/mcp-integrations/${integration}`;
  const read = await plane.server.request('GET', path);
  expect(read.body.configurations.oauth_idp_client_secret).toBe('********');
  const changed = {
    ...read.body.configurations,
    oauth_idp_token_endpoint: `${identityProvider.url}/elsewhere`,
  };
  const refused = await plane.server.request('PUT', path, { body: { configurations: changed } });
  expect(refused.status).toBe(400);
  const text = JSON.stringify(refused.body);
  expect(text).toContain('oauth_idp_client_secret: must be sent again');
  expect(text).not.toContain('oauth_client_secret: must');
});

it('writes no token, assertion or secret anywhere', async () => {
  const token = await tokenOf('canary');
  const answer = await plane.send(token, await slugWith(), list);
  expect(answer.status).toBe(200);
  await logIsWritten(plane.server);
  const all = JSON.stringify([answer, plane.server.logLines]);
  const dump = await dumpDatabase(plane.server.database.db);
  const { assertion } = vendor.journal.at(-1)!.form;
  for (const canary of [token, sentToken(), assertion!, secret]) {
    expect([canary, all.includes(canary), dump.includes(canary)]).toEqual([canary, false, false]);
  }
});
