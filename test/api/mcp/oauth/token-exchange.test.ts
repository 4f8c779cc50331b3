/** Verifies servers for which the gateway exchanges the token of each caller (RFC 8693) at a real authorization server. */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
let login: OAuthServer;
let other: OAuthServer;
let plane: McpTestPlane;

beforeAll(async () => {
  login = await startOAuthServer();
  other = await startOAuthServer();
  plane = await startPlane([]);
});
beforeEach(() => {
  for (const server of [login, other]) {
    server.journal.length = 0;
    server.script = null;
  }
  plane.upstream.journal.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await login[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

async function startPlane(authorizationServers: readonly string[]): Promise<McpTestPlane> {
  const settings = testSettings();
  const tokens = tokenSettings(`${login.url}/jwks`, { issuer: login.url });
  const started = await startMcpTestPlane(
    {
      inference: { ...settings.inference, tokens },
      mcp: { ...settings.mcp, publicUrl, authorizationServers },
    },
    `${login.host},${other.host}`,
  );
  started.upstream.guard = async ({ authorization = '' }) =>
    await login.verifies(authorization.slice('Bearer '.length), started.upstream.url);
  return started;
}

const tokenOf = (sub: string, at = plane) =>
  login.sign({
    sub,
    aud: publicUrl,
    tsg_id: at.server.tsgId,
    workspace_slug: at.workspace.slug,
    scopes: ['mcp.invoke'],
    exp: Math.floor(at.server.clock.now() / 1000) + 3600,
  });

async function slugWith(configurations: object = {}, at = plane): Promise<string> {
  const integration = await at.addIntegration({
    auth_type: 'oauth_client_credentials',
    configurations: {
      oauth_grant_type: 'token_exchange',
      oauth_client_id: oauthClients.basic.id,
      oauth_client_secret: oauthClients.basic.secret,
      oauth_token_endpoint: login.tokenUrl,
      oauth_scope: 'tools',
      oauth_audience: 'crm',
      ...configurations,
    },
  });
  return (await at.addServer({}, integration)).slug;
}

const sentTokens = () =>
  plane.upstream.journal.map(({ headers }) => headers.authorization!.replace('Bearer ', ''));

describe('a server with token exchange', () => {
  it('knows the caller by a token of its own, and never receives the token that was sent', async () => {
    const slug = await slugWith();
    const [ada, ben] = [await tokenOf('ada'), await tokenOf('ben')];
    for (const token of [ada, ben, ada]) {
      expect(await plane.send(token, slug, list)).toMatchObject({
        status: 200,
        body: { id: 'seven' },
      });
    }
    const subjects = sentTokens().map((token) => decodeJwt(token));
    expect(subjects.map(({ sub }) => sub)).toEqual(['ada', 'ben', 'ada']);
    expect(subjects[0]).toMatchObject({
      aud: plane.upstream.url,
      act: { sub: oauthClients.basic.id },
    });
    expect(login.journal.map(({ form }) => form)).toEqual(
      [ada, ben].map((subject_token) => ({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: plane.upstream.url,
        audience: 'crm',
        scope: 'tools',
      })),
    );
    const seen = JSON.stringify(plane.upstream.journal);
    expect([ada, ben].some((token) => seen.includes(token))).toBe(false);
  });

  it('is 403 for a key, which stands for no user, and requests no token', async () => {
    const slug = await slugWith();
    const { key } = await plane.addKey();
    const refused = await plane.send(key, slug, list);
    expect(refused).toMatchObject({ status: 403, body: { id: 'seven' } });
    expect(refused.body.error.data.code).toBe('token_required');
    expect([login.journal, plane.upstream.journal]).toEqual([[], []]);
  });

  it('is 502 when the exchange is refused', async () => {
    const slug = await slugWith();
    login.script = (_, response) => sendJson(response, { error: 'invalid_target' }, 400);
    const refused = await plane.send(await tokenOf('eve'), slug, list);
    expect([refused.status, refused.body.error.data.code]).toEqual([502, 'token_unavailable']);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('is queried with a stored access token only', async () => {
    const slug = await slugWith();
    const tested = await plane.server.request('POST', `/v2/mcp-servers/${slug}/test`, { body: {} });
    expect(tested.body).toMatchObject({
      success: false,
      error: 'its tokens are exchanged for those of callers; store an access token',
    });
  });
});

describe('a token endpoint that does not belong to the issuer of the token', () => {
  it('never receives the token of a caller', async () => {
    const slug = await slugWith({ oauth_token_endpoint: other.tokenUrl });
    const refused = await plane.send(await tokenOf('ada'), slug, list);
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(refused.body.error.message).toContain('GATEWRIGHT_MCP_AUTHORIZATION_SERVERS');
    expect([login.journal, other.journal, plane.upstream.journal]).toEqual([[], [], []]);
  });

  it('receives it when the operator lists its server', async () => {
    await using own = await startPlane([other.url]);
    const slug = await slugWith({ oauth_token_endpoint: other.tokenUrl }, own);
    await own.send(await tokenOf('ada', own), slug, list);
    expect(other.journal).toHaveLength(1);
  });
});

it('writes neither the exchanged token nor that of the caller anywhere', async () => {
  const slug = await slugWith();
  const token = await tokenOf('canary');
  const answer = await plane.call(token, slug, 'tools/call', { name: 'echo', arguments: {} });
  expect(answer.status).toBe(200);
  await logIsWritten(plane.server);
  const all = JSON.stringify([answer, plane.server.logLines]);
  const dump = await dumpDatabase(plane.server.database.db);
  for (const canary of [token, ...sentTokens()]) {
    expect([canary, all.includes(canary), dump.includes(canary)]).toEqual([canary, false, false]);
  }
});
