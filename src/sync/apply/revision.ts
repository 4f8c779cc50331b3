/** Records what a run changed: names of resources and fields, never values. */
import type { RevisionChange } from '../../model/kinds/sync-record.ts';
import { formatTimestamp } from '../../model/wire/timestamp.ts';
import type { Plan, PlannedChange } from '../plan/plan-model.ts';
import { sourceText } from '../resources/applied-source.ts';
import { commitOf } from '../resources/resource-set.ts';
import type { AdminClient } from '../server/client.ts';
import { type NewRevision, recordRevision } from '../server/sync-records.ts';
import type { AppliedItem, ApplyReport } from './apply.ts';
import type { HeldLease } from './owner-lease.ts';

export interface RunFacts {
  readonly ending: NewRevision['ending'];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly finishedAt: number;
  /** The revision whose state this run restores; null when the run follows the source. */
  readonly origin: Pick<NewRevision, 'commit' | 'source'> | null;
}

/** Returns null for a run that wrote nothing. */
export function revisionOf(plan: Plan, report: ApplyReport, run: RunFacts): NewRevision | null {
  const done = new Map(
    report.items.filter(({ status }) => status === 'done').map((item) => [item.id, item]),
  );
  const changes = plan.changes.flatMap((change) => {
    const item = done.get(change.id);
    return item === undefined ? [] : revisionChanges(change, item);
  });
  if (changes.length === 0) return null;
  const { commit, source } = run.origin ?? {
    commit: commitOf(plan.source),
    source: sourceText(plan.source),
  };
  return {
    commit,
    source,
    started_at: formatTimestamp(run.startedAt),
    finished_at: formatTimestamp(run.finishedAt),
    ending: run.ending,
    changes,
  };
}

const fieldsMax = 50;
const fieldMax = 500;

function revisionChanges(change: PlannedChange, { resourceId }: AppliedItem): RevisionChange[] {
  const { action, reason, identity, live } = change;
  if (action === 'retain') return [];
  const fields = action === 'create' || action === 'delete' ? [] : change.fields;
  const paths = new Set(fields.map(({ path }) => path.slice(0, fieldMax)));
  const isRename = reason === 'rename' && action === 'update';
  const one: RevisionChange = {
    action: isRename ? 'rename' : action,
    kind: identity.kind,
    workspace: identity.workspace,
    name: identity.name,
    resource_id: resourceId ?? live?.id ?? null,
    fields: [...paths].slice(0, fieldsMax),
  };
  return [one];
}

const recordMsMax = 10_000;

/** Returns warnings; a failed recording does not change the outcome of the run. */
export async function recordRun(
  client: AdminClient,
  lease: HeldLease,
  revision: NewRevision | null,
): Promise<string[]> {
  if (revision === null || lease.isLost) return [];
  try {
    await recordRevision(client, lease.fence, revision, AbortSignal.timeout(recordMsMax));
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      `what this run has changed could not be recorded for \`gatewright history\`: ${reason}`,
    ];
  }
}
