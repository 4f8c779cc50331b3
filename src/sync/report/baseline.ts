/** Describes what a plan would do anyway, at the version of its source that it is compared with. */
import { oneLine } from '../../terminal-text.ts';
import type { PlannedChange } from '../plan/plan-model.ts';

export interface Baseline {
  /** The ref as the user named it. */
  readonly ref: string;
  /** Its commit; null when it could not be read. */
  readonly commit: string | null;
  /** Changes that are planned at the ref too. */
  readonly already: readonly PlannedChange[];
  /** Changes that are planned at the ref and no longer here. */
  readonly undone: readonly PlannedChange[];
  readonly blockedAlready: number;
}

const listedNamesMax = 5;

/** Returns a line for each hidden part; none without a comparison. */
export function baselineLines(baseline: Baseline | undefined): string[] {
  if (baseline === undefined) return [];
  const { ref, commit, already, undone, blockedAlready } = baseline;
  const name = oneLine(commit === null ? ref : `${ref} (${commit.slice(0, 12)})`);
  const drift = already.filter(({ reason }) => reason === 'drift').length;
  const among = drift === 0 ? '' : `, ${drift} of them drift`;
  const blocked = blockedAlready === 0 ? '' : `; ${blockedAlready} blocked there, too`;
  return [
    `compared with ${name}, which already has: ${counted(already.length)}${among}${blocked}`,
    ...(undone.length === 0
      ? []
      : [`${counted(undone.length)} of ${name} no longer planned: ${listed(undone)}`]),
  ];
}

function counted(count: number): string {
  return count === 1 ? '1 change' : `${count} changes`;
}

function listed(changes: readonly PlannedChange[]): string {
  const first = changes
    .slice(0, listedNamesMax)
    .map(({ action, id }) => `${action} ${oneLine(id)}`);
  const hidden = changes.length - listedNamesMax;
  return first.join(', ') + (hidden > 0 ? ` and ${hidden} more` : '');
}
