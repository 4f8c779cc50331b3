/** Verifies that the list of what needs attention finds it among many keys, in bounded pages, by what the caller may list. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as usageAlerts from '../../../src/store/usage/usage-alerts.ts';
import { addManyKeys, addManyRequests } from '../../support/console/many-rows.ts';
import { exchange } from '../../support/network/exchange.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import { insertBudget, insertCounter, insertPolicy } from '../../support/rows/usage-rows.ts';
import { insertWorkspace } from '../../support/rows/workspace-row.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import { addTenant } from '../../support/server/tenant.ts';
import { leaseHeaders } from '../../support/sync/lease.ts';
import { syncReport } from '../../support/sync/sync-records.ts';

const path = '/admin/v2/gatewright/attention';
const dayMs = 86_400_000;
const dollar = 1_000_000;
/** More keys than any page has, so that the others are found by no list of the newest. */
const keys = 10_000;

interface Matter {
  readonly kind: string;
  readonly id: string;
  readonly name: string | null;
  readonly reason: string;
  readonly budget: { readonly used: number; readonly limit: number; readonly type: string } | null;
  readonly expires_at: string | null;
  readonly sync: { readonly state: string } | null;
  readonly failed_at: string | null;
  readonly failures: { readonly requests: number; readonly errors: number } | null;
}

let server: TestServer;
let now: number;
beforeAll(async () => {
  server = await startTestServer({ settings: signedInSettings });
  server.clock.set(Date.now());
  now = server.clock.now();
  await addManyKeys(server, keys);
});
afterAll(() => server[Symbol.asyncDispose]());

const list = async (query = ''): Promise<Matter[]> => {
  const { status, body } = await server.request('GET', `${path}?page_size=100${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
};

const addKey = async (fields: Parameters<typeof apiKeyRow>[0] = {}): Promise<string> => {
  const row = apiKeyRow({ organisation_id: server.organisationId, ...fields });
  await insertApiKeys(server.database.db, [row]);
  return row.id;
};

/** A key with a budget of 10 dollars, of which so many are used. */
const addSpender = async (used: number, window: object = {}, name = 'spender') => {
  const id = await addKey({ name });
  const windowStart = now - dayMs;
  const limit = { credit_limit_units: 10 * dollar, window_start: windowStart, ...window };
  const { organisationId, database } = server;
  const subject = await insertBudget(database.db, organisationId, { subject_id: id, ...limit });
  await insertCounter(database.db, subject, { windowStart, used: used * dollar });
  return id;
};

describe('the list of what needs attention', () => {
  it('is found among 10,000 keys, with reason and figures, the most urgent first', async () => {
    expect(await list()).toEqual([]);
    const near = await addSpender(8, {}, 'near');
    const spent = await addSpender(10, {}, 'spent');
    const half = await addSpender(7.99, {}, 'in order');
    const ended = await addSpender(10, { next_reset_at: now - 1, periodic_reset: 'monthly' });
    const soon = await addKey({ name: 'soon', expires_at: now + 6 * dayMs });
    const late = await addKey({ name: 'late', expires_at: now + 8 * dayMs });
    const expired = await addKey({ name: 'over', expires_at: now - 6 * dayMs });
    const old = await addKey({ name: 'old', expires_at: now - 8 * dayMs, status: 'expired' });
    const failing = await addKey({ name: 'failing' });
    const fine = await addKey({ name: 'fine' });
    const requests = { lastEndedAt: now - 1000, count: 10 };
    await addManyRequests(server, { ...requests, apiKeyIds: [failing], status: 500 });
    await addManyRequests(server, { ...requests, count: 9, apiKeyIds: [failing] });
    await addManyRequests(server, { ...requests, apiKeyIds: [fine] });
    const found = await list();
    expect(found.map(({ id, reason }) => [id, reason])).toEqual([
      [spent, 'exhausted'],
      [failing, 'failing'],
      [soon, 'expiring'],
      [near, 'nearly_exhausted'],
      [expired, 'expired'],
    ]);
    expect(found[0]).toMatchObject({
      name: 'spent',
      budget: { used: 10, limit: 10, type: 'cost' },
    });
    expect(found[1]!.failures).toMatchObject({ requests: 19, errors: 10 });
    expect(found[2]!.expires_at).toBe(new Date(now + 6 * dayMs).toISOString());
    const ids = new Set(found.map(({ id }) => id));
    expect([half, ended, late, old, fine].filter((id) => ids.has(id))).toEqual([]);
  });

  it('is read page by page, each matter once, in the same order', async () => {
    const whole = await list();
    const pages: Matter[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await server.request('GET', `${path}?page_size=2${more}`);
      expect(body.data.length).toBeLessThanOrEqual(2);
      pages.push(...body.data);
      cursor = body.next_cursor;
    }
    expect(pages).toEqual(whole);
    expect((await server.request('GET', `${path}?cursor=x`)).status).toBe(400);
  });

  it('begins with owners of sync that are not in sync, for callers of the whole organisation', async () => {
    for (const [owner, state] of [
      ['a.b', 'Degraded'],
      ['fine', 'Synced'],
      ['late.c', 'OutOfSync'],
    ] as const) {
      const headers = await leaseHeaders(server.request, owner);
      const body = syncReport({ state });
      await server.request('PUT', '/admin/v2/gatewright/sync/status', { body, headers });
    }
    const found = (await list()).filter(({ kind }) => kind === 'SyncOwner');
    expect(found.map(({ id, sync }) => [id, sync?.state])).toEqual([
      ['a.b', 'Degraded'],
      ['late.c', 'OutOfSync'],
    ]);
    const { body: first } = await server.request('GET', `${path}?page_size=1`);
    const more = await server.request('GET', `${path}?page_size=1&cursor=${first.next_cursor}`);
    expect(more.body.data).toEqual([found[1]]);
  });

  it('contains jobs whose last run has failed, and alerts that were given up', async () => {
    const { organisationId, database } = server;
    const run = (name: string, bucket: number, state: 'done' | 'failed') => ({
      name,
      bucket,
      state,
      owner: 'a',
      attempt: 1,
      lease_until: 0,
      started_at: bucket,
      finished_at: bucket + 1_000,
      counts: null,
      error: 'canary of another tenant',
    });
    const runs = [
      run('expire-keys', now - 2_000, 'done'),
      run('expire-keys', now - 1_000, 'failed'),
      run('reset-usage', now - 2_000, 'failed'),
      run('reset-usage', now - 1_000, 'done'),
    ];
    await database.db.insertInto('job_runs').values(runs).execute();
    for (const label of ['failed long ago', 'failed', 'sent']) {
      await addAlert(randomUUID(), randomUUID(), label);
    }
    const end = (label: string, state: usageAlerts.AlertState, dueAt: number) =>
      database.db
        .updateTable('usage_alerts')
        .set({ state, due_at: dueAt })
        .where('organisation_id', '=', organisationId)
        .where('label', '=', label)
        .execute();
    await end('failed long ago', 'failed', now - 8 * dayMs);
    await end('failed', 'failed', now - dayMs);
    await end('sent', 'sent', now - dayMs);
    const found = await list();
    expect(JSON.stringify(found)).not.toContain('canary');
    const both = found.filter(({ kind }) => kind === 'Job' || kind === 'Alert');
    expect(
      both.map(({ kind, name, reason, failed_at }) => [kind, name, reason, failed_at]),
    ).toEqual([
      ['Job', 'expire-keys', 'failing', new Date(now).toISOString()],
      ['Alert', 'failed', 'undelivered', new Date(now - dayMs).toISOString()],
    ]);
    await database.db.deleteFrom('job_runs').execute();
    await database.db.deleteFrom('usage_alerts').execute();
  });

  it('contains workspaces, and policies with a used-up counter', async () => {
    const { organisationId, database } = server;
    const id = randomUUID();
    await insertWorkspace(database.db, organisationId, id);
    const workspace = await insertBudget(database.db, organisationId, {
      subject_kind: 'workspace',
      subject_id: id,
      workspace_id: id,
      window_start: 5,
      credit_limit_units: dollar,
    });
    await insertCounter(database.db, workspace, { windowStart: 5, used: dollar });
    const policy = await insertPolicy(database.db, organisationId, { credit_limit_units: dollar });
    const counter = { windowStart: 0, used: dollar, valueKey: 'team:a' };
    const counterId = await insertCounter(database.db, policy, counter);
    expect((await list()).filter(({ kind }) => kind === 'UsageLimitPolicy')).toEqual([]);
    await addAlert(policy.id, counterId);
    const found = (await list()).filter(({ kind }) => !['ApiKey', 'SyncOwner'].includes(kind));
    expect(found).toMatchObject([
      { kind: 'Workspace', id, reason: 'exhausted' },
      { kind: 'UsageLimitPolicy', id: policy.id, reason: 'exhausted', budget: null },
    ]);
    const inside = await list(`&workspace_id=${id}`);
    expect(inside.map((one) => one.id)).toEqual([id]);
  });

  it('shows members what concerns their own keys, and others nothing of another tenant', async () => {
    const { id: workspaceId } = (
      await server.request('POST', '/v2/admin/workspaces', { body: { name: 'own' } })
    ).body;
    const userId = await addUser(server, { role: 'member' });
    await server.request('POST', `/v2/admin/workspaces/${workspaceId}/users`, {
      body: { users: [{ id: userId, role: 'member' }] },
    });
    const ending = { workspace_id: workspaceId, type: 'workspace-user', expires_at: now + dayMs };
    const own = await addKey({ ...ending, type: 'workspace-user', user_id: userId });
    await addKey({ ...ending, type: 'workspace-user', user_id: await ownerOf(server) });
    await addKey({ ...ending, type: 'workspace-service' });
    const { headers } = await addSession(server, userId);
    const { body } = await exchange('GET', `${server.url}${path}`, undefined, headers);
    expect(body.data.map((one: Matter) => one.id)).toEqual([own]);
    const other = await addTenant(server);
    expect((await other.send('GET', path)).body.data).toEqual([]);
    expect((await server.request('GET', path, { auth: 'none' })).status).toBe(401);
  });
});

async function addAlert(policyId: string, counterId: string, label = 'policy'): Promise<void> {
  const { organisationId, database } = server;
  const bytes = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex');
  await usageAlerts.insertMany(database.db, [
    {
      organisation_id: organisationId,
      subject_kind: 'policy',
      subject_id: bytes(policyId),
      window_start: 0,
      counter_id: bytes(counterId),
      kind: 'exhausted',
      limit_units: dollar,
      used_units: dollar,
      type: 'cost',
      label,
      value_key: 'team:a',
      created_at: now,
    },
  ]);
}
