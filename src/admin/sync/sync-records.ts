/** Converts revisions and suspensions to API records. */
import type { SyncRevision, SyncSuspension } from '../../model/kinds/sync-record.ts';
import { formatTimestamp, formatTimestampOrNull } from '../../model/wire/timestamp.ts';
import type { SyncRevisionRow } from '../../store/sync/sync-revisions.ts';
import type { SyncSuspensionRow } from '../../store/sync/sync-suspensions.ts';

export function presentRevision(row: SyncRevisionRow): SyncRevision {
  const { owner, number, source, ending, change_count, recorded_count } = row;
  return {
    object: 'sync_revision',
    owner,
    number,
    commit: row.commit_id,
    source,
    started_at: formatTimestamp(row.started_at),
    finished_at: formatTimestamp(row.finished_at),
    recorded_at: formatTimestamp(row.recorded_at),
    ending,
    change_count,
    recorded_count,
  };
}

export function presentSuspension(row: SyncSuspensionRow): SyncSuspension {
  const { owner, workspace, reason, suspended_by, rolled_back_to, rolled_back_commit } = row;
  return {
    object: 'sync_suspension',
    owner,
    workspace: workspace === '' ? null : workspace,
    until: formatTimestampOrNull(row.until),
    reason,
    suspended_by,
    suspended_at: formatTimestamp(row.suspended_at),
    rolled_back_to:
      rolled_back_to === null || rolled_back_commit === null
        ? null
        : { revision: rolled_back_to, commit: rolled_back_commit },
  };
}
