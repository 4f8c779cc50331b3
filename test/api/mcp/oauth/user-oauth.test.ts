/** Verifies how users connect accounts at MCP servers: the real oidc-provider issues the tokens, and the server's journal shows which it received. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../support/server/eventually.ts';
import {
  publicUrl,
  startUserOAuthScene,
  type UserOAuthScene,
} from '../../../support/server/user-oauth.ts';

let scene: UserOAuthScene;
let url: string;
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };

beforeAll(async () => {
  scene = await startUserOAuthScene();
  url = `${publicUrl}/${scene.server.slug}/connect`;
});
afterEach(() => {
  scene.plane.upstream.journal.length = 0;
  scene.issuer.metadata = {};
  scene.issuer.answer = null;
  scene.demandedScope = null;
  scene.resourceMetadata = {};
});
afterAll(() => scene[Symbol.asyncDispose]());

/** Methods that the server received with a token. */
const authorized = () =>
  scene.plane.upstream.journal
    .filter(({ headers }) => headers.authorization !== undefined)
    .map(({ body }) => body.method);

describe('a user without a connection', () => {
  it('connects an account in a browser, and calls the server with its token', async () => {
    const { plane, server, issuer } = scene;
    const { key } = await scene.addUserKey();
    const refused = await plane.send(key, server.slug, list);
    expect(refused).toMatchObject({
      status: 200,
      body: { id: 'seven', error: { code: -32000, data: { code: 'connection_required', url } } },
    });
    expect(refused.body.error.message).toContain(`open ${url}`);
    expect(plane.upstream.journal).toEqual([]);
    const connected = await scene.connect(key, url);
    expect(connected.text).toContain(`Connected to ${server.slug}`);
    const listed = await plane.send(key, server.slug, list);
    expect(listed).toMatchObject({ status: 200, body: { result: { tools: {} } } });
    expect(issuer.registrations).toEqual([
      expect.objectContaining({
        redirect_uris: [`${publicUrl}/oauth/callback`],
        application_type: 'web',
      }),
    ]);
    const [exchanged] = issuer.journal.slice(-1);
    expect(exchanged!.form.get('resource')).toBe(plane.upstream.url);
  });

  it('uses the registered client for further users', async () => {
    const { key } = await scene.addUserKey();
    await scene.connect(key);
    expect(scene.issuer.registrations).toHaveLength(1);
  });

  it.each([
    ['a version with addresses to open', { 'mcp-protocol-version': '2025-11-25' }, list, -32042],
    ['an older version', { 'mcp-protocol-version': '2025-06-18' }, list, -32000],
    [
      'initialize that declares them',
      {},
      { ...list, method: 'initialize', params: { capabilities: { elicitation: { url: {} } } } },
      -32042,
    ],
    ['initialize that declares none', {}, { ...list, method: 'initialize' }, -32000],
  ])('receives the address in the form for %s', async (_, headers, message, code) => {
    const { key } = await scene.addUserKey();
    const refused = await scene.plane.send(key, scene.server.slug, message, { headers });
    expect(refused).toMatchObject({ status: 200, body: { id: 'seven', error: { code } } });
    const { elicitations } = refused.body.error.data;
    if (code === -32000) return expect(elicitations).toBeUndefined();
    expect(elicitations).toEqual([
      { mode: 'url', url, elicitationId: url, message: expect.any(String) },
    ]);
  });

  it('is told in every message of a batch', async () => {
    const { key } = await scene.addUserKey();
    const refused = await scene.plane.send(key, scene.server.slug, [list, { ...list, id: 8 }]);
    expect(refused.body).toMatchObject([
      { id: 'seven', error: { data: { url } } },
      { id: 8, error: { data: { url } } },
    ]);
  });

  it('is a user: a key of a service is refused with the reason', async () => {
    const { key } = await scene.plane.addKey();
    const refused = await scene.plane.send(key, scene.server.slug, list);
    expect(refused).toMatchObject({
      status: 403,
      body: { id: 'seven', error: { data: { code: 'user_required' } } },
    });
    const page = await scene.enterKey(scene.openBrowser(), url, key);
    expect(page).toMatchObject({
      status: 403,
      text: expect.stringContaining('belongs to no user'),
    });
    expect(scene.plane.upstream.journal).toEqual([]);
  });
});

describe('a modern client', () => {
  const meta = (capabilities: object) => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  });
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
  };
  const call = (more: object = {}, capabilities: object = { elicitation: { url: {} } }) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'echo', arguments: { n: 1 }, _meta: meta(capabilities), ...more },
  });
  const answered = (action: string) => ({
    inputResponses: { gatewright_connect: { action } },
  });

  it('is asked to open the address, and its repeated call waits for the connection', async () => {
    const { plane, server } = scene;
    const { key } = await scene.addUserKey();
    const send = (body: unknown) => plane.send(key, server.slug, body, { headers });
    const question = await send(call());
    expect(question.body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'input_required',
        inputRequests: {
          gatewright_connect: {
            method: 'elicitation/create',
            params: { mode: 'url', url, message: expect.any(String) },
          },
        },
      },
    });
    const text = JSON.stringify(call(answered('accept'))).replace(
      '{"n":1}',
      '{"n":12345678901234567890}',
    );
    const repeated = plane.send(key, server.slug, text, {
      headers: { ...headers, 'content-type': 'application/json' },
    });
    await scene.connect(key);
    expect((await repeated).body).toMatchObject({ id: 1, result: { content: {} } });
    const received = plane.upstream.journal.at(-1)!;
    expect(received.body.params.inputResponses).toBeUndefined();
    expect(received.text).toContain('{"n":12345678901234567890}');
  });

  it.each([
    ['declines', call(answered('decline'))],
    ['opens no addresses', call({}, {})],
    ['answers another question', call({ requestState: 'of the server' })],
  ])('receives an error with the address when it %s', async (_, body) => {
    const { key } = await scene.addUserKey();
    const refused = await scene.plane.send(key, scene.server.slug, body, { headers });
    expect(refused.body).toMatchObject({ id: 1, error: { code: -32000, data: { url } } });
  });
});

describe('an authorization', () => {
  it('is finished by the browser that began it only, and once', async () => {
    const { issuer } = scene;
    const { key } = await scene.addUserKey();
    const browser = scene.openBrowser();
    const callback = await scene.authorize(browser, await scene.enterKey(browser, url, key));
    const before = issuer.journal.length;
    const stolen = await scene.openBrowser().get(callback);
    expect(stolen).toMatchObject({
      status: 400,
      text: expect.stringContaining('not begun in this'),
    });
    expect(issuer.journal).toHaveLength(before);
    const cookies = new Map(browser.cookies);
    expect((await browser.get(callback)).status).toBe(200);
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    expect((await browser.get(callback)).status).toBe(400);
    expect(issuer.journal).toHaveLength(before + 1);
  });

  it('begins on a page of the gateway only', async () => {
    const { key } = await scene.addUserKey();
    const foreign = await scene.openBrowser().post(url, { key }, 'https://evil.example');
    expect(foreign).toMatchObject({
      status: 400,
      text: expect.stringContaining('must be opened at'),
    });
  });

  it('shows what is authorized before the browser leaves', async () => {
    const { key } = await scene.addUserKey();
    const browser = scene.openBrowser();
    const { text } = await scene.enterKey(browser, url, key);
    for (const fact of [
      scene.issuer.url,
      scene.plane.upstream.url,
      `${publicUrl}/oauth/callback`,
    ]) {
      expect(text).toContain(`<dd>${fact}</dd>`);
    }
    expect([...browser.cookies.keys()][0]).toMatch(/^mcp\.test __Host-gatewright-mcp-/);
  });

  it('expires', async () => {
    const { key } = await scene.addUserKey();
    const browser = scene.openBrowser();
    const callback = await scene.authorize(browser, await scene.enterKey(browser, url, key));
    scene.plane.server.clock.advance(10 * 60_000);
    expect((await browser.get(callback)).status).toBe(400);
  });

  it.each([
    ['names another issuer', (of: URL) => of.searchParams.set('iss', 'https://evil.example')],
    ['spells the issuer differently', (of: URL) => of.searchParams.append('iss', '/')],
    ['adds a slash to the issuer', (of: URL) => of.searchParams.set('iss', `${scene.issuer.url}/`)],
    ['names no issuer', (of: URL) => of.searchParams.delete('iss')],
    [
      'reports an error of another issuer',
      (of: URL) => {
        of.searchParams.set('error', 'access_denied');
        of.searchParams.set('iss', 'https://evil.example');
      },
    ],
  ])('is refused before its code is sent when the response %s', async (_, change) => {
    const { key } = await scene.addUserKey();
    const browser = scene.openBrowser();
    const callback = new URL(
      await scene.authorize(browser, await scene.enterKey(browser, url, key)),
    );
    change(callback);
    const before = scene.issuer.journal.length;
    expect((await browser.get(callback.href)).status).toBe(400);
    expect(scene.issuer.journal).toHaveLength(before);
  });

  it('sends its code where it began, even if the metadata has changed', async () => {
    const { key } = await scene.addUserKey();
    const browser = scene.openBrowser();
    const callback = await scene.authorize(browser, await scene.enterKey(browser, url, key));
    scene.issuer.metadata = { token_endpoint: `http://${scene.plane.upstream.host}/trap` };
    expect((await browser.get(callback)).status).toBe(200);
    expect(scene.plane.upstream.journal.filter(({ url: at }) => at === '/trap')).toEqual([]);
  });

  it.each([
    ['metadata of another issuer', { issuer: 'https://evil.example' }, 'another issuer'],
    ['PKCE without S256', { code_challenge_methods_supported: ['plain'] }, 'PKCE'],
    ['no PKCE', { code_challenge_methods_supported: undefined }, 'PKCE'],
    [
      'an address that is a script',
      { authorization_endpoint: 'javascript:alert(1)' },
      'not an address',
    ],
  ])('is refused for %s', async (_, metadata, reason) => {
    scene.issuer.metadata = metadata;
    const { key } = await scene.addUserKey();
    const page = await scene.enterKey(scene.openBrowser(), url, key);
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining(reason) });
  });

  it('follows oauth_metadata of the integration in place of what is published', async () => {
    const oauth_metadata = { code_challenge_methods_supported: ['S256'] };
    await using own = await startUserOAuthScene({}, { configurations: { oauth_metadata } });
    own.issuer.metadata = { code_challenge_methods_supported: undefined };
    const { key } = await own.addUserKey();
    const page = await own.connect(key, `${publicUrl}/${own.server.slug}/connect`);
    expect(page.text).toContain(`Connected to ${own.server.slug}`);
  });

  it.each([
    ['describes another resource', { resource: 'https://other.example/mcp' }, 'another resource'],
    ['describes a part of the server', { resource: 'PART' }, 'another resource'],
    ['names no authorization server', { authorization_servers: [] }, 'no authorization server'],
    ['names a private address', { authorization_servers: ['https://10.0.0.1'] }, 'private'],
    [
      'names a metadata service',
      { authorization_servers: ['https://169.254.169.254'] },
      'metadata service',
    ],
    ['names plain HTTP', { authorization_servers: ['http://as.example'] }, 'https'],
    ['names no address', { authorization_servers: ['file:///etc/passwd'] }, 'not an address'],
  ])('is refused when the server %s', async (_, metadata, reason) => {
    const part = `${scene.plane.upstream.url}/part`;
    scene.resourceMetadata =
      'resource' in metadata && metadata.resource === 'PART' ? { resource: part } : metadata;
    const { key } = await scene.addUserKey();
    const page = await scene.enterKey(scene.openBrowser(), url, key);
    expect(page).toMatchObject({ status: 400, text: expect.stringContaining(reason) });
  });

  it('follows no redirect of an authorization server', async () => {
    const { upstream } = scene.plane;
    scene.issuer.answer = (request, response) => {
      if (request.method !== 'POST' || request.url !== '/token') return false;
      response.writeHead(307, { location: `http://${upstream.host}/trap` }).end();
      return true;
    };
    const { key } = await scene.addUserKey();
    const connected = await scene.connect(key);
    expect(connected).toMatchObject({ status: 400, text: expect.stringContaining('307') });
    expect(upstream.journal.filter(({ url: at }) => at === '/trap')).toEqual([]);
  });
});

describe('a scope that a token lacks', () => {
  it('is requested when the user connects again, if the gateway has signed it', async () => {
    const { plane, server } = scene;
    const { key } = await scene.addUserKey();
    await scene.connect(key);
    scene.demandedScope = 'admin';
    const lacking = await plane.send(key, server.slug, list);
    const { url: wider } = lacking.body.error.data;
    expect(new URL(wider).searchParams.get('scope')).toBe('admin');
    const forged = wider.replace('scope=admin', 'scope=other');
    const unsigned = await scene.enterKey(scene.openBrowser(), forged, key);
    expect(unsigned.text).toContain('<dd>tools offline_access</dd>');
    expect((await scene.connect(key, wider)).status).toBe(200);
    expect((await plane.send(key, server.slug, list)).status).toBe(200);
    expect(authorized()).toContain('tools/list');
  });
});

describe('a connection', () => {
  it('is listed, masked and deleted through the Admin API, with effect within a second', async () => {
    const { plane, server } = scene;
    const { key, userId } = await scene.addUserKey();
    await scene.connect(key);
    expect((await plane.send(key, server.slug, list)).body.result).toBeDefined();
    const path = `/v2/mcp-servers/${server.id}/connections`;
    const listed = await plane.server.request('GET', `${path}?user_id=${userId}`);
    expect(listed.body.data).toMatchObject([{ user_id: userId, connected: true }]);
    const deleted = await plane.server.request('DELETE', `${path}?user_id=${userId}`);
    expect(deleted.status).toBe(200);
    await eventually(async () => {
      const refused = await plane.send(key, server.slug, list);
      expect(refused.body.error?.data.code).toBe('connection_required');
    });
  });

  it('uses the tokens that a key of a service has stored for itself', async () => {
    const { plane, server, issuer } = scene;
    const { key } = await plane.addKey();
    const { key: other } = await scene.addUserKey();
    await scene.connect(other);
    const { answer } = issuer.journal.at(-1)!;
    const stored = await plane.server.request('PUT', `/v1/mcp-servers/${server.id}/tokens`, {
      auth: 'none',
      headers: { 'x-gateway-api-key': key },
      body: { access_token: answer.access_token },
    });
    expect(stored.status).toBe(200);
    expect((await plane.send(key, server.slug, list)).body.result).toBeDefined();
  });

  it('does not follow the integration to another origin', async () => {
    const { plane } = scene;
    const integration = await plane.addIntegration({ auth_type: 'oauth_auto' });
    const server = await plane.addServer({}, integration);
    const { key } = await scene.addUserKey();
    await scene.connect(key, `${publicUrl}/${server.slug}/connect`);
    const moved = { url: plane.upstream.url.replace('127.0.0.1', 'moved.example') };
    const path = `/v2/mcp-integrations/${integration.id}`;
    expect((await plane.server.request('PUT', path, { body: moved })).status).toBe(200);
    await eventually(async () => {
      const refused = await plane.send(key, server.slug, list);
      expect(refused.body.error.data.code).toBe('connection_required');
    });
  });
});

describe('a connected account', () => {
  it('leaves no token and no code in log lines and rows', async () => {
    const { plane, issuer, server } = scene;
    const { key } = await scene.addUserKey();
    await scene.connect(key);
    await plane.send(key, server.slug, list);
    const secrets = issuer.journal.flatMap(({ form, answer }) =>
      [
        answer.access_token,
        answer.refresh_token,
        form.get('code'),
        form.get('code_verifier'),
      ].filter((one) => typeof one === 'string'),
    );
    expect(secrets.length).toBeGreaterThan(3);
    const { db } = plane.server.database;
    const rows = await Promise.all(
      (['mcp_connections', 'mcp_authorizations', 'mcp_oauth_clients', 'audit_log'] as const).map(
        (table) => db.selectFrom(table).selectAll().execute(),
      ),
    );
    const all = JSON.stringify([rows, plane.server.logLines]);
    for (const secret of secrets) expect(all.includes(secret)).toBe(false);
    const { client_secret: sealed } = (rows[2] as { client_secret: string | null }[])[0]!;
    expect(sealed).toMatch(/^v1\./);
  });
});
