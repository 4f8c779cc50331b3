/**
 * Verifies the records of sync runs: status by the lease holder, numbered revisions, and
 * suspensions with an end.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revisionsMax } from '../../../../src/model/kinds/sync-record.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { addUser, ownerOf } from '../../../support/server/people.ts';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { addSession, signedInSettings } from '../../../support/server/sessions.ts';
import {
  addServiceAccount,
  addTenant,
  bindToWorkspace,
  listAudit,
} from '../../../support/server/tenant.ts';
import { endLeases, leaseHeaders } from '../../../support/sync/lease.ts';
import {
  oneChange,
  revisionBody,
  suspensionBody,
  syncReport,
} from '../../../support/sync/sync-records.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ settings: signedInSettings });
});
afterAll(() => server[Symbol.asyncDispose]());

const at = (path: string): string => `/admin/v2/gatewright/sync/${path}`;
type Headers = Record<string, string>;

const tell = (headers: Headers, more = {}) =>
  server.request('PUT', at('status'), { body: syncReport(more), headers });
const record = (headers: Headers, more = {}) =>
  server.request('POST', at('revisions'), { body: revisionBody(more), headers });
const suspend = (more = {}) =>
  server.request('PUT', at('suspensions'), { body: suspensionBody(more) });
const resume = (query: string) => server.request('DELETE', at(`suspensions?${query}`));

async function statusOf(owner: string) {
  const { body } = await server.request('GET', at(`status?owner=${owner}`));
  return body.data[0];
}

/** Lets the suspensions of an owner expire. */
async function passTime(owner: string): Promise<void> {
  const rows = server.database.db.updateTable('sync_suspensions').where('owner', '=', owner);
  await rows.set({ until: 1 }).where('until', 'is not', null).execute();
}

describe('a sync status', () => {
  it('is the last one that the lease holder reported, by the clock of the database, with the holder', async () => {
    const headers = await leaseHeaders(server.request, 'told');
    await tell(headers, { state: 'Progressing' });
    const error = { file: 'a.yaml', line: 3, column: 1, message: 'über falsch 🙈' };
    const workspaces = [
      {
        workspace: 'support',
        commit_applied: 'b2',
        state: 'Degraded',
        message: 'x',
        drift_count: 2,
      },
      { workspace: null, commit_applied: null, state: 'Synced', message: null, drift_count: 0 },
    ];
    const report = { ...syncReport({ state: 'Degraded', commit_seen: 'c3', error }), workspaces };
    server.clock.advance(3_600_000);
    const reported = await tell(headers, report);
    expect(reported).toMatchObject({ status: 200, body: { owner: 'told', report } });
    const read = await statusOf('told');
    expect(read).toEqual({ ...reported.body, as_of: read.as_of });
    expect(read.lease).toMatchObject({ holder: 'a test' });
    expect(Date.parse(read.as_of) - Date.parse(read.told_at)).toBeLessThan(600_000);
    await endLeases(server);
    expect((await statusOf('told')).lease).toBeNull();
  });

  it('is rejected without the current lease: of a hundred reporters only the holder succeeds', async () => {
    const older = await leaseHeaders(server.request, 'fenced');
    await endLeases(server);
    const newer = await leaseHeaders(server.request, 'fenced');
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, number) =>
        tell(number % 2 === 0 ? older : newer, { drift_count: number }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual(answers.map((_, number) => (number % 2 === 0 ? 409 : 200)));
    expect((await statusOf('fenced')).report.drift_count % 2).toBe(1);
    expect((await tell({})).body.error.param).toBe('gatewright-owner');
    expect((await tell({ 'gatewright-owner': 'fenced' })).body.error.param).toBe(
      'gatewright-fence',
    );
  });

  it.each([
    ['state', { state: 'Fine' }],
    ['workspaces', { workspaces: Array.from({ length: 1001 }, () => oneWorkspace) }],
    ['workspaces', { workspaces: [oneWorkspace, oneWorkspace] }],
    ['workspaces[0].workspace', { workspaces: [{ ...oneWorkspace, workspace: 'münchen' }] }],
    ['commit_seen', { commit_seen: 'two words' }],
    ['drift_count', { drift_count: -1 }],
    ['next_look_at', { next_look_at: 'soon' }],
  ])('returns 400 with the position of an invalid %s', async (param, more) => {
    const headers = await leaseHeaders(server.request, `bad-${randomUUID()}`);
    expect(await tell(headers, more)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it('fits for a thousand workspaces', async () => {
    const headers = await leaseHeaders(server.request, 'large');
    const workspaces = Array.from({ length: 1000 }, (_, number) => ({
      ...oneWorkspace,
      workspace: `workspace-${number}`,
      commit_applied: 'c'.repeat(40),
      message: 'x'.repeat(50),
    }));
    expect((await tell(headers, { workspaces })).status).toBe(200);
    expect((await statusOf('large')).report.workspaces).toHaveLength(1000);
  });

  it('is listed for every owner by name and page, also for an owner without one', async () => {
    const tenant = await addTenant(server, 'paged');
    for (const owner of ['b', 'c', 'a']) await leaseHeaders(tenant.send, owner);
    const { body } = await tenant.send('GET', at('status?page_size=2'));
    expect(body).toMatchObject({ total: 3, has_more: true });
    expect(body.data).toMatchObject([
      { owner: 'a', told_at: null, report: null, revision: null, suspensions: [] },
      { owner: 'b' },
    ]);
    const next = await tenant.send('GET', at('status?page_size=2&current_page=1'));
    expect(next.body).toMatchObject({ has_more: false, data: [{ owner: 'c' }] });
  });
});

const oneWorkspace = {
  workspace: 'one',
  commit_applied: null,
  state: 'Synced',
  message: null,
  drift_count: 0,
};

describe('revisions', () => {
  it('is numbered without gaps by concurrent reporters, and the newest fifty are kept', async () => {
    const headers = await leaseHeaders(server.request, 'numbered');
    const answers = await Promise.all(
      Array.from({ length: revisionsMax * 2 + 1 }, () => record(headers)),
    );
    const numbers = answers.map(({ body }) => body.number).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from(numbers, (_, index) => index + 1));
    const { body } = await server.request('GET', at('revisions?owner=numbered'));
    expect(body.data.map(({ number }: { number: number }) => number)).toEqual(
      numbers.slice(-revisionsMax).toReversed(),
    );
    const stored = server.database.db.selectFrom('sync_revision_changes').select('revision');
    const parts = await stored.where('owner', '=', 'numbered').orderBy('revision').execute();
    expect(parts.map(({ revision }) => revision)).toEqual(numbers.slice(-revisionsMax));
    const gone = await server.request('GET', at('revisions/51?owner=numbered'));
    expect(gone.status).toBe(404);
    expect((await statusOf('numbered')).revision.number).toBe(101);
  });

  it('is written by the holder only: of two runs the one that lost its lease writes none', async () => {
    const older = await leaseHeaders(server.request, 'two-runs');
    await endLeases(server);
    const newer = await leaseHeaders(server.request, 'two-runs');
    const runs = Array.from({ length: 100 }, (_, number) => (number % 2 === 0 ? older : newer));
    const answers = await Promise.all(runs.map((headers) => record(headers)));
    expect(answers.map(({ status }) => status)).toEqual(
      runs.map((headers) => (headers === newer ? 200 : 409)),
    );
    const { body } = await server.request('GET', at('revisions?owner=two-runs'));
    expect(body.total).toBe(50);
  });

  it('is recorded once when it is sent again under one Idempotency-Key', async () => {
    const headers = {
      ...(await leaseHeaders(server.request, 'lost-answer')),
      'idempotency-key': randomUUID(),
    };
    const answers = await Promise.all(Array.from({ length: 20 }, () => record(headers)));
    expect(new Set(answers.map(({ body }) => body.number))).toEqual(new Set([1]));
    const { body } = await server.request('GET', at('revisions?owner=lost-answer'));
    expect(body.total).toBe(1);
  });

  it('keeps ten thousand of 10,001 changes and counts all, and each part may be repeated', async () => {
    const headers = await leaseHeaders(server.request, 'many');
    const changes = Array.from({ length: 10_001 }, (_, number) => ({
      ...oneChange,
      action: 'create',
      name: `config-${number}`,
      fields: [],
    }));
    const first = { changes: changes.slice(0, 2000), change_count: changes.length };
    const { body } = await record(headers, first);
    const path = at(`revisions/${body.number}/changes`);
    const more = (start: number) =>
      server.request('PUT', path, {
        body: { start, changes: changes.slice(start, start + 2000) },
        headers,
      });
    for (const start of [2000, 4000, 6000, 8000]) {
      const answers = await Promise.all([more(start), more(start), more(start)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    }
    expect(await more(2001)).toMatchObject({ status: 409, body: { error: { param: 'start' } } });
    const beyond = { body: { start: 10_000, changes: changes.slice(10_000) }, headers };
    expect((await server.request('PUT', path, beyond)).status).toBe(400);
    const stored = await server.request('GET', at(`revisions/${body.number}?owner=many`));
    expect(stored.body).toMatchObject({ change_count: 10_001, recorded_count: 10_000 });
    expect(stored.body.changes).toEqual(changes.slice(0, 10_000));
  });

  it('accepts no more changes than it announced, and none out of order', async () => {
    const headers = await leaseHeaders(server.request, 'counted');
    const { body } = await record(headers, { change_count: 2 });
    const more = (start: number, changes: unknown[], number = body.number) =>
      server.request('PUT', at(`revisions/${number}/changes`), {
        body: { start, changes },
        headers,
      });
    expect((await more(1, [oneChange, oneChange])).status).toBe(409);
    expect((await more(0, [{ ...oneChange, name: 'other' }])).status).toBe(409);
    expect((await more(1, [oneChange], 999)).status).toBe(404);
    expect((await more(1, [oneChange])).body.recorded_count).toBe(2);
    expect(await record(headers, { change_count: 0 })).toMatchObject({
      status: 400,
      body: { error: { param: 'change_count' } },
    });
  });
});

describe('a suspension', () => {
  beforeAll(async () => {
    const headers = await leaseHeaders(server.request, 'platform');
    for (const name of ['support', 'ends', 'next', 'race']) {
      const managed_by = {
        owner: 'platform',
        workspace: null,
        name,
        last_applied: {},
        source: { repo: '/srv/gateway', revision: null },
      };
      const body = { name, managed_by };
      const made = await server.request('POST', '/admin/v2/workspaces', { body, headers });
      expect(made.status).toBe(200);
    }
  });

  it('is returned with its reason until it ends, for an owner or a workspace, and audited', async () => {
    const whole = await suspend({ reason: ' Umzug 📦 ' });
    const one = await suspend({ workspace: 'support', for_seconds: 3600 });
    expect(whole.body).toMatchObject({ workspace: null, until: null, reason: 'Umzug 📦' });
    const { as_of, suspensions } = await statusOf('platform');
    expect(suspensions).toEqual([whole.body, one.body]);
    const lastsMs = Date.parse(one.body.until) - Date.parse(as_of);
    expect(Math.abs(lastsMs - 3_600_000)).toBeLessThan(600_000);
    expect((await resume('owner=platform')).body.ended).toBe(true);
    expect((await resume('owner=platform')).body.ended).toBe(false);
    expect((await statusOf('platform')).suspensions).toEqual([one.body]);
    const audited = await listAudit(server, 'platform');
    expect(audited.map(({ action }) => action)).toEqual(['bind', 'suspend', 'suspend', 'resume']);
  });

  it('may be created by a signed-in administrator, recorded by address, and by no other person', async () => {
    const as = async (userId: string, method: string, more = '') => {
      const { headers } = await addSession(server, userId);
      const body = method === 'PUT' ? suspensionBody({ workspace: 'support' }) : undefined;
      return exchange(method, `${server.url}${at(`suspensions${more}`)}`, body, headers);
    };
    const email = 'jörg@example.com';
    const admin = await addUser(server, { role: 'admin', email });
    const suspended = await as(admin, 'PUT');
    expect(suspended).toMatchObject({ status: 200, body: { suspended_by: email } });
    expect((await statusOf('platform')).suspensions).toContainEqual(suspended.body);
    const member = await addUser(server);
    expect((await as(member, 'DELETE', '?owner=platform&workspace=support')).status).toBe(403);
    const ended = await as(await ownerOf(server), 'DELETE', '?owner=platform&workspace=support');
    expect(ended.body).toMatchObject({ ended: true });
  });

  it('keeps the restored commit of a rollback until it is removed or the suspension ends', async () => {
    const rolled_back_to = { revision: 12, commit: '1f3c' };
    const readStored = async (more: object) => (await suspend(more)).body.rolled_back_to;
    expect(await readStored({ workspace: 'support', rolled_back_to })).toEqual(rolled_back_to);
    expect(await readStored({ workspace: 'support', reason: 'frozen' })).toEqual(rolled_back_to);
    expect(await readStored({ workspace: 'support', rolled_back_to: null })).toBeNull();
    await suspend({ workspace: 'support', rolled_back_to });
    expect((await resume('owner=platform&workspace=support')).body.ended).toBe(true);
    expect(await readStored({ workspace: 'support' })).toBeNull();
    await resume('owner=platform&workspace=support');
    const wrong = await suspend({ rolled_back_to: { revision: 0, commit: '1f3c' } });
    expect(wrong.status).toBe(400);
  });

  it('expires by the clock of the database, whatever the clock of the server is', async () => {
    await suspend({ workspace: 'ends', for_seconds: 60 });
    server.clock.advance(86_400_000);
    const namesOf = async () =>
      (await statusOf('platform')).suspensions.map((one: { workspace: string }) => one.workspace);
    expect(await namesOf()).toContain('ends');
    await passTime('platform');
    expect(await namesOf()).not.toContain('ends');
    expect((await resume('owner=platform&workspace=ends')).body.ended).toBe(false);
    await suspend({ workspace: 'next' });
    const rows = server.database.db.selectFrom('sync_suspensions').select('workspace');
    expect(await rows.where('owner', '=', 'platform').execute()).toEqual([{ workspace: 'next' }]);
  });

  it('exists once after a hundred concurrent requests, and is replaced by a later one', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, number) =>
        suspend({ workspace: 'race', reason: `reason ${number}` }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { suspensions } = await statusOf('platform');
    const own = suspensions.filter((one: { workspace: string }) => one.workspace === 'race');
    expect(own).toHaveLength(1);
    const again = await suspend({
      workspace: 'race',
      reason: 'last',
      until: '9999-01-01T00:00:00Z',
    });
    expect((await statusOf('platform')).suspensions).toContainEqual(again.body);
  });

  it.each([
    ['until', 400, { until: '2020-01-01T00:00:00Z' }],
    ['for_seconds', 400, { until: '9999-01-01T00:00:00Z', for_seconds: 60 }],
    ['for_seconds', 400, { for_seconds: 0 }],
    ['workspace', 400, { workspace: 'münchen' }],
    ['reason', 400, { reason: '  ' }],
    ['reason', 400, { reason: 'two\nlines' }],
    ['reason', 400, { reason: 'red \u001b[31m' }],
    ['workspace', 404, { workspace: 'of-nobody' }],
    ['reason', 400, { reason: 'x'.repeat(1001) }],
    ['owner', 404, { owner: 'never-seen' }],
  ])('is rejected for a wrong %s with %i', async (param, status, more) => {
    expect(await suspend(more)).toMatchObject({ status, body: { error: { param } } });
  });
});

describe('a caller of the sync records', () => {
  it('needs a token of the whole organisation; a workspace token reads and changes nothing', async () => {
    const { body: place } = await server.request('POST', '/v2/workspaces', {
      body: { name: 'bound' },
    });
    const headers = await leaseHeaders(server.request, 'whole');
    const bound = await bindToWorkspace(server, place.id);
    const answers = [
      await bound('PUT', at('status'), { body: syncReport(), headers }),
      await bound('POST', at('revisions'), { body: revisionBody(), headers }),
      await bound('PUT', at('suspensions'), { body: suspensionBody({ owner: 'whole' }) }),
      await bound('DELETE', at('suspensions?owner=whole')),
      await bound('GET', at('status')),
      await bound('GET', at('revisions?owner=whole')),
      await bound('GET', at('revisions/1?owner=whole')),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
  });

  it('sees nothing of another tenant', async () => {
    const headers = await leaseHeaders(server.request, 'private');
    await record(headers);
    const other = await addTenant(server, 'records-other');
    expect((await other.send('GET', at('status'))).body.data).toEqual([]);
    expect((await other.send('GET', at('revisions?owner=private'))).body.data).toEqual([]);
    expect((await other.send('GET', at('revisions/1?owner=private'))).status).toBe(404);
    const body = suspensionBody({ owner: 'private' });
    expect((await other.send('PUT', at('suspensions'), { body })).status).toBe(404);
    const writes = await other.send('POST', at('revisions'), { body: revisionBody(), headers });
    expect(writes.status).toBe(409);
  });

  it('may have read access without the claim scope, and not the reverse', async () => {
    const { send } = await addServiceAccount(server, 'view_only_admin');
    expect((await send('GET', at('status'))).status).toBe(200);
    const body = suspensionBody();
    expect((await send('PUT', at('suspensions'), { body })).status).toBe(403);
  });
});
