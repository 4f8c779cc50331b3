/**
 * Verifies declared resources: one owner each, no accidental owner, and an audit row for every
 * step.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isWellFormedApiKey, makeApiKey } from '../../../../src/model/people/credentials.ts';
import type { TestResponse } from '../../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { addTenant, listAudit, type Send } from '../../../support/server/tenant.ts';
import { createLeases, leaseHeaders } from '../../../support/sync/lease.ts';

const keys = '/v1/api-keys';
const source = { repo: 'https://git.example.com/gateway', revision: '1f3c', file: 'keys/bot.yaml' };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** The manifest of a key as its record names it. */
const declared = ({ owner, workspace, name }: Record<string, unknown>) => ({
  owner,
  workspace,
  name,
  source: source.repo,
  path: source.file,
  line: null,
  commit: source.revision,
});

let count = 0;
function mark(changes: Record<string, unknown> = {}): Record<string, unknown> {
  count += 1;
  const last_applied = { name: 'bot' };
  return {
    owner: 'platform',
    workspace: null,
    name: `bot-${count}`,
    source,
    last_applied,
    ...changes,
  };
}

const leases = createLeases();

/** Headers for a body that claims a resource; none for any other. */
async function headersFor(
  { managed_by: managed }: Record<string, unknown>,
  send: Send,
): Promise<Record<string, string>> {
  const named = (managed as { owner?: unknown } | undefined)?.owner;
  return typeof named === 'string' && /^[a-z]/.test(named) ? await leases(send, named) : {};
}

async function post(
  body: Record<string, unknown>,
  send: Send = server.request,
): Promise<TestResponse> {
  const fields = { name: 'bot', scopes: ['completions.write'], ...body };
  const headers = await headersFor(body, send);
  return send('POST', `${keys}/organisation/service`, { body: fields, headers });
}

async function make(managed_by?: Record<string, unknown>): Promise<string> {
  const made = await post({ managed_by });
  expect(made.status).toBe(200);
  return made.body.id;
}

async function put(id: string, body: Record<string, unknown>): Promise<TestResponse> {
  const headers = await headersFor(body, server.request);
  return server.request('PUT', `${keys}/${id}`, { body, headers });
}

async function remove(id: string, owner?: string): Promise<TestResponse> {
  const headers = owner === undefined ? {} : await leases(server.request, owner);
  return server.request('DELETE', `${keys}/${id}`, { headers });
}

async function ownership(id: string) {
  const row = await server.database.db
    .selectFrom('managed_resources')
    .selectAll()
    .where('resource_id', '=', id)
    .executeTakeFirst();
  return row === undefined
    ? undefined
    : { ...row, source: JSON.parse(row.source), last_applied: JSON.parse(row.last_applied) };
}

describe('a create that claims an identity', () => {
  it('stores owner, identity, source and base beside the resource', async () => {
    const managed_by = mark({ workspace: 'support' });
    const id = await make(managed_by);
    expect(await ownership(id)).toMatchObject({
      kind: 'ApiKey',
      organisation_id: server.organisationId,
      workspace: 'support',
      name: managed_by.name,
      owner: 'platform',
      source,
      last_applied: { name: 'bot' },
      updated_at: server.clock.now(),
    });
    const got = await server.request('GET', `${keys}/${id}`);
    expect(got.body).not.toHaveProperty('managed_by');
    expect(got.body.declared_in).toEqual(declared(managed_by));
  });

  it('succeeds once out of fifty concurrent ones; the others are told the owner', async () => {
    const managed_by = mark();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post({ managed_by })));
    const made = answers.filter(({ status }) => status === 200);
    expect(made).toHaveLength(1);
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
      for (const part of ['platform', source.repo, source.file, source.revision]) {
        expect(refused.body.error.message).toContain(part);
      }
    }
    const stored = await server.database.db
      .selectFrom('managed_resources')
      .select('resource_id')
      .where('name', '=', String(managed_by.name))
      .execute();
    expect(stored).toEqual([{ resource_id: made[0]!.body.id }]);
  });

  it('leaves nothing when it is rejected', async () => {
    const managed_by = mark();
    await make(managed_by);
    const count = () =>
      server.database.db
        .selectFrom('api_keys')
        .select((eb) => eb.fn.countAll().as('rows'))
        .executeTakeFirstOrThrow();
    const before = await count();
    expect((await post({ managed_by })).status).toBe(409);
    expect(await count()).toEqual(before);
  });

  it('is independent of the same identity in another tenant, kind or workspace', async () => {
    const managed_by = mark();
    await make(managed_by);
    const tenant = await addTenant(server);
    expect((await post({ managed_by }, tenant.send)).status).toBe(200);
    const workspace = await server.request('POST', '/admin/v2/workspaces', {
      body: { name: 'x', managed_by },
      headers: await leases(server.request, 'platform'),
    });
    expect(workspace.status).toBe(200);
    expect((await post({ managed_by: { ...managed_by, workspace: 'w' } })).status).toBe(200);
  });

  it.each([
    ['managed_by.owner', { owner: '' }],
    ['managed_by.owner', { owner: '-x' }],
    ['managed_by.name', { name: 'a b' }],
    ['managed_by.name', { name: 'x'.repeat(254) }],
    ['managed_by.workspace', { workspace: '../x' }],
    ['managed_by.source.repo', { source: { repo: '', revision: null } }],
    ['managed_by.last_applied', { last_applied: 'x' }],
  ])('returns 400 for an invalid %s', async (param, changes) => {
    const made = await post({ managed_by: mark(changes) });
    expect(made).toMatchObject({ status: 400, body: { error: { param } } });
  });
});

describe('a caller-made key value', () => {
  it('is accepted with managed_by, works, and cannot be used twice', async () => {
    const key = makeApiKey('');
    const made = await post({ key, managed_by: mark(), scopes: ['workspaces.list'] });
    expect(made).toMatchObject({ status: 200, body: { key } });
    const headers = { 'x-gateway-api-key': key };
    const used = await server.request('GET', '/v1/workspaces', { auth: 'none', headers });
    expect(used.status).toBe(200);
    const twice = await post({ key, managed_by: mark() });
    expect(twice).toMatchObject({ status: 409, body: { error: { param: 'key' } } });
    expect(JSON.stringify(twice.body)).not.toContain(key);
  });

  it.each([
    ['without managed_by', () => makeApiKey(''), false],
    ['with a wrong checksum', () => swapLast(makeApiKey('')), true],
    ['of another form', () => 'short', true],
  ])('rejects %s without repeating the value', async (_, value, managed) => {
    const key = value();
    const made = await post({ key, ...(managed ? { managed_by: mark() } : {}) });
    expect(made).toMatchObject({ status: 400, body: { error: { param: 'key' } } });
    expect(made.body.error.message).not.toContain(key);
    expect(isWellFormedApiKey(key)).toBe(!managed);
  });
});

function swapLast(key: string): string {
  return key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
}

describe('an update', () => {
  it('adopts a resource with managed_by alone, and changes only who declares it', async () => {
    const id = await make();
    const before = await server.request('GET', `${keys}/${id}`);
    server.clock.advance(1000);
    const managed_by = mark();
    expect(await put(id, { managed_by })).toMatchObject({ status: 200, body: {} });
    const after = await server.request('GET', `${keys}/${id}`);
    expect(after.body).toEqual({ ...before.body, declared_in: declared(managed_by) });
    expect(after.headers.etag).toBe(before.headers.etag);
    expect(await ownership(id)).toMatchObject({ name: managed_by.name, owner: 'platform' });
    expect((await listAudit(server, id)).at(-1)).toMatchObject({
      action: 'update',
      changes: { fields: [], managed_by: { owner: 'platform', name: managed_by.name } },
    });
  });

  it('renews source and base for its owner, and may rename the identity', async () => {
    const managed_by = mark();
    const id = await make(managed_by);
    const renewed = { ...managed_by, name: `${managed_by.name}.renamed`, last_applied: { a: 1 } };
    expect((await put(id, { description: 'x', managed_by: renewed })).status).toBe(200);
    expect(await ownership(id)).toMatchObject({ name: renewed.name, last_applied: { a: 1 } });
    expect((await post({ managed_by })).status).toBe(200);
    const taken = await put(id, { managed_by });
    expect(taken).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
  });

  it("is rejected for another owner with the owner's name, unless it takes ownership", async () => {
    const managed_by = mark();
    const id = await make(managed_by);
    const other = { ...managed_by, owner: 'team-b' };
    const refused = await put(id, { description: 'theirs', managed_by: other });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    for (const part of ['platform', source.repo, source.file, source.revision]) {
      expect(refused.body.error.message).toContain(part);
    }
    const got = await server.request('GET', `${keys}/${id}`);
    expect(got.body.description).toBeNull();
    const taken = await put(id, { managed_by: { ...other, take_ownership: true } });
    expect(taken.status).toBe(200);
    expect(await ownership(id)).toMatchObject({ owner: 'team-b' });
    expect((await listAudit(server, id)).at(-1)).toMatchObject({
      changes: { ownership_taken_from: 'platform' },
    });
  });

  it('adopts for one of several concurrent owners', async () => {
    const id = await make();
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((owner) => put(id, { managed_by: mark({ owner }) })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
  });

  it('is allowed without managed_by, and marked in the audit log', async () => {
    const id = await make(mark());
    expect((await put(id, { description: 'by hand' })).status).toBe(200);
    expect((await listAudit(server, id)).at(-1)).toMatchObject({
      changes: { fields: ['description'], unmanaged_edit: true },
    });
    const loose = await make();
    await put(loose, { description: 'by hand' });
    expect((await listAudit(server, loose)).at(-1)?.changes).toEqual({ fields: ['description'] });
  });
});

describe('a delete', () => {
  it('releases the identity for its owner', async () => {
    const managed_by = mark();
    const id = await make(managed_by);
    expect((await remove(id, 'platform')).status).toBe(200);
    expect(await ownership(id)).toBeUndefined();
    expect((await post({ managed_by })).status).toBe(200);
  });

  it('is rejected for another owner, for a managed and an unmanaged resource', async () => {
    const managed = await make(mark());
    const loose = await make();
    const refused = await remove(managed, 'team-b');
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    expect(refused.body.error.message).toContain('platform');
    expect((await remove(loose, 'team-b')).status).toBe(409);
    for (const id of [managed, loose]) {
      expect((await server.request('GET', `${keys}/${id}`)).status).toBe(200);
    }
  });

  it('is allowed manually, and marked in the audit log', async () => {
    const id = await make(mark());
    expect((await remove(id)).status).toBe(200);
    expect(await ownership(id)).toBeUndefined();
    expect((await listAudit(server, id)).at(-1)).toMatchObject({
      action: 'delete',
      changes: { unmanaged_edit: true },
    });
  });

  it('needs no name when the owner of a workspace sends it, and spares resources of other owners', async () => {
    const managed_by = mark();
    const headers = await leases(server.request, 'platform');
    const made = await server.request('POST', '/admin/v2/workspaces', {
      body: { name: 'Owned', managed_by },
      headers,
    });
    const path = `/admin/v2/workspaces/${made.body.id}`;
    const key = await server.request('POST', `${keys}/workspace/service`, {
      body: {
        name: 'theirs',
        scopes: ['completions.write'],
        workspace_id: made.body.id,
        managed_by: mark({ owner: 'team-b' }),
      },
      headers: await leases(server.request, 'team-b'),
    });
    const force = { force_delete: true };
    const refused = await server.request('DELETE', path, { body: force, headers });
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'AB07' } } });
    expect((await server.request('GET', `${keys}/${key.body.id}`)).status).toBe(200);
    expect((await remove(key.body.id, 'team-b')).status).toBe(200);
    expect((await server.request('DELETE', path, { headers })).status).toBe(200);
    expect(await ownership(made.body.id)).toBeUndefined();
  });
});

describe('the audit row', () => {
  it('is part of the transaction: a change that cannot be recorded does not happen', async () => {
    await using own = await startTestServer();
    const { db } = own.database;
    const rename = (from: string, to: string) => db.schema.alterTable(from).renameTo(to).execute();
    const headers = await leaseHeaders(own.request, 'platform');
    await rename('audit_log', 'audit_log_away');
    const body = { name: 'x', managed_by: mark() };
    const made = await own.request('POST', '/admin/v2/workspaces', { body, headers });
    expect(made).toMatchObject({ status: 500, body: { error: { code: 'AB04' } } });
    await rename('audit_log_away', 'audit_log');
    expect((await own.request('GET', '/admin/v2/workspaces?exact_name=x')).body.total).toBe(0);
    expect((await own.request('POST', '/admin/v2/workspaces', { body, headers })).status).toBe(200);
  });
});
