/** Lists resources whose budget is used up or nearly so, reading each budget once with its current counter. */
import { type RawBuilder, sql } from 'kysely';
import type { UsageType } from '../../model/limits/limits.ts';
import type { Db } from '../connection/db.ts';
import {
  isListed,
  type NamedSubject,
  type SubjectKind,
  type SubjectPlace,
  subjectColumns,
  subjectTables,
} from '../rows/subject-place.ts';
import type { WindowColumns } from './usage-budgets.ts';

/** `exhausted`: as in `isExhausted` of model/limits/counter-state.ts. `nearly_exhausted`: 80 % are used. */
export type SpentState = 'exhausted' | 'nearly_exhausted';

const nearShare = 0.8;

export interface SpentBudget extends NamedSubject, WindowColumns {
  readonly type: UsageType;
  readonly credit_limit_units: number;
  /** The driver returns amounts beyond 2^53 as text. */
  readonly used_units: number | string;
}

/** Kinds as literals, so that the engine compares them with both columns without a conversion. */
const kindLiterals: Readonly<Record<SubjectKind, RawBuilder<unknown>>> = {
  api_key: sql`'api_key'`,
  workspace: sql`'workspace'`,
  provider: sql`'provider'`,
};

/** Up to `limit` subjects of the kind in the order of their ids. */
export async function listSpent(
  db: Db,
  kind: SubjectKind,
  state: SpentState,
  place: SubjectPlace,
): Promise<SpentBudget[]> {
  const literal = kindLiterals[kind];
  const { rows } = await sql<SpentBudget>`
    SELECT * FROM (
      SELECT ${subjectColumns(kind)}, b.type, b.credit_limit_units, b.window_start, b.next_reset_at,
        b.last_reset_at, b.periodic_reset, b.periodic_reset_days,
        COALESCE(c.used_units, 0) AS used_units, c.refused_units, c.refused_limit_units
      FROM usage_budgets b
      JOIN ${sql.table(subjectTables[kind])} r
        ON r.organisation_id = b.organisation_id AND r.id = b.subject_id
      LEFT JOIN usage_counters c
        ON c.organisation_id = b.organisation_id AND c.subject_kind = ${literal}
        AND c.subject_id = UNHEX(REPLACE(b.subject_id, '-', ''))
        AND c.window_start >= ${startOfWindow(sql`b`, place.now)}
      WHERE b.organisation_id = ${place.organisationId} AND b.subject_kind = ${literal}
        AND b.subject_id > ${place.after?.id ?? ''} AND ${isListed(kind, place)}
    ) AS budgets
    WHERE ${isIn(state)} ORDER BY id LIMIT ${place.limit}`.execute(db);
  return rows;
}

const isExhausted = sql`(used_units >= credit_limit_units OR (
  COALESCE(refused_limit_units >= credit_limit_units, FALSE)
  AND COALESCE(used_units + refused_units > credit_limit_units, FALSE)))`;

function isIn(state: SpentState): RawBuilder<unknown> {
  return state === 'exhausted'
    ? isExhausted
    : sql`used_units >= credit_limit_units * ${nearShare} AND NOT ${isExhausted}`;
}

/** A window that has ended without being recorded is no longer the current one. */
function startOfWindow(budget: RawBuilder<unknown>, now: number): RawBuilder<unknown> {
  return sql`CASE WHEN ${budget}.next_reset_at <= ${now} THEN ${budget}.next_reset_at
    ELSE ${budget}.window_start END`;
}

export interface SpentPolicy extends Omit<NamedSubject, 'name'> {
  readonly name: string | null;
}

/**
 * Up to `limit` active policies of which a counter that an alert was raised for is still used up in its current
 * window. A policy may have a million counters, and every counter that is used up has an alert.
 */
export async function listSpentPolicies(db: Db, place: SubjectPlace): Promise<SpentPolicy[]> {
  const { organisationId, workspaceId, now, after, limit } = place;
  const { rows } = await sql<SpentPolicy>`
    SELECT r.id, r.name, r.workspace_id FROM usage_limit_policies r
    WHERE r.organisation_id = ${organisationId} AND r.status = 'active' AND r.id > ${after?.id ?? ''}
      AND ${workspaceId === undefined ? sql`TRUE` : sql`r.workspace_id = ${workspaceId}`}
      AND EXISTS (
        SELECT 1 FROM usage_alerts a JOIN usage_counters c
          ON c.organisation_id = a.organisation_id AND c.subject_kind = 'policy'
          AND c.subject_id = a.subject_id AND c.window_start = a.window_start AND c.id = a.counter_id
        WHERE a.organisation_id = r.organisation_id AND a.subject_kind = 'policy'
          AND a.subject_id = UNHEX(REPLACE(r.id, '-', '')) AND a.kind = 'exhausted'
          AND a.window_start >= ${startOfWindow(sql`r`, now)} AND c.used_units >= r.credit_limit_units
      )
    ORDER BY r.id LIMIT ${limit}`.execute(db);
  return rows;
}
