/**
 * Verifies the access policy routes: who may grant which role, uniqueness, and isolation between
 * tenants.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccessTokens } from '../../../src/auth/access-token.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import * as serviceAccounts from '../../../src/store/people/service-accounts.ts';
import { fetchToken, startTestServer, type TestServer } from '../../support/server/server.ts';

const path = '/iam/v1/access_policies';

describe('access policies', () => {
  let server: TestServer;
  let foreign: { tsgId: string; headers: Record<string, string> };
  beforeAll(async () => {
    server = await startTestServer();
    const { keyring } = server.app;
    const other = await bootstrapTenant(server.database, {
      keyring,
      name: 'other',
      apiKeyPrefix: '',
      now: 0,
    });
    const clientSecret = other.clientSecret.reveal();
    const token = await fetchToken(server.url, { ...other, clientSecret });
    foreign = { tsgId: other.tsgId, headers: { authorization: `Bearer ${token}` } };
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const policy = (changes: Record<string, unknown> = {}) => ({
    principal: `nobody-${randomUUID()}@example.com`,
    resource: `prn:${server.tsgId}::::`,
    role: 'view_only_admin',
    ...changes,
  });
  const ids = async (options = {}): Promise<string[]> => {
    const listed = await server.request('GET', path, options);
    expect(listed.body).toMatchObject({ object: 'list', total: listed.body.data.length });
    return listed.body.data.map((row: { id: string }) => row.id);
  };

  it('returns 201 and an id for a new policy, also when the principal is unknown', async () => {
    const body = policy();
    const created = await server.request('POST', path, { body });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      ...body,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      created_at: '2027-01-04T08:00:00.000Z',
      object: 'access-policy',
    });
    expect(await ids()).toContain(created.body.id);
  });

  it('grants superuser for a superuser alone, not for other roles or owners with every scope', async () => {
    const both = await server.request('POST', '/v2/service-accounts', {
      body: { name: 'both-roles', roles: ['identity_admin', 'resource_admin'] },
    });
    const { client_id: clientId, client_secret: clientSecret } = both.body;
    const token = await fetchToken(server.url, { clientId, clientSecret, tsgId: server.tsgId });
    const asBoth = { auth: 'none', headers: { authorization: `Bearer ${token}` } } as const;
    const body = policy({ role: 'superuser' });
    const refused = await server.request('POST', path, { ...asBoth, body });
    expect([refused.status, refused.body.error.param]).toEqual([403, 'role']);
    expect(refused.body.error.message).toContain('only a service account with the role superuser');
    const others = ['view_only_admin', 'resource_admin', 'identity_admin'];
    for (const role of others) {
      const granted = await server.request('POST', path, { ...asBoth, body: policy({ role }) });
      expect([role, granted.status]).toEqual([role, 201]);
    }
    expect((await server.request('POST', path, { body })).status).toBe(201);
  });

  it('returns 409 when the same policy already exists', async () => {
    const body = policy();
    expect((await server.request('POST', path, { body })).status).toBe(201);
    const again = await server.request('POST', path, { body });
    expect([again.status, again.body.error.code]).toEqual([409, 'AB07']);
  });

  it('creates one policy when the same policy is posted fifty times at once', async () => {
    const body = policy();
    const before = (await ids()).length;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => server.request('POST', path, { body })),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
    expect(await ids()).toHaveLength(before + 1);
  });

  it('grants its roles at once, and stops granting with the next token after its deletion', async () => {
    const account = await serviceAccounts.findByClientId(server.database.db, server.clientId);
    const body = policy({ principal: server.clientId, resource: `prn:${foreign.tsgId}::::` });
    const created = await server.request('POST', path, {
      body,
      auth: 'none',
      headers: foreign.headers,
    });
    const client = { ...server, tsgId: foreign.tsgId };
    const token = await fetchToken(server.url, client);
    const grant = await createAccessTokens(server.app.keyring).verify(token, server.clock.now());
    expect(grant).toMatchObject({ serviceAccountId: account!.id, roles: ['view_only_admin'] });
    const at = `${path}/${created.body.id}`;
    expect(
      (await server.request('DELETE', at, { auth: 'none', headers: foreign.headers })).body,
    ).toEqual({});
    await expect(fetchToken(server.url, client)).rejects.toThrow('invalid_scope');
  });

  it('returns 404 when a policy is deleted a second time', async () => {
    const { body } = await server.request('POST', path, { body: policy() });
    const removed = await server.request('DELETE', `${path}/${body.id}`);
    expect([removed.status, removed.body]).toEqual([200, {}]);
    expect((await server.request('DELETE', `${path}/${body.id}`)).status).toBe(404);
    expect(await ids()).not.toContain(body.id);
  });

  it('hides the policies of another tenant from creation, listing and deletion', async () => {
    const made = await server.request('POST', path, {
      body: policy({ resource: `prn:${foreign.tsgId}::::` }),
    });
    expect([made.status, made.body.error.param]).toEqual([403, 'resource']);
    const own = await server.request('POST', path, { body: policy() });
    const options = { auth: 'none', headers: foreign.headers } as const;
    expect(await ids(options)).not.toContain(own.body.id);
    expect((await server.request('DELETE', `${path}/${own.body.id}`, options)).status).toBe(404);
    expect(await ids()).toContain(own.body.id);
  });

  it('stores a workspace, a tenant role and a service account as they were sent', async () => {
    const body = policy({
      principal: `ci@${server.tsgId}.any.domain`,
      resource: `prn:${server.tsgId}::::my-workspace`,
      role: `auditor:${server.tsgId}`,
    });
    expect((await server.request('POST', path, { body })).body).toMatchObject(body);
  });

  it.each([
    ['principal', 'nobody'],
    ['principal', 'a b@c'],
    ['principal', 7],
    ['principal', `${'x'.repeat(320)}@a`],
    ['resource', 'prn:123::::'],
    ['resource', '*'],
    ['resource', 'prn:1234567890::::a/b'],
    ['role', 'Super User'],
    ['role', 'auditor:1'],
    ['role', null],
    ['is_admin', true],
  ])('returns 400 with the parameter for %s %j', async (field, value) => {
    const answer = await server.request('POST', path, { body: policy({ [field]: value }) });
    expect([answer.status, answer.body.error.param]).toEqual([400, field]);
  });

  it('writes an audit row for each change in the transaction of the change', async () => {
    const { body } = await server.request('POST', path, { body: policy() });
    await server.request('DELETE', `${path}/${body.id}`);
    const rows = await server.database.db
      .selectFrom('audit_log')
      .select(['action', 'resource_kind'])
      .where('resource_id', '=', body.id)
      .orderBy('id')
      .execute();
    expect(rows).toEqual([
      { action: 'create', resource_kind: 'AccessPolicy' },
      { action: 'delete', resource_kind: 'AccessPolicy' },
    ]);
  });
});

describe('scopes of the access service', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const scopes = '/iam/v1/scopes';
  const bound = { resource_type: 'workspace', resource_id: 'ws-one-abcdef', metadata: [] };

  it('binds a scope to the slug of a workspace before that workspace exists, lists it and deletes it', async () => {
    const made = await server.request('POST', scopes, { body: { name: 'ws_one', resources: [] } });
    const record = {
      id: `ws_one:${server.tsgId}`,
      name: 'ws_one',
      description: '',
      resources: [],
      tsg_id: server.tsgId,
    };
    expect(made).toMatchObject({ status: 200, body: record });
    const body = { name: 'ws_one', description: 'one', resources: [bound] };
    const put = await server.request('PUT', `${scopes}/ws_one`, { body });
    expect(put.body).toEqual({ ...record, ...body });
    expect((await server.request('GET', scopes)).body).toEqual({ count: 1, items: [put.body] });
    const again = await server.request('POST', scopes, { body: { name: 'ws_one' } });
    expect([again.status, again.body.error.code]).toEqual([409, 'AB07']);
    expect((await server.request('DELETE', `${scopes}/ws_one`)).body).toEqual({});
    expect((await server.request('GET', `${scopes}/ws_one`)).status).toBe(404);
  });

  it('rejects duplicate entries, and returns 412 when the version in if-match is stale', async () => {
    const body = { description: 'two', resources: [bound] };
    await server.request('POST', scopes, { body: { name: 'ws_two', ...body } });
    await server.request('PUT', `${scopes}/ws_two`, { body });
    const found = await server.request('GET', `${scopes}/ws_two`);
    expect(found.headers.etag).toBe('"1"');
    const headers = { 'if-match': '"2"' };
    for (const method of ['PUT', 'DELETE']) {
      const answer = await server.request(method, `${scopes}/ws_two`, { body: {}, headers });
      expect([method, answer.status]).toEqual([method, 412]);
    }
  });
});
