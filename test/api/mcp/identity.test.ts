/** Verifies what MCP servers learn about the caller, and that its credential is never passed on. */
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  startTokenIssuer,
  type TokenIssuer,
  tokenSettings,
} from '../../support/callers/token-issuer.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';
import { addUser } from '../../support/server/people.ts';
import { testSettings } from '../../support/server/server.ts';

const publicUrl = 'https://gateway.example.com/tools';
const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };
let issuer: TokenIssuer;
let signer: Awaited<ReturnType<TokenIssuer['addKey']>>;
let plane: McpTestPlane;
let key: string;
let keyId: string;

beforeAll(async () => {
  issuer = await startTokenIssuer();
  signer = await issuer.addKey('main');
  const settings = testSettings();
  const tokens = tokenSettings(issuer.url);
  const inference = { ...settings.inference, tokens };
  plane = await startMcpTestPlane({ inference, mcp: { ...settings.mcp, publicUrl } }, issuer.host);
  ({ key, id: keyId } = await plane.addKey());
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

async function slugWith(user_identity_forwarding: object, more: object = {}): Promise<string> {
  const integration = await plane.addIntegration({
    configurations: { user_identity_forwarding, ...more },
  });
  return (await plane.addServer({}, integration)).slug;
}

const tokenWith = (claims: object) =>
  signer.sign({
    tsg_id: plane.server.tsgId,
    workspace_slug: plane.workspace.slug,
    aud: publicUrl,
    exp: Math.floor(plane.server.clock.now() / 1000) + 3600,
    scopes: ['mcp.invoke'],
    ...claims,
  });

async function sentHeader(name: string, slug: string, credential: string, headers = {}) {
  expect((await plane.send(credential, slug, list, { headers })).status).toBe(200);
  const { headers: sent } = plane.upstream.journal.at(-1)!;
  expect(JSON.stringify(sent)).not.toContain(credential);
  return String(sent[name]);
}

async function verified(token: string) {
  const keys = createRemoteJWKSet(new URL(`${plane.server.mcpUrl}/.well-known/jwks.json`));
  return await jwtVerify(token, keys, {
    issuer: publicUrl,
    audience: plane.upstream.url,
    currentDate: new Date(plane.server.clock.now()),
  });
}

describe('a signed identity', () => {
  it('names the key, and is verified with the published key of any process', async () => {
    const slug = await slugWith({ method: 'jwt_header' });
    const { payload, protectedHeader } = await verified(await sentHeader('x-user-jwt', slug, key));
    expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: 'JWT' });
    expect(payload).toEqual({
      iss: publicUrl,
      aud: plane.upstream.url,
      sub: keyId,
      sub_type: 'api_key',
      organisation_id: plane.server.organisationId,
      workspace_id: plane.workspace.id,
      iat: expect.any(Number),
      exp: payload.iat! + 300,
    });
  });

  it('names the user of a key', async () => {
    const user = await addUser(plane.server);
    const path = `/v1/admin/workspaces/${plane.workspace.id}/users`;
    await plane.server.request('POST', path, { body: { users: [{ id: user, role: 'member' }] } });
    const made = await plane.create('/v1/api-keys/workspace/user', {
      name: 'own',
      scopes: ['mcp.invoke'],
      workspace_id: plane.workspace.id,
      user_id: user,
    });
    const slug = await slugWith({ method: 'jwt_header', jwt_expiry_seconds: 60 });
    const { payload } = await verified(await sentHeader('x-user-jwt', slug, made.key));
    expect(payload).toMatchObject({ sub: user, sub_type: 'user', exp: payload.iat! + 60 });
  });

  it('contains the listed claims of a token, which replace none of the gateway', async () => {
    const token = await tokenWith({
      sub: 'ada',
      email: 'ada@example.com',
      groups: ['a', 'b'],
      workspace_id: plane.workspace.id,
      sub_type: 'user',
      phone: 'hidden',
    });
    const include_claims = [
      'email',
      'groups',
      'workspace_id',
      'sub_type',
      'aud',
      'exp',
      '__proto__',
    ];
    const slug = await slugWith({ method: 'jwt_header', include_claims, header_name: 'X-Who' });
    const { payload } = await verified(await sentHeader('x-who', slug, token));
    expect(payload).toMatchObject({
      sub: 'ada',
      sub_type: 'token',
      email: 'ada@example.com',
      groups: ['a', 'b'],
      aud: plane.upstream.url,
      exp: payload.iat! + 300,
    });
    expect(payload.phone).toBeUndefined();
  });

  it('cannot be set by the caller', async () => {
    const slug = await slugWith(
      { method: 'jwt_header', header_name: 'x-who' },
      { forward_headers: ['x-who'] },
    );
    await verified(await sentHeader('x-who', slug, key, { 'x-who': 'forged' }));
  });
});

describe('claims in plain JSON', () => {
  it('contains visible ASCII only, whatever the token contains', async () => {
    const name = 'Ada\r\nx: y \u00e9\u{1f511}';
    const token = await tokenWith({ sub: 'ada', name });
    const slug = await slugWith({ method: 'claims_header', include_claims: ['name'] });
    const value = await sentHeader('x-user-claims', slug, token);
    expect(value).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(value)).toEqual({
      name,
      sub: 'ada',
      sub_type: 'token',
      organisation_id: plane.server.organisationId,
      workspace_id: plane.workspace.id,
    });
  });
});

describe('an identity setting', () => {
  it.each([
    ['user_identity_forwarding.method', { method: 'bearer' }, 'MCP forbids'],
    ['user_identity_forwarding.method', {}, ''],
    ['user_identity_forwarding.header_name', { header_name: 'Authorization' }, 'of the gateway'],
    ['user_identity_forwarding.header_name', { header_name: 'Mcp-Session-Id' }, 'of the gateway'],
    ['user_identity_forwarding.header_name', { header_name: 'content-length' }, 'restricted'],
    ['user_identity_forwarding.jwt_expiry_seconds', { jwt_expiry_seconds: 0 }, ''],
  ])('returns 400 at %s with the reason for %j', async (param, setting, reason) => {
    const hasMethod = param.endsWith('.method') ? {} : { method: 'jwt_header' };
    const { status, body } = await plane.server.request('POST', '/v2/mcp-integrations', {
      body: {
        name: 'identity',
        url: plane.upstream.url,
        auth_type: 'none',
        transport: 'http',
        configurations: { user_identity_forwarding: { ...hasMethod, ...setting } },
      },
    });
    expect([status, body.error.param]).toEqual([400, `configurations.${param}`]);
    expect(body.error.message).toContain(reason);
  });
});
