/** Verifies sign-in with OpenID Connect: who gets a session, what it may do, and when it ends. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IdentityProvider } from '../../../src/auth/identity-provider.ts';
import { createAttemptCookie, readAttempt } from '../../../src/auth/sign-in-attempts.ts';
import { Secret } from '../../../src/secret.ts';
import type { SignInSettings } from '../../../src/settings/groups/sign-in.ts';
import { readSettings } from '../../../src/settings.ts';
import { type OpenIdIssuer, startOpenIdIssuer } from '../../support/callers/openid-issuer.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { Browser, type Page } from '../../support/server/browser.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addKeyCaller, addTenant, listAudit } from '../../support/server/tenant.ts';

const publicUrl = 'http://127.0.0.1:9';
const sessions = { publicUrl: new URL(publicUrl), sessionMs: 12 * 3_600_000, idleMs: 3_600_000 };
const sessionCookie = '__Host-gatewright-session';

let issuer: OpenIdIssuer;
let server: TestServer;
let settings: SignInSettings;

beforeAll(async () => {
  issuer = await startOpenIdIssuer(`${publicUrl}/v1/sign-in/callback`);
  const rest = { scopes: 'openid email profile', groupsClaim: 'groups', provisions: false };
  settings = {
    issuer: new URL(issuer.url),
    publicUrl: new URL(publicUrl),
    clientId: issuer.clientId,
    proof: { method: 'client_secret_post', secret: new Secret(issuer.clientSecret, 'test') },
    tsgId: null,
    roles: null,
    ...rest,
  };
  server = await startTestServer({ settings: { signIn: settings, sessions } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});
// The identity provider uses the clock of the machine.
beforeEach(() => server.clock.set(Date.now()));

/** Adds an account at the identity provider, with a verified address. */
function addAccount(claims: Record<string, unknown> = {}): { sub: string; email: string } {
  const sub = randomUUID();
  const email = `${sub}@example.com`;
  issuer.accounts.set(sub, { email, email_verified: true, given_name: 'Ann', ...claims });
  return { sub, email: String(claims.email ?? email) };
}

interface SigningIn {
  readonly at?: TestServer;
  readonly query?: string;
  readonly browser?: Browser;
}

/**
 * Follows the flow until the provider sends the browser back; returns that URL with the real
 * address of the server.
 */
async function comeBack(sub: string, { at = server, query, browser }: SigningIn = {}) {
  const jar = browser ?? new Browser();
  issuer.subject = sub;
  const requested = query ?? `?tsg_id=${at.tsgId}`;
  let page = await jar.get(`${at.url}/v1/sign-in${requested}`);
  if (page.location === null) throw new Error(page.text);
  let url = page.location;
  for (let steps = 0; !url.startsWith(`${publicUrl}/`); steps += 1) {
    page = await jar.get(url);
    if (page.location === null || steps > 9) throw new Error(`${url}: ${page.text}`);
    url = new URL(page.location, url).href;
  }
  return { browser: jar, url: url.replace(publicUrl, at.url) };
}

async function signIn(sub: string, how: SigningIn = {}): Promise<Page & { browser: Browser }> {
  const { browser, url } = await comeBack(sub, how);
  return { ...(await browser.get(url)), browser };
}

const cookieOf = (browser: Browser, at: TestServer = server) =>
  browser.cookies.get(`${new URL(at.url).host} ${sessionCookie}`);

type Ask = (
  method: string,
  path: string,
  more?: { body?: unknown; headers?: Record<string, string> },
) => Promise<TestResponse>;

const asking =
  (cookie: string, at: TestServer = server): Ask =>
  (method, path, { body, headers = {} } = {}) =>
    exchange(method, at.url + path, body, {
      cookie: `${sessionCookie}=${cookie}`,
      origin: publicUrl,
      ...headers,
    });

/** Adds a signed-in user with this role in the organisation and in workspaces. */
async function addSignedIn(
  role: 'admin' | 'member',
  workspaces: Record<string, string> = {},
): Promise<{ id: string; sub: string; ask: Ask; cookie: string }> {
  const { sub, email } = addAccount();
  const id = await addUser(server, { role, email });
  for (const [workspace, role] of Object.entries(workspaces)) {
    await server.request('POST', `/v1/admin/workspaces/${workspace}/users`, {
      body: { users: [{ id, role }] },
    });
  }
  const { browser, status, text } = await signIn(sub);
  expect([status, text]).toEqual([302, '']);
  const cookie = cookieOf(browser)!;
  return { id, sub, cookie, ask: asking(cookie) };
}

async function addWorkspace(): Promise<string> {
  return (await server.request('POST', '/v1/admin/workspaces', { body: { name: 'W' } })).body.id;
}

/** Returns the cookie of the sign-in attempt with some fields changed, sealed `laterMs` later. */
async function resealed(browser: Browser, changes: object, laterMs = 0): Promise<string> {
  const { keyring } = server.app;
  const now = server.clock.now();
  const stored = await readAttempt(keyring, browser.header(new URL(server.url).host), now);
  const line = await createAttemptCookie(keyring, { ...stored!, ...changes }, now + laterMs);
  return line.slice(0, line.indexOf(';'));
}

const messageOf = ({ text }: Page): string => JSON.parse(text).error.message;

describe('sign-in', () => {
  it('gives a user of the organisation a session in a cookie that scripts cannot read', async () => {
    const { sub, email } = addAccount();
    const id = await addUser(server, { email: email.toUpperCase() });
    const { browser, url } = await comeBack(sub, { query: `?tsg_id=${server.tsgId}&return_to=/a` });
    const answer = await exchange('GET', url, undefined, {
      cookie: browser.header(new URL(server.url).host),
    });
    expect([answer.status, answer.headers.location]).toEqual([302, '/a']);
    const [session, attempt] = answer.headers['set-cookie'] as string[];
    expect(session).toMatch(
      /^__Host-gatewright-session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(attempt).toContain('__Host-gatewright-sign-in=; Max-Age=0');
    const cookie = /=([^;]+)/.exec(session!)![1]!;
    const own = await asking(cookie)('GET', '/v1/session');
    expect(own.body).toMatchObject({
      object: 'session',
      tsg_id: server.tsgId,
      workspace_id: null,
      workspaces: [],
      user: { id, email: email.toUpperCase(), role: 'member' },
    });
    expect(await listAudit(server, own.body.id)).toMatchObject([
      { action: 'create', resource_kind: 'UserSession', changes: { user: id } },
    ]);
    // The stored value is a hash and opens nothing.
    const row = await server.database.db
      .selectFrom('user_sessions')
      .selectAll()
      .where('id', '=', own.body.id)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain(cookie.split('.')[2]);
    expect(server.logLines.join('\n')).not.toContain(cookie.split('.')[2]);
  });

  it('binds the account at the first sign-in: its address may change, and nobody else can take it over', async () => {
    const { sub, email } = addAccount();
    await addUser(server, { email });
    expect((await signIn(sub)).status).toBe(302);
    issuer.accounts.set(sub, { email: `${randomUUID()}@example.com`, email_verified: false });
    expect((await signIn(sub)).status).toBe(302);
    const other = addAccount({ email });
    const refused = await signIn(other.sub);
    expect([refused.status, messageOf(refused)]).toEqual([
      403,
      'Your address belongs to another account of the identity provider',
    ]);
    const { id } = (
      await server.request('GET', `/v1/admin/users?email=${encodeURIComponent(email)}`)
    ).body.data[0];
    const path = `/v1/admin/users/${id}`;
    expect((await server.request('DELETE', `${path}/identity`)).body).toEqual({});
    expect((await server.request('GET', `${path}/sessions`)).body.total).toBe(0);
    expect((await signIn(other.sub)).status).toBe(302);
  });

  it('accepts an invite with its role and workspaces, once, also when the callback arrives several times at once', async () => {
    const { sub, email } = addAccount();
    const workspace = await addWorkspace();
    const body = { email, role: 'member', workspaces: [{ id: workspace, role: 'manager' }] };
    await server.request('POST', '/v1/admin/users/invites', { body });
    const comings = await Promise.all(Array.from({ length: 3 }, () => comeBack(sub)));
    const pages = await Promise.all(comings.map(({ browser, url }) => browser.get(url)));
    expect(pages.map(({ status }) => status)).toEqual([302, 302, 302]);
    const own = await asking(cookieOf(comings[0]!.browser)!)('GET', '/v1/session');
    expect(own.body).toMatchObject({
      workspace_id: workspace,
      user: { email, role: 'member' },
      workspaces: [{ id: workspace, role: 'manager' }],
    });
  });

  it.each([
    ['whom nobody knows here, who is not provisioned by himself (1.20)', {}, /ask for an invite/],
    [
      'whose address the provider has not verified',
      { email_verified: false },
      /not verified your e-mail/,
    ],
    ['without an address', { email: null }, /not verified your e-mail/],
  ])('rejects a person %s', async (_, claims, message) => {
    const { sub, email } = addAccount(claims);
    if (Object.keys(claims).length > 0) await addUser(server, { email });
    const page = await signIn(sub);
    expect([page.status, messageOf(page)]).toEqual([403, expect.stringMatching(message)]);
    expect(cookieOf(page.browser)).toBeUndefined();
  });

  it('rejects an inactive user', async () => {
    const { sub, email } = addAccount();
    await addUser(server, { email, status: 'inactive' });
    expect((await signIn(sub)).status).toBe(403);
  });

  it('synchronises group memberships with the groups that the provider names', async () => {
    const workspace = await addWorkspace();
    const group = randomUUID();
    await server.request('POST', '/v1/scim/workspaces', {
      body: { workspace_id: workspace, role: 'member', scim_group_name: group },
    });
    const { sub, email } = addAccount({ groups: [group, 'unknown here'] });
    await addUser(server, { email });
    const first = await asking(cookieOf((await signIn(sub)).browser)!)('GET', '/v1/session');
    expect(first.body.workspaces).toMatchObject([{ id: workspace, role: 'member' }]);
    issuer.accounts.set(sub, { ...issuer.accounts.get(sub), groups: [] });
    const second = await asking(cookieOf((await signIn(sub)).browser)!)('GET', '/v1/session');
    expect(second.body.workspaces).toEqual([]);
  });
});

describe('client authentication at the identity provider (1.22)', () => {
  function settingsBy(environment: Record<string, string>): SignInSettings {
    const shared = { GATEWRIGHT_SIGN_IN_ISSUER: issuer.url, GATEWRIGHT_PUBLIC_URL: publicUrl };
    return readSettings({ ...shared, ...environment }, { cwd: '/nonexistent' }).signIn!;
  }

  /** Returns the identity that the provider reports for a deployment with these settings. */
  async function identityBy(environment: Record<string, string>): Promise<unknown> {
    await using provider = new IdentityProvider(settingsBy(environment), null);
    const now = Date.now();
    const { address, attempt } = await provider.begin(now);
    const browser = new Browser();
    let url = address.href;
    while (!url.startsWith(`${publicUrl}/`)) {
      url = new URL((await browser.get(url)).location!, url).href;
    }
    const answered = Object.fromEntries(new URL(url).searchParams);
    return (await provider.finish(answered, attempt, now)).verifiedEmail;
  }
  const [id, method] = ['GATEWRIGHT_SIGN_IN_CLIENT_ID', 'GATEWRIGHT_SIGN_IN_AUTH_METHOD'];
  const [secret, jwks] = ['GATEWRIGHT_SIGN_IN_CLIENT_SECRET', 'GATEWRIGHT_SIGN_IN_CLIENT_JWKS'];

  it('uses a secret in the body or in a header, or a signed assertion', async () => {
    const { email, sub } = addAccount();
    issuer.subject = sub;
    const { basicClient, keyClient, clientId, clientSecret } = issuer;
    issuer.tradedByHeader.length = 0;
    const byKey = { [id]: keyClient.id, [method]: 'private_key_jwt', [jwks]: keyClient.jwks };
    for (const environment of [
      { [id]: clientId, [secret]: clientSecret },
      { [id]: clientId, [method]: 'client_secret_post', [secret]: clientSecret },
      { [id]: basicClient.id, [method]: 'client_secret_basic', [secret]: basicClient.secret },
      byKey,
    ]) {
      expect([environment[id], await identityBy(environment)]).toEqual([environment[id], email]);
    }
    expect(issuer.tradedByHeader).toEqual([false, false, true, false]);
    const strange = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const wrong = { ...byKey, [jwks]: JSON.stringify(strange.export({ format: 'jwk' })) };
    await expect(identityBy(wrong)).rejects.toThrow('returned invalid_client');
  });

  it('publishes the public key for registration at the provider, and nothing of the private key', async () => {
    const readAuthSettings = async (one: TestServer) => {
      const path = `/v1/organisations/${one.tsgId}/auth-settings`;
      const { auth_settings: reported } = (await one.request('GET', path)).body.data;
      return [reported.token_endpoint_auth_method, reported.jwks];
    };
    const { id, jwks } = issuer.keyClient;
    const signIn = settingsBy({
      GATEWRIGHT_SIGN_IN_CLIENT_ID: id,
      GATEWRIGHT_SIGN_IN_CLIENT_JWKS: jwks,
      GATEWRIGHT_SIGN_IN_AUTH_METHOD: 'private_key_jwt',
    });
    await using signing = await startTestServer({ settings: { signIn, sessions } });
    const { d: _, ...publicKey } = JSON.parse(jwks).keys[0];
    expect(await readAuthSettings(signing)).toEqual(['private_key_jwt', { keys: [publicKey] }]);
    expect(await readAuthSettings(server)).toEqual(['client_secret_post', null]);
  });
});

describe('the callback from the identity provider', () => {
  it('accepts an authorization code once', async () => {
    const { sub, email } = addAccount();
    await addUser(server, { email });
    const { browser, url } = await comeBack(sub);
    const stored = new Map(browser.cookies);
    expect((await browser.get(url)).status).toBe(302);
    const again = new Browser();
    for (const [place, value] of stored) again.cookies.set(place, value);
    const page = await again.get(url);
    expect([page.status, cookieOf(again)]).toEqual([403, undefined]);
  });

  it('rejects a browser that did not start this sign-in', async () => {
    const { sub, email } = addAccount();
    await addUser(server, { email });
    const { url } = await comeBack(sub);
    const page = await new Browser().get(url);
    expect([page.status, messageOf(page)]).toEqual([400, expect.stringMatching(/started/)]);
    const other = await comeBack(sub);
    expect((await other.browser.get(url)).status).toBe(400);
  });

  it('rejects an attempt that is older than ten minutes or was altered', async () => {
    const { sub, email } = addAccount();
    await addUser(server, { email });
    const { browser, url } = await comeBack(sub);
    server.clock.advance(601_000);
    expect((await browser.get(url)).status).toBe(400);
    server.clock.set(Date.now());
    const host = new URL(server.url).host;
    const name = `${host} __Host-gatewright-sign-in`;
    const sealed = browser.cookies.get(name)!;
    browser.cookies.set(name, `${sealed.slice(0, -2)}${sealed.endsWith('A') ? 'BB' : 'AA'}`);
    expect((await browser.get(url)).status).toBe(400);
  });

  it.each([['nonce'], ['verifier']] as const)('rejects another %s', async (part) => {
    const { sub, email } = addAccount();
    await addUser(server, { email });
    const { browser, url } = await comeBack(sub);
    // Simulates an attacker who can write the cookie but did not start the sign-in.
    const cookie = await resealed(browser, { [part]: 'w'.repeat(43) });
    const answer = await exchange('GET', url, undefined, { cookie });
    expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
  });

  it('rejects a token when the clock is far from the provider’s, and accepts a small deviation', async () => {
    const { sub, email } = addAccount();
    await addUser(server, { email });
    const tokenMs = 3_600_000;
    for (const [aheadMs, status] of [
      [tokenMs - 60_000, 302],
      [tokenMs + 300_000, 403],
    ] as const) {
      const { browser, url } = await comeBack(sub);
      const cookie = await resealed(browser, {}, aheadMs);
      server.clock.set(Date.now() + aheadMs);
      const answer = await exchange('GET', url, undefined, { cookie });
      expect([aheadMs, answer.status]).toEqual([aheadMs, status]);
      server.clock.set(Date.now());
    }
  });

  it('rejects an ID token that no published key of the provider has signed', async () => {
    await using fresh = await startTestServer({ settings: { signIn: settings, sessions } });
    fresh.clock.set(Date.now());
    const { sub, email } = addAccount();
    await addUser(fresh, { email });
    issuer.publishedKeys = issuer.otherKeys;
    const refused = await signIn(sub, { at: fresh }).finally(() => {
      issuer.publishedKeys = null;
    });
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('the response of the identity provider is invalid'),
    ]);
    expect(cookieOf(refused.browser, fresh)).toBeUndefined();
  });

  it('returns the error of the provider, and says when the provider does not respond', async () => {
    const { browser, url } = await comeBack(addAccount().sub);
    const denied = new URL(url);
    denied.searchParams.delete('code');
    denied.searchParams.set('error', 'access_denied');
    const page = await browser.get(denied.href);
    expect([page.status, messageOf(page)]).toEqual([
      403,
      'Signing in failed: the identity provider returned access_denied',
    ]);
    const { sub, email } = addAccount();
    await addUser(server, { email });
    const other = await comeBack(sub);
    issuer.answer = (_, response) => response.writeHead(500).end('{}');
    const gone = await other.browser.get(other.url);
    issuer.answer = null;
    expect([gone.status, messageOf(gone)]).toEqual([
      503,
      'The identity provider does not respond now',
    ]);
    expect(server.logLines.join('\n')).not.toContain(issuer.clientSecret);
  });

  it('uses the named client when it belongs to this deployment (1.20)', async () => {
    const { sub } = addAccount();
    const statusBy = async (client: string) => {
      const query = `?tsg_id=${server.tsgId}&sso_client_id=${client}`;
      issuer.subject = sub;
      return (await new Browser().get(`${server.url}/v1/sign-in${query}`)).status;
    };
    expect([await statusBy(issuer.clientId), await statusBy('another')]).toEqual([302, 400]);
  });

  it('redirects only to paths of this server, and requires a known organisation', async () => {
    const bad = ['//evil.example', 'https://evil.example', '/\\evil.example', '/%0d', 'x'];
    for (const to of bad.map(encodeURIComponent)) {
      const page = await new Browser().get(
        `${server.url}/v1/sign-in?tsg_id=${server.tsgId}&return_to=${to}`,
      );
      if (to === '%2F%250d') expect(page.status).toBe(302);
      else expect([to, page.status]).toEqual([to, 400]);
    }
    expect((await new Browser().get(`${server.url}/v1/sign-in`)).status).toBe(400);
  });
});

describe('a session', () => {
  it('acts in the workspace that its user is in, with the rights of the role there', async () => {
    const [one, two] = [await addWorkspace(), await addWorkspace()];
    const { ask } = await addSignedIn('member', { [one]: 'member', [two]: 'manager' });
    const at = (workspace: string) => ({ 'gatewright-workspace': workspace });
    const makeConfig = (headers: Record<string, string>) =>
      ask('POST', '/v2/configs', { body: { name: 'c', config: {} }, headers });
    expect((await ask('GET', '/v2/configs')).status).toBe(403);
    expect((await ask('GET', '/v2/configs', { headers: at(one) })).status).toBe(200);
    expect((await makeConfig(at(one))).status).toBe(403);
    const made = await makeConfig(at(two));
    expect(made.status).toBe(200);
    const path = `/v2/configs/${made.body.id}`;
    expect((await ask('GET', path, { headers: at(two) })).body.workspace_id).toBe(two);
    expect((await ask('GET', path, { headers: at(one) })).status).toBe(404);
    const elsewhere = [await addWorkspace(), randomUUID()];
    for (const workspace of elsewhere) {
      const refused = await ask('GET', '/v1/session', { headers: at(workspace) });
      expect([refused.status, refused.body.error.message]).toEqual([
        403,
        'You are not a member of this workspace',
      ]);
    }
    const [row] = await listAudit(server, made.body.id);
    expect(row).toMatchObject({ action: 'create', resource_kind: 'Config' });
  });

  it('lets an administrator act on the organisation, or on the workspace that a header names', async () => {
    const workspace = await addWorkspace();
    const { id, ask } = await addSignedIn('admin');
    expect((await ask('GET', '/admin/v2/workspaces')).body.total).toBeGreaterThan(1);
    const headers = { 'gatewright-workspace': workspace };
    expect((await ask('GET', '/admin/v2/workspaces', { headers })).body.total).toBe(1);
    const made = await ask('POST', '/v1/configs', { body: { name: 'c', config: {} } });
    const rows = await server.database.db
      .selectFrom('audit_log')
      .select(['actor_kind', 'actor_id'])
      .where('resource_id', '=', made.body.id)
      .execute();
    expect(rows).toEqual([{ actor_kind: 'user', actor_id: id }]);
  });

  it('lets a member create keys for that member only, and find no others', async () => {
    const workspace = await addWorkspace();
    const member = await addSignedIn('member', { [workspace]: 'member' });
    const manager = await addSignedIn('member', { [workspace]: 'manager' });
    const path = '/v1/api-keys/workspace/user';
    const body = { name: 'own', scopes: ['completions.write'] };
    const own = await member.ask('POST', path, { body });
    expect(own.status).toBe(200);
    const theirs = await manager.ask('POST', path, { body: { ...body, user_id: manager.id } });
    const refused = await member.ask('POST', path, { body: { ...body, user_id: manager.id } });
    expect(refused.status).toBe(403);
    const beyond = { ...body, scopes: ['workspaces.update'] };
    expect((await member.ask('POST', path, { body: beyond })).status).toBe(403);
    for (const [method, more] of [
      ['GET', {}],
      ['PUT', { body: { name: 'mine' } }],
      ['DELETE', {}],
    ] as const) {
      const answer = await member.ask(method, `/v1/api-keys/${theirs.body.id}`, more);
      expect([method, answer.status]).toEqual([method, 404]);
    }
    const rotated = await member.ask('POST', `/v1/api-keys/${theirs.body.id}/rotate`);
    expect(rotated.status).toBe(404);
    const ids = (await member.ask('GET', '/v1/api-keys')).body.data.map(
      (one: { id: string }) => one.id,
    );
    expect(ids).toEqual([own.body.id]);
    expect((await manager.ask('GET', '/v1/api-keys')).body.total).toBe(2);
  });

  it('rejects changes from another origin or without an origin', async () => {
    const { ask } = await addSignedIn('admin');
    for (const origin of ['https://evil.example', 'null', `${publicUrl}.evil.example`]) {
      const headers = { origin };
      const made = await ask('POST', '/v1/configs', { body: { name: 'c', config: {} }, headers });
      expect([origin, made.status, made.body.error.param]).toEqual([origin, 403, 'origin']);
      expect((await ask('GET', '/v1/configs', { headers })).status).toBe(200);
      expect((await ask('DELETE', '/v1/session', { headers })).status).toBe(403);
    }
  });

  it('is ignored beside another credential, and rejected when sent twice or altered', async () => {
    const { cookie, ask } = await addSignedIn('admin');
    const key = (await addKeyCaller(server, ['configs.list'])).key;
    const withKey = await ask('GET', '/v1/configs', { headers: { 'x-gateway-api-key': key } });
    expect(withKey.status).toBe(200);
    const [organisation, id, secret] = cookie.split('.');
    const other = await addTenant(server, randomUUID());
    for (const wrong of [
      `${cookie}; ${sessionCookie}=${cookie}`,
      `${organisation}.${id}.${'x'.repeat(43)}`,
      `${other.organisationId}.${id}.${secret}`,
      `${organisation}.${randomUUID()}.${secret}`,
      '',
      '..',
      `${organisation}.${id}`,
      `${organisation}.${id}.`,
    ]) {
      expect([wrong, (await asking(wrong)('GET', '/v1/session')).status]).toEqual([wrong, 401]);
    }
  });

  it('ends after the idle timeout, and at the end of its lifetime in any case', async () => {
    const { ask } = await addSignedIn('member');
    const status = async () => (await ask('GET', '/v1/session')).status;
    for (let hours = 0; hours < 3; hours += 1) {
      server.clock.advance(3_599_000);
      expect(await status()).toBe(200);
      await expect.poll(lastUses).toContain(server.clock.now());
    }
    server.clock.advance(3_600_000);
    expect(await status()).toBe(401);
    server.clock.set(Date.now());
    const busy = await addSignedIn('member');
    const start = server.clock.now();
    for (let at = 3_000_000; at < sessions.sessionMs; at += 3_000_000) {
      server.clock.set(start + at);
      expect((await busy.ask('GET', '/v1/session')).status).toBe(200);
      await expect.poll(lastUses).toContain(server.clock.now());
    }
    server.clock.set(start + sessions.sessionMs);
    expect((await busy.ask('GET', '/v1/session')).status).toBe(401);
    server.clock.advance(sessions.sessionMs);
    await server.app.jobs.runNow('delete-ended-sessions');
    expect(await lastUses()).toEqual([]);
  });

  it('ends at once when its user signs out, is deactivated or is deleted', async () => {
    const one = await addSignedIn('member');
    const left = await one.ask('DELETE', '/v1/session');
    expect(left).toMatchObject({ status: 200, body: { end_session_url: expect.any(String) } });
    expect(left.headers['set-cookie']).toContain('Max-Age=0');
    expect((await one.ask('GET', '/v1/session')).status).toBe(401);
    const two = await addSignedIn('member');
    const path = `/v1/scim/v2/Users/${two.id}`;
    const Operations = [{ op: 'replace', path: 'active', value: false }];
    expect((await server.request('PATCH', path, { body: { Operations } })).status).toBe(200);
    expect((await two.ask('GET', '/v1/session')).status).toBe(401);
    Operations[0]!.value = true;
    await server.request('PATCH', path, { body: { Operations } });
    expect((await two.ask('GET', '/v1/session')).status).toBe(401);
    const three = await addSignedIn('admin');
    await server.request('DELETE', `/v1/admin/users/${three.id}`);
    expect((await three.ask('GET', '/v1/session')).status).toBe(401);
  });

  it('follows role changes of its user at once', async () => {
    const workspace = await addWorkspace();
    const { id, ask } = await addSignedIn('member', { [workspace]: 'manager' });
    const make = async () =>
      (await ask('POST', '/v1/configs', { body: { name: 'c', config: {} } })).status;
    expect(await make()).toBe(200);
    await server.request('PUT', `/v1/admin/workspaces/${workspace}/users/${id}`, {
      body: { role: 'member' },
    });
    expect(await make()).toBe(403);
    await server.request('DELETE', `/v1/admin/workspaces/${workspace}/users/${id}`);
    expect((await ask('GET', '/v1/configs')).status).toBe(403);
  });

  it('is listed and ended by user administrators, and never by another tenant', async () => {
    const { id, sub, ask } = await addSignedIn('member');
    await signIn(sub);
    const path = `/v1/admin/users/${id}/sessions`;
    const { body } = await server.request('GET', path);
    expect(body).toMatchObject({ total: 2, data: [{ object: 'session' }, { object: 'session' }] });
    const other = await addTenant(server, randomUUID());
    const first = `${path}/${body.data[1].id}`;
    for (const place of [path, first]) {
      expect((await other.send('DELETE', place)).status).toBe(404);
    }
    expect((await server.request('DELETE', first)).body).toEqual({});
    expect((await server.request('DELETE', first)).status).toBe(404);
    expect((await ask('GET', '/v1/session')).status).toBe(401);
    expect((await server.request('DELETE', path)).body).toEqual({});
    expect((await server.request('GET', path)).body.total).toBe(0);
  });

  it('ends on back-channel logout, for one session or for all sessions of the account', async () => {
    const logout = (claims: Record<string, unknown>, changes: Record<string, unknown> = {}) => {
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const iat = Math.floor(server.clock.now() / 1000);
      const usual = { iss: issuer.url, aud: issuer.clientId, iat, jti: randomUUID(), events };
      return issuer.sign({ ...usual, ...claims, ...changes }, 'logout+jwt');
    };
    const tell = async (token: string) =>
      (
        await exchange(
          'POST',
          `${server.url}/v1/sign-in/back-channel-logout`,
          `logout_token=${token}`,
          { 'content-type': 'application/x-www-form-urlencoded' },
        )
      ).status;
    const { sub, ask } = await addSignedIn('member');
    const second = asking(cookieOf((await signIn(sub)).browser)!);
    const both = async () => [
      (await ask('GET', '/v1/session')).status,
      (await second('GET', '/v1/session')).status,
    ];
    for (const changes of [
      { aud: 'another' },
      { iss: 'https://evil.example' },
      { events: {} },
      { nonce: 'n' },
      { iat: Math.floor(server.clock.now() / 1000) - 3600 },
      { sub: undefined },
    ]) {
      expect([changes, await tell(await logout({ sub }, changes))]).toEqual([changes, 403]);
    }
    expect(await tell('a.b.c')).toBe(403);
    expect(await both()).toEqual([200, 200]);
    expect(await tell(await logout({ sub: randomUUID() }))).toBe(200);
    expect(await both()).toEqual([200, 200]);
    expect(await tell(await logout({ sub }))).toBe(200);
    expect(await both()).toEqual([401, 401]);
  });
});

/** Times of last use of all sessions. */
async function lastUses(): Promise<number[]> {
  const rows = await server.database.db
    .selectFrom('user_sessions')
    .select('last_used_at')
    .execute();
  return rows.map(({ last_used_at }) => last_used_at);
}

describe('sign-in with provisioning by the identity provider', () => {
  let strict: TestServer;
  beforeAll(async () => {
    const roles = {
      claim: 'realm.groups',
      byValue: new Map([
        ['platform', 'admin' as const],
        ['staff', 'member' as const],
      ]),
    };
    // The tenant is known only after the server has started.
    const own = { ...settings, roles, provisions: true, tsgId: '' };
    strict = await startTestServer({ settings: { signIn: own, sessions } });
    own.tsgId = strict.tsgId;
    strict.clock.set(Date.now());
  });
  afterAll(() => strict[Symbol.asyncDispose]());

  const come = (groups: readonly string[], sub = addAccount().sub) => {
    issuer.accounts.set(sub, { ...issuer.accounts.get(sub), realm: { groups } });
    return { sub, page: signIn(sub, { at: strict, query: '' }) };
  };

  it('creates an unknown person as a user (1.7) with the highest role that a claim grants', async () => {
    const { sub, page } = come(['staff', 'platform']);
    const { browser, status } = await page;
    expect(status).toBe(302);
    const own = async (from: Browser) =>
      (await asking(cookieOf(from, strict)!, strict)('GET', '/v1/session')).body.user.role;
    expect(await own(browser)).toBe('admin');
    const again = await come(['staff'], sub).page;
    expect(await own(again.browser)).toBe('member');
  });

  it('rejects a person without a role, and keeps the owner as owner', async () => {
    expect((await come(['elsewhere']).page).status).toBe(403);
    const owner = await ownerOf(strict);
    const email = 'owner@example.com';
    await strict.database.db
      .updateTable('users')
      .set({ email, email_key: email })
      .where('organisation_id', '=', strict.organisationId)
      .where('id', '=', owner)
      .execute();
    const { sub } = addAccount({ email });
    const { browser } = await come(['staff'], sub).page;
    const { body } = await asking(cookieOf(browser, strict)!, strict)('GET', '/v1/session');
    expect(body.user).toEqual({ id: owner, email, role: 'owner' });
  });
});

describe('disable_auto_provision_user of an organisation (1.20)', () => {
  const pathOf = (at: TestServer) => `/v1/organisations/${at.tsgId}/auth-settings`;
  const put = (at: TestServer, disabled: boolean | null) =>
    at.request('PUT', pathOf(at), {
      body: { auth_settings: { disable_auto_provision_user: disabled } },
    });
  const read = async (at: TestServer) =>
    (await at.request('GET', pathOf(at))).body.data.auth_settings.disable_auto_provision_user;

  it('admits unknown accounts with false, and refuses them with true and by default', async () => {
    expect(await read(server)).toBe(true);
    for (const [disabled, status] of [
      [false, 302],
      [true, 403],
      [false, 302],
      [null, 403],
    ] as const) {
      const { body } = await put(server, disabled);
      expect(body.data.auth_settings.disable_auto_provision_user).toBe(disabled ?? true);
      expect([disabled, (await signIn(addAccount().sub)).status]).toEqual([disabled, status]);
    }
  });

  it('refuses unknown accounts with true where the deployment admits them', async () => {
    const own = { ...settings, provisions: true, tsgId: '' };
    await using open = await startTestServer({ settings: { signIn: own, sessions } });
    own.tsgId = open.tsgId;
    open.clock.set(Date.now());
    const come = async () => (await signIn(addAccount().sub, { at: open })).status;
    expect([await read(open), await come()]).toEqual([false, 302]);
    await put(open, true);
    expect([await read(open), await come()]).toEqual([true, 403]);
    await put(open, null);
    expect([await read(open), await come()]).toEqual([false, 302]);
  });

  it('applies to one organisation, and is opened by an administrator only', async () => {
    const other = await addTenant(server);
    await put(server, false);
    const elsewhere = await signIn(addAccount().sub, { query: `?tsg_id=${other.tsgId}` });
    expect(elsewhere.status).toBe(403);
    const { send } = await addKeyCaller(server, [
      'organisation_settings.read',
      'organisation_settings.update',
    ]);
    const change = (disabled: unknown) =>
      send('PUT', pathOf(server), {
        body: { auth_settings: { disable_auto_provision_user: disabled } },
      });
    expect((await change(true)).status).toBe(200);
    for (const disabled of [false, null]) {
      const { status, body } = await change(disabled);
      expect([status, body.error.param]).toEqual([
        403,
        'auth_settings.disable_auto_provision_user',
      ]);
    }
    expect((await other.send('PUT', pathOf(server), { body: {} })).status).toBe(400);
    expect((await change('yes')).status).toBe(400);
    const rows = await listAudit(server, server.organisationId);
    expect(rows.at(-1)).toMatchObject({
      resource_kind: 'Organisation',
      changes: { fields: ['provisions_users'] },
    });
  });

  it('is stored, versioned and returned without an identity provider', async () => {
    await using plain = await startTestServer();
    expect(await read(plain)).toBeUndefined();
    const { headers } = await put(plain, true);
    expect([headers.etag, await read(plain)]).toEqual(['"2"', true]);
    const stale = {
      headers: { 'if-match': '"1"' },
      body: { auth_settings: { disable_auto_provision_user: null } },
    };
    expect((await plain.request('PUT', pathOf(plain), stale)).status).toBe(412);
  });
});

describe('a server without an identity provider', () => {
  it('returns an error on the sign-in routes, and accepts no session cookie', async () => {
    await using plain = await startTestServer();
    for (const path of ['/v1/sign-in', '/v1/sign-in/callback']) {
      const { status, body } = await exchange('GET', plain.url + path, undefined, {});
      expect([status, body.error.message]).toEqual([
        403,
        'This feature is switched off on this deployment',
      ]);
    }
    const cookie = `${randomUUID()}.${randomUUID()}.x`;
    expect((await asking(cookie, plain)('GET', '/v1/session')).status).toBe(401);
  });
});
