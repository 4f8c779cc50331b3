/** Verifies that a server with `jwt_validation` is reached only with a valid token beside the key. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTokenIssuer, type TokenIssuer } from '../../support/callers/token-issuer.ts';
import { eventually } from '../../support/server/eventually.ts';
import { type McpTestPlane, startMcpTestPlane } from '../../support/server/mcp-plane.ts';

const list = { jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} };
let issuer: TokenIssuer;
let signer: Awaited<ReturnType<TokenIssuer['addKey']>>;
let plane: McpTestPlane;
let key: string;
let validation: Record<string, unknown>;

beforeAll(async () => {
  issuer = await startTokenIssuer();
  signer = await issuer.addKey('main');
  plane = await startMcpTestPlane({}, issuer.host);
  ({ key } = await plane.addKey());
  validation = { jwksUri: issuer.url, claimValues: { team: { values: 'payments' } } };
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

async function slugWith(jwt_validation: object): Promise<string> {
  const integration = await plane.addIntegration({ configurations: { jwt_validation } });
  return (await plane.addServer({}, integration)).slug;
}

/** The check reads the clock of the machine. */
function tokenWith(claims: object): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  return signer.sign({ sub: 'ada', team: 'payments', iat, exp: iat + 600, ...claims });
}

const sendWith = (slug: string, headers: Record<string, string>, more: object = {}) =>
  plane.send(null, slug, list, { headers: { 'x-gateway-api-key': key, ...headers }, ...more });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('a server that requires a token', () => {
  it('is called with a valid one, which it does not receive', async () => {
    const token = await tokenWith({});
    expect(await sendWith(await slugWith(validation), bearer(token))).toMatchObject({
      status: 200,
    });
    expect(plane.upstream.journal).toHaveLength(1);
    expect(JSON.stringify(plane.upstream.journal)).not.toContain(token);
  });

  it('reads the header that headerKey names', async () => {
    const slug = await slugWith({ ...validation, headerKey: 'X-User-Token' });
    const token = await tokenWith({});
    expect(await sendWith(slug, { 'x-user-token': token })).toMatchObject({ status: 200 });
    expect(await sendWith(slug, bearer(token))).toMatchObject({ status: 401 });
  });

  it.each([
    ['none', async () => ({})],
    ['an expired one', async () => bearer(await tokenWith({ exp: 1 }))],
    ['one with another claim', async () => bearer(await tokenWith({ team: 'sales' }))],
    ['one of another signer', async () => bearer(`${await tokenWith({})}x`)],
    ['the key of the gateway in its place', async () => bearer(key)],
  ])('refuses with 401 and reaches no server with %s', async (_, headersOf) => {
    const slug = await slugWith(validation);
    const headers: Record<string, string> = await headersOf();
    for (const method of ['POST', 'GET', 'DELETE']) {
      const refused = await sendWith(slug, headers, { method });
      expect(refused).toMatchObject({
        status: 401,
        body: { error: { data: { code: 'token_invalid' } } },
      });
      expect(refused.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    }
    expect(plane.upstream.journal).toEqual([]);
  });

  it('is 503, never 401, while the keys cannot be fetched', async () => {
    const slug = await slugWith({ ...validation, jwksUri: `${issuer.url}/elsewhere` });
    issuer.answer = (_, response) => void response.destroy();
    const refused = await sendWith(slug, bearer(await tokenWith({})));
    issuer.answer = null;
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { data: { code: 'token_unverified' } } },
    });
    expect(plane.upstream.journal).toEqual([]);
  });

  it('follows a change of its rules within a second', async () => {
    const { id } = await plane.addIntegration({ configurations: { jwt_validation: validation } });
    const { slug } = await plane.addServer({}, { id, slug: '' });
    expect((await sendWith(slug, {})).status).toBe(401);
    const path = `/v1/mcp-integrations/${id}`;
    const changed = await plane.server.request('PUT', path, { body: { configurations: {} } });
    expect(changed.status).toBe(200);
    plane.server.clock.advance(1_000);
    await eventually(async () => expect((await sendWith(slug, {})).status).toBe(200));
  });
});

it.each([
  [{}, ['configurations', 'jwt_validation', 'jwksUri']],
  [{ jwksUri: 'http://login.example.com/keys' }, ['configurations', 'jwt_validation', 'jwksUri']],
  [
    { jwks: {}, introspectEndpoint: 'http://169.254.169.254/' },
    ['configurations', 'jwt_validation', 'introspectEndpoint'],
  ],
  [{ jwks: {}, algorithms: ['HS256'] }, ['configurations', 'jwt_validation', 'algorithms', 0]],
  [{ jwks: {}, audiences: ['x'] }, ['configurations', 'jwt_validation', 'audiences']],
])('refuses to store the rules %j, naming the member', async (jwt_validation, path) => {
  const body = {
    name: 'crm',
    url: plane.upstream.url,
    auth_type: 'none',
    transport: 'http',
    workspace_id: plane.workspace.id,
    configurations: { jwt_validation },
  };
  const refused = await plane.server.request('POST', '/v1/mcp-integrations', { body });
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.body)).toContain(path.join('.').replace('.0', '[0]'));
});
