/** Knows the usage_budgets table: what API keys, workspaces and providers may use, and the window each is in. */
import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely';
import { isExhausted, type UsageTerms } from '../../model/limits/counter-state.ts';
import type { UsageType } from '../../model/limits/limits.ts';
import { currentWindow, type UsageWindow } from '../../model/limits/periods.ts';
import type { Db } from '../connection/db.ts';
import { heldIdBytes, heldIds, type Place } from '../rows/workspace-contents.ts';
import {
  listByValues,
  listByWindows,
  type UsageSubject,
  type UsageSubjectKind,
} from './usage-counters.ts';

/** A schedule and the window that was written last, as budgets and policies carry them. */
export interface WindowColumns {
  periodic_reset: 'weekly' | 'monthly' | null;
  periodic_reset_days: number | null;
  window_start: number;
  next_reset_at: number | null;
  last_reset_at: number | null;
}

export interface UsageBudgetRow extends WindowColumns {
  organisation_id: string;
  subject_kind: Exclude<UsageSubjectKind, 'policy'>;
  subject_id: string;
  /** Of the key or provider; a workspace's own. */
  workspace_id: string | null;
  type: UsageType;
  credit_limit_units: number;
  alert_threshold_units: number | null;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_budgets: UsageBudgetRow;
  }
}

export type StoredUsageBudget = Selectable<UsageBudgetRow>;

export type BudgetSubject = UsageSubject & { readonly kind: UsageBudgetRow['subject_kind'] };

/** A budget at one moment. */
export interface BudgetState {
  readonly windowStart: number;
  readonly nextResetAt: number | null;
  readonly lastResetAt: number | null;
  readonly usedUnits: bigint;
  readonly isExhausted: boolean;
}

export async function insert(tx: Db, row: Insertable<UsageBudgetRow>): Promise<void> {
  await tx.insertInto('usage_budgets').values(row).execute();
}

export function findForUpdate(
  tx: Db,
  subject: BudgetSubject,
): Promise<StoredUsageBudget | undefined> {
  return tx
    .selectFrom('usage_budgets')
    .selectAll()
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', subject.id)
    .forUpdate()
    .executeTakeFirst();
}

/** The budget of one API key or workspace as of `now`; undefined where it has none. */
export async function findState(
  db: Db,
  { organisationId, kind, id }: BudgetSubject,
  now: number,
): Promise<BudgetState | undefined> {
  return (await listStates(db, organisationId, kind, [id], now)).get(id);
}

/** Budgets as of `now`, by subject id; those without one are absent. */
export async function listStates(
  db: Db,
  organisationId: string,
  kind: BudgetSubject['kind'],
  ids: readonly string[],
  now: number,
): Promise<Map<string, BudgetState>> {
  if (ids.length === 0) return new Map();
  const budgets = await db
    .selectFrom('usage_budgets')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('subject_kind', '=', kind)
    .where('subject_id', 'in', ids)
    .execute();
  const windows = new Map(budgets.map((row) => [row.subject_id, windowAt(row, now)]));
  const starts = new Map([...windows].map(([id, { startMs }]) => [id, startMs]));
  const counters = await listByWindows(db, organisationId, kind, starts);
  return new Map(
    budgets.map((row) => {
      const usedUnits = counters.get(row.subject_id)?.usedUnits ?? 0n;
      return [row.subject_id, stateOf(row, windows.get(row.subject_id)!, usedUnits)];
    }),
  );
}

/** As {@link listStates}, of one budget that several have alike, by what tells their counters apart. */
export async function listStatesByValue(
  db: Db,
  { organisationId, kind, id }: BudgetSubject,
  valueKeys: readonly string[],
  now: number,
): Promise<Map<string, BudgetState>> {
  const row = await db
    .selectFrom('usage_budgets')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .where('subject_kind', '=', kind)
    .where('subject_id', '=', id)
    .executeTakeFirst();
  if (row === undefined) return new Map();
  const window = windowAt(row, now);
  const subject = { organisationId, kind, id, windowStart: window.startMs };
  const counters = await listByValues(db, subject, valueKeys);
  return new Map(
    valueKeys.map((key) => [key, stateOf(row, window, counters.get(key)?.usedUnits ?? 0n)]),
  );
}

/** The window of a budget or policy at `now`, whether or not the job has written it. */
export function windowAt(
  row: WindowColumns,
  now: number,
): UsageWindow & { readonly skippedWindows: number; readonly lastResetAtMs: number | null } {
  const window = currentWindow(
    { periodicReset: row.periodic_reset, periodicResetDays: row.periodic_reset_days },
    { startMs: row.window_start, nextResetAtMs: row.next_reset_at },
    now,
  );
  const lastResetAtMs = window.startMs === row.window_start ? row.last_reset_at : window.startMs;
  return { ...window, lastResetAtMs };
}

/** What the counters of a budget or policy are held to. */
export function termsOf(
  row: Pick<UsageBudgetRow, 'credit_limit_units' | 'alert_threshold_units'>,
): UsageTerms {
  return {
    creditLimitUnits: row.credit_limit_units,
    alertThresholdUnits: row.alert_threshold_units,
  };
}

export async function update(
  tx: Db,
  subject: BudgetSubject,
  fields: Partial<
    Pick<UsageBudgetRow, 'type' | 'credit_limit_units' | 'alert_threshold_units'> & WindowColumns
  >,
): Promise<void> {
  await tx
    .updateTable('usage_budgets')
    .set(fields)
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', subject.id)
    .execute();
}

export async function deleteBySubject(tx: Db, subject: BudgetSubject): Promise<void> {
  await tx
    .deleteFrom('usage_budgets')
    .where('organisation_id', '=', subject.organisationId)
    .where('subject_kind', '=', subject.kind)
    .where('subject_id', '=', subject.id)
    .execute();
}

function stateOf(
  row: StoredUsageBudget,
  window: ReturnType<typeof windowAt>,
  usedUnits: bigint,
): BudgetState {
  return {
    windowStart: window.startMs,
    nextResetAt: window.nextResetAtMs,
    lastResetAt: window.lastResetAtMs,
    usedUnits,
    isExhausted: isExhausted({ usedUnits }, termsOf(row)),
  };
}

/** Statements that take away the budgets of the rows of a table that a workspace holds, and what was counted. */
export function removalOfBudgets(
  subjectKind: UsageSubjectKind,
  table: string,
  at: Place,
): RawBuilder<unknown>[] {
  const subjects = [
    ['usage_budgets', heldIds(table, at)],
    ['usage_counters', heldIdBytes(table, at)],
    ['usage_windows', heldIdBytes(table, at)],
  ] as const;
  return subjects.map(
    ([of, ids]) => sql`delete from ${sql.table(of)} where organisation_id = ${at.organisationId}
      and subject_kind = ${sql.lit(subjectKind)} and subject_id in ${ids}`,
  );
}
