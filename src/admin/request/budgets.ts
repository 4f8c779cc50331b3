/** Knows how the budget written on an API key, workspace or policy becomes terms, a schedule and a window. */
import { type LimitTerms, toUnits, type UsageType } from '../../model/limits.ts';
import { nextResetAt, startOfDay } from '../../model/periods.ts';
import { parseTimestamp } from '../../model/timestamp.ts';
import { validationError } from '../../model/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as usageBudgets from '../../store/tables/usage-budgets.ts';
import * as usageCounters from '../../store/tables/usage-counters.ts';
import * as usageWindows from '../../store/tables/usage-windows.ts';
import { type Author, auditChange } from './change.ts';
import type { AdminDeps } from './deps.ts';

/** A budget as sent, its schema's rules already checked. */
export type Budget = LimitTerms & { readonly credit_limit: number };

/** Whatever has a budget, or may have one. */
export interface BudgetOwner extends usageBudgets.BudgetSubject {
  /** Of the key; a workspace's own; null for what holds of every workspace. */
  readonly workspaceId: string | null;
}

/** Begins the first window of a key or workspace that begins with a budget. */
export async function openBudget(
  tx: Db,
  owner: BudgetOwner,
  budget: Budget,
  now: number,
): Promise<void> {
  await usageBudgets.insert(tx, {
    organisation_id: owner.organisationId,
    subject_kind: owner.kind,
    subject_id: owner.id,
    workspace_id: owner.workspaceId,
    type: typeOf(budget),
    ...termColumnsOf(budget),
    ...scheduleOf(budget, now),
    window_start: now,
    last_reset_at: null,
    created_at: now,
  });
}

/**
 * Brings a key or workspace from one budget to another; null is no budget. The running window goes
 * on unless something else is counted from now on, and its end stays where it is unless the schedule
 * itself was changed, so that repeating an update postpones nothing.
 */
export async function changeBudget(
  tx: Db,
  trail: Trail,
  owner: BudgetOwner,
  change: { before: Budget | null; after: Budget | null },
): Promise<void> {
  const { before, after } = change;
  const { now } = trail.author;
  if (after === null) return closeBudget(tx, owner);
  if (before === null) return openBudget(tx, owner, after, now);
  const row = await usageBudgets.findForUpdate(tx, owner);
  if (row !== undefined) {
    await catchUp(tx, trail, { table: 'usage_budgets', subject: owner, row });
  }
  if (typeOf(before) !== typeOf(after)) {
    await usageWindows.restart(tx, 'usage_budgets', owner, now);
  }
  await usageBudgets.update(tx, owner, {
    type: typeOf(after),
    ...termColumnsOf(after),
    ...(sameSchedule(before, after) ? {} : scheduleOf(after, now)),
  });
}

/** Who changes a budget, and where that is told. */
interface Trail {
  readonly deps: Pick<AdminDeps, 'audit'>;
  readonly author: Author;
}

/**
 * Moves a locked budget or policy on to the window of now before it is changed, where its boundary
 * has come and the job has not; the reset is audited as the job's would be, by whoever brought it.
 */
export async function catchUp(
  tx: Db,
  { deps, author }: Trail,
  budget: {
    readonly table: usageWindows.BudgetTable;
    readonly subject: usageCounters.UsageSubject;
    readonly row: usageBudgets.WindowColumns & { readonly workspace_id: string | null };
  },
): Promise<void> {
  const { table, subject, row } = budget;
  const move = await usageWindows.catchUp(tx, table, subject, row, author.now);
  if (move === null) return;
  await auditChange(tx, deps, author, {
    action: 'reset',
    kind: usageCounters.kindOfSubject[subject.kind],
    resourceId: subject.id,
    workspaceId: row.workspace_id,
    changes: usageWindows.resetFacts(move),
  });
}

/** Takes the budget away with all that was counted for it. */
export async function closeBudget(tx: Db, owner: usageBudgets.BudgetSubject): Promise<void> {
  await usageBudgets.deleteBySubject(tx, owner);
  await usageCounters.deleteBySubject(tx, owner);
  await usageWindows.deleteBySubject(tx, owner);
}

/**
 * Sets what was used in the running window to nought, of a budget that several have alike by the one of
 * `valueKey`; nothing happens where there is no budget.
 */
export async function resetBudget(
  tx: Db,
  owner: usageBudgets.BudgetSubject,
  now: number,
  valueKey = '',
): Promise<void> {
  const row = await usageBudgets.findForUpdate(tx, owner);
  if (row === undefined) return;
  const windowStart = usageBudgets.windowAt(row, now).startMs;
  const id = usageCounters.counterId(owner.id, valueKey);
  await usageCounters.reset(tx, { ...owner, windowStart }, id, now);
}

/** A budget's limit and threshold in whole units. */
export function termColumnsOf(
  budget: Pick<Budget, 'type' | 'credit_limit' | 'alert_threshold'>,
): Pick<usageBudgets.UsageBudgetRow, 'credit_limit_units' | 'alert_threshold_units'> {
  const { credit_limit: limit, alert_threshold: threshold } = budget;
  const type = typeOf(budget);
  return {
    credit_limit_units: toUnits(limit, type),
    alert_threshold_units: typeof threshold === 'number' ? toUnits(threshold, type) : null,
  };
}

/** The columns of a schedule and its first boundary after `now`. */
export function scheduleOf(
  terms: LimitTerms,
  now: number,
): Pick<usageBudgets.WindowColumns, 'periodic_reset' | 'periodic_reset_days' | 'next_reset_at'> {
  const schedule = {
    periodicReset: terms.periodic_reset ?? null,
    periodicResetDays: terms.periodic_reset_days ?? null,
  };
  const given = terms.next_usage_reset_at;
  const first = typeof given === 'string' ? startOfDay(parseTimestamp(given)) : null;
  return {
    periodic_reset: schedule.periodicReset,
    periodic_reset_days: schedule.periodicResetDays,
    next_reset_at: first !== null && first > now ? first : nextResetAt(schedule, first, now),
  };
}

/**
 * Refuses to begin with a first reset that has passed already. (An update may repeat one: the
 * schedule then runs on from it.)
 *
 * @throws ApiError `invalid`.
 */
export function requireFutureReset(
  terms: LimitTerms,
  now: number,
  path: readonly (string | number)[] = [],
): void {
  const first = terms.next_usage_reset_at;
  if (typeof first !== 'string' || parseTimestamp(first) > now) return;
  const message = 'must lie in the future';
  throw validationError({ path: [...path, 'next_usage_reset_at'], message });
}

function sameSchedule(one: LimitTerms, other: LimitTerms): boolean {
  const fields = ['periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'] as const;
  return fields.every((field) => (one[field] ?? null) === (other[field] ?? null));
}

function typeOf({ type = 'cost' }: Pick<LimitTerms, 'type'>): UsageType {
  return type;
}
