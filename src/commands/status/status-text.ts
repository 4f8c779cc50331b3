/** Knows how the status of owners is set as a table for people, and what needs saying beside it. */
import type { SyncReport, SyncStatus } from '../../model/kinds/sync-record.ts';
import { readSourceText } from '../../sync/resources/applied-source.ts';
import { formatTable } from '../shared/table.ts';
import { suspensionText } from './suspend.ts';

/** How much later than it said a run may be heard of: clocks differ, and looks take time. */
const silentAfterMs = 60_000;

export interface StatusForm {
  /** With sources, holders and whole commits. */
  readonly wide: boolean;
  /** The command that ends a suspension. */
  readonly resumeOf: (owner: string, workspace: string | null) => string;
}

/** Whether the next look of its run is overdue, so that what was told last may be true no more. */
export function isSilent({ report, as_of }: SyncStatus): boolean {
  if (report === null || report.next_look_at === null) return false;
  return Date.parse(as_of) > Date.parse(report.next_look_at) + silentAfterMs;
}

/** That its run reads; null for a source that has none. */
export function environmentOf({ report, revision }: SyncStatus): string | null {
  const source = report?.source ?? revision?.source;
  return source === undefined ? null : readSourceText(source).environment;
}

/** As it is now: a suspension counts from its beginning, not from when a run takes note of it. */
export function shownState(status: SyncStatus, workspace: string | null = null): string {
  const { report, suspensions } = status;
  const own = workspaceOf(report, workspace);
  if (suspensions.some((one) => one.workspace === null || one.workspace === workspace)) {
    return 'Suspended';
  }
  if (isSilent(status)) return 'Silent';
  return (workspace === null ? report?.state : own?.state) ?? '-';
}

/**
 * What is applied now, with the number of the revision where a rollback has brought it back: until somebody
 * resumes, it is that and not what the run has told.
 */
export function appliedNow(
  { report, revision, suspensions }: SyncStatus,
  workspace: string | null = null,
): { readonly commit: string | null; readonly revision: number | null } {
  const [rollback] = suspensions
    .filter((one) => one.workspace === null || one.workspace === workspace)
    .toSorted((one, two) => (one.suspended_at < two.suspended_at ? 1 : -1))
    .flatMap(({ rolled_back_to }) => rolled_back_to ?? []);
  if (rollback !== undefined) return rollback;
  const own = workspace === null ? report : workspaceOf(report, workspace);
  const last = workspace === null ? (revision?.commit ?? null) : null;
  return { commit: own?.commit_applied ?? last, revision: null };
}

/** Ends in a newline. */
export function statusText(owners: readonly SyncStatus[], form: StatusForm): string {
  if (owners.length === 0) return 'No sync has written to this server yet.\n';
  const more = form.wide ? ['REVISION', 'TOLD', 'HOLDER', 'SOURCE'] : [];
  const hasEnvironments = owners.some((owner) => environmentOf(owner) !== null);
  const columns = ['WORKSPACE', 'STATE', 'SEEN', 'APPLIED', 'DRIFT', 'NEXT LOOK', ...more];
  const head = ['OWNER', ...(hasEnvironments ? ['ENVIRONMENT'] : []), ...columns];
  const rows = owners.flatMap((owner) => {
    const environment = hasEnvironments ? [environmentOf(owner) ?? '-'] : [];
    const own = [
      ownerRow(owner, form),
      ...workspacesOf(owner).map((workspace) => workspaceRow(owner, workspace, form)),
    ];
    return own.map((row) => [owner.owner, ...environment, ...row]);
  });
  const notes = owners.flatMap((owner) => notesOf(owner, form));
  const table = formatTable([head, ...rows]);
  return notes.length === 0 ? table : `${table}\n${notes.join('\n')}\n`;
}

function ownerRow(status: SyncStatus, { wide }: StatusForm): string[] {
  const { report, revision, lease, as_of, told_at } = status;
  const row = [
    '-',
    shownState(status),
    shownCommit(report?.commit_seen, wide),
    shownApplied(status, null, wide),
    report === null ? '-' : String(report.drift_count),
    distance(as_of, report?.next_look_at ?? null),
  ];
  if (!wide) return row;
  const number = revision === null ? '-' : String(revision.number);
  const source = report?.source ?? revision?.source ?? '-';
  return [...row, number, distance(as_of, told_at), lease?.holder ?? '-', source];
}

function workspaceRow(status: SyncStatus, workspace: string, { wide }: StatusForm): string[] {
  const told = workspaceOf(status.report, workspace);
  const drift = told === undefined ? '-' : String(told.drift_count);
  const applied = shownApplied(status, workspace, wide);
  const more = wide ? ['', '', '', ''] : [];
  return [workspace, shownState(status, workspace), '', applied, drift, '', ...more];
}

/** Those that were told of, and those that are suspended although nothing was. */
function workspacesOf({ report, suspensions }: SyncStatus): string[] {
  const told = [...(report?.workspaces ?? []), ...suspensions].flatMap(
    ({ workspace }) => workspace ?? [],
  );
  return [...new Set(told)].toSorted();
}

function workspaceOf(report: SyncReport | null, workspace: string | null) {
  return report?.workspaces.find((one) => one.workspace === workspace);
}

/** A line for each thing that a person may have to do something about. */
function notesOf(status: SyncStatus, { resumeOf }: StatusForm): string[] {
  const { owner, report, suspensions, as_of, told_at } = status;
  const notes: string[] = [];
  if (isSilent(status)) {
    const told = `nothing was heard since ${distance(as_of, told_at)}, and a look was due`;
    notes.push(`${told} ${distance(as_of, report!.next_look_at)}: does its daemon run?`);
  }
  if (report?.error) notes.push(errorText(report.error));
  else if (report?.message) notes.push(report.message);
  for (const { workspace, message } of report?.workspaces ?? []) {
    if (message !== null) notes.push(`${workspace ?? 'without a workspace'}: ${message}`);
  }
  for (const one of suspensions) {
    notes.push(`${suspensionText(one)}; to resume: ${resumeOf(owner, one.workspace)}`);
  }
  // What was told may span lines; none of them begins as ours do.
  return notes.map((note) => `${owner}: ${note.replaceAll('\n', '\n  ')}`);
}

function errorText({ file, line, column, message }: NonNullable<SyncReport['error']>): string {
  const place = [file, line, column].filter((part) => part !== null).join(':');
  return place === '' ? message : `${place}: ${message}`;
}

/** `4f2a01b2c3d4 (revision 12)` of what was rolled back. */
function shownApplied(status: SyncStatus, workspace: string | null, wide: boolean): string {
  const { commit, revision } = appliedNow(status, workspace);
  const shown = shownCommit(commit, wide);
  return revision === null ? shown : `${shown} (revision ${revision})`;
}

/** `4f2a01b2c3d4`, `sha256:4f2a01b2c3d4`; whole when `wide`. */
export function shownCommit(commit: string | null | undefined, wide: boolean): string {
  if (commit === null || commit === undefined) return '-';
  return wide ? commit : commit.replace(/^((?:sha256:)?.{12}).*$/s, '$1');
}

/** `12 s ago`, `in 3 min` */
function distance(from: string, to: string | null): string {
  if (to === null) return '-';
  const ms = Date.parse(to) - Date.parse(from);
  const seconds = Math.round(Math.abs(ms) / 1000);
  const units = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ] as const;
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, 's'];
  const length = `${Math.floor(seconds / size)} ${unit}`;
  return ms < 0 ? `${length} ago` : `in ${length}`;
}
