/** Table functions for usage_budgets: the limits of API keys, workspaces and providers, and their current windows. */
import { type Generated, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import { isExhausted, type UsageTerms } from '../../model/limits/counter-state.ts';
import type { UsageType } from '../../model/limits/limits.ts';
import { currentWindow, type UsageWindow } from '../../model/limits/periods.ts';
import type { Db } from '../connection/db.ts';
import { rows } from '../rows/rows.ts';
import { heldIdBytes, heldIds, type OwningWorkspace } from '../rows/workspace-contents.ts';
import {
  listByValues,
  listByWindows,
  type UsageCounter,
  type UsageSubject,
  type UsageSubjectKind,
} from './usage-counters.ts';

/** Reset schedule and last recorded window of a budget or policy. */
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
  /** Workspace of the key or provider; a workspace's own id. */
  workspace_id: string | null;
  type: UsageType;
  credit_limit_units: number;
  alert_threshold_units: number | null;
  /** Units that each gateway may use beyond its slices while the database is unavailable; null for none. */
  outage_units: Generated<number | null>;
  created_at: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_budgets: UsageBudgetRow;
  }
}

export type StoredUsageBudget = Selectable<UsageBudgetRow>;

export type BudgetSubject = UsageSubject & { readonly kind: UsageBudgetRow['subject_kind'] };

/** A budget at one time. */
export interface BudgetState {
  readonly type: UsageType;
  readonly windowStart: number;
  readonly nextResetAt: number | null;
  readonly lastResetAt: number | null;
  readonly usedUnits: bigint;
  /** Whether it is used up, or has refused a request that needs more than is left. */
  readonly isExhausted: boolean;
  readonly isUsedUp: boolean;
}

const table = rows('usage_budgets');

const whereOf = ({ organisationId, kind, id }: BudgetSubject) => ({
  organisation_id: organisationId,
  subject_kind: kind,
  subject_id: id,
});

export const { insert } = table;

export function findForUpdate(
  tx: Db,
  subject: BudgetSubject,
): Promise<StoredUsageBudget | undefined> {
  return table.findForUpdate(tx, whereOf(subject));
}

/** The budget of one subject at `now`; undefined when it has none. */
export async function findState(
  db: Db,
  { organisationId, kind, id }: BudgetSubject,
  now: number,
): Promise<BudgetState | undefined> {
  return (await listStates(db, organisationId, kind, [id], now)).get(id);
}

/** Budgets at `now` by subject id; subjects without a budget are absent. */
export async function listStates(
  db: Db,
  organisationId: string,
  kind: BudgetSubject['kind'],
  ids: readonly string[],
  now: number,
): Promise<Map<string, BudgetState>> {
  if (ids.length === 0) return new Map();
  const budgets = await table.list(db, {
    organisation_id: organisationId,
    subject_kind: kind,
    subject_id: ids,
  });
  const windows = new Map(budgets.map((row) => [row.subject_id, windowAt(row, now)]));
  const starts = new Map([...windows].map(([id, { startMs }]) => [id, startMs]));
  const counters = await listByWindows(db, organisationId, kind, starts);
  return new Map(
    budgets.map((row) => {
      const counter = counters.get(row.subject_id);
      return [row.subject_id, stateOf(row, windows.get(row.subject_id)!, counter)];
    }),
  );
}

/** Ids of the subjects of a kind whose budget is exhausted at `now`. */
export async function listExhaustedIds(
  db: Db,
  organisationId: string,
  kind: BudgetSubject['kind'],
  now: number,
): Promise<string[]> {
  const where = { organisation_id: organisationId, subject_kind: kind };
  const budgets = await table.list(db, where, { columns: ['subject_id'] });
  const ids = budgets.map(({ subject_id: id }) => id);
  const exhausted: string[] = [];
  for (let at = 0; at < ids.length; at += statesMax) {
    const some = ids.slice(at, at + statesMax);
    const states = await listStates(db, organisationId, kind, some, now);
    exhausted.push(...some.filter((id) => states.get(id)?.isExhausted));
  }
  return exhausted;
}

/** Budgets that are read with one statement. */
const statesMax = 1_000;

/** As {@link listStates}, for one budget with several counters, by value key. */
export async function listStatesByValue(
  db: Db,
  { organisationId, kind, id }: BudgetSubject,
  valueKeys: readonly string[],
  now: number,
): Promise<Map<string, BudgetState>> {
  const row = await table.find(db, whereOf({ organisationId, kind, id }));
  if (row === undefined) return new Map();
  const window = windowAt(row, now);
  const subject = { organisationId, kind, id, windowStart: window.startMs };
  const counters = await listByValues(db, subject, valueKeys);
  return new Map(valueKeys.map((key) => [key, stateOf(row, window, counters.get(key))]));
}

/** The window of a budget or policy at `now`, whether or not the job has recorded it. */
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

/** The limits of a budget's or policy's counters. */
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
    Pick<
      Updateable<UsageBudgetRow>,
      'type' | 'credit_limit_units' | 'alert_threshold_units' | 'outage_units'
    > &
      WindowColumns
  >,
): Promise<void> {
  await table.update(tx, whereOf(subject), fields);
}

export async function deleteBySubject(tx: Db, subject: BudgetSubject): Promise<void> {
  await table.delete(tx, whereOf(subject));
}

function stateOf(
  row: StoredUsageBudget,
  window: ReturnType<typeof windowAt>,
  counter: UsageCounter | undefined,
): BudgetState {
  const { usedUnits, refused } = counter ?? { usedUnits: 0n, refused: null };
  return {
    type: row.type,
    windowStart: window.startMs,
    nextResetAt: window.nextResetAtMs,
    lastResetAt: window.lastResetAtMs,
    usedUnits,
    isExhausted: isExhausted({ usedUnits, refused }, termsOf(row)),
    isUsedUp: usedUnits >= BigInt(row.credit_limit_units),
  };
}

/** Statements that delete the budgets and counters of the rows of a table that a workspace owns. */
export function removalOfBudgets(
  subjectKind: UsageSubjectKind,
  table: string,
  at: OwningWorkspace,
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
