/**
 * Verifies service accounts by request: what they may do, that nobody gains rights through them, how their
 * secrets rotate, and that a secret appears nowhere but in the response that returns it.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceAccountPrincipal } from '../../../src/model/people/access-policy.ts';
import { isWellFormedApiKey } from '../../../src/model/people/credentials.ts';
import { assignableRoles } from '../../../src/model/people/service-account.ts';
import { splitStatements } from '../../../src/store/migrations/sql-statements.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import {
  addKeyCaller,
  addServiceAccount,
  addTenant,
  bindToWorkspace,
  listAudit,
  type Send,
} from '../../support/server/tenant.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const halfHourMs = 1_800_000;
/** Longer than authentication caches the state of an account. */
const cacheMs = 2_001;
const path = '/v2/service-accounts';

interface Account {
  readonly id: string;
  readonly client_id: string;
  readonly client_secret: string;
}

const newName = () => `bot-${randomUUID().slice(0, 8)}`;
const superuser: Send = (method, to, options) => server.request(method, to, options);

async function make(fields: object = {}, send: Send = superuser): Promise<Account> {
  const body = { name: newName(), roles: ['resource_admin'], ...fields };
  const made = await send('POST', path, { body });
  expect(made.body).toMatchObject({ id: expect.any(String) });
  expect(made.status).toBe(200);
  return made.body;
}

function askToken(clientId: string, secret: string, tsgId = server.tsgId): Promise<TestResponse> {
  const basic = Buffer.from(`${clientId}:${secret}`).toString('base64');
  return exchange(
    'POST',
    `${server.url}/oauth2/access_token`,
    `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
    { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
  );
}

async function signIn({ client_id, client_secret }: Account): Promise<Send> {
  const { status, body } = await askToken(client_id, client_secret);
  expect(status).toBe(200);
  return (method, to, options = {}) =>
    exchange(method, server.url + to, options.body, {
      authorization: `Bearer ${body.access_token}`,
      ...options.headers,
    });
}

const statusOf = async (answer: Promise<TestResponse>) => (await answer).status;

async function addWorkspace(): Promise<string> {
  const name = `ws-${randomUUID().slice(0, 8)}`;
  return (await server.request('POST', '/admin/v2/workspaces', { body: { name } })).body.id;
}

describe('a service account of an older build, which has no profile', () => {
  it('is listed, disabled and deleted like others after the migration', async () => {
    const { clientId, send } = await addServiceAccount(server, 'view_only_admin');
    const { db } = server.database;
    const { id, name } = (await serviceAccounts.findByClientId(db, clientId))!;
    const listed = async () => (await server.request('GET', `${path}?search=${name}`)).body.data;
    expect(await listed()).toEqual([]);
    const file = resolve('migrations/0095_profiles_of_older_accounts.sql');
    const { body: before } = await server.request('GET', `${path}?page_size=100`);
    for (const { text } of splitStatements(readFileSync(file, 'utf8'))) {
      await sql.raw(text).execute(db);
    }
    expect(await listed()).toMatchObject([
      { id, name, status: 'active', creation_mode: 'auto', roles: ['view_only_admin'] },
    ]);
    const { body: after } = await server.request('GET', `${path}?page_size=100`);
    expect(after.data.filter((one: { id: string }) => one.id !== id)).toEqual(before.data);
    const disabling = { body: { status: 'disabled' } };
    expect(await statusOf(server.request('PUT', `${path}/${id}`, disabling))).toBe(200);
    server.clock.advance(cacheMs);
    expect(await statusOf(send('GET', '/v2/configs'))).toBe(401);
    expect(await statusOf(server.request('DELETE', `${path}/${id}`))).toBe(200);
    expect(await listed()).toEqual([]);
  });
});

describe('a service account', () => {
  it('is created with a secret that is returned once and gives a token with its roles', async () => {
    const name = newName();
    const account = await make({ name, description: 'CI' });
    expect(account).toEqual({
      id: account.id,
      client_id: serviceAccountPrincipal(name, server.tsgId),
      client_secret: expect.any(String),
      object: 'service-account',
    });
    expect(isWellFormedApiKey(account.client_secret)).toBe(true);
    const send = await signIn(account);
    expect(await statusOf(send('GET', '/v2/configs'))).toBe(200);
    expect(await statusOf(send('GET', path))).toBe(403);
    const { body } = await server.request('GET', `${path}/${account.id}`);
    expect(body).toMatchObject({
      id: account.id,
      name,
      client_id: account.client_id,
      description: 'CI',
      roles: ['resource_admin'],
      status: 'active',
      workspace_id: null,
      creation_mode: 'api',
    });
  });

  it('is bound to its workspace if it has one', async () => {
    const [workspace, other] = [await addWorkspace(), await addWorkspace()];
    const account = await make({ roles: ['workspace_manager'], workspace_id: workspace });
    const send = await signIn(account);
    expect(await statusOf(send('GET', `/v2/configs?workspace_id=${workspace}`))).toBe(200);
    expect(await statusOf(send('GET', `/v2/configs?workspace_id=${other}`))).toBe(403);
  });

  it('is listed with the account of bootstrap, by workspace and by part of the name', async () => {
    const workspace_id = await addWorkspace();
    const { id } = await make({ roles: ['workspace_member'], workspace_id });
    const list = async (query: string) => {
      const { body } = await server.request('GET', `${path}?page_size=100&${query}`);
      return body.data;
    };
    expect(await list(`workspace_id=${workspace_id}`)).toMatchObject([{ id }]);
    const named = await list('search=test');
    expect(named).toMatchObject([{ creation_mode: 'auto', roles: ['superuser'] }]);
    expect((await list('')).map((one: { id: string }) => one.id)).toContain(id);
  });

  it('has its roles, description and status changed, with one audit row each', async () => {
    const { id } = await make();
    const update = (body: object, headers = {}) =>
      server.request('PUT', `${path}/${id}`, { body, headers });
    expect(await statusOf(update({ roles: ['view_only_admin'], description: 'b' }))).toBe(200);
    expect(await statusOf(update({ roles: ['view_only_admin'] }))).toBe(200);
    const { body, headers } = await server.request('GET', `${path}/${id}`);
    expect(body).toMatchObject({ roles: ['view_only_admin'], description: 'b' });
    expect(headers.etag).toBe('"2"');
    expect(await statusOf(update({ status: 'disabled' }, { 'if-match': '"1"' }))).toBe(412);
    expect((await listAudit(server, id)).map(({ action, changes }) => [action, changes])).toEqual([
      ['create', expect.objectContaining({ fields: ['name', 'roles'] })],
      ['update', { fields: ['description', 'roles'] }],
    ]);
    expect(await statusOf(update({}))).toBe(400);
    expect(await statusOf(update({ surprise: 1 }))).toBe(400);
  });

  it('refuses bad input with the place and the fix', async () => {
    const refused = async (fields: object) => {
      const body = { name: newName(), roles: ['view_only_admin'], ...fields };
      const answer = await server.request('POST', path, { body });
      return [answer.status, answer.body.error.message];
    };
    expect(await refused({ roles: ['superuser'] })).toEqual([
      400,
      expect.stringContaining('is created by `gatewright bootstrap` alone'),
    ]);
    expect(await refused({ roles: ['view_only'] })).toEqual([
      400,
      expect.stringContaining(`roles are ${assignableRoles.join(', ')}`),
    ]);
    expect((await refused({ roles: [] }))[0]).toBe(400);
    expect((await refused({ roles: ['view_only_admin', 'view_only_admin'] }))[0]).toBe(400);
    expect((await refused({ name: 'Not A Label' }))[0]).toBe(400);
    expect((await refused({ client_secret: 'chosen' }))[0]).toBe(400);
    expect((await refused({ workspace_id: randomUUID() }))[0]).toBe(404);
    const { body } = await server.request('GET', `${path}?page_size=100`);
    const [{ name }] = body.data;
    expect((await refused({ name }))[0]).toBe(409);
  });

  it('refuses gateway keys on every route', async () => {
    const { key } = await addKeyCaller(server, ['service_accounts.list', 'tsgs.list']);
    for (const to of [path, '/v2/tsgs', '/admin/v2/service-accounts', '/v1/service-accounts']) {
      const headers = { 'x-gateway-api-key': key };
      const status = await statusOf(server.request('GET', to, { auth: 'none', headers }));
      expect([401, 404]).toContain(status);
    }
  });
});

describe('a disabled or deleted account', () => {
  it('gets no token, and its tokens end, until it is enabled again', async () => {
    const account = await make();
    const send = await signIn(account);
    await server.request('PUT', `${path}/${account.id}`, { body: { status: 'disabled' } });
    server.clock.advance(cacheMs);
    expect(await statusOf(send('GET', '/v2/configs'))).toBe(401);
    const ask = () => statusOf(askToken(account.client_id, account.client_secret));
    expect(await ask()).toBe(401);
    await server.request('PUT', `${path}/${account.id}`, { body: { status: 'active' } });
    server.clock.advance(cacheMs);
    expect(await ask()).toBe(200);
    expect(await statusOf(send('GET', '/v2/configs'))).toBe(200);
  });

  it('is created disabled if asked', async () => {
    const { client_id, client_secret } = await make({ status: 'disabled' });
    expect(await statusOf(askToken(client_id, client_secret))).toBe(401);
  });

  it('loses tokens and roles with its delete, and a new account of the name inherits nothing', async () => {
    const name = newName();
    const account = await make({ name });
    const send = await signIn(account);
    expect(await statusOf(server.request('DELETE', `${path}/${account.id}`))).toBe(200);
    server.clock.advance(cacheMs);
    expect(await statusOf(send('GET', '/v2/configs'))).toBe(401);
    expect(await statusOf(askToken(account.client_id, account.client_secret))).toBe(401);
    expect(await statusOf(server.request('GET', `${path}/${account.id}`))).toBe(404);
    const again = await make({ name, roles: ['view_only_admin'] });
    const policies = (await server.request('GET', '/iam/v1/access_policies')).body.data;
    const own = policies.filter((one: { principal: string }) => one.principal === again.client_id);
    expect(own.map((one: { role: string }) => one.role)).toEqual(['view_only_admin']);
    expect(await statusOf(askToken(account.client_id, account.client_secret))).toBe(401);
  });

  it('ends with its workspace', async () => {
    const workspace = await addWorkspace();
    const account = await make({ roles: ['workspace_member'], workspace_id: workspace });
    const send = await signIn(account);
    const body = { force_delete: true };
    const deleting = server.request('DELETE', `/admin/v2/workspaces/${workspace}`, { body });
    expect(await statusOf(deleting)).toBe(200);
    server.clock.advance(cacheMs);
    expect(await statusOf(send('GET', '/v2/configs'))).toBe(401);
    expect(await statusOf(askToken(account.client_id, account.client_secret))).toBe(401);
  });
});

describe('the rights of an account', () => {
  it('cannot exceed those of the author, on create, update, enable, rotate or by a policy', async () => {
    const author = await addServiceAccount(server, 'identity_admin');
    const outcomeOf = async (method: string, to: string, body: object) => {
      const answer = await author.send(method, to, { body });
      return [answer.status, answer.body.error?.message ?? ''];
    };
    const forbidden = [403, expect.stringContaining('not enough permissions')];
    const stronger = assignableRoles.filter((role) => role !== 'identity_admin');
    for (const role of stronger) {
      expect(await outcomeOf('POST', path, { name: newName(), roles: [role] })).toEqual(forbidden);
    }
    const own = await make({ roles: ['identity_admin'] }, author.send);
    for (const role of stronger) {
      const roles = ['identity_admin', role];
      expect(await outcomeOf('PUT', `${path}/${own.id}`, { roles })).toEqual(forbidden);
    }
    const strong = await make({ roles: ['resource_admin'] });
    expect(await outcomeOf('POST', `${path}/${strong.id}/rotate`, {})).toEqual(forbidden);
    expect(await outcomeOf('PUT', `${path}/${strong.id}`, { status: 'disabled' })).toEqual([
      200,
      '',
    ]);
    expect(await outcomeOf('PUT', `${path}/${strong.id}`, { status: 'active' })).toEqual(forbidden);
    for (const role of ['superuser', 'resource_admin']) {
      const body = { principal: own.client_id, resource: `prn:${server.tsgId}::::`, role };
      expect(await outcomeOf('POST', '/iam/v1/access_policies', body)).toEqual(forbidden);
    }
    const { body } = await server.request('GET', `${path}?search=test`);
    const bootstrapped = body.data[0].id;
    expect(await outcomeOf('POST', `${path}/${bootstrapped}/rotate`, {})).toEqual(forbidden);
  });

  it('includes a policy that was written before the account existed', async () => {
    const name = newName();
    const principal = serviceAccountPrincipal(name, server.tsgId);
    const resource = `prn:${server.tsgId}::::`;
    const policy = { principal, resource, role: 'superuser' };
    await server.request('POST', '/iam/v1/access_policies', { body: policy });
    const author = await addServiceAccount(server, 'identity_admin');
    const body = { name, roles: ['identity_admin'] };
    expect(await statusOf(author.send('POST', path, { body }))).toBe(403);
    expect(await statusOf(superuser('POST', path, { body }))).toBe(200);
  });

  it('includes those in a tenant that trusts the account', async () => {
    const other = await addTenant(server);
    const account = await make({ roles: ['identity_admin'] });
    const rotate = (send: Send) =>
      statusOf(send('POST', `${path}/${account.id}/rotate`, { body: {} }));
    const body = {
      principal: account.client_id,
      resource: `prn:${other.tsgId}::::`,
      role: 'superuser',
    };
    const granting = other.send('POST', '/iam/v1/access_policies', { body });
    expect(await statusOf(granting)).toBe(201);
    expect(await rotate(superuser)).toBe(403);
    // The account may receive its own secret.
    expect(await rotate(await signIn(account))).toBe(200);
  });

  it('returns 404 for accounts of other workspaces and tenants', async () => {
    const [workspace, other] = [await addWorkspace(), await addWorkspace()];
    const inside = await make({ roles: ['workspace_member'], workspace_id: workspace });
    const outside = await make({ roles: ['workspace_member'], workspace_id: other });
    const whole = await make();
    const bound = await bindToWorkspace(server, workspace);
    expect(await statusOf(bound('GET', `${path}/${inside.id}`))).toBe(200);
    const tenant = await addTenant(server);
    for (const { id } of [outside, whole]) {
      for (const send of [bound, tenant.send]) {
        const at = `${path}/${id}`;
        expect(await statusOf(send('GET', at))).toBe(404);
        expect(await statusOf(send('PUT', at, { body: { description: 'x' } }))).toBe(404);
        expect(await statusOf(send('POST', `${at}/rotate`, { body: {} }))).toBe(404);
        expect(await statusOf(send('DELETE', at))).toBe(404);
      }
    }
    const { body } = await bound('GET', path);
    expect(body.data.map((one: { id: string }) => one.id)).toEqual([inside.id]);
    const made = await make({ roles: ['workspace_member'] }, bound);
    const { workspace_id } = (await server.request('GET', `${path}/${made.id}`)).body;
    expect(workspace_id).toBe(workspace);
  });
});

describe('rotation of a secret', () => {
  const rotate = (id: string, body: object = {}) =>
    server.request('POST', `${path}/${id}/rotate`, { body });

  it('keeps the previous secret for half an hour, or for the given time', async () => {
    const account = await make();
    const { body } = await rotate(account.id);
    const end = server.clock.now() + halfHourMs;
    expect(body).toEqual({
      id: account.id,
      client_secret: expect.any(String),
      secret_transition_expires_at: new Date(end).toISOString(),
    });
    const statuses = async () => [
      await statusOf(askToken(account.client_id, account.client_secret)),
      await statusOf(askToken(account.client_id, body.client_secret)),
    ];
    expect(await statuses()).toEqual([200, 200]);
    expect(await statusOf(rotate(account.id))).toBe(409);
    const short = await rotate(account.id, { key_transition_period_ms: 60_000 });
    expect(short.body.error.message).toContain('must be 0, or at least 1800000');
    server.clock.advance(halfHourMs);
    expect(await statuses()).toEqual([401, 200]);
    const now = await rotate(account.id, { key_transition_period_ms: 0 });
    expect(now.status).toBe(200);
    expect(await statuses()).toEqual([401, 401]);
    expect(await statusOf(askToken(account.client_id, now.body.client_secret))).toBe(200);
    const actions = (await listAudit(server, account.id)).map(({ action }) => action);
    expect(actions).toEqual(['create', 'rotate', 'rotate']);
  });

  it('happens once when several requests race', async () => {
    const { id, client_id, client_secret } = await make();
    const answers = await Promise.all([rotate(id), rotate(id), rotate(id), rotate(id)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    const { body } = answers.find(({ status }) => status === 200)!;
    expect(await statusOf(askToken(client_id, body.client_secret))).toBe(200);
    expect(await statusOf(askToken(client_id, client_secret))).toBe(200);
  });

  it('is refused for another version', async () => {
    const { id } = await make();
    const options = { body: {}, headers: { 'if-match': '"7"' } };
    expect(await statusOf(server.request('POST', `${path}/${id}/rotate`, options))).toBe(412);
  });
});

it('shows a secret in no other response, audit row, log line or table', async () => {
  const account = await make({ description: 'canary' });
  const rotated = await server.request('POST', `${path}/${account.id}/rotate`, { body: {} });
  const secrets = [account.client_secret, rotated.body.client_secret];
  await askToken(account.client_id, `${account.client_secret}x`);
  const outputs = [
    await server.request('GET', `${path}/${account.id}`),
    await server.request('GET', `${path}?page_size=100`),
    await server.request('GET', '/admin/v2/gatewright/snapshot?owner=canary'),
    await server.request('GET', '/v2/audit-logs?page_size=100'),
    await server.request('GET', '/iam/v1/access_policies'),
  ].map(({ body }) => JSON.stringify(body));
  const tables = ['service_accounts', 'service_account_profiles', 'audit_log', 'access_policies'];
  for (const table of tables) {
    const rows = await server.database.db
      .selectFrom(table as 'audit_log')
      .selectAll()
      .execute();
    outputs.push(rows.map((row) => Object.values(row).map(String).join()).join());
  }
  const all = [...outputs, ...server.logLines].join('\n');
  expect(all).toContain(account.client_id);
  for (const secret of secrets) expect(all).not.toContain(secret);
});
