/**
 * Verifies leases: one writer per owner, fencing tokens, bound to a credential, checked in the
 * transaction of every write.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownersMax } from '../../../../src/store/sync/sync-leases.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import {
  addKeyCaller,
  addServiceAccount,
  addTenant,
  bindToWorkspace,
  listAudit,
  type Send,
} from '../../../support/server/tenant.ts';
import { createLeases, endLeases, leaseHeaders } from '../../../support/sync/lease.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const path = (owner: string): string => `/admin/v2/gatewright/leases/${owner}`;
const claim = { run_id: randomUUID(), holder: 'first', ttl_seconds: 60 };

function take(owner: string, changes: Record<string, unknown> = {}, send: Send = server.request) {
  return send('PUT', path(owner), { body: { ...claim, ...changes } });
}

function managedBy(owner: string, name: string): Record<string, unknown> {
  const source = { repo: '/srv/gateway', revision: null };
  return { owner, workspace: null, name, source, last_applied: {} };
}

function makeWorkspace(
  owner: string,
  headers: Record<string, string>,
  send: Send = server.request,
) {
  const name = `w-${randomUUID()}`;
  const body = { name, managed_by: managedBy(owner, name) };
  return send('POST', '/admin/v2/workspaces', { body, headers });
}

/** Adds another service account of the same tenant with this role. */
async function addAccount(role: string): Promise<Send> {
  return (await addServiceAccount(server, role)).send;
}

describe('a lease', () => {
  it('is held by one of fifty concurrent runs; the others are told the holder and the expiry', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        take('race', { run_id: randomUUID(), holder: `run ${at}` }),
      ),
    );
    const [winner, ...more] = answers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      expect(refused).toMatchObject({ status: 409, body: { error: { param: 'run_id' } } });
      expect(refused.body.error.message).toContain(`${winner!.body.holder} holds it until 20`);
    }
  });

  it('is renewed with the same fence when its run requests it again after a lost response', async () => {
    const first = await take('renewed');
    const again = await take('renewed', { ttl_seconds: 120 });
    expect(again.body.fence).toBe(first.body.fence);
    expect(Date.parse(again.body.expires_at)).toBeGreaterThan(Date.parse(first.body.expires_at));
  });

  it('passes to the next run with a greater fence after its expiry by the clock of the database', async () => {
    const first = await take('expiring');
    server.clock.advance(3_600_000);
    expect((await take('expiring', { run_id: randomUUID() })).status).toBe(409);
    await endLeases(server);
    const next = await take('expiring', { run_id: randomUUID() });
    expect(next.body.fence).toBeGreaterThan(first.body.fence);
  });

  it('passes at once to one of fifty writing runs when the holder yields, and to no yielding run', async () => {
    const idle = await take('idle', { yields: true });
    const shy = await take('idle', { yields: true, run_id: randomUUID() });
    expect(shy.status).toBe(409);
    expect(shy.body.error.message).toContain(`since ${idle.body.held_since}`);
    const writers = await Promise.all(
      Array.from({ length: 50 }, () => take('idle', { run_id: randomUUID() })),
    );
    const [writer, ...more] = writers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    expect(writer!.body.fence).toBeGreaterThan(idle.body.fence);
    expect((await take('idle', { yields: true })).status).toBe(409);
    expect((await take('idle')).status).toBe(409);
  });

  it('stops and resumes yielding as its run says on renewal, and keeps its start time', async () => {
    const first = await take('turns', { yields: true });
    const writing = await take('turns');
    expect(writing.body).toMatchObject({
      fence: first.body.fence,
      held_since: first.body.held_since,
    });
    expect((await take('turns', { run_id: randomUUID() })).status).toBe(409);
    await take('turns', { yields: true });
    expect((await take('turns', { run_id: randomUUID() })).status).toBe(200);
  });

  it('is free at once after release; a second release or one of a later holder changes nothing', async () => {
    const { body } = await take('released');
    const release = (fence: number) =>
      server.request('DELETE', path('released'), { headers: { 'gatewright-fence': `${fence}` } });
    expect((await release(body.fence)).status).toBe(200);
    const next = await take('released', { run_id: randomUUID() });
    expect(next.status).toBe(200);
    expect((await release(body.fence)).status).toBe(200);
    expect((await take('released', { run_id: randomUUID() })).status).toBe(409);
  });

  it('is neither acquired nor released with a token that is bound to one workspace', async () => {
    const { body: place } = await server.request('POST', '/v2/workspaces', {
      body: { name: 'bound' },
    });
    const bound = await bindToWorkspace(server, place.id);
    expect((await take('whole', {}, bound)).status).toBe(403);
    const { fence } = (await take('whole')).body;
    const headers = { 'gatewright-fence': String(fence) };
    expect((await bound('DELETE', path('whole'), { headers })).status).toBe(403);
    expect((await take('whole', { run_id: randomUUID() })).status).toBe(409);
  });

  it('is independent of other tenants and owners', async () => {
    const tenant = await addTenant(server, 'leases-other');
    const taken = await Promise.all([
      take('apart'),
      take('apart-2'),
      take('apart', {}, tenant.send),
    ]);
    expect(taken.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it.each([
    ['ttl_seconds', { ttl_seconds: 0 }],
    ['ttl_seconds', { ttl_seconds: 301 }],
    ['run_id', { run_id: 'x' }],
    ['holder', { holder: 'two\nlines' }],
    ['holder', { holder: 'x'.repeat(201) }],
  ])('returns 400 for an invalid %s', async (param, changes) => {
    expect(await take('bad', changes)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it.each(['x', '-1', '1.5', '1e3', '9'.repeat(16)])(
    'returns 400 for the fence %j',
    async (fence) => {
      const headers = { 'gatewright-fence': fence };
      const answer = await server.request('DELETE', path('bad'), { headers });
      expect(answer).toMatchObject({ status: 400, body: { error: { param: 'gatewright-fence' } } });
    },
  );
});

describe('a write on behalf of an owner', () => {
  it('succeeds with the newest fence, and is rejected with none or an older one', async () => {
    const old = await leaseHeaders(server.request, 'fenced');
    const made = await makeWorkspace('fenced', old);
    expect(made.status).toBe(200);
    await endLeases(server);
    const headers = await leaseHeaders(server.request, 'fenced');
    const at = `/admin/v2/workspaces/${made.body.id}`;
    const refused = { status: 409, body: { error: { param: 'gatewright-fence' } } };
    expect(await makeWorkspace('fenced', old)).toMatchObject(refused);
    expect(await server.request('DELETE', at, { headers: old })).toMatchObject(refused);
    expect(await makeWorkspace('fenced', {})).toMatchObject({ status: 400 });
    expect((await makeWorkspace('fenced', headers)).status).toBe(200);
    expect((await server.request('DELETE', at, { headers })).status).toBe(200);
  });

  it('is rejected with the lease of another owner', async () => {
    const leases = createLeases();
    const headers = await leases(server.request, 'mine');
    await leases(server.request, 'theirs');
    expect((await makeWorkspace('theirs', headers)).status).toBe(400);
    const posing = { 'gatewright-owner': 'theirs', 'gatewright-fence': '99' };
    expect((await makeWorkspace('theirs', posing)).status).toBe(409);
  });

  it('leaves nothing when it is rejected', async () => {
    const count = async () => (await server.request('GET', '/admin/v2/workspaces')).body.total;
    const before = await count();
    await makeWorkspace('platform', { 'gatewright-owner': 'platform', 'gatewright-fence': '999' });
    expect(await count()).toBe(before);
  });

  it('never succeeds together with a takeover, in forty races', async () => {
    for (let race = 0; race < 40; race += 1) {
      const owner = `race-${race}`;
      const headers = await leaseHeaders(server.request, owner);
      await endLeases(server);
      const [write, next] = await Promise.all([
        makeWorkspace(owner, headers),
        take(owner, { run_id: randomUUID() }),
      ]);
      expect(next.status).toBe(200);
      expect([200, 409]).toContain(write.status);
      expect((await makeWorkspace(owner, headers)).status).toBe(409);
    }
  });
});

/** Inserts owners with an earlier time, so that a test need not create each by a request. */
async function addOwners(organisationId: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, at) => ({
    organisation_id: organisationId,
    owner: `earlier-${at}`,
    number: at + 1,
    principal_id: '',
    run_id: '',
    holder: '',
    held_since: 0,
    yields: 0,
    fence: 0,
    expires_at: 0,
  }));
  await server.database.db.insertInto('sync_leases').values(rows).execute();
}

async function countOwners(organisationId: string): Promise<number> {
  const owners = server.database.db
    .selectFrom('sync_leases')
    .selectAll()
    .where('organisation_id', '=', organisationId);
  return (await owners.execute()).length;
}

describe('owners', () => {
  it('is limited per organisation, although three hundred are claimed concurrently', async () => {
    const { organisationId, send } = await addTenant(server, 'many-owners');
    await addOwners(organisationId, ownersMax - 100);
    /** On a busy machine some wait too long for a connection and must retry. */
    const claim = async (owner: string, run_id: string): ReturnType<typeof take> => {
      const answer = await take(owner, { run_id }, send);
      return answer.status === 503 ? await claim(owner, run_id) : answer;
    };
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, at) => claim(`new-${at}`, randomUUID())),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    const refused = answers.filter(({ status }) => status !== 200);
    for (const { status, body } of refused) {
      expect(status).toBe(409);
      expect(body.error).toMatchObject({ param: 'owner' });
      expect(body.error.message).toContain(`${ownersMax} owners`);
    }
    expect(await countOwners(organisationId)).toBe(ownersMax);
  });

  it('keeps its lease at the limit, and other tenants have their own limit', async () => {
    const { organisationId, send } = await addTenant(server, 'full-owners');
    await addOwners(organisationId, ownersMax - 1);
    expect((await take('last', {}, send)).status).toBe(200);
    expect((await take('beyond', {}, send)).status).toBe(409);
    expect((await take('last', {}, send)).status).toBe(200);
    expect((await take('earlier-7', {}, send)).status).toBe(200);
    expect((await take('elsewhere')).status).toBe(200);
  });

  it('is created once by fifty concurrent runs', async () => {
    const { organisationId, send } = await addTenant(server, 'one-owner');
    const runs = Array.from({ length: 50 }, () => take('same', { run_id: randomUUID() }, send));
    const statuses = (await Promise.all(runs)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(await countOwners(organisationId)).toBe(1);
  });
});

describe('an owner', () => {
  it('belongs to the credential that acquired it first, until another one takes it over', async () => {
    const stranger = await addAccount('superuser');
    await leaseHeaders(server.request, 'bound');
    await endLeases(server);
    const refused = await take('bound', { run_id: randomUUID() }, stranger);
    expect(refused).toMatchObject({ status: 409, body: { error: { param: 'owner' } } });
    expect(refused.body.error.message).toContain('--take-ownership');
    const { fence } = (await take('bound', { run_id: randomUUID() })).body;
    const posing = { 'gatewright-owner': 'bound', 'gatewright-fence': String(fence) };
    expect((await makeWorkspace('bound', posing, stranger)).status).toBe(409);
    await endLeases(server);
    const taken = await take('bound', { run_id: randomUUID(), take_over: true }, stranger);
    expect(taken.status).toBe(200);
    expect((await makeWorkspace('bound', posing)).status).toBe(409);
    expect(await listAudit(server, 'bound')).toMatchObject([
      { action: 'bind', resource_kind: 'SyncOwner', changes: {} },
      { action: 'bind', changes: { taken_from: expect.any(String) } },
    ]);
  });

  it('requires the claim scope for a claim by a reader or a key', async () => {
    const reader = await addAccount('view_only_admin');
    expect((await take('scoped', {}, reader)).status).toBe(403);
    const { fence } = (await take('scoped')).body;
    const headers = { 'gatewright-owner': 'scoped', 'gatewright-fence': String(fence) };
    const key = await addKeyCaller(server, ['workspaces.create', 'configs.create']);
    const body = { name: 'x', config: {}, managed_by: managedBy('scoped', 'x') };
    const answer = await key.send('POST', '/v1/configs', { body, headers });
    expect(answer).toMatchObject({ status: 403, body: { error: { param: 'managed_by' } } });
    const unmanaged = await key.send('POST', '/v1/configs', { body: { name: 'x', config: {} } });
    expect(unmanaged.status).toBe(200);
  });
});
