/** Knows how expired API keys are found by index and marked by primary key, each of them once. */
import type { Db } from '../connection/db.ts';

/** What the audit row of an expiry tells. */
export interface ExpiredKey {
  id: string;
  organisation_id: string;
  workspace_id: string | null;
  expires_at: number | null;
}

/** Where a due key is found again: by its primary key. */
export type DueKey = Pick<ExpiredKey, 'id' | 'organisation_id'>;

/**
 * Keys with `expires_at <= now` that are not marked yet, longest overdue first within each
 * status. A query a status, because only then the index (status, expires_at) gives order and limit.
 */
export async function listDue(db: Db, now: number, limit: number): Promise<DueKey[]> {
  const due: DueKey[] = [];
  for (const status of ['active', 'exhausted'] as const) {
    if (due.length === limit) break;
    const rows = await db
      .selectFrom('api_keys')
      .select(['id', 'organisation_id'])
      .where('status', '=', status)
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit - due.length)
      .execute();
    due.push(...rows);
  }
  return due;
}

/**
 * Marks those of an organisation's `ids` that are still due as expired and returns them: each key is returned to
 * exactly one caller, because the row locks make a second one see it marked. Call it in a transaction.
 */
export async function updateDueToExpired(
  tx: Db,
  organisationId: string,
  ids: readonly string[],
  now: number,
): Promise<ExpiredKey[]> {
  const due = await tx
    .selectFrom('api_keys')
    .select(['id', 'organisation_id', 'workspace_id', 'expires_at'])
    .where('organisation_id', '=', organisationId)
    .where('id', 'in', ids)
    .where('status', '!=', 'expired')
    .where('expires_at', '<=', now)
    .orderBy('id')
    .forUpdate()
    .execute();
  if (due.length === 0) return [];
  await tx
    .updateTable('api_keys')
    .set({ status: 'expired', last_updated_at: now })
    .where('organisation_id', '=', organisationId)
    .where(
      'id',
      'in',
      due.map((key) => key.id),
    )
    .where('status', '!=', 'expired')
    .execute();
  return due;
}
