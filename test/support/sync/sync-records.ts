/** Builds minimal valid records of a sync run. */
import type {
  RevisionBody,
  RevisionChange,
  SuspensionBody,
  SyncReport,
} from '../../../src/model/kinds/sync-record.ts';

export function syncReport(more: Partial<SyncReport> = {}): SyncReport {
  return {
    source: '/srv/gateway',
    commit_seen: null,
    commit_applied: null,
    state: 'Synced',
    message: null,
    error: null,
    drift_count: 0,
    next_look_at: null,
    workspaces: [],
    ...more,
  };
}

export const oneChange: RevisionChange = {
  action: 'update',
  kind: 'Config',
  workspace: 'support',
  name: 'routing',
  resource_id: null,
  fields: ['config.retry'],
};

export function revisionBody(more: Partial<RevisionBody> = {}): RevisionBody {
  return {
    commit: '1f3c',
    source: '/srv/gateway',
    ending: 'success',
    changes: [oneChange],
    started_at: '2027-01-04T08:00:00Z',
    finished_at: '2027-01-04T08:00:01Z',
    ...more,
  };
}

export function suspensionBody(more: Partial<SuspensionBody> = {}): SuspensionBody {
  return { owner: 'platform', reason: 'maintenance', ...more };
}
