/** Knows how it is told what a plan would do anyway, at the version of its source that it is compared with. */
import { oneLine } from '../../terminal-text.ts';
import type { PlannedChange } from '../plan/planned.ts';

export interface Baseline {
  /** As it was named. */
  readonly ref: string;
  /** The commit that it stood for; null where it could not be read. */
  readonly commit: string | null;
  /** What is planned there as well. */
  readonly already: readonly PlannedChange[];
  /** What is planned there, and here no more. */
  readonly undone: readonly PlannedChange[];
  readonly blockedAlready: number;
}

const namesShownMax = 5;

/** A line for each part that is not shown; none where nothing is compared. */
export function baselineLines(baseline: Baseline | undefined): string[] {
  if (baseline === undefined) return [];
  const { ref, commit, already, undone, blockedAlready } = baseline;
  const name = oneLine(commit === null ? ref : `${ref} (${commit.slice(0, 12)})`);
  const drift = already.filter(({ reason }) => reason === 'drift').length;
  const among = drift === 0 ? '' : `, ${drift} of them drift`;
  const blocked = blockedAlready === 0 ? '' : `; ${blockedAlready} blocked there, too`;
  return [
    `beyond ${name}, by which as well: ${counted(already.length)}${among}${blocked}`,
    ...(undone.length === 0
      ? []
      : [`${counted(undone.length)} of ${name} no more: ${listed(undone)}`]),
  ];
}

function counted(count: number): string {
  return count === 1 ? '1 change' : `${count} changes`;
}

function listed(changes: readonly PlannedChange[]): string {
  const shown = changes.slice(0, namesShownMax).map(({ action, id }) => `${action} ${oneLine(id)}`);
  const hidden = changes.length - namesShownMax;
  return shown.join(', ') + (hidden > 0 ? ` and ${hidden} more` : '');
}
