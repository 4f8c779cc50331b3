/** Reads what was applied last in each workspace, from the commits in the status of a daemon. */
import { Failure } from '../../failure.ts';
import type { SyncReport } from '../../model/kinds/sync-record.ts';
import { type DesiredSet, owningWorkspace } from '../resources/resource-set.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { readStatuses } from '../server/sync-records.ts';

export interface LastAppliedOptions {
  readonly client: AdminClient;
  /** The source as the daemon's status names it; commits of another source are ignored. */
  readonly source: string;
  /** Reads the valid part of the source at a commit. @throws Failure */
  readonly readAt: (commit: string) => Promise<DesiredSet>;
  readonly signal?: AbortSignal | undefined;
}

/** Each commit is read from the repository; invalid workspaces usually share one. */
const commitsMax = 8;

/**
 * Returns what the invalid workspaces were applied from, for a process that starts with an invalid
 * source. Null when unknown or unreadable.
 */
export async function readLastApplied(
  wrong: DesiredSet,
  { client, source, readAt, signal }: LastAppliedOptions,
): Promise<DesiredSet | null> {
  const { revision } = wrong.source;
  if (revision === null) return null;
  try {
    const [status] = (await readStatuses(client, client.owner, signal)) ?? [];
    if (status?.report?.source !== source) return null;
    const parts: DesiredSet[] = [];
    for (const [commit, workspaces] of commitsOf(status.report, revision)) {
      parts.push(partOf(await readAt(commit), workspaces));
    }
    const resources = parts.flatMap((part) => part.resources);
    const externals = parts.flatMap((part) => part.externals);
    return { ...wrong, resources, externals, faults: [] };
  } catch (error) {
    if (error instanceof Failure || error instanceof ApiRefusal) return null;
    throw error;
  }
}

/** Returns the earlier commits with the workspaces that were last applied from each. */
function commitsOf(
  { workspaces }: SyncReport,
  revision: string,
): [commit: string, workspaces: ReadonlySet<string | null>][] {
  const earlier = workspaces.filter(
    ({ commit_applied }) => commit_applied !== null && commit_applied !== revision,
  );
  const byCommit = Map.groupBy(earlier, ({ commit_applied }) => commit_applied!);
  return [...byCommit]
    .slice(0, commitsMax)
    .map(([commit, found]) => [commit, new Set(found.map(({ workspace }) => workspace))]);
}

/** Returns the valid part of a version, limited to some workspaces. */
function partOf(set: DesiredSet, workspaces: ReadonlySet<string | null>): DesiredSet {
  const wrong = new Set((set.faults ?? []).flatMap((fault) => fault.workspaces));
  const isMeant = ({
    identity,
  }: DesiredSet['externals'][number] | DesiredSet['resources'][number]) =>
    workspaces.has(owningWorkspace(identity)) && !wrong.has(owningWorkspace(identity));
  return {
    ...set,
    resources: set.resources.filter(isMeant),
    externals: set.externals.filter(isMeant),
  };
}
