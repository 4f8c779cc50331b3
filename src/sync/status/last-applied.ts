/** Knows what was applied last in each workspace, by the commits that the server keeps of a daemon. */
import { Failure } from '../../failure.ts';
import type { SyncReport } from '../../model/kinds/sync-record.ts';
import { type DesiredSet, workspaceOf } from '../resources/resource-set.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { readStatuses } from '../server/sync-records.ts';

export interface LastAppliedOptions {
  readonly client: AdminClient;
  /** As the status of this daemon names it: commits of another source are none of this one. */
  readonly source: string;
  /** Reads the part of the source that was right at a commit. @throws Failure */
  readonly readAt: (commit: string) => Promise<DesiredSet>;
  readonly signal?: AbortSignal | undefined;
}

/** Each is read from its repository; workspaces that are wrong share one, as a rule. */
const commitsMax = 8;

/**
 * For a process that begins with a source that is wrong in some workspaces: what these were applied from.
 * Null where nobody knows, or it cannot be had now.
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

/** Commits before this one, with the workspaces for which each was the last. */
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

/** What a version says of some workspaces, as far as it is right there. */
function partOf(set: DesiredSet, workspaces: ReadonlySet<string | null>): DesiredSet {
  const wrong = new Set((set.faults ?? []).flatMap((fault) => fault.workspaces));
  const isMeant = ({
    identity,
  }: DesiredSet['externals'][number] | DesiredSet['resources'][number]) =>
    workspaces.has(workspaceOf(identity)) && !wrong.has(workspaceOf(identity));
  return {
    ...set,
    resources: set.resources.filter(isMeant),
    externals: set.externals.filter(isMeant),
  };
}
