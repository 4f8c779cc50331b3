/** Ends windows: table functions for usage_windows, and the transition of budgets and policies to the next window. */
import { type RawBuilder, sql } from 'kysely';
import type { UsageWindow } from '../../model/limits/periods.ts';
import { idToBytes } from '../../model/wire/ids.ts';
import type { Db } from '../connection/db.ts';
import { bytesOfId } from '../rows/portable-sql.ts';
import { lessThan } from '../rows/predicate.ts';
import { rows } from '../rows/rows.ts';
import { type WindowColumns, windowAt } from './usage-budgets.ts';
import type { CountedKind, UsageSubject, UsageSubjectKind } from './usage-counters.ts';

/** An ended window, which records a reset. */
interface UsageWindowRow {
  organisation_id: string;
  subject_kind: CountedKind;
  subject_id: Buffer;
  window_start: number;
  /** First millisecond after it. */
  ended_at: number;
  /** When the row was written. */
  closed_at: number;
  /** Number of windows that passed between its end and its successor while no job ran. */
  skipped_windows: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_windows: UsageWindowRow;
  }
}

const windowRows = rows('usage_windows');

/** Tables with a current window in each row. */
export type BudgetTable = 'usage_budgets' | 'usage_limit_policies';

/** A budget or policy whose reset is due. */
export interface DueBudget extends WindowColumns {
  organisation_id: string;
  subject_kind: UsageSubjectKind;
  subject_id: string;
  next_reset_at: number;
}

/** Subjects of one organisation and kind. */
export interface Subjects {
  readonly organisationId: string;
  readonly kind: UsageSubjectKind;
  readonly ids: readonly string[];
}

/** Transition of the subjects at one boundary to their next window. */
export interface WindowMove {
  /** The boundary; subjects that have moved in the meantime stay as they are. */
  readonly boundaryAt: number;
  readonly startMs: number;
  readonly nextResetAtMs: number | null;
  readonly skippedWindows: number;
}

/** Column expressions of both tables, and the condition on their active rows. */
const shapes = {
  usage_budgets: {
    kind: sql<UsageSubjectKind>`subject_kind`,
    id: sql<string>`subject_id`,
    open: sql`TRUE`,
    ofKind: (kind: UsageSubjectKind) => sql`subject_kind = ${kind}`,
  },
  usage_limit_policies: {
    kind: sql<UsageSubjectKind>`'policy'`,
    id: sql<string>`id`,
    open: sql`status = 'active'`,
    ofKind: () => sql`TRUE`,
  },
} as const;

/** Rows of any organisation with a due reset, the longest overdue first, without `except`. */
export async function listDue(
  db: Db,
  table: BudgetTable,
  now: number,
  limit: number,
  except: readonly Pick<DueBudget, 'subject_id'>[],
): Promise<DueBudget[]> {
  const { kind, id, open } = shapes[table];
  const others = sql.join(except.map((due) => due.subject_id));
  const due = await sql<DueBudget>`
    SELECT organisation_id, ${kind} AS subject_kind, ${id} AS subject_id, periodic_reset,
      periodic_reset_days, window_start, next_reset_at, last_reset_at
    FROM ${sql.table(table)}
    WHERE ${open} AND next_reset_at <= ${now}
      ${except.length === 0 ? sql`` : sql`AND ${id} NOT IN (${others})`}
    ORDER BY next_reset_at LIMIT ${limit}`.execute(db);
  return due.rows;
}

/**
 * Locks the subjects that are still at the boundary, in the order of their ids, and returns the ids. Reads
 * by primary key, so that it does not wait for unrelated rows.
 */
export async function lockDue(
  tx: Db,
  table: BudgetTable,
  subjects: Subjects,
  boundaryAt: number,
): Promise<string[]> {
  const { id, open } = shapes[table];
  const locked = await sql<{ id: string }>`
    SELECT ${id} AS id FROM ${sql.table(table)} FORCE INDEX (PRIMARY)
    WHERE ${among(table, subjects)} AND ${open} AND next_reset_at = ${boundaryAt}
    ORDER BY ${id} FOR UPDATE`.execute(tx);
  return locked.rows.map((row) => row.id);
}

/**
 * Moves locked subjects to their next window: records each window that ends, and starts the next with one
 * write, regardless of the number of counters. Returns the number of windows that ended; a schedule that
 * was set to a boundary before the start of its window ends none. `audit` runs before the rows change.
 */
export async function moveOn(
  tx: Db,
  table: BudgetTable,
  subjects: Subjects,
  move: WindowMove,
  options: {
    readonly now: number;
    readonly audit?: (ending: {
      readonly from: RawBuilder<unknown>;
      readonly resourceId: RawBuilder<string>;
    }) => Promise<void>;
  },
): Promise<number> {
  const { boundaryAt, startMs, nextResetAtMs, skippedWindows } = move;
  const { now, audit } = options;
  const from = sql`FROM ${sql.table(table)}
    WHERE ${among(table, subjects)} AND window_start < ${startMs}`;
  const end = sql`GREATEST(${boundaryAt}, window_start), ${now}, ${skippedWindows}`;
  const ended = await sql`${insertEnds(table, end)} ${from}`.execute(tx);
  await audit?.({ from, resourceId: shapes[table].id });
  // MySQL evaluates assignments from left to right, so that the one that reads the old start comes first.
  await sql`
    UPDATE ${sql.table(table)} FORCE INDEX (PRIMARY) SET
      last_reset_at = CASE WHEN window_start < ${startMs} THEN ${startMs} ELSE last_reset_at END,
      window_start = GREATEST(window_start, ${startMs}),
      next_reset_at = ${nextResetAtMs}
    WHERE ${among(table, subjects)} AND next_reset_at = ${boundaryAt}`.execute(tx);
  return Number(ended.numAffectedRows ?? 0n);
}

/** Facts of a reset for the audit log. */
export function resetFacts(move: WindowMove): Record<string, unknown> {
  return {
    boundary_at: move.boundaryAt,
    window_start: move.startMs,
    next_reset_at: move.nextResetAtMs,
    skipped_windows: move.skippedWindows,
  };
}

/**
 * Moves one locked subject to its next window before a change, when its reset is due and the job has not
 * run. Returns the move that ended a window, which the caller audits; null when none ended.
 */
export async function catchUp(
  tx: Db,
  table: BudgetTable,
  subject: UsageSubject,
  row: WindowColumns,
  now: number,
): Promise<WindowMove | null> {
  const { next_reset_at: boundaryAt } = row;
  if (boundaryAt === null || boundaryAt > now) return null;
  const move = { boundaryAt, ...windowAt(row, now) };
  const ended = await moveOn(tx, table, { ...subject, ids: [subject.id] }, move, { now });
  return ended === 0 ? null : move;
}

/** Records that the current window of a subject ends at `now`, because the subject is deleted. */
export async function end(
  tx: Db,
  table: BudgetTable,
  subject: UsageSubject,
  now: number,
): Promise<void> {
  await ends(table, among(table, { ...subject, ids: [subject.id] }), now).execute(tx);
}

/** As {@link end}: the statement for all rows that match a condition. */
export function ends(
  table: BudgetTable,
  rows: RawBuilder<unknown>,
  now: number,
): RawBuilder<unknown> {
  const values = sql`GREATEST(${now}, window_start + 1), ${now}, 0`;
  return sql`${insertEnds(table, values)} FROM ${sql.table(table)} WHERE ${rows}`;
}

/** Records the future end of windows that no job moves; existing records stay. */
export async function insertAhead(
  db: Db,
  { organisationId, kind, id }: { organisationId: string; kind: CountedKind; id: string },
  windows: readonly UsageWindow[],
  now: number,
): Promise<void> {
  const values = windows.flatMap(({ startMs, nextResetAtMs }) => {
    if (nextResetAtMs === null) return [];
    return sql`(${organisationId}, ${kind}, ${idToBytes(id)}, ${startMs}, ${nextResetAtMs}, ${now}, 0)`;
  });
  if (values.length === 0) return;
  await sql`
    INSERT IGNORE INTO usage_windows (organisation_id, subject_kind, subject_id, window_start,
      ended_at, closed_at, skipped_windows) VALUES ${sql.join(values)}`.execute(db);
}

/** Starts a window at `now`, outside the schedule; the usage stays in the previous window. */
export async function restart(
  tx: Db,
  table: BudgetTable,
  subject: UsageSubject,
  now: number,
): Promise<void> {
  await end(tx, table, subject, now);
  await sql`
    UPDATE ${sql.table(table)}
    SET window_start = GREATEST(${now}, window_start + 1)
    WHERE ${among(table, { ...subject, ids: [subject.id] })}`.execute(tx);
}

/** Primary key of an ended window. */
export type EndedWindow = Pick<
  UsageWindowRow,
  'organisation_id' | 'subject_kind' | 'subject_id' | 'window_start'
>;

/** Windows of any organisation that ended before a time, oldest first. */
export function listEndedBefore(db: Db, before: number, limit: number): Promise<EndedWindow[]> {
  return windowRows.listAnywhere(
    db,
    { ended_at: lessThan(before) },
    {
      columns: ['organisation_id', 'subject_kind', 'subject_id', 'window_start'],
      orderBy: ['ended_at'],
      limit,
    },
  );
}

/** Deletes up to `limit` counters of windows of one organisation and returns their number. */
export async function deleteCounters(
  tx: Db,
  windows: readonly EndedWindow[],
  limit: number,
): Promise<number> {
  const result = await sql`
    DELETE FROM usage_counters WHERE ${within(windows)} LIMIT ${limit}`.execute(tx);
  return Number(result.numAffectedRows ?? 0n);
}

export async function deleteMany(tx: Db, windows: readonly EndedWindow[]): Promise<void> {
  await sql`DELETE FROM usage_windows WHERE ${within(windows)}`.execute(tx);
}

export async function deleteBySubject(tx: Db, subject: UsageSubject): Promise<void> {
  await windowRows.delete(tx, {
    organisation_id: subject.organisationId,
    subject_kind: subject.kind,
    subject_id: idToBytes(subject.id),
  });
}

function among(table: BudgetTable, { organisationId, kind, ids }: Subjects): RawBuilder<unknown> {
  const { id, ofKind } = shapes[table];
  return sql`organisation_id = ${organisationId} AND ${ofKind(kind)} AND ${id} IN (${sql.join(ids)})`;
}

function within(windows: readonly EndedWindow[]): RawBuilder<unknown> {
  const keys = windows.map(
    ({ subject_kind: kind, subject_id: id, window_start: start }) =>
      sql`(${kind}, ${id}, ${start})`,
  );
  return sql`organisation_id = ${windows[0]!.organisation_id}
    AND (subject_kind, subject_id, window_start) IN (${sql.join(keys)})`;
}

/** `values` are the end, the time of writing and the number of skipped windows. */
function insertEnds(table: BudgetTable, values: RawBuilder<unknown>): RawBuilder<unknown> {
  const { kind, id } = shapes[table];
  return sql`INSERT INTO usage_windows (organisation_id, subject_kind, subject_id, window_start,
      ended_at, closed_at, skipped_windows)
    SELECT organisation_id, ${kind}, ${bytesOfId(id)}, window_start, ${values}`;
}
