/** Verifies who may reach an MCP server through the gateway; the server's journal is the witness of each refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTokenIssuer, tokenSettings } from '../../support/callers/token-issuer.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';
import { addUser } from '../../support/server/people.ts';
import { testSettings } from '../../support/server/server.ts';
import { startVaultServer } from '../../support/upstream/secret-manager-servers.ts';

let plane: McpTestPlane;
let key: string;
let slug: string;
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
  ({ slug } = await plane.addServer());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
  plane.upstream.script = null;
});
afterAll(() => plane[Symbol.asyncDispose]());

describe('a caller', () => {
  it('authenticates with a key as bearer token or in its own header', async () => {
    expect((await plane.send(key, slug, list)).status).toBe(200);
    const own = await plane.send(null, slug, list, { headers: { 'x-gateway-api-key': key } });
    expect(own).toMatchObject({ status: 200, body: { id: 'seven', result: { tools: {} } } });
    const alias = await plane.send(null, slug, list, { headers: { 'x-portkey-api-key': key } });
    expect(alias.status).toBe(200);
  });

  it.each([
    ['is missing', null, ''],
    ['is unknown', 'a'.repeat(40), ', error="invalid_token"'],
    ['is a token nobody signed', 'eyJhbGciOiJub25lIn0.e30.', ', error="invalid_token"'],
  ])('receives 401 with a challenge and the id when its credential %s', async (_, sent, error) => {
    const challenge = `Bearer realm="gatewright"${error}, scope="mcp.invoke"`;
    const refused = await plane.send(sent, slug, list);
    expect(refused).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': challenge },
      body: { jsonrpc: '2.0', id: 'seven', error: { code: -32000, data: {} } },
    });
    expect(plane.upstream.journal).toEqual([]);
  });

  it('receives 403 and the name of the scope when its key lacks mcp.invoke', async () => {
    const { key: other } = await plane.addKey({ scopes: ['completions.write'] });
    const refused = await plane.send(other, slug, list);
    expect(refused).toMatchObject({
      status: 403,
      headers: {
        'www-authenticate':
          'Bearer realm="gatewright", error="insufficient_scope", scope="mcp.invoke"',
      },
      body: { id: 'seven', error: { data: { code: 'scope_missing' } } },
    });
    expect(plane.upstream.journal).toEqual([]);
  });

  it('never shows its credential to the server, also not in forwarded headers of other names', async () => {
    const integration = await plane.addIntegration({
      configurations: {
        custom_headers: { Authorization: 'Bearer upstream-secret' },
        passthrough_header: { 'X-Team': 'support' },
        forward_headers: { mode: 'all-except', headers: ['x-left-out'] },
      },
    });
    const server = await plane.addServer({}, integration);
    await plane.send(key, server.slug, list, {
      headers: {
        'x-copy': `key ${key}`,
        'x-api-key': 'other',
        'x-auth-token': 'other',
        cookie: 'a=b',
        'x-user-claims': '{}',
        'x-left-out': 'left',
        'x-request-note': 'forwarded',
      },
    });
    const { headers } = plane.upstream.journal[0]!;
    expect(headers).toMatchObject({
      authorization: 'Bearer upstream-secret',
      'x-team': 'support',
      'x-request-note': 'forwarded',
    });
    expect(JSON.stringify(headers)).not.toContain(key);
    for (const name of [
      'x-copy',
      'x-api-key',
      'x-auth-token',
      'cookie',
      'x-user-claims',
      'x-left-out',
    ]) {
      expect(headers[name]).toBeUndefined();
    }
  });
});

describe('a server', () => {
  it('is 404 in one form when it is unknown, foreign or not granted', async () => {
    const sales = await plane.create('/v2/workspaces', { name: 'Sales' });
    const foreign = await plane.addServer({ workspace_id: sales.id });
    const closed = await plane.addIntegration();
    const ungranted = await plane.addServer({}, closed);
    const put = await plane.server.request('PUT', `/v2/mcp-integrations/${closed.id}/workspaces`, {
      body: { workspaces: [{ id: plane.workspace.id, enabled: false }] },
    });
    expect(put.status).toBe(200);
    const answers = await Promise.all(
      ['nothing', foreign.slug, ungranted.slug, foreign.id].map((one) =>
        plane.send(key, one, list),
      ),
    );
    for (const { status, body } of answers)
      expect({ status, body }).toEqual({
        status: 404,
        body: {
          jsonrpc: '2.0',
          id: 'seven',
          error: {
            code: -32000,
            message:
              'No MCP server that this credential may use has the slug of this address, /{slug}/mcp',
            data: { code: 'server_not_found' },
          },
        },
      });
    const elsewhere = await exchange('POST', `${plane.server.mcpUrl}/`, list, {
      authorization: `Bearer ${key}`,
    });
    expect(elsewhere.status).toBe(404);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('is open to the users that it allows only', async () => {
    const allowed = await addUser(plane.server);
    const other = await addUser(plane.server);
    const server = await plane.addServer({
      default_user_access: 'deny',
      user_access: [{ user_id: allowed, enabled: true }],
    });
    const open = await plane.addServer({ user_access: [{ user_id: other, enabled: false }] });
    const keyOf = async (user: string): Promise<string> => {
      const path = `/v1/admin/workspaces/${plane.workspace.id}/users`;
      const body = { users: [{ id: user, role: 'member' }] };
      expect((await plane.server.request('POST', path, { body })).status).toBe(200);
      const made = await plane.server.request('POST', '/v1/api-keys/workspace/user', {
        body: {
          name: 'own',
          scopes: ['mcp.invoke'],
          workspace_id: plane.workspace.id,
          user_id: user,
        },
      });
      expect(made.body).toMatchObject({ key: expect.any(String) });
      return made.body.key;
    };
    const [theirs, others] = [await keyOf(allowed), await keyOf(other)];
    const statuses = async (to: CreatedResource) =>
      await Promise.all(
        [theirs, others, key].map(async (one) => (await plane.send(one, to.slug, list)).status),
      );
    expect(await statuses(server)).toEqual([200, 403, 403]);
    expect(await statuses(open)).toEqual([200, 403, 200]);
  });

  it.each([
    ['client credentials', { auth_type: 'oauth_client_credentials' }],
    [
      'an identity provider without an address of the gateway',
      { configurations: { external_auth_config: { issuer: 'https://login.example.com' } } },
    ],
    [
      'an identity to sign without an address of the gateway',
      { configurations: { user_identity_forwarding: { method: 'jwt_header' } } },
    ],
  ])('is refused with the reason when it has %s', async (_, fields) => {
    const server = await plane.addServer({}, await plane.addIntegration(fields));
    const refused = await plane.send(key, server.slug, list);
    expect(refused).toMatchObject({
      status: 502,
      body: { id: 'seven', error: { data: { code: 'server_unusable' } } },
    });
    expect(refused.body.error.message).toContain('The MCP server cannot be used: its ');
    expect(plane.upstream.journal).toEqual([]);
  });

  it('follows changes of address, header, access and key within a second', async () => {
    const own = await plane.addKey();
    const integration = await plane.addIntegration({
      configurations: { custom_headers: { 'X-Secret': 'one' } },
    });
    const server = await plane.addServer({}, integration);
    const status = async () => (await plane.send(own.key, server.slug, list)).status;
    const path = `/v2/mcp-integrations/${integration.id}`;
    const change = async (at: string, body: object) =>
      expect((await plane.server.request('PUT', at, { body })).status).toBe(200);
    expect(await status()).toBe(200);
    await change(path, { configurations: { custom_headers: { 'X-Secret': 'two' } } });
    await eventually(async () => {
      await status();
      expect(plane.upstream.journal.at(-1)!.headers['x-secret']).toBe('two');
    });
    await change(path, {
      url: `${plane.upstream.url}/moved`,
      configurations: { custom_headers: {} },
    });
    await eventually(async () => {
      await status();
      expect(plane.upstream.journal.at(-1)!.url).toBe('/mcp/moved');
    });
    await change(`/v2/mcp-servers/${server.id}/user-access`, { default_user_access: 'deny' });
    await eventually(async () => expect(await status()).toBe(403));
    await change(`/v2/mcp-servers/${server.id}/user-access`, { default_user_access: 'allow' });
    await eventually(async () => expect(await status()).toBe(200));
    const removed = await plane.server.request('DELETE', `/v1/api-keys/${own.id}`);
    expect(removed.status).toBe(200);
    await eventually(async () => expect(await status()).toBe(401));
  });

  it('is never called at a private address or behind a redirect', async () => {
    const trap = 'http://127.0.0.1:9/mcp';
    const made = await plane.server.request('POST', '/v2/mcp-integrations', {
      body: { name: 'trap', url: trap, auth_type: 'none', transport: 'http' },
    });
    expect(made.status).toBe(400);
    plane.upstream.script = (_, response) =>
      response.writeHead(307, { location: `${plane.upstream.url}/elsewhere` }).end();
    const refused = await plane.send(key, slug, list);
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(plane.upstream.journal).toHaveLength(1);
  });

  it('starts no sign-in at the client when it rejects the gateway', async () => {
    plane.upstream.script = (_, response) =>
      response.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="x"' }).end('{}');
    const refused = await plane.send(key, slug, list);
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(refused.headers['www-authenticate']).toBeUndefined();
  });
});

describe('a session', () => {
  it('belongs to one key and one server', async () => {
    const headers = await plane.openSession(key, slug);
    const session = headers['mcp-session-id']!;
    expect(session).not.toContain('session-');
    await plane.send(key, slug, list, { headers });
    expect(plane.upstream.journal.at(-1)!.headers['mcp-session-id']).toBe('session-1');
    plane.upstream.journal.length = 0;
    const { key: another } = await plane.addKey();
    const other = await plane.addServer();
    const flipped = session.slice(0, -2) + (session.endsWith('AA') ? 'BB' : 'AA');
    const answers = await Promise.all([
      plane.send(another, slug, list, { headers }),
      plane.send(key, other.slug, list, { headers }),
      plane.send(key, slug, list, { headers: { 'mcp-session-id': flipped } }),
      plane.send(key, slug, list, { headers: { 'mcp-session-id': 'session-1' } }),
      plane.send(key, slug, list, { headers: { 'mcp-session-id': 'x'.repeat(9_000) } }),
    ]);
    for (const { status, body } of answers) {
      expect({ status, code: body.error.code, id: body.id }).toEqual({
        status: 404,
        code: -32001,
        id: 'seven',
      });
    }
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(plane.upstream.journal).toEqual([]);
  });

  it('works at every replica, and ends with DELETE', async () => {
    const headers = await plane.openSession(key, slug);
    const { openApp } = await import('../../../src/app.ts');
    const { createLog } = await import('../../../src/log.ts');
    const log = createLog({ level: 'silent' });
    await using replica = openApp(plane.server.settings, { log, components: ['mcp'] });
    await replica.connect();
    const { mcpUrl, adminUrl, inferenceUrl } = await replica.listen();
    expect([adminUrl, inferenceUrl]).toEqual([null, null]);
    const listed = await plane.send(key, slug, list, { headers, url: mcpUrl! });
    expect(listed.status).toBe(200);
    const ended = await plane.send(key, slug, undefined, { method: 'DELETE', headers });
    expect(ended.status).toBe(200);
    expect(plane.upstream.journal.at(-1)).toMatchObject({ method: 'DELETE' });
  });
});

describe('a secret of the server', () => {
  it('comes from a secret manager, and closes the server when it cannot be read', async () => {
    const secrets = { 'secret/crm': { token: 'from-the-vault' } };
    await using vault = await startVaultServer({
      mounts: { 'secret/': '2' },
      secrets,
      tokens: new Set(['hvs.root']),
    });
    await using own = await startMcpTestPlane({}, new URL(vault.url).host);
    const reference = await own.create('/v1/secret-references', {
      name: 'crm',
      manager_type: 'hashicorp_vault',
      secret_path: 'secret/crm',
      allow_all_workspaces: true,
      allowed_hosts: ['127.0.0.1'],
      auth_config: { vault_auth_type: 'token', vault_addr: vault.url, vault_token: 'hvs.root' },
    });
    const mappingOf = (secret_key: string) => ({
      secret_mappings: [
        {
          target_field: 'configurations.headers.X-Secret',
          secret_key,
          secret_reference_id: reference.slug,
        },
      ],
    });
    const server = await own.addServer({}, await own.addIntegration(mappingOf('token')));
    const { key: caller } = await own.addKey();
    expect((await own.send(caller, server.slug, list)).status).toBe(200);
    expect(own.upstream.journal.at(-1)!.headers['x-secret']).toBe('from-the-vault');
    const closed = await own.addServer({}, await own.addIntegration(mappingOf('missing')));
    const refused = await own.send(caller, closed.slug, list);
    expect(refused).toMatchObject({ status: 502, body: { id: 'seven' } });
    expect(refused.body.error.message).toContain(`The secret ${reference.slug} of the`);
    expect(own.upstream.journal).toHaveLength(1);
  });
});

describe('a token of a trusted issuer', () => {
  it('acts as a key of its workspace when it has mcp.invoke', async () => {
    await using issuer = await startTokenIssuer();
    const signer = await issuer.addKey('main');
    const tokens = tokenSettings(issuer.url, { audience: 'gatewright' });
    await using own = await startMcpTestPlane(
      { inference: { ...testSettings().inference, tokens } },
      issuer.host,
    );
    const server = await own.addServer();
    const tokenOf = (scopes: string[]) =>
      signer.sign({
        tsg_id: own.server.tsgId,
        workspace_slug: own.workspace.slug,
        sub: 'agent',
        aud: 'gatewright',
        exp: Math.floor(own.server.clock.now() / 1000) + 3600,
        scopes,
      });
    expect((await own.send(await tokenOf(['mcp.invoke']), server.slug, list)).status).toBe(200);
    const lacking = await own.send(await tokenOf(['completions.write']), server.slug, list);
    expect(lacking.status).toBe(403);
    expect(own.upstream.journal).toHaveLength(1);
  });
});

describe('a stopping gateway', () => {
  it('ends open streams cleanly', async () => {
    const own = await startMcpTestPlane();
    const server = await own.addServer();
    const { key: caller } = await own.addKey();
    const stream = await fetch(`${own.server.mcpUrl}/${server.slug}/mcp`, {
      headers: { authorization: `Bearer ${caller}`, accept: 'text/event-stream' },
    });
    expect(stream.status).toBe(200);
    const [text] = await Promise.all([stream.text(), own.server[Symbol.asyncDispose]()]);
    expect(text).toBe(': open\n\n');
    await eventually(async () => expect(own.upstream.openStreams()).toBe(0));
    await own.upstream[Symbol.asyncDispose]();
  });
});
