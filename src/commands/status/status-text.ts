/** Formats the status of owners as a table with notes. */
import type { SyncReport, SyncStatus } from '../../model/kinds/sync-record.ts';
import { findingText } from '../../model/mcp/definition-finding.ts';
import { readSourceText } from '../../sync/resources/applied-source.ts';
import { formatTable } from '../shared/table.ts';
import { suspensionText } from './suspend.ts';

/** Tolerance for late reports: clocks differ, and checks take time. */
const silentAfterMs = 60_000;
/** Definitions of an owner that are shown, and lines of each. */
const definitionsMax = 20;
const changesMax = 5;

export interface StatusForm {
  /** Whether to include sources, holders and full commits. */
  readonly wide: boolean;
  /** The command that ends a suspension. */
  readonly resumeOf: (owner: string, workspace: string | null) => string;
}

/** Whether the next check of the run is overdue, so that its last report may be outdated. */
export function isSilent({ report, as_of }: SyncStatus): boolean {
  if (report === null || report.next_look_at === null) return false;
  return Date.parse(as_of) > Date.parse(report.next_look_at) + silentAfterMs;
}

/** The environment that the run reads; null for a source without environments. */
export function environmentOf({ report, revision }: SyncStatus): string | null {
  const source = report?.source ?? revision?.source;
  return source === undefined ? null : readSourceText(source).environment;
}

/** The current state: a suspension applies from its start, not from when the run notices it. */
export function displayState(status: SyncStatus, workspace: string | null = null): string {
  const { report, suspensions } = status;
  const own = workspaceOf(report, workspace);
  if (suspensions.some((one) => one.workspace === null || one.workspace === workspace)) {
    return 'Suspended';
  }
  if (isSilent(status)) return 'Silent';
  return (workspace === null ? report?.state : own?.state) ?? '-';
}

/**
 * The version applied now, with the revision number after a rollback: until the suspension ends, the
 * rollback has precedence over the report of the run.
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
  const more = form.wide ? ['REVISION', 'REPORTED', 'HOLDER', 'SOURCE'] : [];
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
    displayState(status),
    displayCommit(report?.commit_seen, wide),
    displayApplied(status, null, wide),
    report === null ? '-' : String(report.drift_count),
    distance(as_of, report?.next_look_at ?? null),
  ];
  if (!wide) return row;
  const number = revision === null ? '-' : String(revision.number);
  const source = report?.source ?? revision?.source ?? '-';
  return [...row, number, distance(as_of, told_at), lease?.holder ?? '-', source];
}

function workspaceRow(status: SyncStatus, workspace: string, { wide }: StatusForm): string[] {
  const entry = workspaceOf(status.report, workspace);
  const drift = entry === undefined ? '-' : String(entry.drift_count);
  const applied = displayApplied(status, workspace, wide);
  const more = wide ? ['', '', '', ''] : [];
  return [workspace, displayState(status, workspace), '', applied, drift, '', ...more];
}

/** The reported workspaces, and suspended ones without a report. */
function workspacesOf({ report, suspensions }: SyncStatus): string[] {
  const names = [...(report?.workspaces ?? []), ...suspensions].flatMap(
    ({ workspace }) => workspace ?? [],
  );
  return [...new Set(names)].toSorted();
}

function workspaceOf(report: SyncReport | null, workspace: string | null) {
  return report?.workspaces.find((one) => one.workspace === workspace);
}

/** One line for each condition that may need action. */
function notesOf(status: SyncStatus, { resumeOf }: StatusForm): string[] {
  const { owner, report, suspensions, as_of, told_at, definitions = [] } = status;
  const notes: string[] = [];
  if (isSilent(status)) {
    const silence = `the last report was ${distance(as_of, told_at)}, and a check was due`;
    notes.push(`${silence} ${distance(as_of, report!.next_look_at)}: is the daemon running?`);
  }
  if (report?.error) notes.push(errorText(report.error));
  else if (report?.message) notes.push(report.message);
  for (const { workspace, message } of report?.workspaces ?? []) {
    if (message !== null) notes.push(`${workspace ?? 'without a workspace'}: ${message}`);
  }
  for (const { integration, ...finding } of definitions.slice(0, definitionsMax)) {
    notes.push(`McpIntegration ${integration}: ${findingText(finding, changesMax)}`);
  }
  if (definitions.length > definitionsMax) {
    notes.push(
      `${definitions.length - definitionsMax} more definitions of MCP servers need attention`,
    );
  }
  for (const one of suspensions) {
    notes.push(`${suspensionText(one)}; to resume: ${resumeOf(owner, one.workspace)}`);
  }
  // Reports may span lines; continuation lines are indented.
  return notes.map((note) => `${owner}: ${note.replaceAll('\n', '\n  ')}`);
}

function errorText({ file, line, column, message }: NonNullable<SyncReport['error']>): string {
  const place = [file, line, column].filter((part) => part !== null).join(':');
  return place === '' ? message : `${place}: ${message}`;
}

/** `4f2a01b2c3d4`, or `4f2a01b2c3d4 (revision 12)` after a rollback. */
function displayApplied(status: SyncStatus, workspace: string | null, wide: boolean): string {
  const { commit, revision } = appliedNow(status, workspace);
  const text = displayCommit(commit, wide);
  return revision === null ? text : `${text} (revision ${revision})`;
}

/** `4f2a01b2c3d4` or `sha256:4f2a01b2c3d4`; in full length when `wide`. */
export function displayCommit(commit: string | null | undefined, wide: boolean): string {
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
