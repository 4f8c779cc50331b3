/** Counts the changes of a plan and their outcomes, as one line and by kind. */
import type { ApplyReport } from '../apply/apply.ts';
import type { Refusal } from '../plan/guards.ts';
import type { Impacts } from '../plan/impact.ts';
import type { Plan, PlannedChange } from '../plan/plan-model.ts';
import type { Baseline } from './baseline.ts';

/** The parts of a cycle result that people see. */
export interface ReportableCycle {
  readonly plan: Plan;
  /** Set when a guard refused the plan; nothing was written. */
  readonly refusal: Refusal | null;
  /** True when the user declined; nothing was written. */
  readonly declined: boolean;
  /** Null when nothing was attempted. */
  readonly report: ApplyReport | null;
  readonly warnings: readonly string[];
  /** Impact of the changes; absent when not determined. */
  readonly impacts?: Impacts | undefined;
  /** The baseline whose changes the plan leaves out; absent for a complete plan. */
  readonly baseline?: Baseline | undefined;
}

export const symbols: Readonly<Record<PlannedChange['action'], string>> = {
  create: '+',
  update: '~',
  replace: '±',
  delete: '-',
  adopt: '>',
  retain: '=',
  rotate: '↻',
};

/** `Plan: 2 to create, 1 to delete; 5 unchanged, 3 unmanaged left alone.` */
export function summaryLine({
  plan,
  report,
  declined,
}: Pick<ReportableCycle, 'plan' | 'report' | 'declined'>): string {
  const rest = [
    `${plan.unchanged} unchanged`,
    ...(plan.blocked.length > 0 ? [`${plan.blocked.length} blocked`] : []),
    ...(plan.faults.length > 0 ? [`${plan.faults.length} invalid in the source`] : []),
    ...(plan.unmanaged.length > 0 ? [`${plan.unmanaged.length} unmanaged left alone`] : []),
  ].join(', ');
  if (report === null) {
    const parts = counted(plan.changes.map(({ action }) => action)).map(
      ([action, count]) => `${count} to ${action}`,
    );
    const verdict = parts.length === 0 ? 'no changes' : parts.join(', ');
    const loose = plan.changes.filter(({ loosens }) => loosens).length;
    const among = loose === 0 ? '' : ` ${loose} of these loosen access.`;
    return `${declined ? 'Nothing was applied' : 'Plan'}: ${verdict}; ${rest}.${among}`;
  }
  const done = report.items.filter((item) => item.status === 'done');
  const parts = counted(done.map(({ action }) => action)).map(
    ([action, count]) => `${count} ${participles[action]}`,
  );
  const undone = counted(
    report.items.filter(({ status }) => status !== 'done').map((i) => i.status),
  );
  parts.push(...undone.map(([status, count]) => `${count} ${status}`));
  const ending = report.interrupted ? ' Interrupted: run it again to finish.' : '';
  return `Applied: ${parts.join(', ')}; ${rest}.${ending}`;
}

/** Past forms of the actions. */
export const participles: Readonly<Record<PlannedChange['action'], string>> = {
  create: 'created',
  update: 'updated',
  replace: 'replaced',
  delete: 'deleted',
  adopt: 'adopted',
  retain: 'retained',
  rotate: 'rotated',
};

/** Counts each word; actions in the order of the table above. */
export function counted<T extends string>(words: readonly T[]): [T, number][] {
  const rank = (word: T): number => Object.keys(symbols).indexOf(word);
  return [...Map.groupBy(words, (word) => word)]
    .map(([word, all]): [T, number] => [word, all.length])
    .toSorted(([one], [two]) => rank(one) - rank(two));
}

export interface KindCounts {
  readonly kind: string;
  readonly created: number;
  /** Updated, replaced or adopted. */
  readonly changed: number;
  readonly deleted: number;
  /** Failed, stale or blocked. */
  readonly undone: number;
}

/** Returns a row for each kind that a cycle changed. */
export function countsByKind({
  plan,
  report,
}: Pick<ReportableCycle, 'plan' | 'report'>): KindCounts[] {
  const rows = new Map<string, KindCounts>();
  const add = (kind: string, field: Exclude<keyof KindCounts, 'kind'>): void => {
    const row = rows.get(kind) ?? { kind, created: 0, changed: 0, deleted: 0, undone: 0 };
    rows.set(kind, { ...row, [field]: row[field] + 1 });
  };
  for (const { kind, status, action } of report?.items ?? []) {
    if (status !== 'done') add(kind, 'undone');
    else if (action === 'create') add(kind, 'created');
    else add(kind, action === 'delete' ? 'deleted' : 'changed');
  }
  for (const { identity } of plan.blocked) add(identity.kind, 'undone');
  return [...rows.values()];
}
