/** Tests the applied revision and the environment in the table of owners. */
import { describe, expect, it } from 'vitest';
import { appliedNow, statusText } from '../../../src/commands/status/status-text.ts';
import type {
  SyncReport,
  SyncStatus,
  SyncSuspension,
} from '../../../src/model/kinds/sync-record.ts';
import { syncReport } from '../../support/sync/sync-records.ts';

const [older, newer] = ['a'.repeat(40), 'b'.repeat(40)];
const moment = '2027-01-04T08:00:00.000Z';

function statusOf(report: Partial<SyncReport>, ...suspensions: SyncSuspension[]): SyncStatus {
  return {
    object: 'sync_status',
    owner: 'platform',
    as_of: moment,
    told_at: moment,
    report: syncReport({ commit_seen: newer, commit_applied: newer, ...report }),
    revision: null,
    lease: null,
    suspensions,
  };
}

function suspension(more: Partial<SyncSuspension> = {}): SyncSuspension {
  return {
    object: 'sync_suspension',
    owner: 'platform',
    workspace: null,
    until: null,
    reason: 'frozen',
    suspended_by: 'ops',
    suspended_at: moment,
    rolled_back_to: null,
    ...more,
  };
}

const rolledBack = { rolled_back_to: { revision: 12, commit: older } };
const sales = { workspace: 'sales', commit_applied: newer, state: 'Synced' } as const;
const workspaces = [{ ...sales, message: null, drift_count: 0 }];
const displayed = (...owners: SyncStatus[]): string[][] =>
  statusText(owners, { wide: false, resumeOf: () => 'RESUME' })
    .split('\n')
    .map((line) => line.split(/ {2,}/));

describe('the applied revision', () => {
  it('is the revision of the rollback, for the owner and all its workspaces, until the resume', () => {
    const reason = `rolled back to revision 12 (commit ${older.slice(0, 12)})`;
    const status = statusOf({ workspaces }, suspension({ reason, ...rolledBack }));
    expect(appliedNow(status)).toEqual({ revision: 12, commit: older });
    const [, own, inSales, , note] = displayed(status);
    expect(own).toEqual(
      expect.arrayContaining(['Suspended', newer.slice(0, 12), 'aaaaaaaaaaaa (revision 12)']),
    );
    expect(inSales).toContain('aaaaaaaaaaaa (revision 12)');
    expect(note?.join('')).toBe(
      `platform: owner platform is suspended until it is resumed, by ops: ${reason}; to resume: RESUME`,
    );
    expect(appliedNow(statusOf({}))).toEqual({ revision: null, commit: newer });
  });

  it('shows the rollback of one workspace there, next to the reason that somebody else gave', () => {
    const status = statusOf({ workspaces }, suspension({ workspace: 'sales', ...rolledBack }));
    expect(appliedNow(status)).toEqual({ revision: null, commit: newer });
    expect(appliedNow(status, 'sales')).toEqual({ revision: 12, commit: older });
    const text = statusText([status], { wide: true, resumeOf: () => 'RESUME' });
    expect(text).toContain(`${older} (revision 12)`);
    expect(text).toContain(`frozen; rolled back to revision 12 (commit ${older.slice(0, 12)})`);
  });

  it('shows the later of two rollbacks', () => {
    const later = { revision: 13, commit: newer };
    const suspended_at = '2027-01-04T09:00:00.000Z';
    const ofSales = suspension({ workspace: 'sales', suspended_at, rolled_back_to: later });
    const status = statusOf({ workspaces }, suspension(rolledBack), ofSales);
    expect(appliedNow(status, 'sales')).toEqual(later);
    expect(appliedNow(status)).toEqual(rolledBack.rolled_back_to);
  });

  it('stays the same after a suspension without a rollback', () => {
    expect(appliedNow(statusOf({}, suspension()))).toEqual({ revision: null, commit: newer });
  });
});

it('shows the environment column when one of the sources has an environment', () => {
  expect(displayed(statusOf({}))[0]).not.toContain('ENVIRONMENT');
  const prod = statusOf({ source: 'https://git.example/gw.git#main --env prod', workspaces });
  const rows = displayed(prod, statusOf({}));
  expect(rows.slice(0, 4).map((row) => row[1])).toEqual(['ENVIRONMENT', 'prod', 'prod', '-']);
});
