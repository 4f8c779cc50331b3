/**
 * Verifies the audit log: who may read it, its pages, and that changes made in the database are
 * detected.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyChain } from '../../../src/commands/server/audit-chain.ts';
import { deleteOldAuditLogs } from '../../../src/jobs/delete-old-audit-logs.ts';
import { sealAuditLog } from '../../../src/jobs/seal-audit-log.ts';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { type AuditTrail, auditTrail } from '../../../src/store/logs/audit-log.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addTenant, bindToWorkspace, type Send } from '../../support/server/tenant.ts';

let server: TestServer;
let workspaceId: string;
let configId: string;
let bound: Send;
const dayMs = 86_400_000;

const list = async (query = '') => {
  const { status, body } = await server.request('GET', `/v1/audit-logs?${query}`);
  expect([status, body.error?.message]).toEqual([200, undefined]);
  return body.records as { id: string; action: string; resource_type: string }[];
};
const listEntries = async (query: string) =>
  (await list(query)).map(({ action, resource_type }) => `${action} ${resource_type}`);

beforeAll(async () => {
  server = await startTestServer();
  const send: Send = (...parameters) => server.request(...parameters);
  workspaceId = (await send('POST', '/admin/v2/workspaces', { body: { name: 'one' } })).body.id;
  bound = await bindToWorkspace(server, workspaceId);
  const body = { name: 'c', config: {}, workspace_id: workspaceId };
  configId = (await send('POST', '/v2/configs', { body })).body.id;
  server.clock.advance(60_000);
  await send('PUT', `/v2/configs/${configId}`, { body: { name: 'd' } });
  await send('DELETE', `/v2/configs/${configId}`, { headers: { 'x-request-id': 'gone-17' } });
  await send('POST', '/v2/configs', { body: { name: 'organisation', config: {} } });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('GET /audit-logs', () => {
  it('returns who changed what and when, newest first, in the fields that existing clients expect', async () => {
    const [latest, removed, changed] = await list();
    expect(latest).toMatchObject({ object: 'audit_log', action: 'create', workspace_id: '' });
    expect(removed).toMatchObject({
      action: 'delete',
      method: 'DELETE',
      resource_type: 'Config',
      resource_id: configId,
      user_type: 'service_account',
      organisation_id: server.organisationId,
      workspace_id: workspaceId,
      request_id: 'gone-17',
      response_status_code: 200,
      timestamp: '2027-01-04T08:01:00.000Z',
      chain_position: null,
      chain_hash: null,
      uri: '',
      query_params: '{}',
      request_headers: '{}',
      client_ip: '',
      country: '',
    });
    expect(JSON.parse((changed as unknown as { request_body: string }).request_body)).toEqual({
      fields: ['name'],
    });
  });

  it.each([
    ['action=delete', ['delete Config']],
    ['method=DELETE&user_type=service_account', ['delete Config']],
    ['method=DELETE&action=create', []],
    ['request_id=gone-17', ['delete Config']],
    ['resource_type=Workspace', ['create Workspace']],
    ['user_id=nobody', []],
    ['end_time=2027-01-04T08:00:30Z&resource_type=Config', ['create Config']],
    ['start_time=2027-01-04T08:00:30Z&action=update', ['update Config']],
    ['page_size=1&current_page=1', ['delete Config']],
  ])('filters by %s', async (query, expected) => {
    expect(await listEntries(query)).toEqual(expected);
  });

  it('filters by resource, workspace and organisation', async () => {
    const ofConfig = ['delete Config', 'update Config', 'create Config'];
    expect(await listEntries(`resource_id=${configId}`)).toEqual(ofConfig);
    const ofWorkspace = await listEntries(`workspace_id=${workspaceId}`);
    expect(ofWorkspace).toEqual(expect.arrayContaining(ofConfig));
    expect(
      await listEntries(`organisation_id=${server.organisationId}&action=update`),
    ).toHaveLength(1);
    const foreign = await server.request('GET', `/v1/audit-logs?organisation_id=${randomUUID()}`);
    expect(foreign.status).toBe(404);
  });

  it('returns every row once when a client follows the cursors, and rejects a cursor that no page contained', async () => {
    const all = (await list('page_size=100')).map(({ id }) => id);
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await server.request('GET', `/v2/audit-logs?page_size=2${query}`);
      ids.push(...body.records.map((one: { id: string }) => one.id));
      cursor = body.next_cursor;
    }
    expect(ids).toEqual(all);
    const { status, body } = await server.request('GET', '/v1/audit-logs?cursor=1_2');
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('next_cursor')]);
  });

  it('returns nothing of another organisation, only its own rows to a workspace, and 403 without the scope', async () => {
    const other = await addTenant(server);
    const { body } = await other.send('GET', `/v1/audit-logs?resource_id=${configId}`);
    expect(body.records).toEqual([]);
    const own = (await bound('GET', '/admin/v2/audit-logs')).body.records;
    expect(own.length).toBeGreaterThan(0);
    expect(new Set(own.map((one: { workspace_id: string }) => one.workspace_id))).toEqual(
      new Set([workspaceId]),
    );
    const made = await server.request('POST', '/v1/api-keys/organisation/service', {
      body: { name: 'without', scopes: ['logs.list'] },
    });
    const headers = { 'x-gateway-api-key': made.body.key };
    const refused = await server.request('GET', '/v1/audit-logs', { auth: 'none', headers });
    expect(refused.status).toBe(403);
  });

  it('returns the positions of sealed rows', async () => {
    expect((await server.app.jobs.runNow('seal-audit-log')).state).toBe('done');
    const places = (await list('page_size=100')).map(
      (one) => (one as unknown as { chain_position: number }).chain_position,
    );
    expect(places).toEqual(places.map((_, at) => places.length - at));
  });
});

describe('the chain of an audit log', () => {
  const key = Buffer.alloc(32, 7);
  const auditKeyOf = () => key;
  const seal = sealAuditLog({ auditKeyOf });
  const write: AuditTrail = auditTrail(true);
  const now = Date.parse('2026-11-22T12:00:00Z');
  let test: TestDatabase;
  let organisations = 0;
  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test[Symbol.asyncDispose]());

  /**
   * Creates an organisation with this number of changes, one minute apart, the last of them at
   * `now`.
   */
  async function organisationWith(changes: number): Promise<string> {
    const id = randomUUID();
    organisations += 1;
    const tsg_id = String(2_000_000_000 + organisations);
    const more = { parent_tsg_id: null, api_key_max_ttl_days: null };
    await test.database.db
      .insertInto('organisations')
      .values({ id, tsg_id, name: 'test', created_at: now, ...more })
      .execute();
    await addTo(id, changes);
    return id;
  }

  async function addTo(organisationId: string, changes: number): Promise<void> {
    const entries = Array.from({ length: changes }, (_, index) => ({
      organisationId,
      workspaceId: null,
      at: now - (changes - 1 - index) * 60_000,
      actorKind: 'system' as const,
      actorId: 'test',
      action: 'create',
      resourceKind: 'Config',
      resourceId: `${index}`,
      requestId: '',
      changes: {},
    }));
    await test.database.transaction((tx) => write(tx, entries));
  }

  const sealNow = (at = now) => seal.run(jobContext(test.database, at));
  const verify = async (organisationId: string) => {
    const signal = new AbortController().signal;
    return await verifyChain(test.database.db, key, organisationId, { head: null, signal });
  };
  const faultsOf = async (organisationId: string) =>
    (await verify(organisationId)).faults.map(({ fault, from, to }) => `${fault} ${from}-${to}`);
  const rowAt = (organisationId: string, position: number) =>
    test.database.db
      .selectFrom('audit_log')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('chain_position', '=', position)
      .executeTakeFirstOrThrow();

  it('seals rows in order of time and exactly once, with several concurrent runs and more rows than one statement takes', async () => {
    const id = await organisationWith(600);
    // Each of them may end in a deadlock with the others; the next run continues.
    await Promise.allSettled([1, 2, 3].map(() => sealNow()));
    await sealNow();
    const { sealed, unsealed, faults, head } = await verify(id);
    expect({ sealed, unsealed, faults, position: head?.position }).toEqual({
      sealed: 600,
      unsealed: 0,
      faults: [],
      position: 600,
    });
    expect((await rowAt(id, 1)).resource_id).toBe('0');
    expect((await rowAt(id, 600)).resource_id).toBe('599');
    await addTo(id, 1);
    expect(await verify(id)).toMatchObject({ sealed: 600, unsealed: 1, faults: [] });
    expect(await sealNow()).toEqual({ sealed: 1 });
    expect(await sealNow()).toEqual({ sealed: 0 });
  });

  it('names each row that was changed, removed or added after sealing', async () => {
    const { db } = test.database;
    const id = await organisationWith(9);
    await sealNow();
    await db
      .updateTable('audit_log')
      .set({ actor_id: 'somebody else' })
      .where('organisation_id', '=', id)
      .where('chain_position', '=', 3)
      .execute();
    expect(await faultsOf(id)).toEqual(['changed 3-3']);
    const row = await rowAt(id, 6);
    await db
      .deleteFrom('audit_log')
      .where('organisation_id', '=', id)
      .where('chain_position', '=', 6)
      .execute();
    const { faults } = await verify(id);
    expect(faults[1]).toMatchObject({ fault: 'removed', from: 6, to: 6 });
    expect(faults[1]!.id!.equals(row.id)).toBe(true);
    for (const chain_position of [8, 12]) {
      const forged = { ...row, id: idToBytes(randomUUID()), chain_position };
      await db.insertInto('audit_log').values(forged).execute();
    }
    expect(await faultsOf(id)).toEqual([
      'changed 3-3',
      'removed 6-6',
      'inserted 8-8',
      'inserted 12-12',
    ]);
  });

  it('refuses to seal further when its head was moved back, and reports the fault', async () => {
    const id = await organisationWith(4);
    await sealNow();
    const { id: head_id, chain_hash } = await rowAt(id, 2);
    await test.database.db
      .deleteFrom('audit_log')
      .where('organisation_id', '=', id)
      .where('chain_position', '>', 2)
      .execute();
    await test.database.db
      .updateTable('audit_chains')
      .set({ head_position: 2, head_id, head_hash: chain_hash! })
      .where('organisation_id', '=', id)
      .execute();
    await addTo(id, 1);
    await expect(sealNow()).rejects.toThrow(`organisation ${id}`);
    expect(await faultsOf(id)).toEqual(['moved 2-2']);
    await test.database.db.deleteFrom('audit_log').where('organisation_id', '=', id).execute();
  });

  it('remains provable after old rows are deleted, and refuses to delete rows that were altered', async () => {
    const id = await organisationWith(5);
    const whole = await organisationWith(5);
    await sealNow();
    await addTo(id, 2);
    const later = now + 10 * dayMs;
    await test.database.db
      .updateTable('audit_log')
      .set({ at: later })
      .where('organisation_id', 'in', [id, whole])
      .where('chain_position', 'is', null)
      .execute();
    await sealNow(later);
    const retention = { auditDays: 5, auditKeyOf };
    const run = () => deleteOldAuditLogs(retention).run(jobContext(test.database, later));
    await test.database.db
      .updateTable('audit_log')
      .set({ action: 'delete' })
      .where('organisation_id', '=', whole)
      .where('chain_position', '=', 2)
      .execute();
    await expect(run()).rejects.toThrow(/rows differ from their seals/);
    expect(await faultsOf(whole)).toEqual(['changed 2-2']);
    expect(await verify(id)).toMatchObject({ sealed: 2, faults: [], head: { position: 7 } });
    await test.database.db
      .updateTable('audit_chains')
      .set({ base_position: 6 })
      .where('organisation_id', '=', id)
      .execute();
    expect(await faultsOf(id)).not.toEqual([]);
  });
});
