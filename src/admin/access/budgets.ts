/** Manages the usage budget of API keys, workspaces and policies: limit, schedule and window. */
import { type LimitFields, toUnits, type UsageType } from '../../model/limits/limits.ts';
import { nextResetAt, startOfDay } from '../../model/limits/periods.ts';
import { parseTimestamp } from '../../model/wire/timestamp.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import type { Db } from '../../store/connection/db.ts';
import * as usageBudgets from '../../store/usage/usage-budgets.ts';
import * as usageCounters from '../../store/usage/usage-counters.ts';
import * as usageWindows from '../../store/usage/usage-windows.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

/** A budget as sent; its schema is already validated. */
export type BudgetFields = LimitFields & { readonly credit_limit: number };

/** A resource that may have a budget. */
export interface BudgetOwner extends usageBudgets.BudgetSubject {
  /** Workspace of the key, or the workspace itself; null for a policy that covers all workspaces. */
  readonly workspaceId: string | null;
}

/** Starts the first window of a key or workspace with a budget. */
export async function openBudget(
  tx: Db,
  owner: BudgetOwner,
  budget: BudgetFields,
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
 * Changes the budget of a key or workspace; null is no budget. The running window continues unless the
 * usage type changes. Its end stays unless the schedule changes, so that repeating an update postpones
 * nothing.
 */
export async function changeBudget(
  tx: Db,
  trail: AuditContext,
  owner: BudgetOwner,
  change: { before: BudgetFields | null; after: BudgetFields | null },
): Promise<void> {
  const { before, after } = change;
  const { now } = trail.author;
  if (after === null) return closeBudget(tx, owner);
  if (before === null) return openBudget(tx, owner, after, now);
  const row = await usageBudgets.findForUpdate(tx, owner);
  if (row !== undefined) {
    await moveToCurrentWindow(tx, trail, { table: 'usage_budgets', subject: owner, row });
  }
  if (typeOf(before) !== typeOf(after)) {
    await usageWindows.restart(tx, 'usage_budgets', owner, now);
  }
  await usageBudgets.update(tx, owner, {
    type: typeOf(after),
    ...termColumnsOf(after),
    ...(isSameSchedule(before, after) ? {} : scheduleOf(after, now)),
  });
}

/** Author and audit trail of a budget change. */
interface AuditContext {
  readonly deps: Pick<AdminDeps, 'audit'>;
  readonly author: Author;
}

/**
 * Moves a locked budget or policy to the current window before it is changed, if its end has passed and
 * the reset job has not run yet. The reset is audited with the author of the change.
 */
export async function moveToCurrentWindow(
  tx: Db,
  { deps, author }: AuditContext,
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

/** Deletes the budget and its counters. */
export async function closeBudget(tx: Db, owner: usageBudgets.BudgetSubject): Promise<void> {
  await usageBudgets.deleteBySubject(tx, owner);
  await usageCounters.deleteBySubject(tx, owner);
  await usageWindows.deleteBySubject(tx, owner);
}

/**
 * Sets the usage of the running window to zero. `valueKey` selects one counter of a budget shared by
 * several. Does nothing without a budget.
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

/** Limit and threshold of a budget in whole units. */
export function termColumnsOf(
  budget: Pick<BudgetFields, 'type' | 'credit_limit' | 'alert_threshold' | 'on_outage_allowance'>,
): Pick<
  usageBudgets.StoredUsageBudget,
  'credit_limit_units' | 'alert_threshold_units' | 'outage_units'
> {
  const {
    credit_limit: limit,
    alert_threshold: threshold,
    on_outage_allowance: allowance,
  } = budget;
  const type = typeOf(budget);
  return {
    credit_limit_units: toUnits(limit, type),
    alert_threshold_units: typeof threshold === 'number' ? toUnits(threshold, type) : null,
    outage_units: typeof allowance === 'number' ? toUnits(allowance, type) : null,
  };
}

/**
 * The budget that replaces a stored one. Tools that do not know the allowance for outages send none and keep it; null
 * removes it, and so does another type, in which it would be another amount.
 */
export function replacingBudget<T extends BudgetFields | null | undefined>(
  sent: T,
  stored: BudgetFields | null,
): T {
  const allowance = stored?.on_outage_allowance ?? null;
  if (!sent || allowance === null || sent.on_outage_allowance !== undefined) return sent;
  if (stored === null || typeOf(stored) !== typeOf(sent)) return sent;
  return { ...sent, on_outage_allowance: allowance };
}

/** As {@link replacingBudget}, for lists of at most one. */
export function replacingBudgets<T extends readonly BudgetFields[] | null | undefined>(
  sent: T,
  stored: readonly BudgetFields[] | null,
): T {
  const [budget] = sent ?? [];
  return budget === undefined
    ? sent
    : ([replacingBudget(budget, stored?.[0] ?? null)] as T & object);
}

/** Columns of a schedule and its first reset after `now`. */
export function scheduleOf(
  terms: LimitFields,
  now: number,
): Pick<usageBudgets.WindowColumns, 'periodic_reset' | 'periodic_reset_days' | 'next_reset_at'> {
  const schedule = {
    periodicReset: terms.periodic_reset ?? null,
    periodicResetDays: terms.periodic_reset_days ?? null,
  };
  const sent = terms.next_usage_reset_at;
  const first = typeof sent === 'string' ? startOfDay(parseTimestamp(sent)) : null;
  return {
    periodic_reset: schedule.periodicReset,
    periodic_reset_days: schedule.periodicResetDays,
    next_reset_at: first !== null && first > now ? first : nextResetAt(schedule, first, now),
  };
}

/**
 * Refuses a first reset in the past. (An update may repeat one; the schedule then continues from it.)
 *
 * @throws ApiError `invalid`
 */
export function requireFutureReset(
  terms: LimitFields,
  now: number,
  path: readonly (string | number)[] = [],
): void {
  const first = terms.next_usage_reset_at;
  if (typeof first !== 'string' || parseTimestamp(first) > now) return;
  const message = 'must be in the future';
  throw validationError({ path: [...path, 'next_usage_reset_at'], message });
}

function isSameSchedule(one: LimitFields, other: LimitFields): boolean {
  const fields = ['periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'] as const;
  return fields.every((field) => (one[field] ?? null) === (other[field] ?? null));
}

function typeOf({ type = 'cost' }: Pick<LimitFields, 'type'>): UsageType {
  return type;
}
