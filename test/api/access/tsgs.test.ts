/**
 * Verifies child tenants by request: who creates, sees, renames and deletes them, and that a child's accounts
 * see their own tenant only.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { exchange, type TestResponse } from '../../support/network/exchange.ts';
import { fetchToken, startTestServer, type TestServer } from '../../support/server/server.ts';
import { addServiceAccount, addTenant, listAudit, type Send } from '../../support/server/tenant.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const path = '/v2/tsgs';
/** Longer than authentication caches the state of an account. */
const cacheMs = 2_001;
const statusOf = async (answer: Promise<TestResponse>) => (await answer).status;
const newName = () => `unit-${randomUUID().slice(0, 8)}`;
const superuser: Send = (method, to, options) => server.request(method, to, options);

interface Child {
  readonly id: string;
  readonly tsg_id: string;
}

async function make(fields: object = {}, send: Send = superuser): Promise<Child> {
  const made = await send('POST', path, { body: { name: newName(), ...fields } });
  expect(made.body).toMatchObject({ object: 'tsg' });
  return made.body;
}

function sender(token: string): Send {
  return (method, to, { body, headers } = {}) =>
    exchange(method, server.url + to, body, { authorization: `Bearer ${token}`, ...headers });
}

/** Calls in the child as the superuser of its parent. */
async function enter({ tsg_id: tsgId }: Child): Promise<Send> {
  const { clientId, clientSecret } = server;
  return sender(await fetchToken(server.url, { clientId, clientSecret, tsgId }));
}

/** Creates an account in the child and calls as it. */
async function addAccount(child: Child, roles: readonly string[]): Promise<Send & { id?: string }> {
  const inside = await enter(child);
  const body = { name: 'own', roles };
  const { body: account } = await inside('POST', '/v2/service-accounts', { body });
  const { client_id: clientId, client_secret: clientSecret, id } = account;
  const credentials = { clientId, clientSecret, tsgId: child.tsg_id };
  return Object.assign(sender(await fetchToken(server.url, credentials)), { id });
}

describe('a child tenant', () => {
  it('is created with a TSG id of the server, and recorded in both audit logs', async () => {
    const name = newName();
    const { id, tsg_id } = await make({ name, description: 'Team' });
    expect(tsg_id).toMatch(/^[1-9]\d{9}$/);
    const { body, headers } = await server.request('GET', `${path}/${id}`);
    expect(body).toEqual({
      id,
      tsg_id,
      parent_tsg_id: server.tsgId,
      name,
      description: 'Team',
      created_at: expect.any(String),
      last_updated_at: expect.any(String),
      object: 'tsg',
      declared_in: null,
    });
    expect(headers.etag).toBe('"1"');
    const rows = await listAudit(server, id);
    expect(rows.map(({ action, resource_kind }) => [action, resource_kind])).toEqual([
      ['create', 'Organisation'],
      ['create', 'TenantServiceGroup'],
    ]);
    const inside = await enter({ id, tsg_id });
    const self = await inside('GET', '/admin/v2/organisations/self');
    expect(self.body.data).toMatchObject({ id, name, tsg_id });
    expect(await statusOf(server.request('POST', path, { body: { name } }))).toBe(409);
    expect(await statusOf(superuser('POST', path, { body: { name: newName(), tsg_id } }))).toBe(
      400,
    );
  });

  it('is listed and renamed by its parent', async () => {
    const [one, other] = [await make(), await make()];
    const name = newName();
    const rename = { body: { name } };
    expect(await statusOf(server.request('PUT', `${path}/${one.id}`, rename))).toBe(200);
    const { body } = await server.request('GET', `${path}?search=${name}`);
    expect(body).toMatchObject({ total: 1, data: [{ id: one.id, name }] });
    const self = await (await enter(one))('GET', '/admin/v2/organisations/self');
    expect(self.body.data.name).toBe(name);
    expect(await statusOf(server.request('PUT', `${path}/${other.id}`, rename))).toBe(409);
  });

  it('has accounts that see neither the parent nor a sibling', async () => {
    const [child, sibling] = [await make(), await make()];
    const config = { name: 'secret-config', config: { retry: { attempts: 1 } } };
    const { id } = (await server.request('POST', '/v2/configs', { body: config })).body;
    const account = await addAccount(child, ['resource_admin', 'identity_admin']);
    expect((await account('GET', '/v2/configs')).body.data).toEqual([]);
    expect(await statusOf(account('GET', `/v2/configs/${id}`))).toBe(404);
    for (const one of [child, sibling]) {
      expect(await statusOf(account('GET', `${path}/${one.id}`))).toBe(404);
      expect(await statusOf(account('DELETE', `${path}/${one.id}`))).toBe(404);
    }
    expect((await account('GET', path)).body.total).toBe(0);
    const { body } = await account('GET', '/v2/service-accounts');
    expect(body.data.map((one: { name: string }) => one.name)).toEqual(['own']);
  });

  it('issues no token of its accounts for the parent or a sibling', async () => {
    const [child, sibling] = [await make(), await make()];
    const body = { name: 'own', roles: ['resource_admin'] };
    const made = await (await enter(child))('POST', '/v2/service-accounts', { body });
    const { client_id, client_secret } = made.body;
    const ask = (tsgId: string) =>
      exchange(
        'POST',
        `${server.url}/oauth2/access_token`,
        `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
        {
          authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
      );
    expect(await statusOf(ask(child.tsg_id))).toBe(200);
    for (const tsgId of [server.tsgId, sibling.tsg_id]) {
      expect((await ask(tsgId)).body.error).toBe('invalid_scope');
    }
  });

  it('is 404 for other tenants and 403 without the scope', async () => {
    const child = await make();
    const stranger = (await addTenant(server)).send;
    const viewer = (await addServiceAccount(server, 'view_only_admin')).send;
    const body = { name: newName() };
    expect(await statusOf(viewer('GET', `${path}/${child.id}`))).toBe(200);
    expect(await statusOf(viewer('POST', path, { body }))).toBe(403);
    expect(await statusOf(stranger('GET', `${path}/${child.id}`))).toBe(404);
    expect(await statusOf(stranger('PUT', `${path}/${child.id}`, { body }))).toBe(404);
    expect(await statusOf(stranger('DELETE', `${path}/${child.id}`))).toBe(404);
  });
});

describe('deleting a child tenant', () => {
  it('is refused while it has accounts, children or resources, which the error names', async () => {
    const child = await make();
    const inside = await enter(child);
    const account = await inside('POST', '/v2/service-accounts', {
      body: { name: 'own', roles: ['view_only_admin'] },
    });
    const grandchild = await make({}, inside);
    await inside('POST', '/v2/configs', {
      body: { name: 'c', config: { retry: { attempts: 1 } } },
    });
    const refusal = await server.request('DELETE', `${path}/${child.id}`);
    expect(refusal.status).toBe(409);
    expect(refusal.body.error.message).toMatch(/child tenants.*service accounts.*configs/);
    await inside('DELETE', `/v2/service-accounts/${account.body.id}`);
    await inside('DELETE', `${path}/${grandchild.id}`);
    const { body } = await inside('GET', '/v2/configs');
    await inside('DELETE', `/v2/configs/${body.data[0].id}`);
    expect(await statusOf(server.request('DELETE', `${path}/${child.id}`))).toBe(200);
  });

  it('ends every access to it, and its TSG id is never used again', async () => {
    const child = await make();
    const inside = await enter(child);
    expect(await statusOf(server.request('DELETE', `${path}/${child.id}`))).toBe(200);
    server.clock.advance(cacheMs);
    expect(await statusOf(inside('GET', '/v2/configs'))).toBe(401);
    await expect(enter(child)).rejects.toThrow();
    expect(await statusOf(server.request('GET', `${path}/${child.id}`))).toBe(404);
    const again = bootstrapTenant(server.app.database, {
      keyring: server.app.keyring,
      tsgId: child.tsg_id,
      name: 'again',
      apiKeyPrefix: '',
      now: server.clock.now(),
    });
    await expect(again).rejects.toThrow('was deleted, and its id cannot be used again');
  });

  it('does not cross with the creation of a key or config in it, in a hundred races', async () => {
    const outcomes = new Set<string>();
    for (let race = 0; race < 100; race += 1) {
      const child = await make();
      const inside = await enter(child);
      const isKey = race % 2 === 0;
      const creation = isKey
        ? inside('POST', '/v2/api-keys/organisation/service', {
            body: { name: 'k', scopes: ['completions.write'] },
          })
        : inside('POST', '/v2/configs', { body: { name: 'c', config: { retry: {} } } });
      // Different numbers of statements are sent before the delete.
      for (let turn = 0; turn < race % 4; turn += 1)
        await superuser('GET', '/v2/configs?page_size=1');
      const deletion = superuser('DELETE', `${path}/${child.id}`);
      const [created, deleted] = await Promise.all([creation, deletion]);
      outcomes.add(`${created.status} ${deleted.status}`);
    }
    // Either the tenant stays, or nothing is created in it.
    const possible = ['200 409', '404 200', '401 200'];
    expect([...outcomes].filter((outcome) => !possible.includes(outcome))).toEqual([]);
    const { db } = server.database;
    for (const table of ['api_keys', 'configs'] as const) {
      const left = await db
        .selectFrom(table)
        .innerJoin('organisations as o', 'o.id', `${table}.organisation_id`)
        .where('o.deleted_at', 'is not', null)
        .select(`${table}.id`)
        .execute();
      expect([table, left]).toEqual([table, []]);
    }
  });

  it('does not cross with the creation of an account in it', async () => {
    const child = await make();
    const inside = await enter(child);
    const body = { name: 'own', roles: ['view_only_admin'] };
    const [made, deleted] = await Promise.all([
      inside('POST', '/v2/service-accounts', { body }),
      server.request('DELETE', `${path}/${child.id}`),
    ]);
    expect([
      [200, 409],
      [404, 200],
      [401, 200],
    ]).toContainEqual([made.status, deleted.status]);
  });
});
