/** Verifies which OAuth client the gateway is at an authorization server: configured, described by a document, or registered. */
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../support/server/eventually.ts';
import {
  publicUrl,
  startUserOAuthScene,
  type UserOAuthScene,
} from '../../../support/server/user-oauth.ts';

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const redirectUri = `${publicUrl}/oauth/callback`;
const configured = {
  client_id: 'configured',
  client_secret: 'canary secret: of %the client',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
};
const configurations = {
  oauth_client_id: configured.client_id,
  oauth_client_secret: configured.client_secret,
};

async function works({ plane, server, connect }: UserOAuthScene, key: string): Promise<boolean> {
  const connected = await connect(key);
  if (connected.status !== 200) throw new Error(connected.text);
  return (await plane.send(key, server.slug, list)).body.result !== undefined;
}

describe('the client of the gateway', () => {
  it('is described by a document where the authorization server accepts one', async () => {
    const gateway = { url: '' };
    await using scene = await startUserOAuthScene({
      fetch: async (url) => {
        const { pathname, origin } = new URL(url);
        expect(origin).toBe(publicUrl);
        const { body, headers } = await request(gateway.url + pathname);
        return new Response(await body.text(), { headers: headers as Record<string, string> });
      },
    });
    gateway.url = scene.plane.server.mcpUrl;
    const { key } = await scene.addUserKey();
    expect(await works(scene, key)).toBe(true);
    expect(scene.issuer.registrations).toEqual([]);
    const [{ form }] = scene.issuer.journal as [UserOAuthScene['issuer']['journal'][0]];
    expect(form.get('client_id')).toBe(`${publicUrl}/oauth/client.json`);
    scene.plane.server.clock.advance(3_600_000);
    expect((await scene.plane.send(key, scene.server.slug, list)).body.result).toBeDefined();
  });

  it.each([
    ['a header', 'client_secret_basic'],
    ['the body', 'client_secret_post'],
  ])('is the configured one, which sends its secret in %s', async (_, method) => {
    const clients = [{ ...configured, token_endpoint_auth_method: method }];
    await using scene = await startUserOAuthScene({ clients }, { configurations });
    scene.issuer.metadata = { token_endpoint_auth_methods_supported: [method] };
    const { key } = await scene.addUserKey();
    expect(await works(scene, key)).toBe(true);
    expect(scene.issuer.registrations).toEqual([]);
    const [{ form, authorization }] = scene.issuer.journal as [
      UserOAuthScene['issuer']['journal'][0],
    ];
    expect(authorization === undefined).toBe(method === 'client_secret_post');
    expect(form.get('client_secret') === null).toBe(method === 'client_secret_basic');
    expect(scene.plane.server.logLines.join()).not.toContain('canary secret');
  });

  it('sends a configured secret to the first authorization server only', async () => {
    await using scene = await startUserOAuthScene({ clients: [configured] }, { configurations });
    const { key } = await scene.addUserKey();
    expect(await works(scene, key)).toBe(true);
    const { host } = scene.plane.upstream;
    // The server now names an authorization server of its own.
    const issuer = `http://${host}/evil`;
    scene.resourceMetadata = { authorization_servers: [issuer] };
    scene.plane.upstream.script = (_, response) => response.end();
    const { intercept } = scene.plane.upstream;
    scene.plane.upstream.intercept = (entry, response) => {
      if (!entry.url.endsWith('/evil')) return intercept!(entry, response);
      const endpoints = {
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
      };
      const pkce = { code_challenge_methods_supported: ['S256'] };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ issuer, ...endpoints, ...pkce }));
      return true;
    };
    const url = `${publicUrl}/${scene.server.slug}/connect`;
    const refused = await scene.enterKey(scene.openBrowser(), url, key);
    expect(refused).toMatchObject({
      status: 400,
      text: expect.stringContaining('the client of the integration is for'),
    });
    const other = { configurations: { ...configurations, oauth_client_secret: 'another' } };
    const integrations = await scene.plane.server.request('GET', '/v2/mcp-integrations');
    const path = `/v2/mcp-integrations/${integrations.body.data[0].id}`;
    expect((await scene.plane.server.request('PUT', path, { body: other })).status).toBe(200);
    await eventually(async () => {
      const page = await scene.enterKey(scene.openBrowser(), url, key);
      expect(page.status).toBe(200);
    });
  });

  it('is registered anew when the authorization server has forgotten it', async () => {
    await using scene = await startUserOAuthScene();
    const { key } = await scene.addUserKey();
    expect(await works(scene, key)).toBe(true);
    scene.issuer.answer = (incoming, response) => {
      if (incoming.url !== '/token') return false;
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":"invalid_client"}');
      return true;
    };
    scene.plane.server.clock.advance(3_600_000);
    const refused = await scene.plane.send(key, scene.server.slug, list);
    expect(refused.body.error.data.code).toBe('connection_required');
    scene.issuer.answer = null;
    expect(await works(scene, key)).toBe(true);
    expect(scene.issuer.registrations).toHaveLength(2);
  });

  it('is a matter of the administrator where nothing can be registered', async () => {
    await using scene = await startUserOAuthScene({ registers: false });
    const { key } = await scene.addUserKey();
    const url = `${publicUrl}/${scene.server.slug}/connect`;
    const refused = await scene.enterKey(scene.openBrowser(), url, key);
    expect(refused.text).toContain('set configurations.oauth_client_id');
  });
});
