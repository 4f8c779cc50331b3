/** Formats the sync status for a ConfigMap and its changes for Kubernetes Events. */
import type { SyncReport } from '../../model/kinds/sync-record.ts';
import { oneLine } from '../../terminal-text.ts';

export type ClusterReport = Omit<SyncReport, 'next_look_at' | 'announced'>;
type State = ClusterReport['state'];
type Data = Readonly<Record<string, string>>;

/** A change of the owner, or of one of its workspaces. */
export interface StatusChange {
  /** Name of a workspace, or a word in brackets. */
  readonly about: string;
  readonly state: State;
  readonly note: string;
}

const workspacesKey = 'workspaces.json';
/** A ConfigMap holds at most 1 MiB including keys. */
const workspacesBytesMax = 900_000;
/** Further changes are counted in the last Event. */
const eventsMax = 20;
/** Not possible as workspace names. */
const whole = '(owner)';
const organisation = '(organisation)';

/** Returns the data of the ConfigMap; `now` in ms since the epoch. */
export function statusData(owner: string, report: ClusterReport, now: number): Data {
  const { state, message, error, source, commit_seen, commit_applied, drift_count } = report;
  const { text, omitted } = workspacesText(report);
  return {
    owner,
    state,
    source: singleLine(source),
    message: singleLine(message ?? ''),
    error: error === null ? '' : singleLine(`${placeOf(error)}${error.message}`),
    commitSeen: commit_seen ?? '',
    commitApplied: commit_applied ?? '',
    driftCount: `${drift_count}`,
    updatedAt: new Date(now).toISOString(),
    [workspacesKey]: text,
    ...(omitted === 0 ? {} : { omittedWorkspaces: `${omitted}` }),
  };
}

/**
 * Returns what differs from `data`, the owner first, then workspaces. An empty ConfigMap means that
 * nothing was reported yet; a workspace missing from it counts as Synced.
 */
export function statusChanges(owner: string, data: Data, report: ClusterReport): StatusChange[] {
  const { state, message, error, commit_seen } = report;
  const changes: StatusChange[] = [];
  if (data.state !== state) {
    const was = data.state === undefined ? '' : `, was ${data.state}`;
    const at = commit_seen === null ? '' : ` at ${commit_seen.slice(0, 12)}`;
    const place = error === null ? '' : placeOf(error);
    const details = message === null ? '' : `: ${place}${message}`;
    changes.push({
      about: whole,
      state,
      note: singleLine(`${owner} is ${state}${at}${was}${details}`),
    });
  }
  const before = statesIn(data);
  const fresh = report.workspaces.flatMap((one): StatusChange[] => {
    const about = one.workspace ?? organisation;
    const previous = before.get(about) ?? 'Synced';
    if (one.state === previous) return [];
    const what = one.workspace === null ? 'the organisation' : `workspace ${one.workspace}`;
    const details = one.message === null ? '' : `: ${one.message}`;
    return [
      {
        about,
        state: one.state,
        note: singleLine(`${what} is ${one.state}, was ${previous}${details}`),
      },
    ];
  });
  if (fresh.length <= eventsMax) return [...changes, ...fresh];
  const more = `; so are or were ${fresh.length - eventsMax} more: see ${workspacesKey}`;
  const last = fresh[eventsMax - 1]!;
  const fitting = [
    ...fresh.slice(0, eventsMax - 1),
    { ...last, note: `${last.note.slice(0, 500)}${more}` },
  ];
  return [...changes, ...fitting];
}

/** Formats one workspace a line, by name; when space is short, those with problems remain. */
function workspacesText({ workspaces }: ClusterReport): { text: string; omitted: number } {
  const lines = workspaces.map((one) => {
    const { workspace, state, commit_applied, drift_count, message } = one;
    const facts = {
      state,
      commitApplied: commit_applied,
      driftCount: drift_count,
      ...(message === null ? {} : { message: singleLine(message) }),
    };
    const name = workspace ?? organisation;
    return {
      name,
      isCalm: state === 'Synced',
      line: `${JSON.stringify(name)}: ${JSON.stringify(facts)}`,
    };
  });
  let room = workspacesBytesMax;
  const fitting = lines
    .toSorted((one, two) => Number(one.isCalm) - Number(two.isCalm))
    .filter(({ line }) => {
      room -= Buffer.byteLength(line) + 2;
      return room >= 0;
    })
    .toSorted((one, two) => (one.name < two.name ? -1 : 1));
  const text = `{\n${fitting.map(({ line }) => line).join(',\n')}\n}\n`;
  return { text, omitted: lines.length - fitting.length };
}

/** Returns an empty map for text that was not written here. */
function statesIn(data: Data): Map<string, string> {
  const states = new Map<string, string>();
  for (const [name, facts] of Object.entries(parsed(data[workspacesKey] ?? '{}'))) {
    const { state } = (facts ?? {}) as { readonly state?: unknown };
    if (typeof state === 'string') states.set(name, state);
  }
  return states;
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function placeOf({ file, line, column }: NonNullable<ClusterReport['error']>): string {
  if (file === null) return '';
  return `${[file, line, column].filter((part) => part !== null).join(':')}: `;
}

/** Joins the lines of a text, because `kubectl describe` and Events show one. */
function singleLine(text: string): string {
  return oneLine(text.trim().replace(/\s*\n\s*/g, '; '));
}
