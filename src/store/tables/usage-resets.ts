/** Knows how usage goes back to zero at a boundary: counters, alert flags, keys and the record, in one transaction. */
import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { ApiKeyRow } from './api-keys.ts';
import type { UsageEntityRow } from './usage-entities.ts';
import type { UsageLimitPolicyRow } from './usage-limit-policies.ts';

export interface UsageResetRow {
  subject_kind: string;
  subject_id: string;
  boundary_at: number;
  organisation_id: string;
  reset_at: number;
  next_reset_at: number | null;
  skipped_windows: number;
  used_micros: number;
}

declare module '../connection/db.ts' {
  interface Tables {
    usage_resets: UsageResetRow;
  }
}

/** A key's or workspace's counter that is due, as far as a reset needs it. */
export type DueBudget = Pick<
  UsageEntityRow,
  | 'id'
  | 'organisation_id'
  | 'subject_kind'
  | 'subject_id'
  | 'used_micros'
  | 'periodic_reset'
  | 'periodic_reset_days'
> & { next_reset_at: number };

export type DuePolicy = Pick<
  UsageLimitPolicyRow,
  'id' | 'organisation_id' | 'workspace_id' | 'periodic_reset' | 'periodic_reset_days'
> & { next_reset_at: number };

/** Counters of keys and workspaces whose boundary has come; policies' counters have none of their own. */
export async function listDueBudgetIds(db: Db, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('usage_entities')
    .select('id')
    .where('subject_kind', 'in', ['api_key', 'workspace'])
    .where('next_reset_at', '<=', now)
    .orderBy('next_reset_at')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Locks those of `ids` that are still due, in id order so that two callers cannot deadlock. */
export function listDueBudgetsForUpdate(
  tx: Db,
  ids: readonly string[],
  now: number,
): Promise<DueBudget[]> {
  return tx
    .selectFrom('usage_entities')
    .select([
      'id',
      'organisation_id',
      'subject_kind',
      'subject_id',
      'used_micros',
      'periodic_reset',
      'periodic_reset_days',
    ])
    .select(sql<number>`next_reset_at`.as('next_reset_at'))
    .where('id', 'in', ids)
    .where('next_reset_at', '<=', now)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/**
 * Moves counters that share the boundary they stand at on to the next one, and empties them unless
 * `emptiedAt` is null. One whose boundary moved meanwhile does not change (compare-and-set).
 */
export async function updateBudgets(
  tx: Db,
  ids: readonly string[],
  move: { boundaryAt: number; nextResetAt: number | null; emptiedAt: number | null },
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('usage_entities')
    .set({
      ...(move.emptiedAt === null ? {} : emptied(move.emptiedAt)),
      next_reset_at: move.nextResetAt,
    })
    .where('id', 'in', ids)
    .where('next_reset_at', '=', move.boundaryAt)
    .execute();
}

export async function listDuePolicyIds(db: Db, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('usage_limit_policies')
    .select('id')
    .where('status', '=', 'active')
    .where('next_reset_at', '<=', now)
    .orderBy('next_reset_at')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Locks the policy if it is still due. */
export function findDuePolicyForUpdate(
  tx: Db,
  id: string,
  now: number,
): Promise<DuePolicy | undefined> {
  return tx
    .selectFrom('usage_limit_policies')
    .select(['id', 'organisation_id', 'workspace_id', 'periodic_reset', 'periodic_reset_days'])
    .select(sql<number>`next_reset_at`.as('next_reset_at'))
    .where('id', '=', id)
    .where('status', '=', 'active')
    .where('next_reset_at', '<=', now)
    .forUpdate()
    .executeTakeFirst();
}

/** Moves the policy on to its next boundary; `resetAt` null when this one had been applied before. */
export async function updatePolicy(
  tx: Db,
  policy: DuePolicy,
  nextResetAt: number | null,
  resetAt: number | null,
): Promise<void> {
  await tx
    .updateTable('usage_limit_policies')
    .set({
      ...(resetAt === null ? {} : { last_reset_at: resetAt }),
      next_reset_at: nextResetAt,
    })
    .where('id', '=', policy.id)
    .where('next_reset_at', '=', policy.next_reset_at)
    .execute();
}

/** Empties every counter of a policy; yields what they held together. */
export async function updatePolicyEntities(tx: Db, policyId: string, now: number): Promise<number> {
  const { rows } = await sql<{ used_micros: string | number | null }>`
    SELECT SUM(used_micros) AS used_micros FROM usage_entities
    WHERE subject_kind = 'policy' AND subject_id = ${policyId} FOR UPDATE`.execute(tx);
  await tx
    .updateTable('usage_entities')
    .set(emptied(now))
    .where('subject_kind', '=', 'policy')
    .where('subject_id', '=', policyId)
    .execute();
  return Number(rows[0]?.used_micros ?? 0);
}

/**
 * Those of `boundaries` that were applied before, as {@link boundaryKey}: somebody set a schedule
 * back to a moment whose reset has happened, which must not happen again.
 */
export async function listAppliedKeys(
  tx: Db,
  boundaries: readonly UsageBoundary[],
): Promise<Set<string>> {
  if (boundaries.length === 0) return new Set();
  const rows = await tx
    .selectFrom('usage_resets')
    .select(['subject_kind', 'subject_id', 'boundary_at'])
    .where((eb) =>
      eb.or(
        [...Map.groupBy(boundaries, (boundary) => boundary.boundary_at)].map(([at, group]) =>
          eb('boundary_at', '=', at)
            .and('subject_kind', 'in', ['api_key', 'workspace', 'policy'])
            .and(
              'subject_id',
              'in',
              group.map((boundary) => boundary.subject_id),
            ),
        ),
      ),
    )
    .execute();
  return new Set(rows.map(boundaryKey));
}

export type UsageBoundary = Pick<UsageResetRow, 'subject_kind' | 'subject_id' | 'boundary_at'>;

export function boundaryKey(boundary: UsageBoundary): string {
  return `${boundary.subject_kind} ${boundary.subject_id} ${boundary.boundary_at}`;
}

/** One row a boundary that was applied; the primary key refuses a second one. */
export async function insertMany(tx: Db, resets: readonly UsageResetRow[]): Promise<void> {
  if (resets.length === 0) return;
  await tx.insertInto('usage_resets').values(resets).execute();
}

/** Exhausted keys work again; expired ones stay expired. Yields the workspace of each key. */
export async function updateKeys(
  tx: Db,
  ids: readonly string[],
  now: number,
): Promise<Map<string, string | null>> {
  if (ids.length === 0) return new Map();
  await tx
    .updateTable('api_keys')
    .set({
      last_reset_at: now,
      status: sql<ApiKeyRow['status']>`CASE status WHEN 'exhausted' THEN 'active' ELSE status END`,
    })
    .where('id', 'in', ids)
    .execute();
  const rows = await tx
    .selectFrom('api_keys')
    .select(['id', 'workspace_id'])
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row.workspace_id]));
}

export async function updateWorkspaces(tx: Db, ids: readonly string[], now: number): Promise<void> {
  if (ids.length === 0) return;
  await tx.updateTable('workspaces').set({ last_reset_at: now }).where('id', 'in', ids).execute();
}

/**
 * Reservations stay: their requests are still open, and settle against the new window. A limit of
 * nought is exhausted however little was used.
 */
function emptied(now: number) {
  return {
    used_micros: 0,
    status: sql<UsageEntityRow['status']>`
      CASE WHEN credit_limit_micros > 0 THEN 'active' ELSE 'exhausted' END`,
    threshold_alert_sent: 0,
    exhausted_alert_sent: 0,
    last_reset_at: now,
    version: sql<number>`version + 1`,
  };
}
