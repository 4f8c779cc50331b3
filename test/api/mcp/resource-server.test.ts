/** Verifies the gateway as OAuth resource server: metadata, challenges, and the audience of each token. */
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  startTokenIssuer,
  type TokenIssuer,
  tokenSettings,
} from '../../support/callers/token-issuer.ts';
import { exchange } from '../../support/network/exchange.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { testSettings } from '../../support/server/server.ts';

const publicUrl = 'https://gateway.example.com/tools';
const metadataUrl = 'https://gateway.example.com/.well-known/oauth-protected-resource/tools';
const login = 'https://login.example.com/realms/main';
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };

let issuer: TokenIssuer;
let signer: Awaited<ReturnType<TokenIssuer['addKey']>>;
let plane: McpTestPlane;
let slug: string;
let other: string;

beforeAll(async () => {
  issuer = await startTokenIssuer();
  signer = await issuer.addKey('main');
  plane = await startPlane('gatewright', publicUrl);
  ({ slug } = await plane.addServer());
  ({ slug: other } = await plane.addServer());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

async function startPlane(
  audience: string | null,
  address: string | null,
  authorizationServers: readonly string[] = [login],
): Promise<McpTestPlane> {
  const settings = testSettings();
  const tokens = tokenSettings(issuer.url, { audience });
  const inference = { ...settings.inference, tokens };
  const mcp = { ...settings.mcp, publicUrl: address, authorizationServers };
  return await startMcpTestPlane({ inference, mcp }, issuer.host);
}

function tokenFor(at: McpTestPlane, aud: unknown, scopes = ['mcp.invoke']): Promise<string> {
  return signer.sign({
    tsg_id: at.server.tsgId,
    workspace_slug: at.workspace.slug,
    sub: 'agent',
    exp: Math.floor(at.server.clock.now() / 1000) + 3600,
    scopes,
    ...(aud === undefined ? {} : { aud }),
  });
}

const statusFor = async (aud: unknown, at = plane, to = slug) =>
  (await at.send(await tokenFor(at, aud), to, list)).status;

const get = (path: string, headers: Record<string, string> = {}) =>
  exchange('GET', `${plane.server.mcpUrl}${path}`, undefined, headers);

describe('the metadata of a server', () => {
  it('is found by a client that was refused without a token', async () => {
    const refused = await fetch(`${plane.server.mcpUrl}/${slug}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(list),
    });
    expect(refused.status).toBe(401);
    const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(refused);
    expect([String(resourceMetadataUrl), scope, error]).toEqual([
      `${metadataUrl}/${slug}/mcp`,
      'mcp.invoke',
      undefined,
    ]);
    const found = await discoverOAuthProtectedResourceMetadata(
      `${publicUrl}/${slug}/mcp`,
      { resourceMetadataUrl },
      (url, init) =>
        fetch(String(url).replace('https://gateway.example.com', plane.server.mcpUrl), init),
    );
    expect(found).toEqual({
      resource: `${publicUrl}/${slug}/mcp`,
      authorization_servers: [login],
      scopes_supported: ['mcp.invoke'],
      bearer_methods_supported: ['header'],
    });
  });

  it('is served behind a proxy that removes the path, and takes no address from headers', async () => {
    const path = `/.well-known/oauth-protected-resource/${slug}/mcp`;
    const { status, body } = await get(path, {
      'x-forwarded-host': 'evil.example.com',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example.com',
      host: 'evil.example.com',
    });
    expect([status, body.resource]).toEqual([200, `${publicUrl}/${slug}/mcp`]);
    const challenge = await plane.send(null, slug, list, {
      headers: { 'x-forwarded-host': 'evil.example.com' },
    });
    expect(challenge.headers['www-authenticate']).toContain(`${metadataUrl}/${slug}/mcp`);
  });

  it('does not tell whether the server exists', async () => {
    const path = '/.well-known/oauth-protected-resource/tools';
    const { status, body } = await get(`${path}/nothing/mcp`);
    expect([status, body.resource]).toEqual([200, `${publicUrl}/nothing/mcp`]);
    for (const wrong of ['', '/', '/nothing', '/a/b/mcp', '/%2e%2e/mcp']) {
      expect((await get(path + wrong)).status).not.toBe(200);
    }
  });

  it.each([
    ['an address', null, [login]],
    ['an authorization server', publicUrl, []],
  ])('does not exist without %s', async (_, address, servers) => {
    await using own = await startPlane('gatewright', address, servers);
    const server = await own.addServer();
    const path = `/.well-known/oauth-protected-resource/${server.slug}/mcp`;
    expect((await exchange('GET', `${own.server.mcpUrl}${path}`, undefined, {})).status).not.toBe(
      200,
    );
    const refused = await own.send(null, server.slug, list);
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toBe(
      'Bearer realm="gatewright", scope="mcp.invoke"',
    );
  });
});

describe('a token', () => {
  it('is accepted for the server, the gateway or the configured audience', async () => {
    const accepted = ['gatewright', publicUrl, `${publicUrl}/${slug}/mcp`];
    for (const aud of [...accepted, ['other', ...accepted]]) {
      expect([aud, await statusFor(aud)]).toEqual([aud, 200]);
    }
  });

  it('is 401 for another server, audience or none, and never reaches the server', async () => {
    const token = await tokenFor(plane, `${publicUrl}/${other}/mcp`);
    // Verified once, so that the second request finds the verified token.
    expect((await plane.send(token, other, list)).status).toBe(200);
    plane.upstream.journal.length = 0;
    const answer = await plane.send(token, slug, list);
    expect(answer).toMatchObject({ status: 401, body: { id: 'seven' } });
    expect(answer.body.error.data.code).toBe('invalid_token');
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer realm="gatewright", error="invalid_token", scope="mcp.invoke", ` +
        `resource_metadata="${metadataUrl}/${slug}/mcp"`,
    );
    const wrong = [
      undefined,
      [],
      'elsewhere',
      `${publicUrl}/`,
      `${publicUrl}/${slug}`,
      `${publicUrl}/${slug}/mcp/`,
      `${publicUrl}/${slug}/mcp?x=1`,
      `http://gateway.example.com/tools/${slug}/mcp`,
      `https://gateway.example.com/${slug}/mcp`,
    ];
    for (const aud of wrong) expect([aud, await statusFor(aud)]).toEqual([aud, 401]);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('is refused for models when it is for an MCP server', async () => {
    const token = await tokenFor(plane, `${publicUrl}/${slug}/mcp`, ['completions.write']);
    const url = `${plane.server.inferenceUrl}/v1/chat/completions`;
    const answer = await exchange('POST', url, {}, { authorization: `Bearer ${token}` });
    expect([answer.status, answer.body.error.code]).toEqual([401, 'invalid_token']);
  });

  it('is 401 where no audience is configured', async () => {
    await using own = await startPlane(null, null);
    const server = await own.addServer();
    expect(await statusFor('anything', own, server.slug)).toBe(401);
    const { key } = await own.addKey();
    expect((await own.send(key, server.slug, list)).status).toBe(200);
  });

  it('is 403 with a challenge that names all scopes when it lacks the scope', async () => {
    const token = await tokenFor(plane, 'gatewright', ['completions.write']);
    const refused = await plane.send(token, slug, list);
    expect(refused).toMatchObject({ status: 403, body: { id: 'seven' } });
    expect(refused.headers['www-authenticate']).toBe(
      `Bearer realm="gatewright", error="insufficient_scope", scope="mcp.invoke", ` +
        `resource_metadata="${metadataUrl}/${slug}/mcp"`,
    );
    expect(plane.upstream.journal).toEqual([]);
  });
});
