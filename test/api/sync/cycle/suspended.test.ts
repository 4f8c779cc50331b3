/**
 * Verifies that sync writes nothing that is suspended, continues afterwards, and records the
 * changes of each run.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SuspensionBody } from '../../../../src/model/kinds/sync-record.ts';
import {
  deleteSuspension,
  readRevision,
  readRevisions,
  createSuspension as suspendOwner,
} from '../../../../src/sync/server/sync-records.ts';
import { startFaultyProxy } from '../../../support/network/faulty-proxy.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { endLeases } from '../../../support/sync/lease.ts';
import {
  canaries,
  everyKind,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;
beforeEach(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterEach(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const two = (attempts: number): string =>
  ['support', 'sales']
    .map(
      (workspace) => `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: ${workspace}}
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: ${workspace}}
spec: {config: {retry: {attempts: ${attempts}}}}
`,
    )
    .join('---\n');

const suspend = (more: Partial<SuspensionBody> = {}) =>
  suspendOwner(sync.client, { owner: 'platform', reason: 'Umzug 📦', ...more });

describe('a suspension', () => {
  it('holds back a workspace with its contents only, and reports its end, reason and command to resume', async () => {
    await sync.cycle(two(1));
    const { until } = await suspend({ workspace: 'support', for_seconds: 3600 });
    const { plan, report, ending, warnings } = await sync.cycle(two(2));
    expect(plan.blocked).toMatchObject([
      {
        id: 'Config/support/routing',
        reason: 'suspended',
        message: `workspace support is suspended until ${until}: Umzug 📦`,
      },
    ]);
    expect(report!.items.map(({ id }) => id)).toEqual(['Config/sales/routing']);
    expect(ending).toBe('refusedByGuard');
    expect(warnings.join()).toContain('gatewright apply . --even-if-suspended');
  });

  it('prevents deletions, additions and renames in its workspace', async () => {
    await sync.cycle(two(1));
    await suspend({ workspace: 'support' });
    const gone = await sync.cycle(
      two(1).replace(/---\napi.*?name: routing, workspace: sup.*?\}\}\}\n/s, ''),
    );
    expect(gone.plan.blocked).toMatchObject([
      { id: 'Config/support/routing', reason: 'suspended' },
    ]);
    const renamed = two(1)
      .replaceAll('workspace: support', 'workspace: help')
      .replace('{name: support}', '{name: help, previousNames: [support]}');
    const { plan } = await sync.cycle(renamed);
    expect(plan.changes).toEqual([]);
    expect(plan.blocked.map(({ id, reason }) => `${id} ${reason}`)).toEqual([
      'Config/help/routing suspended',
      'Workspace/help suspended',
    ]);
  });

  it('holds back all resources of an owner, and what depends on suspended resources', async () => {
    await expect(suspend({})).rejects.toMatchObject({ status: 404 });
    await sync.cycle('');
    await sync.cycle(two(1).split('---')[0]!);
    await suspend({});
    const { plan } = await sync.cycle(two(1));
    expect(plan.changes).toEqual([]);
    expect(plan.blocked.map(({ id, reason }) => `${id} ${reason}`)).toEqual([
      'Config/sales/routing suspended',
      'Config/support/routing suspended',
      'Workspace/sales suspended',
    ]);
  });

  it('ends by time, by command, or for one run with --even-if-suspended', async () => {
    await sync.cycle(two(1));
    await suspend({});
    expect((await sync.cycle(two(2))).report).toBeNull();
    await suspend({ for_seconds: 3600 });
    expect((await sync.cycle(two(2))).report).toBeNull();
    await server.database.db.updateTable('sync_suspensions').set({ until: 1 }).execute();
    expect((await sync.cycle(two(2))).ending).toBe('success');
    await suspend({});
    expect((await sync.cycle(two(3), { evenIfSuspended: true })).ending).toBe('success');
    expect((await sync.cycle(two(4))).ending).toBe('refusedByGuard');
    expect(await deleteSuspension(sync.client, null)).toBe(true);
    expect((await sync.cycle(two(4))).ending).toBe('success');
  });

  it('stops a confirmed apply when it begins before the writes', async () => {
    await sync.cycle(two(1));
    const confirm = async (): Promise<boolean> => (await suspend({})).reason !== '';
    const { report, plan } = await sync.cycle(two(2), { confirm });
    expect(report).toBeNull();
    expect(plan.blocked.map(({ reason }) => reason)).toEqual(['suspended', 'suspended']);
  });

  it('costs no request in a run without changes', async () => {
    await sync.cycle(two(1));
    const { read } = await sync.cycle(two(1));
    const before = sync.client.requests;
    await sync.cycle(two(1), { previous: read });
    expect(sync.client.requests - before).toBe(1);
  });
});

describe('a recorded revision', () => {
  it('contains names and fields of the changes without secret values, and exists only for runs that write', async () => {
    await sync.cycle(everyKind);
    await sync.cycle(everyKind);
    await sync.cycle(everyKind.replace('attempts: 3', 'attempts: 4').replaceAll('CRM_', 'OTHER_'));
    await sync.cycle('');
    const revisions = (await readRevisions(sync.client))!;
    expect(revisions.map(({ number, change_count }) => [number, change_count])).toEqual([
      [3, 9],
      [2, 2],
      [1, 9],
    ]);
    const second = (await readRevision(sync.client, 2))!;
    expect(second).toMatchObject({ owner: 'platform', source: '/source', ending: 'success' });
    expect(second.commit).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(second.changes).toMatchObject([
      { action: 'update', kind: 'Config', workspace: 'support', name: 'routing' },
      { action: 'update', kind: 'McpIntegration', name: 'crm' },
    ]);
    expect(second.changes.map(({ fields }) => fields)).toEqual([
      ['/config/retry/attempts'],
      ['/configurations/custom_headers/Authorization'],
    ]);
    const rows = server.database.db.selectFrom('sync_revision_changes').select('changes');
    const stored = JSON.stringify(await rows.execute());
    for (const canary of Object.values(canaries)) expect(stored).not.toContain(canary);
    expect(await readRevision(sync.client, 4)).toBeNull();
  });

  it('is recorded once when its response is lost, and its failure does not fail the run', async () => {
    let fate: 'cut-after' | 404 | 500 = 'cut-after';
    let isCut = false;
    await using proxy = await startFaultyProxy(server.url, (_, request) => {
      if (!request.startsWith('POST /admin/v2/gatewright/sync/revisions')) return 'pass';
      if (fate === 'cut-after' && isCut) return 'pass';
      isCut = true;
      return fate;
    });
    const client = sync.openClient({ adminBaseUrl: proxy.url });
    expect(await sync.cycle(two(1), { client })).toMatchObject({ ending: 'success', warnings: [] });
    expect(await readRevisions(sync.client)).toHaveLength(1);
    fate = 404;
    expect(await sync.cycle(two(2), { client })).toMatchObject({ ending: 'success', warnings: [] });
    fate = 500;
    const { ending, warnings } = await sync.cycle(two(3), { client });
    expect(ending).toBe('success');
    expect(warnings.join()).toContain('could not be recorded');
    expect(await readRevisions(sync.client)).toHaveLength(1);
  });

  it('is written by the one of two concurrent runs that holds the lease', async () => {
    await sync.cycle(two(1));
    await Promise.allSettled([2, 3].map((attempts) => sync.cycle(two(attempts))));
    await endLeases(server);
    const revisions = (await readRevisions(sync.client))!;
    expect(revisions.map(({ number }) => number)).toEqual([3, 2, 1]);
  });
});
