/** Verifies that callers of a server with `external_auth_config` sign in at that identity provider, beside the key of the gateway. */
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTokenIssuer, type TokenIssuer } from '../../support/callers/token-issuer.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { testSettings } from '../../support/server/server.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

const publicUrl = 'https://gateway.example.com/tools';
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };

let provider: TokenIssuer;
let signer: Awaited<ReturnType<TokenIssuer['addKey']>>;
let issuer: string;
let plane: McpTestPlane;
let key: string;

beforeAll(async () => {
  provider = await startTokenIssuer();
  signer = await provider.addKey('main', 'ES256');
  issuer = `http://${provider.host}/realms/staff`;
  const mcp = { ...testSettings().mcp, publicUrl, authorizationServers: [] };
  plane = await startMcpTestPlane({ mcp }, provider.host);
  ({ key } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
  provider.answer = ({ url }, response) =>
    url!.startsWith('/.well-known/')
      ? sendJson(response, { issuer, jwks_uri: provider.url })
      : sendJson(response, { keys: provider.published });
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

async function addServer(external: object = {}, configurations: object = {}): Promise<string> {
  const external_auth_config = { issuer, scope: 'openid mcp', ...external };
  const integration = await plane.addIntegration({
    configurations: { external_auth_config, ...configurations },
  });
  return (await plane.addServer({}, integration)).slug;
}

/** The verifier reads the clock of the machine. */
function tokenWith(claims: object): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  return signer.sign({ iss: issuer, sub: 'ada', iat, exp: iat + 600, ...claims });
}

const sendWith = (slug: string, token: string | null) =>
  plane.send(null, slug, list, {
    headers: { 'x-gateway-api-key': key, ...(token && { authorization: `Bearer ${token}` }) },
  });
const addressOf = (slug: string) => `${publicUrl}/${slug}/mcp`;
const resourceMetadataOf = (slug: string, at: URL | undefined) =>
  discoverOAuthProtectedResourceMetadata(
    addressOf(slug),
    { resourceMetadataUrl: at! },
    (url, init) =>
      fetch(String(url).replace('https://gateway.example.com', plane.server.mcpUrl), init),
  );

async function challengeOf(slug: string) {
  const response = await fetch(`${plane.server.mcpUrl}/${slug}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gateway-api-key': key },
    body: JSON.stringify(list),
  });
  return { status: response.status, ...extractWWWAuthenticateParams(response) };
}

describe('a server whose callers sign in at an identity provider of its own', () => {
  it('leads a client without a token to the provider', async () => {
    const slug = await addServer();
    const { status, error, scope, resourceMetadataUrl } = await challengeOf(slug);
    expect([status, error, scope]).toEqual([401, undefined, 'openid mcp']);
    expect(await resourceMetadataOf(slug, resourceMetadataUrl)).toEqual({
      resource: addressOf(slug),
      authorization_servers: [issuer],
      scopes_supported: ['openid', 'mcp'],
      bearer_methods_supported: ['header'],
    });
    expect(plane.upstream.journal).toEqual([]);
  });

  it('names no provider in metadata that this gateway has not named for the server', async () => {
    const [slug, other] = [await addServer(), await addServer()];
    const { resourceMetadataUrl: named } = await challengeOf(slug);
    const sealed = named!.search;
    const path = `/.well-known/oauth-protected-resource/tools/${slug}/mcp`;
    // The last character has bits that mean nothing.
    const at = sealed.length - 10;
    const altered = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    for (const wrong of ['', '?issuer=https://evil.example.com', altered]) {
      const { status } = await exchange(
        'GET',
        `${plane.server.mcpUrl}${path}${wrong}`,
        undefined,
        {},
      );
      expect([wrong, status]).not.toEqual([wrong, 200]);
    }
    const moved = path.replace(slug, other) + sealed;
    expect(
      (await exchange('GET', `${plane.server.mcpUrl}${moved}`, undefined, {})).status,
    ).not.toBe(200);
  });

  it.each(['the server', 'the gateway'])('accepts a token for %s, and keeps it', async (what) => {
    const slug = await addServer();
    const aud = what === 'the server' ? [addressOf(slug), 'other'] : publicUrl;
    const token = await tokenWith({ aud });
    expect(await sendWith(slug, token)).toMatchObject({ status: 200 });
    expect(plane.upstream.journal).toHaveLength(1);
    expect(JSON.stringify(plane.upstream.journal)).not.toContain(token);
  });

  it('refuses a token for another server, of another issuer, or without audience', async () => {
    const [slug, other] = [await addServer(), await addServer()];
    const own = { aud: addressOf(slug) };
    const refusals = [
      { aud: addressOf(other) },
      {},
      { ...own, iss: `http://${provider.host}/realms/guests` },
      { ...own, exp: 1 },
    ];
    for (const claims of refusals) {
      const refused = await sendWith(slug, await tokenWith(claims));
      expect(refused).toMatchObject({
        status: 401,
        body: { error: { data: { code: 'token_invalid' } } },
      });
      expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    }
    expect(plane.upstream.journal).toEqual([]);
  });

  it('accepts tokens for the configured audience only', async () => {
    const slug = await addServer({ audience: 'api://crm' });
    expect(await sendWith(slug, await tokenWith({ aud: 'api://crm' }))).toMatchObject({
      status: 200,
    });
    expect((await sendWith(slug, await tokenWith({ aud: addressOf(slug) }))).status).toBe(401);
  });

  it('needs the key of the gateway, too', async () => {
    const slug = await addServer();
    const token = await tokenWith({ aud: addressOf(slug) });
    const refused = await plane.send(token, slug, list);
    expect(refused.status).toBe(401);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('verifies by the rules of jwt_validation where they are set, with issuer and audience', async () => {
    const jwt_validation = {
      jwksUri: provider.url,
      algorithms: ['ES256'],
      requiredClaims: ['team'],
    };
    const slug = await addServer({}, { jwt_validation });
    const aud = addressOf(slug);
    const statuses = [{ aud, team: 'a' }, { aud }, { aud: 'other', team: 'a' }].map(
      async (claims) => (await sendWith(slug, await tokenWith(claims))).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 401, 401]);
  });

  it('is 503 while the provider cannot be reached, and recovers', async () => {
    const slug = await addServer();
    const { answer } = provider;
    provider.answer = (_, response) => void response.destroy();
    const token = await tokenWith({ aud: addressOf(slug) });
    expect(await sendWith(slug, token)).toMatchObject({
      status: 503,
      body: { error: { data: { code: 'token_unverified' } } },
    });
    provider.answer = answer;
    expect((await sendWith(slug, token)).status).toBe(200);
  });
});

it.each([
  [{ authorization_endpoint: 'https://login.example.com/authorize' }, 'issuer'],
  [{ issuer: 'http://login.example.com' }, 'issuer'],
  [{ issuer: 'https://169.254.169.254' }, 'issuer'],
])('refuses to store the provider %j, naming the member', async (external_auth_config, member) => {
  const body = {
    name: 'crm',
    url: plane.upstream.url,
    auth_type: 'none',
    transport: 'http',
    workspace_id: plane.workspace.id,
    configurations: { external_auth_config },
  };
  const refused = await plane.server.request('POST', '/v1/mcp-integrations', { body });
  expect([refused.status, refused.body.error.param]).toEqual([
    400,
    `configurations.external_auth_config.${member}`,
  ]);
});
