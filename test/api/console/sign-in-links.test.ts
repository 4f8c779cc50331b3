/** Verifies sign-in by one-time links: who creates them, what they open, and when they end. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scopesOfMember } from '../../../src/model/people/scopes.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { runWords, writeCredentials } from '../../support/server/command-line.ts';
import { type ConsoleServer, startConsoleServer } from '../../support/server/console.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer, testSettings } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import {
  addKeyCaller,
  addServiceAccount,
  addTenant,
  boundToken,
  listAudit,
} from '../../support/server/tenant.ts';

const publicUrl = new URL('https://gateway.example.com');

let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsoleServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const linksOf = (userId: string) => `/v2/admin/users/${userId}/sign-in-links`;

/** Creates a link by the superuser; returns it with its code. */
async function linkFor(
  userId: string,
  at: ConsoleServer = server,
): Promise<{ readonly id: string; readonly url: string; readonly code: string }> {
  const { status, body } = await at.request('POST', linksOf(userId));
  if (status !== 200) throw new Error(JSON.stringify(body));
  return { ...body, code: body.url.slice(body.url.lastIndexOf('/') + 1) };
}

/** Uses a code from a page of the server. */
function use(code: string, headers: Record<string, string> = {}, at: ConsoleServer = server) {
  return exchange('POST', `${at.url}/v1/sign-in/link`, { code }, { origin: at.url, ...headers });
}

/** Headers of the browser after a sign-in. */
function browserOf({ headers }: TestResponse, origin = server.url): Record<string, string> {
  const cookie = String(headers['set-cookie']);
  return { cookie: cookie.slice(0, cookie.indexOf(';')), origin };
}

const session = (headers: Record<string, string>) =>
  exchange('GET', `${server.url}/v1/session`, undefined, headers);

const countSessions = async (userId: string): Promise<number> => {
  const rows = await server.database.db
    .selectFrom('user_sessions')
    .select('id')
    .where('organisation_id', '=', server.organisationId)
    .where('user_id', '=', userId)
    .execute();
  return rows.length;
};

const refused = { status: 401, body: { error: { code: 'AB05', param: 'code' } } };

describe('a sign-in by a link', () => {
  it('opens a session of the user in a cookie that scripts cannot read, until the user signs out', async () => {
    const owner = await ownerOf(server);
    const { url, code } = await linkFor(owner);
    expect(url).toBe(`${server.url}/console#/sign-in/${code}`);
    const opened = await use(code);
    expect(opened).toMatchObject({
      status: 200,
      headers: {
        'cache-control': 'no-store',
        'set-cookie': expect.stringMatching(
          /^__Host-gatewright-session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; Secure; SameSite=Lax$/,
        ),
      },
      body: { object: 'session', expires_at: '2027-01-04T20:00:00.000Z' },
    });
    const browser = browserOf(opened);
    expect(await session(browser)).toMatchObject({
      status: 200,
      body: { id: opened.body.id, user: { id: owner, role: 'owner' }, workspace_id: null },
    });
    const end = () => exchange('DELETE', `${server.url}/v1/session`, undefined, browser);
    expect(await end()).toMatchObject({ status: 200, body: { end_session_url: null } });
    expect((await session(browser)).status).toBe(401);
  });

  it('tells the addresses that clients use, and where the documentation is', async () => {
    const usual = testSettings();
    const addresses = { inference: 'https://ai.example.com', mcp: 'https://mcp.example.com' };
    await using other = await startConsoleServer({
      settings: {
        inference: { ...usual.inference, publicUrl: addresses.inference },
        mcp: { ...usual.mcp, publicUrl: addresses.mcp },
      },
    });
    const { code } = await linkFor(await ownerOf(other), other);
    const browser = browserOf(await use(code, {}, other), other.url);
    const { body } = await exchange('GET', `${other.url}/v1/session`, undefined, browser);
    expect(body.addresses).toEqual({ ...addresses, docs: '/console/docs/' });
  });

  it('has exactly the rights of the user', async () => {
    const made = await server.request('POST', '/v2/workspaces', { body: { name: 'one' } });
    const memberId = await addUser(server);
    await server.request('POST', `/v2/admin/workspaces/${made.body.id}/users`, {
      body: { users: [{ id: memberId, role: 'member' }] },
    });
    const { body } = await session(browserOf(await use((await linkFor(memberId)).code)));
    expect(body.scopes.toSorted()).toEqual(scopesOfMember('member').toSorted());
    expect(body).toMatchObject({ workspace_id: made.body.id, user: { role: 'member' } });
  });

  it('opens one session when a hundred requests race with one code', async () => {
    const userId = await addUser(server);
    const { code } = await linkFor(userId);
    const answers = await Promise.all(Array.from({ length: 100 }, () => use(code)));
    const opened = answers.filter(({ status }) => status === 200);
    expect(opened.length).toBe(1);
    const others = answers.filter(({ status }) => status !== 200).map(({ status }) => status);
    expect(others.every((status) => status === 401 || status === 429)).toBe(true);
    expect(answers.filter(({ headers }) => headers['set-cookie'] !== undefined)).toEqual(opened);
    expect(await countSessions(userId)).toBe(1);
    server.clock.advance(60_000);
  });

  it('is refused after five minutes, and the job deletes the link', async () => {
    const userId = await addUser(server);
    const [first, second] = [await linkFor(userId), await linkFor(userId)];
    server.clock.advance(299_999);
    expect((await use(first.code)).status).toBe(200);
    server.clock.advance(1);
    expect(await use(second.code)).toMatchObject(refused);
    expect(await countSessions(userId)).toBe(1);
    await server.app.jobs.runNow('delete-ended-sessions');
    const left = await server.database.db.selectFrom('sign_in_links').select('id').execute();
    expect(left).toEqual([]);
  });

  it('is refused in the same way for every wrong code, and too many of them are slowed', async () => {
    server.clock.advance(60_000);
    const { code } = await linkFor(await addUser(server));
    const [organisationId, id, secret] = code.split('.');
    const wrong = [
      'x',
      '..',
      '....',
      `${organisationId}.${id}`,
      `${organisationId}.${id}.`,
      `${organisationId}.${id}.${secret}x`,
      `${organisationId}.${id}.${'A'.repeat(43)}`,
      `${id}.${organisationId}.${secret}`,
      `${organisationId}.${organisationId}.${secret}`,
      `' OR 1=1 --.${id}.${secret}`,
    ];
    const answers = [];
    for (const one of wrong) answers.push(await use(one));
    expect(answers.map(({ status }) => status)).toEqual(wrong.map(() => 401));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const more = await Promise.all(Array.from({ length: 20 }, () => use('wrong')));
    expect(more.filter(({ status }) => status === 401).length).toBe(20 - wrong.length);
    expect(more.filter(({ status }) => status === 429).length).toBe(wrong.length);
    // A right code is not slowed, so nobody locks others out behind the same address.
    expect((await use(code)).status).toBe(200);
    const bodies: unknown[] = [{}, { code: 1 }, { code: '' }, { code: 'x'.repeat(257) }, [], null];
    for (const body of bodies) {
      const headers = { origin: server.url };
      const answer = await exchange('POST', `${server.url}/v1/sign-in/link`, body, headers);
      expect(answer.status).toBe(400);
    }
    server.clock.advance(60_000);
  });

  it('is refused from pages of other sites, which leaves the link valid', async () => {
    const { code } = await linkFor(await addUser(server));
    const { port } = new URL(server.url);
    const localhost = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
    const others: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: '' },
      { origin: server.url.replace('http:', 'https:') },
      { origin: `${server.url}/` },
      { origin: localhost.origin },
      { origin: 'http://127.0.0.1:9' },
      { host: 'evil.example', origin: 'http://evil.example' },
      { host: `127.0.0.1.evil.example:${port}`, origin: `http://127.0.0.1.evil.example:${port}` },
      { ...localhost, origin: `http://x@localhost:${port}`, host: `x@localhost:${port}` },
    ];
    for (const headers of others) {
      expect([headers, (await use(code, headers)).status]).toEqual([
        headers,
        expect.toBeOneOf([400, 403]),
      ]);
    }
    const without = await exchange('POST', `${server.url}/v1/sign-in/link`, { code }, {});
    expect(without).toMatchObject({ status: 403, body: { error: { param: 'origin' } } });
    const form = await exchange('POST', `${server.url}/v1/sign-in/link`, `code=${code}`, {
      origin: server.url,
      'content-type': 'text/plain',
    });
    expect(form.status).toBe(415);
    const opened = await use(code, localhost);
    expect(opened.status).toBe(200);
    const change = (origin: string) =>
      exchange('DELETE', `${server.url}/v1/session`, undefined, {
        ...browserOf(opened),
        ...localhost,
        origin,
      });
    expect((await change(server.url)).status).toBe(403);
    expect((await change('https://evil.example')).status).toBe(403);
    expect((await change(localhost.origin)).status).toBe(200);
  });

  it('leads to the public address, whose pages alone may use it', async () => {
    const { sessions } = signedInSettings;
    await using at = await startConsoleServer({ settings: { sessions } });
    const { url, code } = await linkFor(await ownerOf(at), at);
    expect(url).toBe(`${publicUrl.origin}/console#/sign-in/${code}`);
    expect((await use(code, {}, at)).status).toBe(403);
    expect((await use(code, { origin: publicUrl.origin }, at)).status).toBe(200);
  });

  it('is refused for a user who was deactivated or deleted, or whose sessions were all ended', async () => {
    const [inactive, deleted, ended, changed] = [
      await addUser(server),
      await addUser(server),
      await addUser(server),
      await addUser(server),
    ];
    const links = await Promise.all([inactive, deleted, ended, changed].map((id) => linkFor(id)));
    const Operations = [{ op: 'replace', path: 'active', value: false }];
    await server.request('PATCH', `/v1/scim/v2/Users/${inactive}`, { body: { Operations } });
    Operations[0]!.value = true;
    await server.request('PATCH', `/v1/scim/v2/Users/${inactive}`, { body: { Operations } });
    await server.request('DELETE', `/v2/admin/users/${deleted}`);
    await server.request('DELETE', `/v2/admin/users/${ended}/sessions`);
    await server.database.db
      .updateTable('users')
      .set({ status: 'inactive' })
      .where('organisation_id', '=', server.organisationId)
      .where('id', '=', changed)
      .execute();
    for (const { code } of links) expect(await use(code)).toMatchObject(refused);
    expect((await server.request('POST', linksOf(changed))).status).toBe(409);
    server.clock.advance(60_000);
  });
});

describe('the creation of a link', () => {
  it('needs every scope that the user has, and for the owner a superuser or the owner', async () => {
    const owner = await ownerOf(server);
    const [adminId, memberId] = [await addUser(server, { role: 'admin' }), await addUser(server)];
    const workspace = await server.request('POST', '/v2/workspaces', { body: { name: 'two' } });
    const managerId = await addUser(server);
    await server.request('POST', `/v2/admin/workspaces/${workspace.body.id}/users`, {
      body: { users: [{ id: managerId, role: 'manager' }] },
    });
    const update = 'organisation_users.update';
    const asUser = async (id: string) => (await addSession(server, id)).headers;
    const sessionOf = async (id: string) => ({ ...(await asUser(id)), origin: server.url });
    const key = (value: string) => ({ 'x-gateway-api-key': value });
    const [scoped, whole, unscoped, inWorkspace] = [
      (await addKeyCaller(server, [update])).key,
      server.organisationApiKey,
      (await addKeyCaller(server, ['organisation_users.read'])).key,
      await boundToken(server, workspace.body.id),
    ];
    const identityAdmin = await addServiceAccount(server, 'identity_admin');
    const create = async (userId: string, headers: Record<string, string>) =>
      (
        await exchange(
          'POST',
          `${server.url}/v1/admin/users/${userId}/sign-in-links`,
          undefined,
          headers,
        )
      ).status;
    const everybody = async (headers: Record<string, string>) =>
      Promise.all([owner, adminId, managerId, memberId].map((id) => create(id, headers)));
    expect(await everybody(await sessionOf(owner))).toEqual([200, 200, 200, 200]);
    expect(await everybody(await sessionOf(adminId))).toEqual([403, 200, 200, 200]);
    expect(await everybody(key(whole))).toEqual([403, 200, 200, 200]);
    expect(await everybody(key(scoped))).toEqual([403, 403, 403, 200]);
    expect(await everybody(key(unscoped))).toEqual([403, 403, 403, 403]);
    expect(await everybody(await sessionOf(memberId))).toEqual([403, 403, 403, 403]);
    expect(await everybody({ authorization: `Bearer ${inWorkspace}` })).toEqual([
      403, 403, 403, 403,
    ]);
    expect(await everybody({})).toEqual([401, 401, 401, 401]);
    const byAccount = await Promise.all(
      [owner, adminId, managerId, memberId].map(
        async (id) => (await identityAdmin.send('POST', linksOf(id))).status,
      ),
    );
    expect(byAccount).toEqual([403, 403, 403, 200]);
    const superuser = await Promise.all(
      [owner, adminId, managerId, memberId].map((id) => server.request('POST', linksOf(id))),
    );
    expect(superuser.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const foreign = await addTenant(server);
    expect((await foreign.send('POST', linksOf(memberId))).status).toBe(404);
    const elsewhere = { ...(await sessionOf(owner)), origin: 'https://evil.example' };
    expect(await everybody(elsewhere)).toEqual([403, 403, 403, 403]);
  });

  it('makes another link for a repeated Idempotency-Key, so that no code is stored', async () => {
    const userId = await addUser(server);
    const create = () =>
      server.request('POST', linksOf(userId), { headers: { 'idempotency-key': 'once' } });
    const [first, second] = [await create(), await create()];
    expect(first.body.url).not.toBe(second.body.url);
    const stored = await server.database.db
      .selectFrom('idempotency_keys')
      .select('idempotency_key')
      .where('idempotency_key', '=', 'once')
      .execute();
    expect(stored).toEqual([]);
  });

  it('is refused where browsers would not keep the session, with what to do', async () => {
    const path = linksOf(await ownerOf(server));
    const answer = await server.request('POST', path, { headers: { host: 'gateway.internal' } });
    expect(answer).toMatchObject({ status: 409, body: { error: { param: 'host' } } });
    expect(answer.body.error.message).toContain('GATEWRIGHT_PUBLIC_URL');
    const { port } = new URL(server.url);
    const all = await server.request('POST', path, { headers: { host: `0.0.0.0:${port}` } });
    expect(all.body.url).toContain(`${server.url}/console#/sign-in/`);
  });

  it('returns 403 where the console is off', async () => {
    await using plain = await startTestServer();
    const answer = await plain.request('POST', linksOf(await ownerOf(plain)));
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'AB03' } } });
  });
});

describe('the code of a link', () => {
  it('is in no log line, no audit row, no metric and no row; its creation, use and refusal are', async () => {
    const userId = await addUser(server);
    const { id, code } = await linkFor(userId);
    const unused = await linkFor(userId);
    const opened = await use(code);
    await use(code);
    await use(`${unused.code}x`);
    expect(await listAudit(server, id)).toMatchObject([
      { action: 'create', resource_kind: 'SignInLink', changes: { user: userId } },
    ]);
    expect(await listAudit(server, opened.body.id)).toMatchObject([
      { action: 'create', resource_kind: 'UserSession', changes: { user: userId, link: id } },
    ]);
    const metrics = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
    expect(metrics.body).toMatch(
      /gatewright_refused_credentials_total\{[^}]*credential="sign_in_link"[^}]*\} \d/,
    );
    const { db } = server.database;
    const stored = [
      server.logLines,
      metrics.body,
      await db.selectFrom('audit_log').selectAll().execute(),
      await db.selectFrom('sign_in_links').selectAll().execute(),
      await db.selectFrom('user_sessions').selectAll().execute(),
      await db.selectFrom('idempotency_keys').selectAll().execute(),
    ].map((one) => JSON.stringify(one));
    const cookie = browserOf(opened).cookie!;
    for (const canary of [code, unused.code, cookie].map((one) => one.split('.').at(-1)!)) {
      expect(canary.length).toBeGreaterThanOrEqual(43);
      for (const text of stored) expect(text).not.toContain(canary);
    }
    expect(server.logLines.some((line) => line.includes('/v1/sign-in/link'))).toBe(true);
  });
});

describe('gatewright console', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'console-command-'));

  it('prints a link for the owner, or for the user with an address', async () => {
    writeCredentials(cwd, server);
    const ofOwner = await runWords(['console'], cwd);
    expect(ofOwner).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('signs owner@') });
    expect(ofOwner.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console#\/sign-in\/[\w.-]+\n$/);
    const email = 'ann@example.com';
    const userId = await addUser(server, { email, email_key: email });
    const { stdout } = await runWords(['console', '--user', 'Ann@example.com', '-o', 'json'], cwd);
    const { url, user } = JSON.parse(stdout);
    expect(user).toBe(email);
    const opened = await use(url.slice(url.lastIndexOf('/') + 1));
    expect((await session(browserOf(opened))).body.user.id).toBe(userId);
  });

  it('names what is wrong: the address, or the setting of the server', async () => {
    writeCredentials(cwd, server);
    const nobody = await runWords(['console', '--user', 'nobody@example.com'], cwd);
    expect(nobody).toMatchObject({
      exitCode: 5,
      stdout: '',
      stderr: expect.stringContaining('no user has the address "nobody@example.com"'),
    });
    await using plain = await startTestServer();
    writeCredentials(cwd, plain);
    const off = await runWords(['console'], cwd);
    expect([off.exitCode, off.stdout]).toEqual([4, '']);
    expect(off.stderr).toContain('GATEWRIGHT_CONSOLE_ENABLED');
  });
});
