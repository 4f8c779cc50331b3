/** Derives the status of each workspace of an owner from the result of a cycle or a pass. */
import { reportedWorkspacesMax, type SyncReport } from '../../model/kinds/sync-record.ts';
import type { CycleResult } from '../cycle/cycle-options.ts';
import { commitOf, owningWorkspace } from '../resources/resource-set.ts';
import type { StateName } from './sync-state.ts';

const messageMax = 150;

type WorkspaceReport = SyncReport['workspaces'][number];

/**
 * Reports every workspace as synced to the commit unless something is wrong in it; at most 1,000.
 */
export function workspaceReports(
  { plan, report, refusal }: CycleResult,
  driftCount: number,
): WorkspaceReport[] {
  const found = new Map<string, WorkspaceReport>();
  // Nothing of a refused version was applied anywhere.
  const commit = refusal === null ? commitOf(plan.source) : null;
  const at = (workspace: string | null): WorkspaceReport => {
    const known = found.get(workspace ?? '');
    if (known !== undefined) return known;
    const fresh: WorkspaceReport = {
      workspace,
      commit_applied: commit,
      state: 'Synced',
      message: null,
      drift_count: 0,
    };
    found.set(workspace ?? '', fresh);
    return fresh;
  };
  const worsen = (workspace: string | null, state: StateName, message: string): void => {
    const one = at(workspace);
    if (one.state === 'Synced') {
      Object.assign(one, { state, message: truncateText(message, messageMax) });
    }
  };
  for (const live of plan.live.values()) {
    if (live.owner === plan.owner) at(owningWorkspace(live.identity));
  }
  for (const { fault, workspaces } of plan.faults) {
    for (const workspace of workspaces) worsen(workspace, 'Degraded', fault.message);
  }
  const places = new Map(
    plan.changes.map((change) => [change.id, owningWorkspace(change.identity)]),
  );
  for (const { id, status, message } of report?.items ?? []) {
    const workspace = places.get(id) ?? null;
    if (status === 'done') at(workspace);
    else worsen(workspace, 'Degraded', `${id}: ${message}`);
  }
  for (const { id, identity, reason, message } of plan.blocked) {
    const state = reason === 'suspended' ? 'Suspended' : 'OutOfSync';
    worsen(owningWorkspace(identity), state, `${id} is blocked: ${message}`);
  }
  if (report === null) {
    for (const { identity, action, id, restores } of plan.changes) {
      if (action === 'retain') continue;
      const workspace = owningWorkspace(identity);
      worsen(workspace, 'OutOfSync', `${id}: ${action}`);
      if (driftCount > 0 && (restores || refusal === null)) at(workspace).drift_count += 1;
    }
  }
  return [...found.values()].slice(0, reportedWorkspacesMax);
}

/** Truncates the text to `max` characters. */
export function truncateText(text: string | null, max: number): string | null {
  return text === null || text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}
